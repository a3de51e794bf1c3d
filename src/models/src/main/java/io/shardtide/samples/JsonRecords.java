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
import io.shardtide.workload.DistinctShare;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Named;
import io.shardtide.workload.Names;
import io.shardtide.workload.Reflected;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.RowSpread;
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
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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

  private static final Logger log = LoggerFactory.getLogger(JsonRecords.class);
  private static final int MAX_SHOWN = 60;
  private static final Pattern EARLIER = Pattern.compile("_([a-z])");

  /** Fields of whose earlier names a user was warned. */
  private static final Set<String> RENAMED = ConcurrentHashMap.newKeySet();

  /** Records that have no other fields than their components: those that may be absent. */
  private static final Map<Class<?>, Map<String, Object>> STRICT = new HashMap<>();

  static {
    strict(TableConstraints.NONE, "");
    strict(TableKernel.NONE, "");
    strict(HashedStorage.PLAIN, "");
    strict(new TableFeature("-", 0), "name poolingFactor");
    strict(new DistinctShare(1, 1), "samples share");
    strict(new RowSpread(RowOrder.CONTIGUOUS, List.of(1.0)), "order shares");
    strict(new CommCodec("-", 1), "name bytesPerElement");
    strict(new DeviceMemory(0, 1), "device bytes");
    strict(
        new TableSpec("-", 1, TableSpec.COLUMN_UNIT, 0, ReuseHistogram.UNKNOWN, 4),
        "name rows columns poolingFactor");
    strict(new ClusterSpec(1, 1, 1, 1, "-"), "devices memoryBytesPerDevice batchSize hardware");
    strict(new WorkloadSpec("-", Optional.empty(), List.of()), "task");
    strict(PublishedFigure.DEFAULTS, "what quantity card scope source");
    strict(new PoolNode("-", ""), "name");
    strict(new PoolSpec.Links(0, 0, List.of(), List.of(), List.of()), "");
    strict(new PoolSpec.RackLink("-", "-", 1), "rack otherRack gigabytesPerSecond");
    strict(
        new PoolSpec(1, 1, 0, "-", List.of(), Optional.empty()),
        "devicesPerNode memoryBytesPerDevice hardware");
  }

  private static final Map<Class<?>, Kind> KINDS =
      Map.of(
          String.class, new Kind("a string", JsonNode::isTextual, JsonNode::textValue),
          Boolean.class, new Kind("true or false", JsonNode::isBoolean, JsonNode::booleanValue),
          Double.class, new Kind("a number", JsonRecords::isReal, JsonNode::doubleValue),
          OptionalDouble.class,
              new Kind("a number", JsonRecords::isReal, v -> OptionalDouble.of(v.doubleValue())),
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

  private static void strict(Record defaults, String required) {
    List<String> names = List.of(required.split(" ", -1));
    STRICT.put(
        defaults.getClass(),
        Arrays.stream(defaults.getClass().getRecordComponents())
            .filter(of -> !names.contains(of.getName()))
            .collect(
                Collectors.toMap(RecordComponent::getName, of -> Reflected.value(of, defaults))));
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
      for (Map.Entry<String, JsonNode> field : json.properties()) {
        if (!names.contains(field.getKey())) {
          throw unknown(field.getKey(), field.getValue(), names);
        }
      }
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
    List.copyOf(json.properties()).forEach(field -> rename(json, field.getKey(), names));
    if (type == ClusterSpec.class && !json.hasNonNull("devicesPerNode")) {
      json.set("devicesPerNode", json.get("devices"));
    } else if (type == TableSpec.class
        && !json.hasNonNull("poolingFactor")
        && !json.path("features").isEmpty()) {
      json.put("poolingFactor", TableFeature.lookups(read(Features.class, json).features));
    }
  }

  private record Features(List<TableFeature> features) {}

  /** Gives a field the name of events, if it has that of files before version 0.3. */
  private static void rename(ObjectNode json, String earlier, List<String> names) {
    String name = EARLIER.matcher(earlier).replaceAll(of -> of.group(1).toUpperCase(Locale.ROOT));
    if (!name.equals(earlier) && names.contains(name)) {
      check(!json.has(name), name, "given under one name", TextNode.valueOf(earlier));
      json.set(name, json.remove(earlier));
      if (RENAMED.add(name)) {
        log.warn("The field {} is now {}; the next release does not read it", earlier, name);
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

  private static boolean isReal(JsonNode value) {
    return value.isNumber() && Double.isFinite(value.doubleValue());
  }

  private static boolean isWhole(JsonNode value, int bits) {
    double number = value.doubleValue();
    return value.isNumber()
        && number == Math.rint(number)
        && Math.abs(number) < Math.scalb(1.0, bits);
  }

  private static String expected(Type type) {
    if (type instanceof ParameterizedType) {
      return "a list";
    }
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
