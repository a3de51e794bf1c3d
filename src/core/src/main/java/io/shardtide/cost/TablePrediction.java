package io.shardtide.cost;

import io.shardtide.option.DerivedTables;
import io.shardtide.option.Option;
import io.shardtide.plan.OutOfRange;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Tower outputs of a table, one for each option.
 *
 * @param table the table
 * @param towers those of each multiple of 4 columns, with all rows in the memory of one device, and
 *     of all other options that a plan may have; in the order of {@link
 *     io.shardtide.option.Options}. Must not be changed
 * @param derived the table cut by use, and with its ids deduplicated, if a plan may do so
 * @param byGroups predictions of the table in several replica groups; empty if a plan may have one
 *     only
 * @param outOfRange values of the table outside the model's training range
 */
public record TablePrediction(
    TableSpec table,
    Map<Option, float[]> towers,
    DerivedTables derived,
    Map<ReplicaGroups, TablePrediction> byGroups,
    List<OutOfRange> outOfRange) {
  /**
   * A prediction of parts on one device only.
   *
   * @param towers one array for each of {@code 4, 8, 12 ...} columns
   */
  public TablePrediction(TableSpec table, List<float[]> towers, List<OutOfRange> outOfRange) {
    this(table, ofColumns(towers), DerivedTables.NONE, Map.of(), outOfRange);
  }

  private static Map<Option, float[]> ofColumns(List<float[]> towers) {
    Map<Option, float[]> byOption = new LinkedHashMap<>();
    towers.forEach(
        tower ->
            byOption.put(Option.ofColumns((byOption.size() + 1) * TableSpec.COLUMN_UNIT), tower));
    return byOption;
  }

  /** Checks that each width has a tower output. */
  public TablePrediction {
    towers = Collections.unmodifiableMap(towers);
    byGroups = Collections.unmodifiableMap(byGroups);
    outOfRange = List.copyOf(outOfRange);
    int widths = table.columns() / TableSpec.COLUMN_UNIT;
    long predicted = towers.keySet().stream().filter(Option::isOnDevice).count();
    if (predicted != widths) {
      throw new IllegalArgumentException(
          "predictions of table %s of %s columns must be %s, one for each multiple of %s columns, got %s"
              .formatted(table.name(), table.columns(), widths, TableSpec.COLUMN_UNIT, predicted));
    }
  }

  /** Returns how many numbers the tower outputs have in all. */
  public long numbers() {
    return towers.values().stream().mapToLong(tower -> tower.length).sum()
        + byGroups.values().stream().mapToLong(TablePrediction::numbers).sum();
  }

  /** Returns these predictions with those of replica groups. */
  TablePrediction withGroups(Map<ReplicaGroups, TablePrediction> ofGroups) {
    return new TablePrediction(table, towers, derived, ofGroups, outOfRange);
  }

  /** Returns the tower's output for some columns of the table, with all rows. */
  public float[] tower(int columns) {
    return towers.get(Option.ofColumns(columns));
  }

  /** Returns the table whose parts are those of an option; see {@link DerivedTables}. */
  public TableSpec table(Option option) {
    return derived.of(table, option);
  }

  /** Returns what a part adds to each of its devices, if it was predicted. */
  public Optional<ShapeLoad> load(Option option, CostEvaluator evaluator, ClusterSpec cluster) {
    if (option.deduplicated() && option.isAddition()) {
      return derived.deduplicated().map(of -> DeduplicationCost.load(evaluator, table, cluster));
    }
    return Optional.ofNullable(towers.get(option))
        .map(tower -> ShapeLoad.of(evaluator, tower, option.part(), table(option), cluster));
  }

  /**
   * Returns the predictions of the table on the devices of a replica group; of one group, these.
   */
  public Optional<TablePrediction> inGroup(ReplicaGroups groups) {
    return groups.areSeveral() ? Optional.ofNullable(byGroups.get(groups)) : Optional.of(this);
  }
}
