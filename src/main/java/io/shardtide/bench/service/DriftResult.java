package io.shardtide.bench.service;

import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The result of a {@link DriftBenchmark}.
 *
 * @param detectedAfter number of reports from the slowdown to the first alarm after it
 * @param alarms all alarms
 * @param decisions the decisions of all retrainings
 * @param phases before the slowdown; after it; from the new model's first plan to the last
 *     retraining; after that. The last two only if a challenger was published
 * @param comparison the old and the new model's plan on the slowed machine; empty if no challenger
 *     was published, or the tables changed between the plans
 * @param reports total number of reports
 */
public record DriftResult(
    OptionalInt detectedAfter,
    List<DriftAlarm> alarms,
    List<ModelDecision> decisions,
    List<Phase> phases,
    Optional<PlanComparison> comparison,
    int reports) {
  /** Copies mutable components. */
  public DriftResult {
    alarms = List.copyOf(alarms);
    decisions = List.copyOf(decisions);
    phases = List.copyOf(phases);
  }

  /**
   * A phase of the benchmark.
   *
   * @param name name of the phase
   * @param reports number of reports
   * @param error mean absolute relative error of the predicted step cost, as a fraction of the
   *     measured one
   * @param ratio mean ratio of predicted to measured step cost; below 1 where the model
   *     underestimates
   * @param machine cost of a constant workload relative to the first phase; 1.2 if the machine
   *     itself became slower by a fifth
   */
  public record Phase(String name, int reports, double error, double ratio, double machine) {}

  /**
   * Two plans of the same tables, measured interleaved.
   *
   * @param oldMs step cost of the old model's last plan, in milliseconds
   * @param newMs step cost of the new model's first plan, in milliseconds
   */
  public record PlanComparison(double oldMs, double newMs) {}
}
