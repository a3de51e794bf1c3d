package io.shardtide.replay;

import io.shardtide.plan.ShardingPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How recomputed plans, allocations of pools or forecasts compare with the recorded ones.
 *
 * @param rows a row for each record and for each generation without a plan, by workload or pool
 * @param plans the recomputed plans, in the order of the recorded ones
 * @param first the first record that is not equal, in the order of the log, of the owner (pool or
 *     workload) whose id comes first
 * @param problems contradictions between the records, for people
 * @param notes what else a person should know
 */
public record ReplayResult(
    List<ReplayRow> rows,
    List<ShardingPlan> plans,
    Optional<Difference> first,
    List<String> problems,
    List<String> notes) {
  /** Returns the number of rows with a verdict. */
  public long count(Verdict verdict) {
    return rows.stream().filter(row -> row.verdict() == verdict).count();
  }

  /** Returns whether every record was reproduced and no records contradict each other. */
  public boolean isEqual() {
    return problems.isEmpty() && count(Verdict.DIFFERS) == 0 && count(Verdict.NOT_REPRODUCED) == 0;
  }

  /** Collects a result. */
  static final class Tally {
    final List<ReplayRow> rows = new ArrayList<>();
    final List<ShardingPlan> plans = new ArrayList<>();
    final List<String> problems = new ArrayList<>();
    final List<String> notes = new ArrayList<>();
    private final TreeMap<String, Difference> firsts = new TreeMap<>();

    void add(String owner, long generation, Comparer.Comparison<?> comparison) {
      add(new ReplayRow(owner, generation, generation, comparison.verdict()), comparison);
    }

    void add(ReplayRow row, Comparer.Comparison<?> comparison) {
      rows.add(row);
      comparison
          .difference()
          .ifPresent(difference -> firsts.putIfAbsent(difference.owner(), difference));
    }

    ReplayResult result() {
      return new ReplayResult(
          rows.stream().sorted(ReplayRow.BY_WORKLOAD).toList(),
          plans,
          firsts.values().stream().findFirst(),
          problems,
          notes);
    }
  }
}
