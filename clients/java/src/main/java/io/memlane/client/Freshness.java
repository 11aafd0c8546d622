package io.memlane.client;

import io.memlane.v1.Consistency;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/**
 * Which freshness a read must ask for, so that a client reads its own writes. Safe to use from
 * several threads.
 *
 * <p>Tokens are opaque: which of two is newer cannot be told from them. What can be told is
 * causality: a write that began after another one had been answered has the newer token. So the
 * token of the last write is kept per scope; where two writes to one scope overlapped in time, what
 * is kept is that it cannot be told, and the next read asks for full consistency, whose answer's
 * {@code read_at} covers both.
 */
final class Freshness {
  private static final int MAX_SCOPES = 50_000;
  private static final long UNKNOWN_AGE = -1;

  /**
   * The newest state that a scope is known to have.
   *
   * @param token empty = several tokens of unknown order
   * @param began tick at which the call began that gave the token
   * @param ended tick at which it was answered
   */
  private record Mark(String token, long began, long ended) {
    /** The newer one, or the knowledge that it cannot be told. */
    Mark merge(Mark other) {
      if (known() && token.equals(other.token)) {
        return this;
      }
      if (known() && began > other.ended) {
        return this;
      }
      if (other.known() && other.began > ended) {
        return other;
      }
      return new Mark("", Math.min(began, other.began), Math.max(ended, other.ended));
    }

    boolean known() {
      return !token.isEmpty();
    }
  }

  private final UnaryOperator<String> key;
  private final int maxScopes;
  private final AtomicLong ticks = new AtomicLong();
  private final Map<String, Mark> marks = new LinkedHashMap<>();
  private Mark floor;

  private Freshness(UnaryOperator<String> key, int maxScopes) {
    this.key = key;
    this.maxScopes = maxScopes;
  }

  /**
   * Keeps the marks of users apart, so that one user's writes never make another user's reads wait.
   */
  static Freshness perScope() {
    return perScope(MAX_SCOPES);
  }

  /**
   * Above {@code maxScopes} the oldest mark is merged into one that holds for every scope without
   * its own.
   */
  static Freshness perScope(int maxScopes) {
    return new Freshness(UnaryOperator.identity(), maxScopes);
  }

  /** One mark for everything. */
  static Freshness single() {
    return new Freshness(scope -> "", 1);
  }

  /** Tick at which a call begins; hand it to {@link #wrote} or {@link #read}. */
  long begin() {
    return ticks.incrementAndGet();
  }

  /** What a read of these scopes must ask for; null = nothing was written yet. */
  Consistency wanted(List<String> scopes) {
    Mark mark = null;
    synchronized (this) {
      for (String scope : scopes) {
        Mark own = marks.getOrDefault(key.apply(scope), floor);
        mark = own == null ? mark : mark == null ? own : own.merge(mark);
      }
    }
    if (mark == null) {
      return null;
    }
    return mark.known() ? Values.atLeast(mark.token()) : Values.fullyConsistent();
  }

  /**
   * A write of this scope was answered.
   *
   * @param replay the answer may be that of an earlier call, so that its token's age is not known
   */
  synchronized void wrote(String scope, String token, long began, boolean replay) {
    if (token.isEmpty()) {
      return;
    }
    Mark mark = new Mark(token, replay ? UNKNOWN_AGE : began, ticks.incrementAndGet());
    Mark removed = marks.remove(key.apply(scope));
    Mark known = removed == null ? floor : removed;
    marks.put(key.apply(scope), known == null ? mark : mark.merge(known));
    if (marks.size() > maxScopes) {
      Iterator<Mark> oldest = marks.values().iterator();
      Mark dropped = oldest.next();
      oldest.remove();
      floor = floor == null ? dropped : floor.merge(dropped);
    }
  }

  /**
   * A fully consistent read of these scopes was answered: its token settles what could not be told.
   */
  synchronized void read(List<String> scopes, String token, long began) {
    if (token.isEmpty()) {
      return;
    }
    for (String scope : scopes) {
      Mark known = marks.get(key.apply(scope));
      if (known != null && !known.known() && began > known.ended()) {
        marks.put(key.apply(scope), new Mark(token, began, ticks.incrementAndGet()));
      }
    }
  }

  /**
   * The one token of {@link #single}; empty where nothing was written, or where no token covers all
   * of it.
   */
  synchronized Optional<String> token() {
    return Optional.ofNullable(marks.get("")).map(Mark::token).filter(token -> !token.isEmpty());
  }
}
