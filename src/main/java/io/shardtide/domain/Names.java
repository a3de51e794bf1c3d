package io.shardtide.domain;

/** What may be the name of a workload, a table or a kind of hardware. */
final class Names {
  /**
   * The longest legal name, in UTF-16 units: what fits a label, a file name and a line of a report.
   */
  static final int MAX_LENGTH = 255;

  private Names() {}

  /**
   * Returns {@code name} if it is legal.
   *
   * @throws RejectedException with {@code reason} if it is empty, too long, holds a control
   *     character (which store keys use as separators) or is not well-formed Unicode
   */
  static String check(String name, String what, RejectionReason reason) {
    String flaw =
        name == null || name.isBlank()
            ? "is empty"
            : name.length() > MAX_LENGTH
                ? "has " + name.length() + " characters"
                : name.chars().anyMatch(Character::isISOControl)
                    ? "holds a control character"
                    : name.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)
                        ? "holds half a surrogate pair"
                        : null;
    if (flaw != null) {
      throw new RejectedException(
          reason,
          "The %s %s %s; legal are 1 to %d characters, none of them a control character"
              .formatted(what, quote(name), flaw, MAX_LENGTH));
    }
    return name;
  }

  /** Shows a name in a message: short, on one line. */
  static String quote(String name) {
    if (name == null) {
      return "(none)";
    }
    String cut = name.length() > 80 ? name.substring(0, 80) + "..." : name;
    StringBuilder shown = new StringBuilder("\"");
    cut.codePoints().forEach(c -> shown.appendCodePoint(Character.isISOControl(c) ? '\uFFFD' : c));
    return shown.append('"').toString();
  }
}
