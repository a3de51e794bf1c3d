package io.shardtide.cli;

import io.shardtide.workload.Names;
import java.util.ArrayList;
import java.util.List;

/**
 * A text table in columns as wide as their widest cell. Our own: the ascii-table library (1.12.1)
 * encodes in the platform's charset, which before Java 18 is ASCII in locale C, and would replace
 * letters of a name by question marks.
 */
final class TextTable {
  private static final int MAX_WIDTH = 60;

  private final List<String[]> rows = new ArrayList<>();
  private final boolean[] isRight;

  /**
   * @param headings the first row; a column whose heading begins with a space is aligned to the
   *     right
   */
  TextTable(String... headings) {
    isRight = new boolean[headings.length];
    String[] row = new String[headings.length];
    for (int c = 0; c < headings.length; c++) {
      isRight[c] = headings[c].startsWith(" ");
      row[c] = headings[c].strip();
    }
    rows.add(row);
  }

  /** Adds a row with one cell per heading; the last one, such as a reason, is never cut. */
  void add(String... cells) {
    String[] row = new String[cells.length];
    for (int c = 0; c < cells.length; c++) {
      String cell = Printable.of(cells[c]);
      boolean isCut = c + 1 < cells.length && Names.characters(cell) > MAX_WIDTH;
      row[c] = isCut ? Names.cut(cell, MAX_WIDTH - 3) : cell;
    }
    rows.add(row);
  }

  @Override
  public String toString() {
    int[] widths = new int[isRight.length];
    for (String[] row : rows) {
      for (int c = 0; c < widths.length; c++) {
        widths[c] = Math.max(widths[c], Names.characters(row[c]));
      }
    }
    StringBuilder out = new StringBuilder();
    for (String[] row : rows) {
      StringBuilder line = new StringBuilder();
      for (int c = 0; c < widths.length; c++) {
        String pad = " ".repeat(widths[c] - Names.characters(row[c]));
        line.append(c == 0 ? "" : "  ").append(isRight[c] ? pad + row[c] : row[c] + pad);
      }
      out.append(line.toString().stripTrailing()).append('\n');
    }
    return out.toString();
  }
}
