package io.shardtide.bench.service;

import java.util.List;

/**
 * What was measured.
 *
 * @param header names of the columns, with their units
 * @param rows as many cells each as there are columns; the first says what was measured
 */
public record ResultTable(List<String> header, List<List<String>> rows) {
  /** Checks that all rows have the header's length. */
  public ResultTable {
    header = List.copyOf(header);
    rows = rows.stream().map(List::copyOf).toList();
    for (List<String> row : rows) {
      if (row.size() != header.size()) {
        throw new IllegalArgumentException(
            "The row %s has %d cells; legal are %d, as in the header %s"
                .formatted(row, row.size(), header.size(), header));
      }
    }
  }
}
