package io.shardtide.topology;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

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
  private final Map<ReplaceablePredictor, Opened> opened = new LinkedHashMap<>(16, 0.75f, true);

  private record Opened(TowerPredictor predictor, AtomicInteger running) {}

  /**
   * @param predictorOf opens the predictor of a model; throws if this version cannot run it
   * @param metrics counts and times predictions
   */
  OpenPredictors(Function<ModelBundle, TowerPredictor> predictorOf, PlannerMetrics metrics) {
    this.predictorOf = predictorOf;
    this.metrics = metrics;
  }

  /** Calls a predictor, which is opened for it if it is closed. */
  <T> T call(ReplaceablePredictor of, Function<TowerPredictor, T> call) {
    Opened acquired = acquire(of);
    try {
      return call.apply(acquired.predictor());
    } finally {
      release(acquired);
    }
  }

  /** Predicts tables. */
  List<TablePrediction> predict(
      ReplaceablePredictor of, Function<TowerPredictor, List<TablePrediction>> call) {
    return call(
        of,
        predictor -> {
          long start = System.nanoTime();
          List<TablePrediction> predictions = call.apply(predictor);
          metrics.add(Metric.TABLES_PREDICTED, predictions.size());
          metrics.time(Metric.PREDICTION, (System.nanoTime() - start) / 1e6);
          return predictions;
        });
  }

  private synchronized Opened acquire(ReplaceablePredictor of) {
    Opened acquired =
        opened.computeIfAbsent(
            of, closed -> new Opened(predictorOf.apply(of.bundle()), new AtomicInteger()));
    acquired.running().incrementAndGet();
    return acquired;
  }

  private synchronized void release(Opened acquired) {
    acquired.running().decrementAndGet();
    closeUnused();
  }

  /** Closes those that do not run: if they were replaced, or too many are open. */
  synchronized void closeUnused() {
    Iterator<Map.Entry<ReplaceablePredictor, Opened>> eldest = opened.entrySet().iterator();
    while (eldest.hasNext()) {
      Map.Entry<ReplaceablePredictor, Opened> next = eldest.next();
      boolean isUnwanted = next.getKey().isReplaced() || opened.size() > MOST_UNUSED;
      if (next.getValue().running().get() == 0 && isUnwanted) {
        eldest.remove();
        next.getValue().predictor().close();
      }
    }
  }
}
