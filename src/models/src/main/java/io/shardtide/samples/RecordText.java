package io.shardtide.samples;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.shardtide.workload.Named;
import io.shardtide.workload.Names;
import io.shardtide.workload.Reflected;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The text of records: JSON objects that have the components as fields, and values by path. What is
 * wrong is an {@link IllegalArgumentException} with the field, what is expected and the value.
 */
public final class RecordText {
  private static final ObjectMapper JSON = JsonRecords.JSON;
  private static final Pattern PATH =
      Pattern.compile("(?<name>\\w+)(?:\\[(?<key>[^\\]]+)\\])?(?:\\.(?<rest>.+))?");
  private static final String NONE = "none";

  private RecordText() {}

  /** Returns a record as an object that is read as it. */
  public static ObjectNode write(Record record) {
    ObjectNode json = JSON.createObjectNode();
    for (RecordComponent of : record.getClass().getRecordComponents()) {
      JsonNode value = node(Reflected.value(of, record));
      if (!value.isNull() && !(value.isArray() && value.isEmpty())) {
        json.set(of.getName(), value);
      }
    }
    return json;
  }

  private static JsonNode node(Object value) {
    if (value instanceof Optional<?> of) {
      return of.map(RecordText::node).orElseGet(NullNode::getInstance);
    }
    if (value instanceof OptionalDouble of) {
      return of.isPresent() ? node(of.getAsDouble()) : NullNode.getInstance();
    }
    if (value instanceof Collection<?> all) {
      ArrayNode list = JSON.createArrayNode();
      all.forEach(one -> list.add(node(one)));
      return list;
    }
    if (value instanceof Record record) {
      RecordComponent[] components = record.getClass().getRecordComponents();
      return components.length == 1 && components[0].getType() == List.class
          ? node(Reflected.value(components[0], record))
          : write(record);
    }
    return value instanceof Named named ? TextNode.valueOf(named.label()) : JSON.valueToTree(value);
  }

  /** Returns an object as a record; see the class. */
  public static <T extends Record> T read(Class<T> type, ObjectNode json) {
    return JsonRecords.read(type, json);
  }

  /** Returns the object of a line. */
  public static ObjectNode parse(String line) {
    return JsonRecords.parse(line);
  }

  /**
   * Returns a record with other values.
   *
   * @param values texts by path, see {@link #set}
   */
  public static <T extends Record> T with(T record, Map<String, String> values) {
    @SuppressWarnings("unchecked")
    Class<T> type = (Class<T>) record.getClass();
    ObjectNode json = write(record);
    values.forEach((path, text) -> set(type, json, path, text));
    return read(type, json);
  }

  /**
   * Sets a field of an object that is then read as a record.
   *
   * @param path names of fields, joined by dots. Of a list of records with names, {@code
   *     tables[user]} is the one of a name, which is added if there is none. A field within a field
   *     may stand alone: {@code leastColumns} for {@code constraints.leastColumns}. {@code
   *     memoryGib} is {@code memoryBytesPerDevice} in units of 2^30 bytes, and so on
   * @param text the value: a number, a word, true or false; several are joined by +; "none" is
   *     none; or JSON
   */
  public static void set(Class<? extends Record> type, ObjectNode json, String path, String text) {
    Matcher parts = PATH.matcher(path);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "a path must be names joined by dots, such as cluster.devices or tables[user].rows, got "
              + Names.quote(path));
    }
    String name = parts.group("name");
    Optional<RecordComponent> component = find(type, name);
    Optional<RecordComponent> inBytes = find(type, name.replaceFirst("Gib$", "BytesPerDevice"));
    if (component.isEmpty() && inBytes.isPresent()) {
      double gib = value(text).asDouble(Double.NaN);
      JsonRecords.check(Double.isFinite(gib), name, "a number", TextNode.valueOf(text));
      json.put(inBytes.get().getName(), Math.round(gib * (1L << 30)));
      return;
    }
    if (component.isEmpty()) {
      RecordComponent outer =
          Stream.of(type.getRecordComponents())
              .filter(of -> find(inner(of, Optional.class), name).isPresent())
              .findFirst()
              .orElseThrow(() -> JsonRecords.unknown(name, value(text), JsonRecords.names(type)));
      set(inner(outer, Optional.class), json.withObjectProperty(outer.getName()), path, text);
      return;
    }
    String rest = parts.group("rest");
    String key = parts.group("key");
    if (rest == null && key == null) {
      json.set(name, node(component.get().getGenericType(), text));
      return;
    }
    Class<? extends Record> inner =
        inner(component.get(), key == null ? Optional.class : List.class);
    if (inner == NoRecord.class || rest == null) {
      throw new IllegalArgumentException(
          "%s is no path to a field of %s".formatted(Names.quote(path), name));
    }
    ObjectNode target =
        key == null ? json.withObjectProperty(name) : named(json.withArrayProperty(name), key);
    set(inner, target, rest, text);
  }

  private record NoRecord() {}

  private static Optional<RecordComponent> find(Class<?> type, String name) {
    return Stream.of(type.getRecordComponents())
        .filter(of -> of.getName().equals(name))
        .findFirst();
  }

  /**
   * Returns the record that a component is, or that its wrapper has: an optional one, or a list.
   */
  private static Class<? extends Record> inner(RecordComponent component, Class<?> wrapper) {
    Type type =
        component.getType() == wrapper
            ? argument(component.getGenericType())
            : wrapper == List.class ? NoRecord.class : component.getType();
    return type instanceof Class<?> of && of.isRecord()
        ? of.asSubclass(Record.class)
        : NoRecord.class;
  }

  private static Type argument(Type type) {
    return ((ParameterizedType) type).getActualTypeArguments()[0];
  }

  private static ObjectNode named(ArrayNode list, String name) {
    for (JsonNode one : list) {
      if (one instanceof ObjectNode entry && entry.path("name").asText().equals(name)) {
        return entry;
      }
    }
    return list.addObject().put("name", name);
  }

  private static JsonNode node(Type type, String text) {
    if (type instanceof ParameterizedType of && of.getRawType() == Optional.class) {
      return text.equals(NONE) ? NullNode.getInstance() : node(argument(of), text);
    }
    if (type instanceof ParameterizedType of) {
      if (text.startsWith("[")) {
        return value(text);
      }
      ArrayNode list = JSON.createArrayNode();
      if (!text.equals(NONE)) {
        Arrays.stream(text.split("\\+", -1)).forEach(one -> list.add(node(argument(of), one)));
      }
      return list;
    }
    Class<?> raw = (Class<?>) type;
    if (raw.isEnum()) {
      return TextNode.valueOf(
          Stream.of(raw.getEnumConstants())
              .map(constant -> ((Named) constant).label())
              .filter(text::equalsIgnoreCase)
              .findFirst()
              .orElse(text));
    }
    return raw == String.class ? TextNode.valueOf(text) : value(text);
  }

  /** Returns JSON, or else the text itself, which then is of the wrong type. */
  private static JsonNode value(String text) {
    try {
      JsonNode value = JSON.readTree(text);
      return value == null || value.isMissingNode() ? TextNode.valueOf(text) : value;
    } catch (JsonProcessingException e) {
      return TextNode.valueOf(text);
    }
  }
}
