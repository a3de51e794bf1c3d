package io.shardtide.topology;

import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Counts and times the predictions of another predictor. */
record MeteredPredictor(TowerPredictor predictor, PlannerMetrics metrics)
    implements TowerPredictor {
  @Override
  public String modelId() {
    return predictor.modelId();
  }

  @Override
  public Optional<String> proxyHardware() {
    return predictor.proxyHardware();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    return timed(() -> predictor.predict(tables, batchSize));
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return timed(() -> predictor.predict(tables, cluster));
  }

  private List<TablePrediction> timed(Supplier<List<TablePrediction>> prediction) {
    long start = System.nanoTime();
    List<TablePrediction> predictions = prediction.get();
    metrics.add(Metric.TABLES_PREDICTED, predictions.size());
    metrics.time(Metric.PREDICTION, (System.nanoTime() - start) / 1e6);
    return predictions;
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    return predictor.towers(shapes);
  }

  @Override
  public void close() {
    predictor.close();
  }
}
