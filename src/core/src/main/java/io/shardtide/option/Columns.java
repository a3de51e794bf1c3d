package io.shardtide.option;

import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;

/** Columns are cut into ranges of equal width, each with all rows in the memory of one device. */
final class Columns implements Freedom {
  @Override
  public void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs) {
    for (int units = 1; units <= table.columns() / TableSpec.COLUMN_UNIT; units++) {
      parts.add(Option.ofColumns(units * TableSpec.COLUMN_UNIT).part());
    }
  }

  /** Returns each way to cut a table into so many parts of equal width at most. */
  static List<TablePart> equal(TableSpec table, ShardScope scope, int mostParts) {
    List<TablePart> parts = new ArrayList<>();
    int units = table.columns() / TableSpec.COLUMN_UNIT;
    for (int count = 1; count <= Math.min(mostParts, units); count++) {
      if (units % count == 0) {
        parts.add(new TablePart(scope, table.columns() / count));
      }
    }
    return parts;
  }

  @Override
  public String label(TablePart part) {
    return "%s columns".formatted(part.columns());
  }
}
