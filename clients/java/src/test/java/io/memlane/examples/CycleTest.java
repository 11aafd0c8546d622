package io.memlane.examples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.memlane.client.MemlaneClient;
import io.memlane.testing.SharedServer;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(SharedServer.Resolver.class)
class CycleTest {
  @Test
  void theExampleShowsWhatItPromises(SharedServer server) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    try (MemlaneClient client = server.client()) {
      Cycle.run(client, new PrintStream(printed, true, StandardCharsets.UTF_8));
    }
    String text = printed.toString(StandardCharsets.UTF_8);
    List.of(
            "UPDATE   用户现在有三个孩子了",
            "found    用户现在有三个孩子了",
            "refused  the current revision is 2",
            "【用户历史信息】",
            "UPDATE   User has three children now",
            "audit    valid")
        .forEach(expected -> assertTrue(text.contains(expected), () -> expected + " in " + text));
  }
}
