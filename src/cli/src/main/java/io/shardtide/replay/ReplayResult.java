package io.shardtide.replay;

import io.shardtide.plan.ShardingPlan;
import java.util.List;
import java.util.Optional;

/**
 * The result of a replay.
 *
 * @param rows a row for each plan and for each generation without one, by workload
 * @param plans the recomputed plans, in the order of the recorded ones
 * @param first the first difference
 * @param problems contradictions between the records, for people
 * @param notes what else a person should know
 * @param deviation the largest deviation of recomputed predictions, for people
 */
public record ReplayResult(
    List<ReplayRow> rows,
    List<ShardingPlan> plans,
    Optional<Difference> first,
    List<String> problems,
    List<String> notes,
    Optional<String> deviation) {
  /** Copies the lists. */
  public ReplayResult {
    rows = List.copyOf(rows);
    plans = List.copyOf(plans);
    problems = List.copyOf(problems);
    notes = List.copyOf(notes);
  }

  /** Returns the number of rows with a verdict. */
  public long count(Verdict verdict) {
    return rows.stream().filter(row -> row.verdict() == verdict).count();
  }

  /** Returns whether every recorded plan was reproduced and no records contradict each other. */
  public boolean isEqual() {
    return problems.isEmpty()
        && rows.stream()
            .noneMatch(
                row -> row.verdict() == Verdict.DIFFERS || row.verdict() == Verdict.NOT_REPRODUCED);
  }
}
