package io.memlane.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.memlane.vectors.Expectations.VectorException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One file of wire vectors.
 *
 * @param requires what the server must be
 */
record Vector(String name, List<String> requires, List<Step> steps) {
  private static final Set<String> KEYS = Set.of("name", "description", "requires", "steps");
  private static final Set<String> CAPABILITIES =
      Set.of("no_model", "dimension_512", "local_embedder");

  /** One call and what must come of it: the object as it stands in the file. */
  record Step(JsonObject raw) {
    private static final Set<String> KEYS =
        Set.of(
            "comment",
            "rpc",
            "request",
            "request_base64",
            "requests",
            "until",
            "timeout_seconds",
            "expect",
            "save");
    private static final Set<String> BODIES = Set.of("request", "request_base64", "requests");
    private static final Set<String> OUTCOMES = Set.of("response", "responses", "error");
    private static final Set<String> ERROR_KEYS = Set.of("code", "reason", "fields", "metadata");

    Step {
      known(raw.keySet(), KEYS);
      if (raw.keySet().stream().filter(BODIES::contains).count() != 1) {
        throw new VectorException("one of " + BODIES + " is needed: " + raw);
      }
      Set<String> outcome = raw.getAsJsonObject("expect").keySet();
      if (outcome.size() != 1) {
        throw new VectorException("`expect` has one of " + OUTCOMES + ": " + raw);
      }
      known(outcome, OUTCOMES);
      if (outcome.contains("error")) {
        known(raw.getAsJsonObject("expect").getAsJsonObject("error").keySet(), ERROR_KEYS);
      }
    }

    boolean has(String key) {
      return raw.has(key);
    }

    JsonElement get(String key) {
      return raw.get(key);
    }

    String text(String key) {
      return raw.has(key) ? raw.get(key).getAsString() : "";
    }
  }

  static Vector load(Path path) throws IOException {
    JsonObject raw = JsonParser.parseString(Files.readString(path)).getAsJsonObject();
    known(raw.keySet(), KEYS);
    String name = raw.get("name").getAsString();
    if (!path.getFileName().toString().equals(name + ".json")) {
      throw new VectorException(path + " calls itself " + name);
    }
    List<String> requires =
        raw.has("requires")
            ? raw.getAsJsonArray("requires").asList().stream()
                .map(JsonElement::getAsString)
                .toList()
            : List.of();
    known(requires, CAPABILITIES);
    List<Step> steps =
        raw.getAsJsonArray("steps").asList().stream()
            .map(step -> new Step(step.getAsJsonObject()))
            .toList();
    return new Vector(name, requires, steps);
  }

  private static void known(Collection<String> keys, Set<String> known) {
    Set<String> unknown = new HashSet<>(keys);
    unknown.removeAll(known);
    if (!unknown.isEmpty()) {
      throw new VectorException("unknown: " + unknown);
    }
  }
}
