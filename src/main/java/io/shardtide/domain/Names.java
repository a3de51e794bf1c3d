package io.shardtide.domain;

/** Checks names of workloads, tables and hardware. */
public final class Names {
  /**
   * Length of the longest name, in UTF-16 units: it fits a label, a file name and a line of a
   * report.
   */
  public static final int MAX_LENGTH = 255;

  private Names() {}

  /**
   * Checks a name.
   *
   * @throws RejectedException with {@code reason} if it is empty, too long, contains a control
   *     character (store keys use them as separators) or is not well-formed Unicode
   */
  public static void check(String name, String what, RejectionReason reason) {
    String flaw =
        name == null || name.isBlank()
            ? "is empty"
            : name.length() > MAX_LENGTH
                ? "has " + name.length() + " characters"
                : name.chars().anyMatch(Character::isISOControl)
                    ? "contains a control character"
                    : name.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)
                        ? "contains half a surrogate pair"
                        : null;
    if (flaw != null) {
      throw new RejectedException(
          reason,
          "%s must have 1 to %d characters, none of them a control character, got %s: it %s"
              .formatted(what, MAX_LENGTH, quote(name), flaw));
    }
  }

  /** Returns a name as messages show it: short, on one line. */
  public static String quote(String name) {
    if (name == null) {
      return "(none)";
    }
    String cut = name.length() > 80 ? name.substring(0, 80) + "..." : name;
    StringBuilder shown = new StringBuilder("\"");
    cut.codePoints().forEach(c -> shown.appendCodePoint(Character.isISOControl(c) ? '\uFFFD' : c));
    return shown.append('"').toString();
  }
}
