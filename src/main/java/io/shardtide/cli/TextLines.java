package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import java.util.List;
import java.util.Locale;

/** Text in lines for a terminal: control characters of the values are replaced. */
final class TextLines {
  private final StringBuilder text = new StringBuilder();

  /** Adds a line. */
  @FormatMethod
  void add(String format, Object... args) {
    text.append(Printable.of(String.format(Locale.ROOT, format, args))).append('\n');
  }

  /** Adds a table. */
  void add(TextTable table) {
    text.append(table);
  }

  /** Adds a table behind so many spaces. */
  void add(int spaces, TextTable table) {
    text.append(table.toString().indent(spaces));
  }

  /**
   * Adds a line for each of the first values, and one with the number of the others.
   *
   * @param prefix text before each value
   * @param most how many values are listed
   */
  void addAll(String prefix, List<String> values, int most) {
    values.stream().limit(most).forEach(value -> add("%s%s", prefix, value));
    if (values.size() > most) {
      add("%s... and %,d more", prefix, values.size() - most);
    }
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
