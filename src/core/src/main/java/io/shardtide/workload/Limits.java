package io.shardtide.workload;

import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Checks of the properties of one thing: "WHAT of THING must be EXPECTED, got VALUE".
 *
 * @param failure makes what a failed check throws
 * @param thing such as "a pool"; empty if a message names none
 * @param name name of the thing; empty if it has none
 * @param unit such as " ms", after expected and actual values; may be empty
 */
public record Limits(
    Function<String, RuntimeException> failure, String thing, String name, String unit) {
  /** Checks of arguments, without a thing. */
  public static final Limits ARGUMENTS = of(IllegalArgumentException::new, "");

  /**
   * Returns the checks of a thing.
   *
   * @param thing such as "a pool"; empty if a message names none
   */
  public static Limits of(Function<String, RuntimeException> failure, String thing) {
    return new Limits(failure, thing, "", "");
  }

  /** Returns checks of a thing that throw {@link RejectedException}. */
  public static Limits of(RejectionReason reason, String thing) {
    return of(reason, thing, "");
  }

  /** Returns checks of a thing with a name that throw {@link RejectedException}. */
  public static Limits of(RejectionReason reason, String thing, String name) {
    return new Limits(reason::failure, thing, name, "");
  }

  /** Returns these checks with a unit, such as " ms", after expected and actual values. */
  public Limits in(String otherUnit) {
    return new Limits(failure, thing, name, otherUnit);
  }

  /** Checks what has no method of its own. */
  public Limits check(boolean isMet, String what, String expected, Object value) {
    if (!isMet) {
      throw failure(what, expected, value);
    }
    return this;
  }

  /** Checks that names differ. */
  public Limits different(String what, Stream<String> names) {
    Set<String> known = new HashSet<>();
    Optional<String> twice = names.filter(of -> !known.add(of)).findFirst();
    return check(twice.isEmpty(), what, "different", Names.quote(twice.orElse("")) + " twice");
  }

  /** Checks a whole number. */
  public Limits whole(String what, long value, long min, long max) {
    if (value < min || value > max) {
      throw failure(what, NumberRange.whole(min, max).expected(), value);
    }
    return this;
  }

  /** Checks a whole number that may be as large as it wants. */
  public Limits atLeast(String what, long value, long min) {
    if (value < min) {
      throw failure(what, "at least " + min, value);
    }
    return this;
  }

  /** Checks a number. */
  public Limits within(String what, double value, double min, double max) {
    return within(what, value, NumberRange.of(min, max));
  }

  /** Checks a number that must be above the least one. */
  public Limits above(String what, double value, double min, double max) {
    return within(what, value, NumberRange.above(min, max));
  }

  /** Checks a finite number that must be above another one. */
  public Limits above(String what, double value, double min) {
    return above(what, value, min, Double.MAX_VALUE);
  }

  private Limits within(String what, double value, NumberRange range) {
    if (!range.contains(value)) {
      throw failure(what, range.expected(), value);
    }
    return this;
  }

  /** Returns what a failed check throws. */
  public RuntimeException failure(String what, String expected, Object value) {
    String of = thing.isEmpty() ? "" : " of " + thing;
    String named = name.isEmpty() ? "" : " " + Names.quote(name);
    return failure.apply(
        "%s%s%s must be %s%s, got %s%s".formatted(what, of, named, expected, unit, value, unit));
  }
}
