package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Text in lines for a terminal: control characters of the values are replaced. */
final class TextLines {
  private static final int INDENT = 4;

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

  /**
   * Adds a table behind four spaces, and a line with the number of rows that it leaves out.
   *
   * @param others number of rows left out, none if it is not above 0
   */
  void addIndented(TextTable table, int others) {
    text.append(table.toString().indent(INDENT));
    addMore(" ".repeat(INDENT), others);
  }

  /**
   * Adds a line for each of the first values, and one with the number of the others.
   *
   * @param prefix text before each value
   * @param most how many values are listed
   */
  void addAll(String prefix, List<String> values, int most) {
    values.stream().limit(most).forEach(value -> add("%s%s", prefix, value));
    addMore(prefix, values.size() - most);
  }

  /**
   * Returns a text in lines of at most a width, broken at spaces, and inside a word only if it is
   * longer than a line.
   */
  static List<String> wrap(String text, int width) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.strip().split("\\s+", -1)) {
      String rest = word;
      if (!line.isEmpty()
          && Names.characters(line.toString()) + 1 + Names.characters(rest) > width) {
        lines.add(line.toString());
        line.setLength(0);
      }
      while (Names.characters(rest) > width) {
        int end = rest.offsetByCodePoints(0, width);
        lines.add(rest.substring(0, end));
        rest = rest.substring(end);
      }
      line.append(line.isEmpty() ? "" : " ").append(rest);
    }
    lines.add(line.toString());
    return lines;
  }

  private void addMore(String prefix, int others) {
    if (others > 0) {
      add("%s... and %,d more", prefix, others);
    }
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
