package io.shardtide.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * One setting of the service.
 *
 * @param key its name in a settings file
 * @param legal what it may be, with the unit, as it completes "legal is ..."
 * @param fallback its value where a file has none; empty if a file must have one
 * @param example a value for an example, where there is no fallback
 * @param meaning what it does, in a sentence
 * @param parser reads the value; throws {@link IllegalArgumentException} at one that is not legal
 * @param <T> what the value is
 */
public record Setting<T>(
    String key,
    String legal,
    Optional<String> fallback,
    String example,
    String meaning,
    Function<String, T> parser) {

  /** A setting that every file has. */
  static <T> Setting<T> required(
      String key, String legal, String example, String meaning, Function<String, T> parser) {
    return new Setting<>(key, legal, Optional.empty(), example, meaning, parser);
  }

  /** A setting that a file may have. */
  static <T> Setting<T> optional(
      String key, String legal, String fallback, String meaning, Function<String, T> parser) {
    return new Setting<>(key, legal, Optional.of(fallback), fallback, meaning, parser);
  }

  /** Returns the value that a text stands for. */
  T parse(String text) {
    return parser.apply(text);
  }
}
