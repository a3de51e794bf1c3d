package io.shardtide.replay;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Predictors of the recorded models; each is opened when it is first needed. */
final class ModelPredictors implements AutoCloseable {
  /** Outputs below this are noise: costs are in milliseconds. */
  private static final double FLOOR = 1e-6;

  private final Map<String, ModelBundle> models;
  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final Map<String, TowerPredictor> open = new HashMap<>();

  /**
   * How far a recorded prediction is from its model's.
   *
   * @param table the table
   * @param part the shard, for people
   * @param relative the largest difference of two outputs, as a fraction of the larger
   */
  record Deviation(String table, String part, double relative) {}

  ModelPredictors(
      Map<String, ModelBundle> models, Function<ModelBundle, TowerPredictor> predictorOf) {
    this.models = models;
    this.predictorOf = predictorOf;
  }

  /** Returns the predictor of a model; empty if the model is missing. */
  Optional<TowerPredictor> of(String modelId) {
    return Optional.ofNullable(models.get(modelId))
        .map(bundle -> open.computeIfAbsent(modelId, id -> predictorOf.apply(bundle)));
  }

  /** Returns the largest deviation in a group; empty if the model is missing. */
  Optional<Deviation> deviation(List<CostPredictions> group) {
    List<TablePrediction> recorded = new ArrayList<>();
    for (CostPredictions part : group) {
      if (part.update().orElse(null) instanceof Update.Predicted predicted) {
        recorded.add(predicted.prediction());
      }
    }
    CostPredictions first = group.get(0);
    return deviation(first.modelId(), recorded, first.cluster());
  }

  /** Returns the largest deviation in predictions; empty if the model is missing. */
  Optional<Deviation> deviation(
      String modelId, List<TablePrediction> recorded, ClusterSpec cluster) {
    Optional<TowerPredictor> predictor = of(modelId);
    if (predictor.isEmpty() || recorded.isEmpty()) {
      return Optional.empty();
    }
    List<TableSpec> tables = recorded.stream().map(TablePrediction::table).toList();
    List<TablePrediction> repredicted = predictor.get().predict(tables, cluster);
    Deviation largest =
        new Deviation(tables.get(0).name(), "%d columns".formatted(TableSpec.COLUMN_UNIT), 0);
    for (int t = 0; t < tables.size(); t++) {
      for (Deviation deviation : deviations(recorded.get(t), repredicted.get(t))) {
        largest = deviation.relative() > largest.relative() ? deviation : largest;
      }
    }
    return Optional.of(largest);
  }

  /** Returns the deviations of a table's parts; logs of earlier versions have fewer. */
  private static List<Deviation> deviations(TablePrediction recorded, TablePrediction repredicted) {
    String table = recorded.table().name();
    List<Deviation> deviations = new ArrayList<>();
    recorded
        .towers()
        .forEach(
            (option, tower) -> {
              float[] again = repredicted.towers().get(option);
              deviations.add(
                  new Deviation(
                      table, option.describe(), again == null ? 1 : relative(tower, again)));
            });
    recorded
        .byGroups()
        .forEach(
            (groups, inGroups) -> {
              Optional<TablePrediction> again = repredicted.inGroup(groups);
              if (again.isEmpty()) {
                deviations.add(new Deviation(table, groups.describe(), 1));
              } else {
                deviations.addAll(deviations(inGroups, again.get()));
              }
            });
    return deviations;
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

  @Override
  public void close() {
    open.values().forEach(TowerPredictor::close);
  }
}
