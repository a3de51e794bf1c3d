package io.shardtide.topology;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The predictors that are open: the ones that run, and those that were used last. One that is
 * closed is opened again, and predicts the same. Safe for use by several threads.
 */
final class OpenPredictors {
  /**
   * How many stay open that do not run: as many kinds of hardware as one cluster has, and more. A
   * session of TensorFlow takes 0.7 MB and 24 ms to open.
   */
  static final int MOST_UNUSED = 16;

  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final PlannerMetrics metrics;

  /** In the order of their last use. */
  private final Set<ReplaceablePredictor> used = new LinkedHashSet<>();

  /**
   * @param predictorOf opens the predictor of a model; throws if this version cannot run it
   * @param metrics counts and times predictions
   */
  OpenPredictors(Function<ModelBundle, TowerPredictor> predictorOf, PlannerMetrics metrics) {
    this.predictorOf = predictorOf;
    this.metrics = metrics;
  }

  TowerPredictor open(ModelBundle bundle) {
    return predictorOf.apply(bundle);
  }

  /** Predicts tables. */
  List<TablePrediction> timed(Supplier<List<TablePrediction>> prediction) {
    long start = System.nanoTime();
    List<TablePrediction> predictions = prediction.get();
    metrics.add(Metric.TABLES_PREDICTED, predictions.size());
    metrics.time(Metric.PREDICTION, (System.nanoTime() - start) / 1e6);
    return predictions;
  }

  /** Reports that a predictor was used, and closes the one whose last use is the longest ago. */
  void used(ReplaceablePredictor predictor) {
    ReplaceablePredictor eldest = null;
    synchronized (this) {
      used.remove(predictor);
      used.add(predictor);
      if (used.size() > MOST_UNUSED) {
        Iterator<ReplaceablePredictor> first = used.iterator();
        eldest = first.next();
        first.remove();
      }
    }
    if (eldest != null) {
      eldest.closeIfUnused();
    }
  }

  /** Forgets a predictor that was replaced. */
  synchronized void forget(ReplaceablePredictor predictor) {
    used.remove(predictor);
  }
}
