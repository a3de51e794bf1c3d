package io.shardtide.torchrec;

import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The arguments of {@code DistributedModelParallel.reshard} to change from one plan to another.
 *
 * @param tables new shardings of the tables whose sharding changes
 * @param movedElements elements (rows times columns) that move between devices
 */
record Reshard(SortedMap<String, TableSharding> tables, long movedElements) {
  /**
   * Compares plans.
   *
   * @throws NotReshardableException if more changes than the devices and widths of columns
   */
  static Reshard between(ModelPlan running, ModelPlan wanted) {
    List<String> problems = new ArrayList<>();
    if (running.worldSize() != wanted.worldSize()) {
      throw new NotReshardableException(
          List.of(
              "The running plan is for %d devices and the new one for %d; the number must not change, since a process group keeps it"
                  .formatted(running.worldSize(), wanted.worldSize())));
    }
    SortedMap<String, TableSharding> changed = new TreeMap<>();
    long moved = 0;
    TreeSet<String> names = new TreeSet<>(running.tables().keySet());
    names.addAll(wanted.tables().keySet());
    for (String name : names) {
      TableSharding before = running.tables().get(name);
      TableSharding after = wanted.tables().get(name);
      Optional<String> problem = problem(before, after);
      if (problem.isPresent()) {
        problems.add("Table \"%s\" %s".formatted(name, problem.get()));
      } else if (!after.equals(before)) {
        changed.put(name, after);
        moved += after.rows() * after.movedColumns(before);
      }
    }
    if (!problems.isEmpty()) {
      throw new NotReshardableException(problems);
    }
    return new Reshard(changed, moved);
  }

  /** Returns why a table cannot be resharded, as a predicate of the table's name. */
  private static Optional<String> problem(TableSharding before, TableSharding after) {
    if (before == null) {
      return Optional.of("is new; must be the tables of the running plan");
    }
    if (after == null) {
      return Optional.of("is missing; must be the tables of the running plan");
    }
    if (before.rows() != after.rows() || before.columns() != after.columns()) {
      return Optional.of(
          "is %d rows by %d columns and was %d by %d; its size must not change"
              .formatted(after.rows(), after.columns(), before.rows(), before.columns()));
    }
    if (after.equals(before)) {
      return Optional.empty();
    }
    if (before.cacheShare().isPresent() || after.cacheShare().isPresent()) {
      return Optional.of(
          "is or was cached; reshard moves only tables in device memory, restart from a checkpoint");
    }
    boolean byColumns =
        before.type().scope() == ShardScope.DEVICE && after.type().scope() == ShardScope.DEVICE;
    if (!byColumns || after.type() == ShardKind.TABLE_COLUMN_WISE) {
      return Optional.of(
          "is %s %s; reshard moves only table_wise and column_wise shards, %s"
              .formatted(
                  after.type().label(),
                  before.type() == after.type()
                      ? "with other shards"
                      : "and was " + before.type().label(),
                  byColumns ? "use reshardable plans" : "restart from a checkpoint"));
    }
    if (before.type() != after.type()) {
      return Optional.of(
          "is %s and was %s; reshard keeps the sharding type, use reshardable plans"
              .formatted(after.type().label(), before.type().label()));
    }
    if (!before.kernel().equals(after.kernel())) {
      return Optional.of(
          "has another kernel, output type or rounding than before; reshard keeps them, restart from a checkpoint");
    }
    // TorchRec receives only into the first of a rank's shards.
    return new HashSet<>(after.ranks()).size() < after.ranks().size()
        ? Optional.of(
            "has shards on ranks %s; reshard supports one per rank, use reshardable plans"
                .formatted(after.ranks()))
        : Optional.empty();
  }
}
