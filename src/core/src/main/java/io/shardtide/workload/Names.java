package io.shardtide.workload;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Checks names of workloads, tables and hardware. */
public final class Names {
  /** Characters of the longest name: it fits a label and a line of a report. */
  public static final int MAX_LENGTH = 255;

  private static final int MAX_SHOWN = 80;

  private Names() {}

  /** Returns how many characters a text has, as people and Python count: Unicode's code points. */
  public static int characters(String text) {
    return text.codePointCount(0, text.length());
  }

  /** Returns a text with at most so many characters, followed by dots if it has more. */
  public static String cut(String text, int most) {
    return characters(text) > most
        ? text.substring(0, text.offsetByCodePoints(0, most)) + "..."
        : text;
  }

  /**
   * Checks a name.
   *
   * @throws RejectedException with {@code reason} if it is empty, too long, contains a control
   *     character (store keys use them as separators) or is not well-formed Unicode
   */
  public static void check(@Nullable String name, String what, RejectionReason reason) {
    String flaw = name == null || name.isBlank() ? "is empty" : flaw(name, MAX_LENGTH).orElse(null);
    if (flaw != null) {
      throw reason.failure(
          "%s must have 1 to %s characters, none of them a control character, got %s: it %s"
              .formatted(what, MAX_LENGTH, quote(name), flaw));
    }
  }

  /** Returns what a text must not have, if it has that: too many characters, or some of them. */
  static Optional<String> flaw(String text, int most) {
    if (characters(text) > most) {
      return Optional.of("has " + characters(text) + " characters");
    }
    if (text.chars().anyMatch(Character::isISOControl)) {
      return Optional.of("contains a control character");
    }
    return text.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)
        ? Optional.of("contains half a surrogate pair")
        : Optional.empty();
  }

  /** Returns a name as messages show it: short, on one line. */
  public static String quote(@Nullable String name) {
    if (name == null) {
      return "(none)";
    }
    StringBuilder shown = new StringBuilder("\"");
    cut(name, MAX_SHOWN)
        .codePoints()
        .forEach(c -> shown.appendCodePoint(Character.isISOControl(c) ? '\uFFFD' : c));
    return shown.append('"').toString();
  }
}
