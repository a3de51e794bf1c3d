package io.shardtide.bench.learning;

import io.shardtide.state.ModelDecision;
import java.util.List;

/**
 * What a learned model is worth.
 *
 * @param errorBefore error of the steps that the model before predicts for its plans of other
 *     workloads, mean, as a fraction
 * @param errorAfter the same of the learned model
 * @param learned true steps of the learned model's plans of other workloads beside those of the
 *     model before, mean of the ratios
 * @param worst the largest of the ratios
 * @param known the same mean of a model that knows the machine
 * @param alarms number of alarms
 * @param reshards number of plans that moved shards
 * @param decisions decisions about retrained models
 */
record LearningResult(
    double errorBefore,
    double errorAfter,
    double learned,
    double worst,
    double known,
    int alarms,
    int reshards,
    List<ModelDecision> decisions) {
  /** Copies what may change. */
  LearningResult {
    decisions = List.copyOf(decisions);
  }

  /** Returns the share of a knowing model's gain that the learned one has; NaN without a gain. */
  double shareOfGain() {
    return known < 1 ? (1 - learned) / (1 - known) : Double.NaN;
  }

  /** Returns how many models took over. */
  long takeovers() {
    return decisions.stream().filter(ModelDecision::published).count();
  }
}
