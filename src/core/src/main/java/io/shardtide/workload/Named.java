package io.shardtide.workload;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A constant with a name for people, which files and records have too. */
public interface Named {
  /** Returns the constant's name in Java. */
  String name();

  /** Returns the name for people: as a rule, the constant's in lower case. */
  default String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the labels of all constants of a type, in order. */
  static <E extends Enum<E> & Named> List<String> labels(Class<E> type) {
    return Arrays.stream(type.getEnumConstants()).map(Named::label).toList();
  }

  /** Returns labels, separated by commas. */
  static String join(Collection<? extends Named> some) {
    return some.stream().map(Named::label).collect(Collectors.joining(", "));
  }

  /** Returns a label, or that none is named. */
  static String describe(Optional<? extends Named> named) {
    return named.map(Named::label).orElse("(none named)");
  }

  /** Returns the constant with a label. */
  static <E extends Enum<E> & Named> Optional<E> find(Class<E> type, String label) {
    return Arrays.stream(type.getEnumConstants()).filter(e -> e.label().equals(label)).findFirst();
  }

  /**
   * Returns the constant with a label.
   *
   * @param what what is named, for the message
   * @throws RejectedException with the reason and all labels, if no constant has it
   */
  static <E extends Enum<E> & Named> E parse(
      Class<E> type, String label, String what, RejectionReason reason) {
    return parse(type, label, what, reason::failure);
  }

  /** Returns the constant with a label, or fails with a message that has all labels. */
  static <E extends Enum<E> & Named> E parse(
      Class<E> type, String label, String what, Function<String, RuntimeException> failure) {
    return find(type, label).orElseThrow(() -> failure.apply(refused(type, label, what)));
  }

  private static <E extends Enum<E> & Named> String refused(
      Class<E> type, String label, String what) {
    List<String> labels = labels(type);
    String expected =
        labels.size() == 2 ? String.join(" or ", labels) : "one of " + String.join(", ", labels);
    return "%s must be %s, got %s".formatted(what, expected, Names.quote(label));
  }
}
