package io.memlane.client;

import java.time.Duration;
import java.util.Objects;

/**
 * Default deadlines, by what a call does; {@code withTimeout} of a group of calls goes before them.
 *
 * @param read searches, gets, lists, contexts
 * @param write writes that wait for no model
 * @param model remember, end of a session, chat: they may wait for a language model
 * @param bulk erasure, export, purge, check of the audit log
 */
public record Timeouts(Duration read, Duration write, Duration model, Duration bulk) {
  /** 5 s for reads, 15 s for writes, 120 s with a model, 600 s in bulk. */
  public static final Timeouts DEFAULT =
      new Timeouts(
          Duration.ofSeconds(5),
          Duration.ofSeconds(15),
          Duration.ofSeconds(120),
          Duration.ofSeconds(600));

  /**
   * Checks the values.
   *
   * @param read as above
   * @param write as above
   * @param model as above
   * @param bulk as above
   * @throws IllegalArgumentException for one that is not positive
   */
  public Timeouts {
    positive("read", read);
    positive("write", write);
    positive("model", model);
    positive("bulk", bulk);
  }

  /**
   * The same with another deadline for reads.
   *
   * @param read positive
   * @return new timeouts
   */
  public Timeouts withRead(Duration read) {
    return new Timeouts(read, write, model, bulk);
  }

  /**
   * The same with another deadline for writes.
   *
   * @param write positive
   * @return new timeouts
   */
  public Timeouts withWrite(Duration write) {
    return new Timeouts(read, write, model, bulk);
  }

  /**
   * The same with another deadline for calls that may wait for a model.
   *
   * @param model positive
   * @return new timeouts
   */
  public Timeouts withModel(Duration model) {
    return new Timeouts(read, write, model, bulk);
  }

  /**
   * The same with another deadline for calls in bulk.
   *
   * @param bulk positive
   * @return new timeouts
   */
  public Timeouts withBulk(Duration bulk) {
    return new Timeouts(read, write, model, bulk);
  }

  static Duration positive(String name, Duration value) {
    Objects.requireNonNull(value, name);
    if (value.isNegative() || value.isZero()) {
      throw new IllegalArgumentException(name + " is more than zero");
    }
    return value;
  }
}
