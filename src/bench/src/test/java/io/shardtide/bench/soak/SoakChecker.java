package io.shardtide.bench.soak;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import java.io.IOException;
import java.util.function.Function;

/**
 * Checks all {@link Guarantee guarantees} on the records of a soak. The planner must be idle: each
 * generation that is not answered counts as lost.
 */
public final class SoakChecker {
  private final Function<ModelBundle, TowerPredictor> predictorOf;

  /**
   * @param predictorOf runs a model, to explain why a replayed plan differs
   */
  public SoakChecker(Function<ModelBundle, TowerPredictor> predictorOf) {
    this.predictorOf = predictorOf;
  }

  /**
   * Checks a log.
   *
   * @param log all records
   * @param ledger what was sent, all of it, and answered
   * @throws IOException if the log cannot be read
   */
  public SoakReport check(SoakLog log, Ledger ledger) throws IOException {
    Findings findings = new Findings();
    InputRecords inputs = InputRecords.read(log, findings);
    AppliedEvents applied = new AppliedEvents(inputs, findings);
    PredictedGenerations predicted = PredictedGenerations.read(log, applied, findings);
    PlanLog plans = PlanLog.read(log, inputs, predicted, findings);
    new SentRecords(inputs, applied, plans, findings).check(ledger);
    MeasuredSamples.check(log, inputs, findings);
    CurrentRecords.check(log, plans, findings);
    ReplayedPlans.check(log, plans, predictorOf, findings);
    return findings.report();
  }
}
