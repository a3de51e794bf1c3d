package io.shardtide.torchrec;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What {@code DistributedModelParallel.reshard} is to do, to go from one plan to another.
 *
 * @param tables the tables whose sharding changes, with their new sharding
 * @param movedElements numbers that change their device: columns times rows
 */
record Reshard(SortedMap<String, TableSharding> tables, long movedElements) {
  /**
   * Compares plans.
   *
   * @throws NotReshardableException if they differ in more than where columns are
   */
  static Reshard between(ModulePlan running, ModulePlan wanted) {
    List<String> problems = new ArrayList<>();
    if (running.worldSize() != wanted.worldSize()) {
      throw new NotReshardableException(
          List.of(
              "The running plan is for %d devices and the next one for %d; expected the same number: a process group keeps its size"
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
      } else if (!after.isLike(before)) {
        changed.put(name, after);
        moved += after.rows() * after.columnsElsewhere(before);
      }
    }
    if (!problems.isEmpty()) {
      throw new NotReshardableException(problems);
    }
    return new Reshard(changed, moved);
  }

  /** Returns why a table cannot be resharded, the table's name left out. */
  private static Optional<String> problem(TableSharding before, TableSharding after) {
    if (before == null) {
      return Optional.of("is new; expected the tables of the running plan");
    }
    if (after == null) {
      return Optional.of("is gone; expected the tables of the running plan");
    }
    if (before.rows() != after.rows() || before.columns() != after.columns()) {
      return Optional.of(
          "is %d rows by %d columns and was %d by %d; expected the same size"
              .formatted(after.rows(), after.columns(), before.rows(), before.columns()));
    }
    if (after.isLike(before)) {
      return Optional.empty();
    }
    if (before.columnWise() != after.columnWise()) {
      return Optional.of(
          "is %s and was %s; expected the same sharding type, as reshardable plans have"
              .formatted(after.type(), before.type()));
    }
    // TorchRec receives into the first of a rank's shards only.
    return new HashSet<>(after.ranks()).size() < after.ranks().size()
        ? Optional.of(
            "has shards on ranks %s; expected one on a rank, as reshardable plans have"
                .formatted(after.ranks()))
        : Optional.empty();
  }
}
