package io.shardtide.cost;

import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.TableSpec;
import java.util.List;
import java.util.Objects;

/**
 * What the model's table tower says of a table, at every legal width.
 *
 * @param table the table
 * @param towers one array per width {@code 4, 8, 12 ... columns}, in this order; not changed by
 *     anyone
 * @param outOfRange how the table is outside what the model was trained on
 */
public record TablePrediction(TableSpec table, List<float[]> towers, List<OutOfRange> outOfRange) {
  /** Checks that there is one tower output per width. */
  public TablePrediction {
    Objects.requireNonNull(table, "table");
    towers = List.copyOf(towers);
    outOfRange = List.copyOf(outOfRange);
    int widths = table.columns() / TableSpec.COLUMN_UNIT;
    if (towers.size() != widths) {
      throw new IllegalArgumentException(
          "Table %s of %d columns has predictions for %d widths; legal is one for each of %d"
              .formatted(table.name(), table.columns(), towers.size(), widths));
    }
  }

  /** Returns the tower's output for a shard of {@code width} columns. */
  public float[] tower(int width) {
    return towers.get(width / TableSpec.COLUMN_UNIT - 1);
  }
}
