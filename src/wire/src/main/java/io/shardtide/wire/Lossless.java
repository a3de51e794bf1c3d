package io.shardtide.wire;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;

/**
 * Tells whether a value that is written in an earlier schema is read again as it was: each field
 * that the earlier one lacks has its default, and each type and name in use is known to it.
 */
@ForUpgradeFrom("0.2.0")
final class Lossless {
  private final GenericData data;

  /** Checks of records by name, which may contain themselves. */
  private final Map<String, Predicate<Object>> records = new HashMap<>();

  private Lossless(GenericData data) {
    this.data = data;
  }

  /**
   * Returns whether values lose nothing.
   *
   * @param data makes defaults as the values' classes have them
   * @param now the schema of the values
   * @param earlier the schema in which they are to be written, whose fields come first in {@code
   *     now}
   */
  static Predicate<Object> in(GenericData data, Schema now, Schema earlier) {
    return new Lossless(data).check(now, earlier);
  }

  private Predicate<Object> check(Schema now, Schema earlier) {
    if (now.equals(earlier)) {
      return value -> true;
    }
    if (now.getType() == Schema.Type.UNION) {
      return union(now, earlier);
    }
    if (now.getType() != earlier.getType()) {
      return value -> false;
    }
    return switch (now.getType()) {
      case RECORD -> {
        String name = now.getFullName();
        if (records.putIfAbsent(name, value -> records.get(name).test(value)) == null) {
          records.put(name, record(now, earlier));
        }
        yield records.get(name);
      }
      case ARRAY -> {
        Predicate<Object> element = check(now.getElementType(), earlier.getElementType());
        yield value -> ((Collection<?>) value).stream().allMatch(element);
      }
      case ENUM -> value -> earlier.hasEnumSymbol(value.toString());
      default -> value -> true;
    };
  }

  private Predicate<Object> record(Schema now, Schema earlier) {
    List<Predicate<Object>> fields = new ArrayList<>();
    for (Schema.Field field : now.getFields()) {
      Schema.Field before = earlier.getField(field.name());
      if (before == null) {
        Object byDefault = data.getDefaultValue(field);
        fields.add(value -> Objects.equals(value, byDefault));
      } else {
        fields.add(check(field.schema(), before.schema()));
      }
    }
    return value ->
        IntStream.range(0, fields.size())
            .allMatch(i -> fields.get(i).test(((IndexedRecord) value).get(i)));
  }

  private Predicate<Object> union(Schema now, Schema earlier) {
    Map<String, Schema> known = new HashMap<>();
    (earlier.isUnion() ? earlier.getTypes() : List.of(earlier))
        .forEach(type -> known.put(type.getFullName(), type));
    List<Predicate<Object>> types =
        now.getTypes().stream()
            .map(
                type ->
                    known.containsKey(type.getFullName())
                        ? check(type, known.get(type.getFullName()))
                        : (Predicate<Object>) value -> false)
            .toList();
    return value -> types.get(data.resolveUnion(now, value)).test(value);
  }
}
