package io.shardtide.torchrec;

import com.fasterxml.jackson.databind.JsonNode;
import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads JSON values; errors name the value's place, what is expected, and the value. */
final class Fields {
  private static final int MAX_SHOWN = 60;

  private Fields() {}

  /** Returns the fields of an object. */
  static Set<Map.Entry<String, JsonNode>> object(JsonNode node, String where) {
    if (node == null || !node.isObject()) {
      throw invalid(where, "an object", node);
    }
    return node.properties();
  }

  /** Checks that a value is an object without other fields than these. */
  static void of(JsonNode node, String where, List<String> known) {
    for (Map.Entry<String, JsonNode> field : object(node, where)) {
      if (!known.contains(field.getKey())) {
        throw invalid(where, "an object of " + String.join(", ", known), node, field.getKey());
      }
    }
  }

  static List<JsonNode> list(JsonNode node, String where) {
    if (node == null || !node.isArray() || node.isEmpty()) {
      throw invalid(where, "a list that is not empty", node);
    }
    List<JsonNode> values = new ArrayList<>();
    node.forEach(values::add);
    return values;
  }

  /** Returns a number without a fraction, from 0. */
  static long wholeNumber(JsonNode node, String where, long max) {
    if (node == null
        || !node.isIntegralNumber()
        || !node.canConvertToLong()
        || node.longValue() < 0
        || node.longValue() > max) {
      throw invalid(where, "a whole number between 0 and " + max, node);
    }
    return node.longValue();
  }

  static String text(JsonNode node, String where) {
    if (node == null || !node.isTextual()) {
      throw invalid(where, "a string", node);
    }
    return node.textValue();
  }

  static IllegalArgumentException invalid(String where, String expected, JsonNode value) {
    return new IllegalArgumentException(
        "%s must be %s, got %s".formatted(where, expected, shown(value)));
  }

  private static IllegalArgumentException invalid(
      String where, String expected, JsonNode value, String field) {
    return new IllegalArgumentException(
        "%s must be %s, got \"%s\": %s".formatted(where, expected, field, shown(value.get(field))));
  }

  private static String shown(JsonNode value) {
    if (value == null || value.isMissingNode()) {
      return "nothing";
    }
    String text = value.toString();
    return Names.cut(text, MAX_SHOWN);
  }
}
