package io.shardtide.replay;

import io.shardtide.domain.ShardingPlan;
import java.util.List;
import java.util.Optional;

/**
 * What a replay came to.
 *
 * @param rows a line for each plan, and for each generation without one; by workload
 * @param plans the plans that were made, in the order of those on record
 * @param first the first difference
 * @param problems what contradicts itself on the log, for people
 * @param notes what a person should know beside it
 * @param deviation the largest deviation of a prediction that was made anew, in words
 */
public record ReplayResult(
    List<ReplayRow> rows,
    List<ShardingPlan> plans,
    Optional<Difference> first,
    List<String> problems,
    List<String> notes,
    Optional<String> deviation) {
  /** Copies what may change. */
  public ReplayResult {
    rows = List.copyOf(rows);
    plans = List.copyOf(plans);
    problems = List.copyOf(problems);
    notes = List.copyOf(notes);
  }

  /** Returns how many rows have a verdict. */
  public long count(Verdict verdict) {
    return rows.stream().filter(row -> row.verdict() == verdict).count();
  }

  /** Returns whether every plan on record was made again, and nothing contradicts itself. */
  public boolean isEqual() {
    return problems.isEmpty()
        && rows.stream()
            .noneMatch(
                row -> row.verdict() == Verdict.DIFFERS || row.verdict() == Verdict.NOT_REPRODUCED);
  }
}
