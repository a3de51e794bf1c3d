package io.shardtide.cli;

/** Text that others wrote, as a terminal may be given it. */
final class Printable {
  private Printable() {}

  /**
   * Returns a text with a mark in place of each character that a terminal would obey or that turns
   * the direction of what follows.
   */
  static String of(String text) {
    StringBuilder shown = new StringBuilder();
    text.codePoints().forEach(c -> shown.appendCodePoint(isHarmless(c) ? c : '\uFFFD'));
    return shown.toString();
  }

  private static boolean isHarmless(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }
}
