package io.memlane.vectors;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Variables, builders and templates of wire vectors; tests/vectors/README.md says what each means.
 */
final class Expectations {
  private static final double TOLERANCE = 1e-4;
  private static final Pattern REFERENCE =
      Pattern.compile("\\$\\$\\{|\\$\\{([A-Za-z_][A-Za-z0-9_]*)}");

  private Expectations() {}

  /** A file says something that the format does not know. */
  static final class VectorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    VectorException(String message) {
      super(message);
    }
  }

  /** The node with variables and builders replaced; operators of expectations stay. */
  static JsonElement expand(JsonElement node, Map<String, JsonElement> variables) {
    if (node.isJsonPrimitive() && node.getAsJsonPrimitive().isString()) {
      return substituted(node.getAsString(), variables);
    }
    if (node.isJsonArray()) {
      JsonArray expanded = new JsonArray();
      node.getAsJsonArray().forEach(part -> expanded.add(expand(part, variables)));
      return expanded;
    }
    if (!node.isJsonObject()) {
      return node;
    }
    String operator = operatorOf(node);
    if (operator == null) {
      JsonObject expanded = new JsonObject();
      node.getAsJsonObject()
          .asMap()
          .forEach((key, part) -> expanded.add(key, expand(part, variables)));
      return expanded;
    }
    return built(operator, node, variables);
  }

  private static JsonElement built(
      String operator, JsonElement node, Map<String, JsonElement> variables) {
    JsonElement argument = node.getAsJsonObject().get(operator);
    switch (operator) {
      case "$any", "$absent", "$match":
        return node;
      case "$not", "$contains":
        JsonObject expanded = new JsonObject();
        expanded.add(operator, expand(argument, variables));
        return expanded;
      case "$repeat":
        JsonArray repeat = argument.getAsJsonArray();
        return new JsonPrimitive(text(repeat.get(0), variables).repeat(repeat.get(1).getAsInt()));
      case "$concat":
        StringBuilder joined = new StringBuilder();
        argument.getAsJsonArray().forEach(part -> joined.append(text(part, variables)));
        return new JsonPrimitive(joined.toString());
      case "$list":
        JsonArray list = new JsonArray();
        for (int i = 0; i < argument.getAsJsonArray().get(1).getAsInt(); i++) {
          list.add(expand(argument.getAsJsonArray().get(0), variables));
        }
        return list;
      case "$floats":
        JsonArray floats = new JsonArray();
        runs(argument).forEach(floats::add);
        return floats;
      case "$f32":
        return new JsonPrimitive(f32(runs(argument)));
      default:
        throw new VectorException("unknown builder or operator " + operator);
    }
  }

  /** Where a value is not what an expanded template asks for. */
  static List<String> differences(JsonElement template, JsonElement value, String at) {
    List<String> found = new ArrayList<>();
    compare(template, value, at, found);
    return found;
  }

  /** The value at a dotted path. */
  static JsonElement dig(JsonElement value, String path) {
    JsonElement found = value;
    for (String part : path.split("\\.")) {
      JsonElement next = null;
      if (found.isJsonArray() && part.matches("\\d+")) {
        int index = Integer.parseInt(part);
        next = index < found.getAsJsonArray().size() ? found.getAsJsonArray().get(index) : null;
      } else if (found.isJsonObject()) {
        next = found.getAsJsonObject().get(part);
      }
      if (next == null) {
        throw new VectorException(
            "nothing to save at " + path + ": no " + part + " in " + shown(found));
      }
      found = next;
    }
    return found;
  }

  private static void compare(
      JsonElement template, JsonElement value, String at, List<String> found) {
    String operator = operatorOf(template);
    if (operator != null) {
      compareByOperator(operator, template.getAsJsonObject().get(operator), value, at, found);
    } else if (template.isJsonObject()) {
      if (value.isJsonObject()) {
        template
            .getAsJsonObject()
            .asMap()
            .forEach(
                (key, wanted) -> compareEntry(wanted, value.getAsJsonObject(), key, at, found));
      } else {
        found.add(at + ": expected an object, got " + shown(value));
      }
    } else if (template.isJsonArray()) {
      compareArrays(template.getAsJsonArray(), value, at, found);
    } else if (!equal(template, value)) {
      found.add(at + ": expected " + shown(template) + ", got " + shown(value));
    }
  }

  private static void compareEntry(
      JsonElement wanted, JsonObject value, String key, String at, List<String> found) {
    String path = at + "." + key;
    boolean there = value.has(key);
    if ("$absent".equals(operatorOf(wanted))) {
      if (there) {
        found.add(path + ": expected nothing, got " + shown(value.get(key)));
      }
    } else if (there) {
      compare(wanted, value.get(key), path, found);
    } else {
      found.add(path + ": expected " + shown(wanted) + ", got nothing");
    }
  }

  private static void compareArrays(
      JsonArray template, JsonElement value, String at, List<String> found) {
    if (!value.isJsonArray() || value.getAsJsonArray().size() != template.size()) {
      found.add(at + ": expected an array of " + template.size() + ", got " + shown(value));
      return;
    }
    for (int i = 0; i < template.size(); i++) {
      compare(template.get(i), value.getAsJsonArray().get(i), at + "[" + i + "]", found);
    }
  }

  private static void compareByOperator(
      String operator, JsonElement argument, JsonElement value, String at, List<String> found) {
    switch (operator) {
      case "$any" -> {}
      case "$match" -> {
        if (!isString(value)
            || !Pattern.compile(argument.getAsString()).matcher(value.getAsString()).find()) {
          found.add(at + ": expected a string with " + argument + ", got " + shown(value));
        }
      }
      case "$not" -> {
        if (differences(argument, value, at).isEmpty()) {
          found.add(at + ": expected anything but " + shown(argument));
        }
      }
      case "$contains" -> {
        if (!value.isJsonArray()) {
          found.add(at + ": expected an array, got " + shown(value));
          return;
        }
        for (JsonElement wanted : argument.getAsJsonArray()) {
          if (value.getAsJsonArray().asList().stream()
              .noneMatch(one -> differences(wanted, one, at).isEmpty())) {
            found.add(at + ": no element matches " + shown(wanted) + " in " + shown(value));
          }
        }
      }
      default ->
          throw new VectorException(
              operator + " at " + at + ": not for this place, or not expanded");
    }
  }

  /** The one key of a builder or operator; null for any other node. */
  private static String operatorOf(JsonElement node) {
    if (!node.isJsonObject() || node.getAsJsonObject().size() != 1) {
      return null;
    }
    String key = node.getAsJsonObject().keySet().iterator().next();
    return key.startsWith("$") && !key.startsWith("${") ? key : null;
  }

  private static boolean equal(JsonElement wanted, JsonElement value) {
    if (isNumber(wanted)) {
      return isNumber(value) && Math.abs(wanted.getAsDouble() - value.getAsDouble()) <= TOLERANCE;
    }
    return !isNumber(value) && wanted.equals(value);
  }

  private static boolean isNumber(JsonElement node) {
    return node.isJsonPrimitive() && node.getAsJsonPrimitive().isNumber();
  }

  private static boolean isString(JsonElement node) {
    return node.isJsonPrimitive() && node.getAsJsonPrimitive().isString();
  }

  private static JsonElement substituted(String text, Map<String, JsonElement> variables) {
    Matcher matcher = REFERENCE.matcher(text);
    if (matcher.matches() && matcher.group(1) != null) {
      return variable(matcher.group(1), variables);
    }
    String result =
        matcher.replaceAll(
            found -> {
              if (found.group(1) == null) {
                return Matcher.quoteReplacement("${");
              }
              JsonElement value = variable(found.group(1), variables);
              if (!isString(value)) {
                throw new VectorException(
                    found.group(1) + " is no string and cannot stand inside " + text);
              }
              return Matcher.quoteReplacement(value.getAsString());
            });
    return new JsonPrimitive(result);
  }

  private static JsonElement variable(String name, Map<String, JsonElement> variables) {
    JsonElement value = variables.get(name);
    if (value == null) {
      throw new VectorException("unknown variable " + name);
    }
    return value;
  }

  private static String text(JsonElement node, Map<String, JsonElement> variables) {
    JsonElement text = expand(node, variables);
    if (!isString(text)) {
      throw new VectorException(shown(node) + " is no string");
    }
    return text.getAsString();
  }

  private static List<JsonPrimitive> runs(JsonElement runs) {
    List<JsonPrimitive> values = new ArrayList<>();
    for (JsonElement run : runs.getAsJsonArray()) {
      for (int i = 0; i < run.getAsJsonArray().get(1).getAsInt(); i++) {
        values.add(run.getAsJsonArray().get(0).getAsJsonPrimitive());
      }
    }
    return values;
  }

  private static String f32(List<JsonPrimitive> values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Float.BYTES * values.size()).order(ByteOrder.LITTLE_ENDIAN);
    values.forEach(value -> bytes.putFloat(Float.parseFloat(value.getAsString())));
    return Base64.getEncoder().encodeToString(bytes.array());
  }

  private static String shown(JsonElement value) {
    String text = value.toString();
    return text.length() <= 400
        ? text
        : text.substring(0, 400) + "... (" + text.length() + " characters)";
  }
}
