package io.shardtide.config;

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
 */
public record Setting(
    String key,
    String values,
    Optional<String> fallback,
    String example,
    String meaning,
    Function<String, Object> parser) {}
