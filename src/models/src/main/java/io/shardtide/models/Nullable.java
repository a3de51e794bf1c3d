package io.shardtide.models;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What a record may lack: null in Avro, an optional in values. Mappings find these by their types.
 */
public final class Nullable {
  private Nullable() {}

  /** Returns the value, or null. */
  public static <T> T of(Optional<T> value) {
    return value.orElse(null);
  }

  /** Returns the number, or null. */
  public static Integer of(OptionalInt value) {
    return value.isPresent() ? value.getAsInt() : null;
  }

  /** Returns the number, or null. */
  public static Long of(OptionalLong value) {
    return value.isPresent() ? value.getAsLong() : null;
  }

  /** Returns the number, or null. */
  public static Double of(OptionalDouble value) {
    return value.isPresent() ? value.getAsDouble() : null;
  }

  /** Returns the value, or empty for null. */
  public static <T> Optional<T> optional(T value) {
    return Optional.ofNullable(value);
  }

  /** Returns the number, or empty for null. */
  public static OptionalInt optional(Integer value) {
    return value == null ? OptionalInt.empty() : OptionalInt.of(value);
  }

  /** Returns the number, or empty for null. */
  public static OptionalLong optional(Long value) {
    return value == null ? OptionalLong.empty() : OptionalLong.of(value);
  }

  /** Returns the number, or empty for null. */
  public static OptionalDouble optional(Double value) {
    return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
  }
}
