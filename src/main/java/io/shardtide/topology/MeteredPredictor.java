package io.shardtide.topology;

import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.TableSpec;
import java.util.List;

/** Counts and times the predictions of another predictor. */
record MeteredPredictor(TowerPredictor predictor, PlannerMetrics metrics)
    implements TowerPredictor {
  @Override
  public String modelId() {
    return predictor.modelId();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    long start = System.nanoTime();
    List<TablePrediction> predictions = predictor.predict(tables, batchSize);
    metrics.predicted(tables.size(), System.nanoTime() - start);
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
