package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import java.util.List;

/** The largest deviation between recorded predictions and those that their model makes now. */
final class PredictionDeviation {
  /**
   * Largest relative difference between predictions of one model on two processors: 100 times what
   * was measured (5e-7), and far below what moves a shard.
   */
  static final double TOLERANCE = 5e-5;

  private final ModelPredictors predictors;
  private long tables;
  private double largest;
  private String where = "";

  PredictionDeviation(ModelPredictors predictors) {
    this.predictors = predictors;
  }

  /** Predicts the tables of a group again, and compares. */
  void add(List<CostPredictions> group) {
    CostPredictions first = group.get(0);
    tables +=
        group.stream()
            .filter(part -> part.update().orElse(null) instanceof Update.Predicted)
            .count();
    predictors
        .deviation(group)
        .filter(deviation -> deviation.relative() > largest)
        .ifPresent(
            deviation -> {
              largest = deviation.relative();
              where =
                  "; table %s at %s, generation %d of %s"
                      .formatted(
                          deviation.table(),
                          deviation.part(),
                          first.generation(),
                          first.workloadId());
            });
  }

  /** Returns the largest relative difference. */
  double largest() {
    return largest;
  }

  /** Returns what was compared and the largest difference, for people. */
  String describe() {
    return "%,d table predictions recomputed; the largest relative difference is %.2g%s"
        .formatted(tables, largest, where);
  }
}
