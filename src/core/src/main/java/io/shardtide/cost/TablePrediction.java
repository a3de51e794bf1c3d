package io.shardtide.cost;

import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.TableSpec;
import java.util.List;
import java.util.Optional;

/**
 * Tower outputs of a table: one for each multiple of 4 columns, with all rows in the memory of one
 * device, and those of parts that are split, copied or cached.
 *
 * @param table the table
 * @param towers one array for each of {@code 4, 8, 12 ...} columns, none of a table that is always
 *     copied and has a part that says so; must not be changed
 * @param parts those of parts that are split, copied or cached; empty if a plan may not have any
 * @param byUse those of the table cut by use, by number of hot rows; empty if a plan may not cut it
 * @param byGroups those of the table in replica groups; empty if a plan may have one group only
 * @param outOfRange values of the table outside the model's training range
 */
public record TablePrediction(
    TableSpec table,
    List<float[]> towers,
    List<PartTower> parts,
    List<HotColdPrediction> byUse,
    List<GroupPrediction> byGroups,
    List<OutOfRange> outOfRange) {
  /** A prediction of parts on one device only. */
  public TablePrediction(TableSpec table, List<float[]> towers, List<OutOfRange> outOfRange) {
    this(table, towers, List.of(), List.of(), List.of(), outOfRange);
  }

  /** Checks the number of tower outputs. */
  public TablePrediction {
    towers = List.copyOf(towers);
    parts = List.copyOf(parts);
    byUse = List.copyOf(byUse);
    byGroups = List.copyOf(byGroups);
    outOfRange = List.copyOf(outOfRange);
    int shapes = table.columns() / TableSpec.COLUMN_UNIT;
    boolean isCopied = table.constraints().isAlwaysCopied() && !parts.isEmpty();
    if (towers.size() != shapes && !(towers.isEmpty() && isCopied)) {
      throw new IllegalArgumentException(
          "predictions of table %s of %s columns must be %s, one for each multiple of %s columns, got %s"
              .formatted(
                  table.name(), table.columns(), shapes, TableSpec.COLUMN_UNIT, towers.size()));
    }
  }

  /** Returns how many numbers the tower outputs have in all. */
  public long numbers() {
    return towers.stream().mapToLong(tower -> tower.length).sum()
        + parts.stream().mapToLong(part -> part.tower().length).sum()
        + byUse.stream()
            .flatMap(use -> use.both().stream())
            .mapToLong(TablePrediction::numbers)
            .sum()
        + byGroups.stream().mapToLong(of -> of.prediction().numbers()).sum();
  }

  /** Returns these predictions with those of replica groups. */
  TablePrediction withGroups(List<GroupPrediction> ofGroups) {
    return new TablePrediction(table, towers, parts, byUse, ofGroups, outOfRange);
  }

  /** Returns the tower's output for some columns of the table, with all rows. */
  public float[] tower(int columns) {
    return towers.get(columns / TableSpec.COLUMN_UNIT - 1);
  }

  /** Returns the tower's output for a part, if there is one. */
  public Optional<float[]> tower(TablePart part) {
    if (part.isOnDevice()) {
      return part.columns() <= table.columns()
          ? Optional.of(tower(part.columns()))
          : Optional.empty();
    }
    return parts.stream().filter(of -> of.part().equals(part)).findFirst().map(PartTower::tower);
  }

  /** Returns the predictions of the table with so many hot rows, if there are some. */
  public Optional<HotColdPrediction> byUse(long hotRows) {
    return byUse.stream().filter(of -> of.hotRows() == hotRows).findFirst();
  }

  /**
   * Returns the predictions of the table on the devices of a replica group; of one group, these.
   */
  public Optional<TablePrediction> inGroup(ReplicaGroups groups) {
    return groups.areSeveral()
        ? byGroups.stream()
            .filter(of -> of.groups().equals(groups))
            .findFirst()
            .map(GroupPrediction::prediction)
        : Optional.of(this);
  }
}
