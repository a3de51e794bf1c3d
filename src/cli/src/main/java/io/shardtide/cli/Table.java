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
        heading,
        "%.2f%%",
        row -> present(share.apply(row)) instanceof Double of ? 100 * of : null);
  }

  Collection<R> rows() {
    return rows;
  }

  /** Returns the headings and the first rows, a line each. */
  String show(Ansi ansi, int most) {
    List<List<Cell>> lines = new ArrayList<>();
    lines.add(columns.stream().map(column -> heading(column, ansi)).toList());
    rows.stream()
        .limit(most)
        .forEach(row -> lines.add(columns.stream().map(c -> cell(c, row, ansi)).toList()));
    StringBuilder out = new StringBuilder();
    for (List<Cell> line : lines) {
      StringBuilder cells = new StringBuilder();
      for (int c = 0; c < columns.size(); c++) {
        int column = c;
        int width = lines.stream().mapToInt(other -> other.get(column).width()).max().orElse(0);
        String pad = " ".repeat(width - line.get(c).width());
        String text = line.get(c).text();
        cells.append(c == 0 ? "" : "  ").append(columns.get(c).isRight() ? pad + text : text + pad);
      }
      out.append(cells.toString().stripTrailing()).append('\n');
    }
    return out.toString();
  }

  private Cell heading(Column<R> column, Ansi ansi) {
    return new Cell(
        ansi.string(column.heading()), Names.characters(Ansi.OFF.string(column.heading())));
  }

  private Cell cell(Column<R> column, R row, Ansi ansi) {
    Object value = present(column.cell().apply(row));
    if (value instanceof Bar bar) {
      return new Cell(bar.show(ansi), bar.width());
    }
    String text =
        value == null
            ? MISSING
            : Printable.of(String.format(Locale.ROOT, column.format(), value));
    boolean isLast = column == columns.get(columns.size() - 1);
    if (!isLast && Names.characters(text) > MAX_WIDTH) {
      text = Names.cut(text, MAX_WIDTH - 3);
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
