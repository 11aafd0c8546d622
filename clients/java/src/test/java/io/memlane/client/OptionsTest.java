package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("local")
class OptionsTest {
  @ParameterizedTest
  @CsvSource({
    "localhost:7070, true",
    "LOCALHOST, true",
    "127.0.0.1:7070, true",
    "127.9.9.9, true",
    "[::1]:7070, true",
    "::1, true",
    "unix:/run/memlane.sock, true",
    "dns:///localhost:7070, true",
    "dns://8.8.8.8/127.0.0.1:7070, true",
    "'ipv4:127.0.0.1:7070,127.0.0.2:7070', true",
    "'ipv4:127.0.0.1:7070,10.0.0.1:7070', false",
    "10.0.0.1:7070, false",
    "memlane.bank.example:443, false",
    "dns:///memlane.bank.example, false",
    "127.0.0.1.bank.example:443, false",
    "localhost.bank.example, false",
    "[2001:db8::1]:443, false",
    "银行.example:443, false",
  })
  void plainTextOnlyToThisMachine(String target, boolean loopback) {
    assertEquals(loopback, Targets.isLoopback(target));
  }

  @Test
  void optionsThatContradictAreRefused() {
    MemlaneClient.Builder both =
        MemlaneClient.builder("localhost:1").insecure(true).tls(Tls.DEFAULT);
    assertThrows(IllegalArgumentException.class, both::build);
    MemlaneClient.Builder eager =
        MemlaneClient.builder("localhost:1").keepAlive(Duration.ofSeconds(9));
    assertThrows(IllegalArgumentException.class, eager::build);
  }

  @Test
  void certificatesAreReadAtOnce() {
    Path missing = Path.of("no-such.pem");
    assertThrows(UncheckedIOException.class, () -> Tls.DEFAULT.trust(missing));
    byte[] nonsense = "not a key".getBytes(StandardCharsets.UTF_8);
    MemlaneClient.Builder broken =
        MemlaneClient.builder("localhost:1").tls(Tls.DEFAULT.identity(nonsense, nonsense));
    assertThrows(IllegalArgumentException.class, broken::build);
  }

  @Test
  void nothingShowsTheToken() {
    try (MemlaneClient client = MemlaneClient.builder("localhost:1").token("s3cret").build()) {
      assertFalse(client.toString().contains("s3cret"));
      assertFalse(client.memories().withToken("s3cret").options().toString().contains("s3cret"));
    }
  }
}
