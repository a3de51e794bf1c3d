package io.shardtide.bench.service;

import io.shardtide.domain.DeviceSpeed;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * The result of a {@link DriftBenchmark}.
 *
 * @param detectedAfter number of reports from the slowdown to the first alarm after it
 * @param alarms all alarms
 * @param decisions the decisions of all retrainings
 * @param phases before the slowdown; after it; from the first plan of the new model, or for slow
 *     devices, to the last retraining; after that. The last two only if there is such a plan
 * @param adaptedAfter number of reports from the slowdown to the first one of that plan
 * @param slow the slow devices of that plan
 * @param comparison plans on the slowed machine; empty if there is no such plan, or the tables
 *     changed since the plan before it
 * @param reports total number of reports
 */
public record DriftResult(
    OptionalInt detectedAfter,
    List<DriftAlarm> alarms,
    List<ModelDecision> decisions,
    List<Phase> phases,
    OptionalInt adaptedAfter,
    List<DeviceSpeed> slow,
    Optional<PlanComparison> comparison,
    int reports) {
  /** Copies mutable components. */
  public DriftResult {
    alarms = List.copyOf(alarms);
    decisions = List.copyOf(decisions);
    phases = List.copyOf(phases);
    slow = List.copyOf(slow);
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
   * Plans of the same tables, measured interleaved.
   *
   * @param oldMs step cost of the last plan of the old model, or for healthy devices, in
   *     milliseconds
   * @param newMs step cost of the first plan of the new model, or for slow devices, in milliseconds
   * @param bestMs step cost of the best predicted plan for the speeds of the latter, without moves,
   *     in milliseconds; empty without slow devices
   */
  public record PlanComparison(double oldMs, double newMs, OptionalDouble bestMs) {}
}
