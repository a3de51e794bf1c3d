package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Help.Ansi;

/**
 * What a command prints for people, in lines. Formats are constants, which may have picocli's marks
 * for styles; data is not parsed for marks, and what a terminal would interpret in it is replaced.
 */
final class Printed {
  /** Rows of a list that are shown. */
  static final int SHOWN = 20;

  private static final int WIDTH = 100;
  private static final int INDENT = 4;

  private final Ansi ansi;
  private final StringBuilder text = new StringBuilder();

  /** Without styles. */
  Printed() {
    this(Ansi.OFF);
  }

  Printed(Ansi ansi) {
    this.ansi = ansi;
  }

  /** Adds a line. */
  @FormatMethod
  void line(String format, Object... args) {
    Object[] shown =
        Stream.of(args).map(a -> a instanceof String data ? Printable.of(data) : a).toArray();
    text.append(String.format(Locale.ROOT, ansi.string(format), shown)).append('\n');
  }

  /** Adds a sentence, in lines of at most 100 characters. */
  void sentence(String sentence) {
    wrap(sentence, WIDTH).forEach(line -> line("%s", line));
  }

  /** Adds a line for each of the first values, and one with the number of the others. */
  void list(String prefix, List<String> values) {
    values.stream().limit(SHOWN).forEach(value -> line("%s%s", prefix, value));
    more(prefix, values.size() - SHOWN);
  }

  void table(Table<?> table) {
    text.append(table.show(ansi, Integer.MAX_VALUE));
  }

  /** Adds the first rows of a table behind four spaces, and a line with the number of others. */
  void table(Table<?> table, int most) {
    text.append(table.show(ansi, most).indent(INDENT));
    more(" ".repeat(INDENT), table.rows().size() - most);
  }

  private void more(String prefix, int others) {
    if (others > 0) {
      line("%s... and %,d more", prefix, others);
    }
  }

  /**
   * Returns a text in lines of at most a width, broken at spaces, and inside a word only if it is
   * longer than a line.
   */
  static List<String> wrap(String text, int width) {
    return Pattern.compile("(.{1,%1$d})(?: |$)|.{%1$d}".formatted(width))
        .matcher(text.strip().replaceAll("\\s+", " "))
        .results()
        .map(line -> line.group().stripTrailing())
        .toList();
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
