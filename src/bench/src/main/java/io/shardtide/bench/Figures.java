package io.shardtide.bench;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;

/**
 * Figures by the names of their rows. {@link #toString} is a table in Markdown, as
 * docs/BENCHMARKS.md has it.
 */
public final class Figures {
  private final String heading;
  private final Map<String, FigureRow> rows = new LinkedHashMap<>();

  private record FigureRow(String text, List<Object> values) {}

  /**
   * @param names what the rows name
   * @param columns headings of their values, separated as the formats separate them
   */
  public Figures(String names, String columns) {
    heading = names;
    add(names, columns);
  }

  /**
   * Adds a row.
   *
   * @param format of the values, with their units; {@code " | "} separates columns
   */
  @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a dependency.
  public void add(String name, String format, Object... values) {
    rows.put(name, new FigureRow(format.formatted(values), List.of(values)));
  }

  /**
   * Returns a number.
   *
   * @throws NoSuchElementException if no row has this name
   */
  public double get(String name, int column) {
    if (!rows.containsKey(name)) {
      throw new NoSuchElementException("no row \"%s\" in%n%s".formatted(name, this));
    }
    return ((Number) rows.get(name).values().get(column)).doubleValue();
  }

  /** Returns the number of a row that has one. */
  public double get(String name) {
    return get(name, 0);
  }

  @Override
  public String toString() {
    int width = rows.keySet().stream().mapToInt(String::length).max().orElseThrow();
    StringBuilder table = new StringBuilder();
    rows.forEach(
        (name, row) -> {
          table.append(("| %-" + width + "s | %s |%n").formatted(name, row.text()));
          if (name.equals(heading)) {
            table.append("|---".repeat(2 + row.text().split("\\|", -1).length - 1)).append("|\n");
          }
        });
    return table.toString();
  }
}
