package io.shardtide.samples;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.shardtide.pool.PoolNode;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Named;
import io.shardtide.workload.Names;
import io.shardtide.workload.Reflected;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.Spelling;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Records from JSON objects that have the components as fields; a null counts as absent. Errors are
 * {@link IllegalArgumentException}s that name the field, what is expected and the value; ranges are
 * those of the records' constructors.
 */
final class JsonRecords {
  /** NaN is read, although it is no JSON, since Python writes it; no field accepts it. */
  static final ObjectMapper JSON =
      new ObjectMapper(
          JsonFactory.builder()
              .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .build());

  private static final int MAX_SHOWN = 60;

  /** Records that have no other fields than their components: those that may be absent. */
  private static final Map<Class<?>, Map<String, Object>> STRICT = new HashMap<>();

  static {
    STRICT.put(PoolNode.class, Map.of("rack", ""));
    STRICT.put(PoolSpec.class, Map.of("hostMemoryBytesPerDevice", 0L, "nodes", List.of()));
    STRICT.put(WorkloadSpec.class, Map.of("tables", List.of()));
    STRICT.putAll(
        Map.of(
            WorkloadTask.Line.class, Map.of(),
            DeviceMemory.class, Map.of(),
            TableConstraints.class, defaults(TableConstraints.NONE),
            TableKernel.class, defaults(TableKernel.NONE),
            HashedStorage.class, defaults(HashedStorage.PLAIN),
            TableFeature.class, defaults(new TableFeature("-", 0), "name", "poolingFactor"),
            CommCodec.class, defaults(new CommCodec("-", 1), "name", "bytesPerElement"),
            TableSpec.class,
                defaults(
                    new TableSpec("-", 1, TableSpec.COLUMN_UNIT, 0, ReuseHistogram.UNKNOWN, 4),
                    "name",
                    "rows",
                    "columns",
                    "poolingFactor"),
            ClusterSpec.class,
                defaults(
                    new ClusterSpec(1, 1, 1, 1, "-"),
                    "devices",
                    "memoryBytesPerDevice",
                    "batchSize",
                    "hardware")));
  }

  private static final Map<Class<?>, Kind> KINDS =
      Map.of(
          String.class, new Kind("a string", JsonNode::isTextual, JsonNode::textValue),
          Boolean.class, new Kind("true or false", JsonNode::isBoolean, JsonNode::booleanValue),
          Double.class, new Kind("a number", JsonNode::isNumber, JsonNode::doubleValue),
          OptionalDouble.class,
              new Kind("a number", JsonNode::isNumber, v -> OptionalDouble.of(v.doubleValue())),
          Integer.class,
              new Kind(
                  "a whole number below 2^31", v -> isWhole(v, 31), v -> (int) v.doubleValue()),
          Long.class,
              new Kind(
                  "a whole number below 2^63", v -> isWhole(v, 63), v -> (long) v.doubleValue()));

  /** Kept, since reflection takes long. */
  private static final Map<Class<?>, Shape> SHAPES = new ConcurrentHashMap<>();

  private JsonRecords() {}

  /** How a simple value is read. */
  private record Kind(
      String expected, Predicate<JsonNode> matches, Function<JsonNode, Object> value) {}

  private record Shape(List<RecordComponent> components, Constructor<?> constructor) {
    static Shape of(Class<?> type) {
      List<RecordComponent> components = List.of(type.getRecordComponents());
      Class<?>[] types = components.stream().map(RecordComponent::getType).toArray(Class<?>[]::new);
      Constructor<?> constructor = Reflected.call(() -> type.getDeclaredConstructor(types));
      constructor.setAccessible(true);
      return new Shape(components, constructor);
    }
  }

  private static Map<String, Object> defaults(Record values, String... required) {
    return Arrays.stream(values.getClass().getRecordComponents())
        .filter(of -> !List.of(required).contains(of.getName()))
        .collect(Collectors.toMap(RecordComponent::getName, of -> Reflected.value(of, values)));
  }

  /** Parses a line that holds one object. */
  static ObjectNode parse(String line) {
    JsonNode node;
    try (JsonParser parser = JSON.createParser(line)) {
      node = JSON.readTree(parser);
      if (node != null && parser.nextToken() != null) {
        throw new IllegalArgumentException(
            "a line must be one JSON object, got more from column "
                + parser.currentTokenLocation().getColumnNr());
      }
    } catch (JsonEOFException e) {
      throw new IllegalArgumentException("invalid JSON: the line ends within a value", e);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("invalid JSON: " + e.getOriginalMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (node instanceof ObjectNode object) {
      return object;
    }
    throw new IllegalArgumentException("a line must be one JSON object, got " + shown(node));
  }

  /** Returns an object as a record. */
  static <T extends Record> T read(Class<T> type, ObjectNode json) {
    Shape shape = SHAPES.computeIfAbsent(type, Shape::of);
    Map<String, Object> defaults = STRICT.getOrDefault(type, Map.of());
    if (STRICT.containsKey(type)) {
      List<String> names = names(type);
      prepare(type, json, names);
      checkNames(json, names);
    }
    Object[] values = new Object[shape.components.size()];
    for (int i = 0; i < values.length; i++) {
      String name = shape.components.get(i).getName();
      values[i] =
          !json.hasNonNull(name) && defaults.containsKey(name)
              ? defaults.get(name)
              : value(name, shape.components.get(i).getGenericType(), json.path(name));
    }
    return type.cast(Reflected.call(() -> shape.constructor.newInstance(values)));
  }

  /** Completes an object by what its other fields say. */
  private static void prepare(Class<?> type, ObjectNode json, List<String> names) {
    if (type == TableConstraints.class) {
      names.forEach(name -> rename(json, earlier(name), name));
    } else if (type == ClusterSpec.class && !json.hasNonNull("devicesPerNode")) {
      json.set("devicesPerNode", json.get("devices"));
    } else if (type == TableSpec.class
        && !json.hasNonNull("poolingFactor")
        && !json.path("features").isEmpty()) {
      List<TableFeature> features = read(Features.class, json).features;
      json.put("poolingFactor", TableFeature.lookups(features));
    }
  }

  private record Features(List<TableFeature> features) {}

  /** Returns the name that a constraint had in files before it had that of events. */
  private static String earlier(String name) {
    return name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  private static void rename(ObjectNode json, String earlier, String name) {
    JsonNode value = json.remove(earlier);
    if (value != null && json.replace(name, value) != null) {
      throw new IllegalArgumentException(
          "%s must be given once, got it as %s too".formatted(name, earlier));
    }
  }

  private static void checkNames(ObjectNode json, List<String> known) {
    for (Map.Entry<String, JsonNode> field : json.properties()) {
      if (!known.contains(field.getKey())) {
        throw unknown(field.getKey(), field.getValue(), known);
      }
    }
  }

  static IllegalArgumentException unknown(String field, JsonNode value, List<String> known) {
    return new IllegalArgumentException(
        "unknown field %s: %s%s; expected %s"
            .formatted(
                shown(TextNode.valueOf(field)),
                shown(value),
                Spelling.nearest(field, known).map(name -> ". Maybe " + name).orElse(""),
                String.join(", ", known)));
  }

  /** Returns the names of a record's fields. */
  static List<String> names(Class<?> type) {
    return Arrays.stream(type.getRecordComponents()).map(RecordComponent::getName).toList();
  }

  private static Object value(String field, Type type, JsonNode json) {
    if (type instanceof ParameterizedType of) {
      Type element = of.getActualTypeArguments()[0];
      if (of.getRawType() == Optional.class) {
        boolean isAbsent = json.isMissingNode() || json.isNull();
        return isAbsent ? Optional.empty() : Optional.of(value(field, element, json));
      }
      check(json.isArray(), field, "a list, each " + expected(element), json);
      List<Object> values = new ArrayList<>(json.size());
      for (JsonNode one : json) {
        values.add(value(field + "[" + values.size() + "]", element, one));
      }
      return of.getRawType() == Set.class ? new LinkedHashSet<>(values) : values;
    }
    Class<?> raw = boxed(type);
    if (raw.isRecord()) {
      return record(field, raw.asSubclass(Record.class), json);
    }
    if (raw.isEnum()) {
      Optional<?> named =
          labelled(raw).filter(of -> of.label().equals(json.textValue())).findFirst();
      check(named.isPresent(), field, expected(type), json);
      return named.orElseThrow();
    }
    Kind kind = KINDS.get(raw);
    check(kind.matches.test(json), field, kind.expected, json);
    return kind.value.apply(json);
  }

  /** A record that is a list alone is written as the list. */
  private static Object record(String field, Class<? extends Record> type, JsonNode json) {
    Shape shape = SHAPES.computeIfAbsent(type, Shape::of);
    if (shape.components.size() == 1 && shape.components.get(0).getType() == List.class) {
      Object list = value(field, shape.components.get(0).getGenericType(), json);
      return Reflected.call(() -> shape.constructor.newInstance(list));
    }
    check(json.isObject(), field, "an object", json);
    try {
      return read(type, (ObjectNode) json);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(field + ": " + e.getMessage(), e);
    }
  }

  private static boolean isWhole(JsonNode value, int bits) {
    double number = value.doubleValue();
    return value.isNumber()
        && number == Math.rint(number)
        && Math.abs(number) < Math.scalb(1.0, bits);
  }

  private static String expected(Type type) {
    Class<?> raw = boxed(type);
    if (raw.isEnum()) {
      return "one of " + labelled(raw).map(Named::label).collect(Collectors.joining(", "));
    }
    return raw.isRecord() ? "an object" : KINDS.get(raw).expected;
  }

  private static Class<?> boxed(Type type) {
    return MethodType.methodType((Class<?>) type).wrap().returnType();
  }

  private static Stream<Named> labelled(Class<?> type) {
    return Arrays.stream(type.getEnumConstants()).map(Named.class::cast);
  }

  static void check(boolean isMet, String field, String expected, JsonNode value) {
    if (!isMet) {
      throw new IllegalArgumentException(
          "%s must be %s, got %s".formatted(field, expected, shown(value)));
    }
  }

  private static String shown(JsonNode value) {
    if (value == null || value.isMissingNode()) {
      return "nothing";
    }
    String text = value.isNumber() ? value.asText() : value.toString();
    return Names.cut(text, MAX_SHOWN);
  }
}
