package io.shardtide.cli;

/** Makes untrusted text safe to print on a terminal. */
final class Printable {
  private Printable() {}

  /**
   * Returns a text in which U+FFFD replaces control characters, bidirectional overrides and other
   * characters that a terminal would interpret.
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
