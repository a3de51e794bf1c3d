package io.shardtide.config;

import io.shardtide.workload.NumberRange;
import java.util.Optional;
import java.util.function.Function;

/**
 * A setting of the service.
 *
 * @param key its key in a settings file
 * @param values the values that it may have, with the unit, as it completes "must be ..."
 * @param fallback its value where a file has none; empty if a file must have one
 * @param example a value for the example file; the fallback where there is one
 * @param meaning what it does, in a sentence
 * @param parser parses a value; throws {@link IllegalArgumentException} if it is invalid
 * @param <T> type of the value
 */
public record Setting<T>(
    String key,
    String values,
    Optional<String> fallback,
    String example,
    String meaning,
    Function<String, T> parser) {

  /** Returns a setting that every file must have. */
  static <T> Setting<T> required(
      String key, String values, String example, String meaning, Function<String, T> parser) {
    return new Setting<>(key, values, Optional.empty(), example, meaning, parser);
  }

  /** Returns a setting that a file may have. */
  static <T> Setting<T> optional(
      String key, String values, String fallback, String meaning, Function<String, T> parser) {
    return new Setting<>(key, values, Optional.of(fallback), fallback, meaning, parser);
  }

  /**
   * Returns a setting that is a number.
   *
   * @param range its range, from the record that it becomes part of
   * @param unit follows the range in the documentation
   */
  static Setting<Double> real(
      String key, NumberRange range, String unit, double fallback, String meaning) {
    return optional(
        key, range + unit, Double.toString(fallback), meaning, text -> Values.real(text, range));
  }

  /** Returns a setting that is a whole number; see {@link #real}. */
  static Setting<Long> whole(
      String key, NumberRange range, String unit, long fallback, String meaning) {
    return optional(
        key, range + unit, Long.toString(fallback), meaning, text -> Values.whole(text, range));
  }

  /** Returns the value that a text stands for. */
  T parse(String text) {
    return parser.apply(text);
  }
}
