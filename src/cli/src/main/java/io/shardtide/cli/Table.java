package io.shardtide.cli;

import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine.Help.Ansi;

/**
 * A table of text: a row for each of some values, and columns as wide as their widest cell. Cells
 * are data; of the last column, such as a reason, nothing is cut. Our own: the ascii-table library
 * (1.12.1) encodes in the platform's charset, which before Java 18 is ASCII in locale C, and would
 * replace letters of a name by question marks.
 */
final class Table<R> {
  private static final int MAX_WIDTH = 60;
  private static final String MISSING = "-";

  private final Collection<R> rows;
  private final List<Column<R>> columns = new ArrayList<>();

  private record Column<R>(
      String heading, boolean isRight, String format, Function<? super R, ?> cell) {}

  private record Cell(String text, int width) {}

  Table(Collection<R> rows) {
    this.rows = rows;
  }

  /**
   * Adds a column of text.
   *
   * @param heading a constant, which may have picocli's marks for styles
   * @param cell returns a text, a {@link Bar}, or another value
   */
  Table<R> left(String heading, Function<? super R, ?> cell) {
    columns.add(new Column<>(heading, false, "%s", cell));
    return this;
  }

  /** Adds a column of texts that are aligned to the right. */
  Table<R> right(String heading, Function<? super R, ?> cell) {
    return right(heading, "%s", cell);
  }

  /**
   * Adds a column of numbers.
   *
   * @param format of a number that is there; for others, there is a dash
   * @param number returns a number, or one that may be missing
   */
  Table<R> right(String heading, String format, Function<? super R, ?> number) {
    columns.add(new Column<>(heading, true, format, number));
    return this;
  }

  /** Adds a column of shares, in percent. */
  Table<R> percent(String heading, Function<? super R, ?> share) {
    return right(
        heading, "%.2f%%", row -> present(share.apply(row)) instanceof Double of ? 100 * of : null);
  }

  Collection<R> rows() {
    return rows;
  }

  /** Returns the headings and the first rows, a line each. */
  String show(Ansi ansi, int most) {
    List<StringBuilder> lines = new ArrayList<>();
    IntStream.rangeClosed(0, Math.min(most, rows.size()))
        .forEach(line -> lines.add(new StringBuilder()));
    for (int c = 0; c < columns.size(); c++) {
      Column<R> column = columns.get(c);
      int widest = c + 1 == columns.size() ? Integer.MAX_VALUE : MAX_WIDTH;
      List<Cell> cells = new ArrayList<>();
      cells.add(heading(column.heading(), ansi));
      rows.stream().limit(most).forEach(row -> cells.add(cell(column, row, widest, ansi)));
      int width = cells.stream().mapToInt(Cell::width).max().orElse(0);
      for (int l = 0; l < lines.size(); l++) {
        String text = cells.get(l).text();
        String pad = " ".repeat(width - cells.get(l).width());
        lines.get(l).append(c == 0 ? "" : "  ").append(column.isRight() ? pad + text : text + pad);
      }
    }
    return lines.stream()
        .map(line -> line.toString().stripTrailing())
        .collect(Collectors.joining("\n", "", "\n"));
  }

  private static Cell heading(String heading, Ansi ansi) {
    return new Cell(ansi.string(heading), Names.characters(Ansi.OFF.string(heading)));
  }

  private Cell cell(Column<R> column, R row, int widest, Ansi ansi) {
    Object value = present(column.cell().apply(row));
    if (value instanceof Bar bar) {
      return new Cell(bar.show(ansi), bar.width());
    }
    String text =
        value == null ? MISSING : Printable.of(String.format(Locale.ROOT, column.format(), value));
    if (Names.characters(text) > widest) {
      text = Names.cut(text, widest - 3);
    }
    return new Cell(text, Names.characters(text));
  }

  private static Object present(Object value) {
    if (value instanceof Optional<?> of) {
      return of.orElse(null);
    } else if (value instanceof OptionalDouble of) {
      return of.isPresent() ? of.getAsDouble() : null;
    } else if (value instanceof OptionalLong of) {
      return of.isPresent() ? of.getAsLong() : null;
    }
    return value;
  }

  /** Returns all rows, without styles. */
  @Override
  public String toString() {
    return show(Ansi.OFF, Integer.MAX_VALUE);
  }
}
