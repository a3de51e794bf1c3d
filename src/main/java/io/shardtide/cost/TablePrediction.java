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

  /**
   * Returns the tower's output for a shape of the table.
   *
   * @throws IllegalArgumentException if the shape has fewer rows than the table, or is a copy: the
   *     model does not predict these
   */
  public float[] tower(ShardShape shape) {
    if (shape.rows() != table.rows() || shape.replicated()) {
      throw new IllegalArgumentException(
          "shards of table %s must have all %d rows and one copy, got %d rows, %s"
              .formatted(
                  table.name(),
                  table.rows(),
                  shape.rows(),
                  shape.replicated() ? "replicated" : "not replicated"));
    }
    return tower(shape.columns());
  }

  /** Returns the tower's output for some columns of the table, with all rows. */
  public float[] tower(int columns) {
    return towers.get(columns / TableSpec.COLUMN_UNIT - 1);
  }
}
