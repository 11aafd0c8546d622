package io.memlane.client;

import java.time.Duration;

/**
 * How the client tries again what failed with UNAVAILABLE, all within the call's one deadline:
 * reads, and writes, whose request_id makes the repeat harmless. Nothing else is tried again, and a
 * stream only while nothing of it has arrived.
 *
 * @param maxAttempts tries in all, 1 to 5; 1 = never again
 * @param initialBackoff about the pause after the first try; gRPC adds jitter
 * @param maxBackoff the longest pause
 * @param multiplier how much longer each pause is than the one before, at least 1
 */
public record RetryPolicy(
    int maxAttempts, Duration initialBackoff, Duration maxBackoff, double multiplier) {
  /** 4 tries, 50 ms, doubling. */
  public static final RetryPolicy DEFAULT =
      new RetryPolicy(4, Duration.ofMillis(50), Duration.ofSeconds(2), 2.0);

  /** One try. */
  public static final RetryPolicy NONE =
      new RetryPolicy(1, Duration.ofMillis(50), Duration.ofSeconds(2), 2.0);

  /**
   * Checks the values.
   *
   * @param maxAttempts as above
   * @param initialBackoff as above
   * @param maxBackoff as above
   * @param multiplier as above
   * @throws IllegalArgumentException for one out of its range
   */
  public RetryPolicy {
    if (maxAttempts < 1 || maxAttempts > 5) {
      throw new IllegalArgumentException("maxAttempts is 1 to 5");
    }
    Timeouts.positive("initialBackoff", initialBackoff);
    Timeouts.positive("maxBackoff", maxBackoff);
    if (!(multiplier >= 1)) {
      throw new IllegalArgumentException("multiplier is at least 1");
    }
  }
}
