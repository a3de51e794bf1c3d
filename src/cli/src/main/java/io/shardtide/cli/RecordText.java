package io.shardtide.cli;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.exc.InvalidFormatException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import io.shardtide.workload.Names;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Converts values from command-line text into a record, whose constructor checks them. */
final class RecordText {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new Jdk8Module())
          .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_ENUMS)
          .withCoercionConfigDefaults(
              config -> config.setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail))
          .visibility(PropertyAccessor.ALL, Visibility.NONE)
          .visibility(PropertyAccessor.FIELD, Visibility.ANY)
          .visibility(PropertyAccessor.CREATOR, Visibility.ANY)
          .build();

  private RecordText() {}

  /** Returns the names of a record's components, which are the keys of its values. */
  static Set<String> keys(Class<? extends Record> type) {
    return Arrays.stream(type.getRecordComponents())
        .map(RecordComponent::getName)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  /**
   * Returns a record with the given values in place of its own.
   *
   * @param values texts by key; entries of a list are joined by +
   * @throws IllegalArgumentException if a value is none of its component's type, or the record
   *     refuses it; the message names it
   */
  static <R extends Record> R in(R record, Map<String, String> values) {
    ObjectNode tree = MAPPER.valueToTree(record);
    values.forEach(
        (key, value) -> {
          if (tree.path(key).isArray()) {
            ArrayNode entries = tree.putArray(key);
            Arrays.stream(value.split("\\+", -1)).forEach(entries::add);
          } else {
            tree.put(key, value);
          }
        });
    try {
      @SuppressWarnings("unchecked")
      R changed = (R) MAPPER.treeToValue(tree, record.getClass());
      return changed;
    } catch (InvalidFormatException e) {
      throw new IllegalArgumentException(
          "%s must be %s, got %s"
              .formatted(key(e), expected(e.getTargetType()), Names.quote(e.getValue() + "")),
          e);
    } catch (JsonProcessingException e) {
      if (e.getCause() instanceof IllegalArgumentException refused) {
        throw refused;
      }
      throw new IllegalStateException(e);
    }
  }

  private static String key(JsonMappingException e) {
    String key = e.getPath().get(0).getFieldName();
    return e.getPath().size() == 1 ? key : "each of %s, joined by +,".formatted(key);
  }

  private static String expected(Class<?> type) {
    if (type.isEnum()) {
      return Arrays.stream(type.getEnumConstants())
          .map(constant -> constant.toString().toLowerCase(Locale.ROOT))
          .collect(Collectors.joining(", ", "one of ", ""));
    }
    if (type == boolean.class || type == Boolean.class) {
      return "true or false";
    }
    return type == double.class || type == Double.class ? "a number" : "a whole number";
  }
}
