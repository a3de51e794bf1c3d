package io.shardtide.wire;

import java.util.OptionalDouble;

/** Numbers that a record may lack. */
final class Nullable {
  private Nullable() {}

  static Double of(OptionalDouble value) {
    return value.isPresent() ? value.getAsDouble() : null;
  }

  static OptionalDouble optional(Double value) {
    return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
  }
}
