package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.memlane.v1.Message;
import io.memlane.v1.Role;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("local")
class ValuesTest {
  @Test
  void vectorsAreLittleEndian() {
    byte[] expected = {0, 0, (byte) 0x80, 0x3f, 0, 0, 0, (byte) 0xc0};
    assertArrayEquals(expected, Values.vector(1f, -2f).toByteArray());
    assertEquals(0, Values.vector().size());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1970-01-01T00:00:00Z",
        "2026-03-01T08:30:00.123456789Z",
        "1969-12-31T23:59:59.5Z"
      })
  void momentsComeBack(String text) {
    Instant moment = Instant.parse(text);
    assertEquals(moment, Values.instant(Values.timestamp(moment)));
  }

  @ParameterizedTest
  @CsvSource({
    "PT1.5S,1,500000000",
    "PT-1.5S,-1,-500000000",
    "PT-0.25S,0,-250000000",
    "PT-2S,-2,0",
    "P30D,2592000,0"
  })
  void spansHaveOneSignOnTheWire(String text, long seconds, int nanos) {
    Duration span = Duration.parse(text);
    com.google.protobuf.Duration sent = Values.duration(span);
    assertEquals(seconds, sent.getSeconds());
    assertEquals(nanos, sent.getNanos());
    assertEquals(span, Values.duration(sent));
  }

  @Test
  void aMessageSaysWhenAndWhere() {
    Instant said = Instant.parse("2026-03-01T08:30:00Z");
    Message message = Values.message(Role.ROLE_USER, "我昨天去了上海", said, ZoneId.of("Asia/Shanghai"));
    assertEquals("Asia/Shanghai", message.getTimeZone());
    assertEquals(said, Values.instant(message.getCreateTime()));
    // "Z" is no name that the contract knows.
    assertEquals("UTC", Values.message(Role.ROLE_USER, "hi", said, ZoneOffset.UTC).getTimeZone());
  }

  @Test
  void timeoutsAndTriesHaveBounds() {
    assertThrows(IllegalArgumentException.class, () -> Timeouts.DEFAULT.withRead(Duration.ZERO));
    assertThrows(
        IllegalArgumentException.class, () -> Timeouts.DEFAULT.withBulk(Duration.ofSeconds(-1)));
    Duration pause = Duration.ofMillis(1);
    assertThrows(IllegalArgumentException.class, () -> new RetryPolicy(0, pause, pause, 1));
    assertThrows(IllegalArgumentException.class, () -> new RetryPolicy(6, pause, pause, 1));
    assertThrows(
        IllegalArgumentException.class, () -> new RetryPolicy(2, pause, pause, Double.NaN));
  }
}
