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
import io.shardtide.workload.Names;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The fields of a JSON object; a null counts as absent. Errors are {@link
 * IllegalArgumentException}s that name the field, what is expected and the value.
 */
final class JsonFields {
  /** NaN is read, although it is no JSON, since Python writes it; no field accepts it. */
  private static final ObjectMapper JSON =
      new ObjectMapper(
          JsonFactory.builder()
              .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .build());

  private static final int MAX_SHOWN = 60;

  private final JsonNode node;

  private JsonFields(JsonNode node) {
    this.node = node;
  }

  /** Parses a line that holds one object. */
  static JsonFields parse(String line) {
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
    if (node == null || !node.isObject()) {
      throw new IllegalArgumentException("a line must be one JSON object, got " + shown(node));
    }
    return new JsonFields(node);
  }

  /** Checks that there is no other field than the components of a record. */
  void checkNames(Class<? extends Record> type) {
    checkNames(Arrays.stream(type.getRecordComponents()).map(RecordComponent::getName).toList());
  }

  /** Checks that there is no other field than these. */
  void checkNames(List<String> known) {
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      if (!known.contains(field.getKey())) {
        throw new IllegalArgumentException(
            "unknown field %s: %s; expected %s"
                .formatted(
                    shown(TextNode.valueOf(field.getKey())),
                    shown(field.getValue()),
                    String.join(", ", known)));
      }
    }
  }

  /** Returns these fields, of which some get other names; an error if one has both. */
  JsonFields renamed(Map<String, String> names) {
    ObjectNode renamed = JSON.createObjectNode();
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      String name = names.getOrDefault(field.getKey(), field.getKey());
      if (renamed.replace(name, field.getValue()) != null) {
        throw new IllegalArgumentException(
            "%s must be given once, got it as %s too".formatted(name, field.getKey()));
      }
    }
    return new JsonFields(renamed);
  }

  boolean has(String field) {
    return node.hasNonNull(field);
  }

  double number(String field) {
    JsonNode value = node.get(field);
    if (value == null || !value.isNumber()) {
      throw invalid(field, "a number", value);
    }
    return value.doubleValue();
  }

  double number(String field, double absent) {
    return has(field) ? number(field) : absent;
  }

  OptionalDouble optionalNumber(String field) {
    return has(field) ? OptionalDouble.of(number(field)) : OptionalDouble.empty();
  }

  double positive(String field) {
    double number = number(field);
    if (!(number > 0 && Double.isFinite(number))) {
      throw invalid(field, "above 0", node.get(field));
    }
    return number;
  }

  /** Returns a number without a fraction; 8.0 is one too. */
  long wholeNumber(String field, long min, long max) {
    JsonNode value = node.get(field);
    double number = value == null ? Double.NaN : value.doubleValue();
    if (value == null
        || !value.isNumber()
        || number != Math.rint(number)
        || number < min
        || number > max) {
      throw invalid(field, "a whole number between %s and %s".formatted(min, max), value);
    }
    return (long) number;
  }

  int wholeNumber(String field, int min) {
    return (int) wholeNumber(field, min, Integer.MAX_VALUE);
  }

  long wholeNumber(String field, long min, long max, long absent) {
    return has(field) ? wholeNumber(field, min, max) : absent;
  }

  boolean flag(String field, boolean absent) {
    JsonNode value = node.get(field);
    if (!has(field)) {
      return absent;
    }
    if (!value.isBoolean()) {
      throw invalid(field, "true or false", value);
    }
    return value.booleanValue();
  }

  String text(String field) {
    JsonNode value = node.get(field);
    if (value == null || !value.isTextual()) {
      throw invalid(field, "a string", value);
    }
    return value.textValue();
  }

  Optional<String> optionalText(String field) {
    return has(field) ? Optional.of(text(field)) : Optional.empty();
  }

  /** Returns the value of a name. */
  <T> T choice(String field, T[] values, Function<T, String> name) {
    for (T value : values) {
      if (has(field) && name.apply(value).equals(node.get(field).textValue())) {
        return value;
      }
    }
    String names = Arrays.stream(values).map(name).collect(Collectors.joining(", "));
    throw invalid(field, "one of " + names, node.get(field));
  }

  double[] numbers(String field) {
    JsonNode list = list(field, "a list of numbers");
    double[] numbers = new double[list.size()];
    for (int i = 0; i < numbers.length; i++) {
      if (!list.get(i).isNumber()) {
        throw invalid(element(field, i), "a number", list.get(i));
      }
      numbers[i] = list.get(i).doubleValue();
    }
    return numbers;
  }

  /** Returns a list of whole numbers. */
  List<Integer> wholeNumbers(String field) {
    JsonNode list = list(field, "a list of whole numbers");
    List<Integer> numbers = new ArrayList<>(list.size());
    for (int i = 0; i < list.size(); i++) {
      if (!list.get(i).canConvertToInt() || !list.get(i).isIntegralNumber()) {
        throw invalid(element(field, i), "a whole number", list.get(i));
      }
      numbers.add(list.get(i).intValue());
    }
    return numbers;
  }

  /** Returns a list of numbers; an empty one if the field is absent. */
  List<Double> optionalNumbers(String field) {
    return has(field) ? Arrays.stream(numbers(field)).boxed().toList() : List.of();
  }

  /** Returns a list of strings; an empty one if the field is absent. */
  List<String> optionalTexts(String field) {
    if (!has(field)) {
      return List.of();
    }
    JsonNode list = list(field, "a list of strings");
    List<String> texts = new ArrayList<>(list.size());
    for (int i = 0; i < list.size(); i++) {
      if (!list.get(i).isTextual()) {
        throw invalid(element(field, i), "a string", list.get(i));
      }
      texts.add(list.get(i).textValue());
    }
    return texts;
  }

  /** Returns what a parser makes of an object; its errors name the field. */
  <T> T object(String field, Function<JsonFields, T> parser) {
    return parsed(field, node.get(field), parser);
  }

  <T> Optional<T> optionalObject(String field, Function<JsonFields, T> parser) {
    return has(field) ? Optional.of(object(field, parser)) : Optional.empty();
  }

  /** Returns what a parser makes of each object in a list; an empty list if the field is absent. */
  <T> List<T> optionalObjects(String field, Function<JsonFields, T> parser) {
    return has(field) ? objects(field, parser) : List.of();
  }

  /** Returns what a parser makes of each object in a list; its errors name the object. */
  <T> List<T> objects(String field, Function<JsonFields, T> parser) {
    JsonNode list = list(field, "a list of objects");
    List<T> parsed = new ArrayList<>(list.size());
    for (int i = 0; i < list.size(); i++) {
      parsed.add(parsed(element(field, i), list.get(i), parser));
    }
    return parsed;
  }

  private static <T> T parsed(String field, JsonNode value, Function<JsonFields, T> parser) {
    if (value == null || !value.isObject()) {
      throw invalid(field, "an object", value);
    }
    try {
      return parser.apply(new JsonFields(value));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(field + ": " + e.getMessage(), e);
    }
  }

  private JsonNode list(String field, String expected) {
    JsonNode list = node.get(field);
    if (list == null || !list.isArray()) {
      throw invalid(field, expected, list);
    }
    return list;
  }

  private static String element(String field, int index) {
    return "%s[%s]".formatted(field, index);
  }

  private static IllegalArgumentException invalid(String field, String expected, JsonNode value) {
    return new IllegalArgumentException(
        "%s must be %s, got %s".formatted(field, expected, shown(value)));
  }

  private static String shown(JsonNode value) {
    if (value == null) {
      return "nothing";
    }
    String text = value.isNumber() ? value.asText() : value.toString();
    return Names.cut(text, MAX_SHOWN);
  }
}
