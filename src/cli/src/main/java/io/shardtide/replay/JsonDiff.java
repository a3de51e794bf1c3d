package io.shardtide.replay;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Names;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The fields in which two records differ, found in their JSON. */
final class JsonDiff {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Characters of a value that are shown. */
  private static final int SHOWN = 120;

  private final List<String> lines = new ArrayList<>();

  private JsonDiff() {}

  /**
   * Returns one line per field that differs: its name, the recorded and the recomputed value. Of
   * the entries of a list, the first that differs.
   *
   * @param json writes records
   * @param ignored fields of the record that are not compared
   */
  static <V> List<String> lines(
      JsonLines<V, ?> json, V recorded, V recomputed, Set<String> ignored) {
    JsonDiff diff = new JsonDiff();
    try {
      JsonNode before = JSON.readTree(json.write(recorded));
      JsonNode after = JSON.readTree(json.write(recomputed));
      for (String name : names(before, after)) {
        if (!ignored.contains(name)) {
          diff.add(name, before.path(name), after.path(name));
        }
      }
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
    return diff.lines;
  }

  private void add(String path, JsonNode one, JsonNode other) {
    JsonNode before = withoutType(one);
    JsonNode after = withoutType(other);
    if (before.equals(after)) {
      return;
    }
    if (before.isArray() && after.isArray()) {
      addEntries(path, before, after);
    } else if (before.isObject() && after.isObject()) {
      names(before, after)
          .forEach(name -> add(path + "." + name, before.path(name), after.path(name)));
    } else {
      lines.add("%s: recorded %s, recomputed %s".formatted(path, shown(before), shown(after)));
    }
  }

  private void addEntries(String path, JsonNode before, JsonNode after) {
    int first = 0;
    while (before.path(first).equals(after.path(first))) {
      first++;
    }
    if (before.size() != after.size()) {
      lines.add("%s: %d recorded, %d recomputed".formatted(path, before.size(), after.size()));
    }
    // An entry is known by its first field, if that is a name.
    Iterator<JsonNode> fields = before.path(first).elements();
    String name = fields.hasNext() ? fields.next().asText() : "";
    add(
        "%s[%d%s]".formatted(path, first, name.isEmpty() ? "" : " " + name),
        before.path(first),
        after.path(first));
  }

  /** Returns a value of a union without the name of its type, by which Avro's JSON wraps it. */
  private static JsonNode withoutType(JsonNode value) {
    if (value.isObject() && value.size() == 1) {
      String name = value.fieldNames().next();
      if (name.startsWith("io.shardtide.avro.")
          || Set.of("string", "int", "long", "double", "array").contains(name)) {
        return value.path(name);
      }
    }
    return value;
  }

  static Set<String> names(JsonNode one, JsonNode other) {
    Set<String> names = new LinkedHashSet<>();
    one.fieldNames().forEachRemaining(names::add);
    other.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static String shown(JsonNode value) {
    return value.isMissingNode()
        ? "missing"
        : Names.cut(value.isTextual() ? value.textValue() : value.toString(), SHOWN);
  }
}
