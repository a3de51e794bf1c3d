package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The largest deviation between recorded predictions and those that their model makes now. */
final class PredictionDeviation {
  /**
   * Largest relative difference between predictions of one model on two processors: 100 times what
   * was measured (5e-7), and far below what moves a shard.
   */
  static final double TOLERANCE = 5e-5;

  /** Outputs below this are noise: costs are in milliseconds. */
  private static final double FLOOR = 1e-6;

  private final ModelPredictors predictors;
  private long tables;
  private double largest;
  private String where = "";

  PredictionDeviation(ModelPredictors predictors) {
    this.predictors = predictors;
  }

  /** Predicts the tables of a group again, if their model is there, and compares. */
  void add(List<CostPredictions> group) {
    CostPredictions first = group.get(0);
    List<TablePrediction> recorded = new ArrayList<>();
    for (CostPredictions part : group) {
      if (part.update().orElse(null) instanceof Update.Predicted predicted) {
        recorded.add(predicted.prediction());
      }
    }
    tables += recorded.size();
    Optional<TowerPredictor> predictor = predictors.of(first.modelId());
    if (predictor.isEmpty() || recorded.isEmpty()) {
      return;
    }
    List<TablePrediction> repredicted =
        predictor
            .get()
            .predict(recorded.stream().map(TablePrediction::table).toList(), first.cluster());
    for (int t = 0; t < recorded.size(); t++) {
      compare(first, recorded.get(t), Optional.of(repredicted.get(t)));
    }
  }

  /** Compares all parts of a table; logs of earlier versions have fewer. */
  private void compare(
      CostPredictions group, TablePrediction recorded, Optional<TablePrediction> repredicted) {
    recorded
        .towers()
        .forEach(
            (option, tower) -> {
              double relative =
                  repredicted
                      .map(again -> again.towers().get(option))
                      .map(again -> relative(tower, again))
                      .orElse(1.0);
              if (relative > largest) {
                largest = relative;
                where =
                    "; table %s at %s, generation %d of %s"
                        .formatted(
                            recorded.table().name(),
                            option.describe(),
                            group.generation(),
                            group.workloadId());
              }
            });
    recorded
        .byGroups()
        .forEach(
            (groups, inGroups) ->
                compare(group, inGroups, repredicted.flatMap(again -> again.inGroup(groups))));
  }

  private static double relative(float[] a, float[] b) {
    if (a.length != b.length) {
      return 1;
    }
    double largest = 0;
    for (int i = 0; i < a.length; i++) {
      double scale = Math.max(FLOOR, Math.max(Math.abs(a[i]), Math.abs(b[i])));
      double difference = Math.abs((double) a[i] - b[i]) / scale;
      largest = Math.max(largest, Double.isNaN(difference) ? 1 : difference);
    }
    return largest;
  }

  /** Returns what is wrong if they deviate by more than rounding, for people. */
  Optional<String> problem() {
    return largest > TOLERANCE
        ? Optional.of(
            "recorded predictions deviate by up to %.2g from their model's, expected at most %.0e (rounding differs between processors)"
                .formatted(largest, TOLERANCE))
        : Optional.empty();
  }

  /** Returns what was compared and the largest difference, for people. */
  String describe() {
    return "%,d table predictions recomputed; the largest relative difference is %.2g%s"
        .formatted(tables, largest, where);
  }
}
