package io.shardtide.bench.service;

import java.util.List;

/**
 * A table of results.
 *
 * @param header names of the columns, with their units
 * @param rows one cell per column; the first is the row's name
 */
public record ResultTable(List<String> header, List<List<String>> rows) {
  /** Copies mutable components and validates the length of all rows. */
  public ResultTable {
    header = List.copyOf(header);
    rows = rows.stream().map(List::copyOf).toList();
    for (List<String> row : rows) {
      if (row.size() != header.size()) {
        throw new IllegalArgumentException(
            "row %s must have %d cells as the header, got %d"
                .formatted(row, header.size(), row.size()));
      }
    }
  }
}
