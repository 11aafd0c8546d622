package io.memlane.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.memlane.v1.Consistency;
import io.memlane.v1.ConsistencyToken;
import io.memlane.v1.Fact;
import io.memlane.v1.Message;
import io.memlane.v1.Role;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;

/** Between Java values and those of the contract: times, vectors, messages, facts, freshness. */
public final class Values {
  private Values() {}

  /**
   * What the customer said.
   *
   * @param content 1 byte to 32 KiB of UTF-8
   * @return a message of the role USER, said now
   */
  public static Message user(String content) {
    return message(Role.ROLE_USER, content);
  }

  /**
   * What the assistant answered.
   *
   * @param content 1 byte to 32 KiB of UTF-8
   * @return a message of the role ASSISTANT, said now
   */
  public static Message assistant(String content) {
    return message(Role.ROLE_ASSISTANT, content);
  }

  /**
   * A message that is said now, in the server's zone.
   *
   * @param role who speaks
   * @param content 1 byte to 32 KiB of UTF-8
   * @return the message
   */
  public static Message message(Role role, String content) {
    return Message.newBuilder().setRole(role).setContent(content).build();
  }

  /**
   * A message with the time and the zone that its relative dates ("yesterday", 上周) are worked out
   * from.
   *
   * @param role who speaks
   * @param content 1 byte to 32 KiB of UTF-8
   * @param said when
   * @param zone in which the speaker means "yesterday"
   * @return the message
   */
  public static Message message(Role role, String content, Instant said, ZoneId zone) {
    return Message.newBuilder()
        .setRole(role)
        .setContent(content)
        .setCreateTime(timestamp(said))
        .setTimeZone(zone.getId().equals("Z") ? "UTC" : zone.getId())
        .build();
  }

  /**
   * A fact that never expires.
   *
   * @param content one sentence, 1 to 2048 bytes of UTF-8
   * @return the fact
   */
  public static Fact fact(String content) {
    return Fact.newBuilder().setContent(content).build();
  }

  /**
   * A fact with a lifetime.
   *
   * @param content one sentence, 1 to 2048 bytes of UTF-8
   * @param ttl lifetime from now
   * @return the fact
   */
  public static Fact fact(String content, Duration ttl) {
    return Fact.newBuilder().setContent(content).setTtl(duration(ttl)).build();
  }

  /**
   * A vector in the fast form of the contract ({@code embedding_f32}).
   *
   * @param values as many as the server's embedder has dimensions
   * @return little-endian float32 values, 4 bytes each
   */
  public static ByteString vector(float... values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Float.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return ByteString.copyFrom(bytes);
  }

  /**
   * A moment, for the wire.
   *
   * @param moment to the nanosecond
   * @return the same moment
   */
  public static Timestamp timestamp(Instant moment) {
    return Timestamp.newBuilder()
        .setSeconds(moment.getEpochSecond())
        .setNanos(moment.getNano())
        .build();
  }

  /**
   * A moment, from the wire.
   *
   * @param timestamp to the nanosecond
   * @return the same moment
   */
  public static Instant instant(Timestamp timestamp) {
    return Instant.ofEpochSecond(timestamp.getSeconds(), timestamp.getNanos());
  }

  /**
   * A span of time, for the wire.
   *
   * @param span to the nanosecond
   * @return the same span
   */
  public static com.google.protobuf.Duration duration(Duration span) {
    long seconds = span.getSeconds();
    int nanos = span.getNano();
    // Java keeps the fraction positive, the wire wants both parts of one sign.
    if (seconds < 0 && nanos > 0) {
      seconds += 1;
      nanos -= 1_000_000_000;
    }
    return com.google.protobuf.Duration.newBuilder().setSeconds(seconds).setNanos(nanos).build();
  }

  /**
   * A span of time, from the wire.
   *
   * @param span to the nanosecond
   * @return the same span
   */
  public static Duration duration(com.google.protobuf.Duration span) {
    return Duration.ofSeconds(span.getSeconds(), span.getNanos());
  }

  /**
   * Read from a state that holds at least the write that gave this token.
   *
   * @param writtenAt {@code getWrittenAt().getToken()} of a write, perhaps of another process
   * @return the requirement
   */
  public static Consistency atLeast(String writtenAt) {
    return Consistency.newBuilder()
        .setAtLeastAsFresh(ConsistencyToken.newBuilder().setToken(writtenAt))
        .build();
  }

  /**
   * Read from a state that holds every write acknowledged before the call.
   *
   * @return the requirement
   */
  public static Consistency fullyConsistent() {
    return Consistency.newBuilder().setFullyConsistent(true).build();
  }

  /**
   * Read from what the replica has applied already, own writes or not.
   *
   * @return the requirement
   */
  public static Consistency minimizeLatency() {
    return Consistency.newBuilder().setMinimizeLatency(true).build();
  }
}
