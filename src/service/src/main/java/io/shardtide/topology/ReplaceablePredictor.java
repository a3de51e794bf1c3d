package io.shardtide.topology;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;

/**
 * The predictor of a model that another model may replace while it predicts, and that is closed
 * while it is unused. {@link #close} lets calls that run finish: the last of them frees the
 * predictor. A caller that got this predictor before it was closed may still predict; the predictor
 * is then opened again for the call.
 */
final class ReplaceablePredictor implements TowerPredictor {
  private final ModelBundle bundle;
  private final OpenPredictors open;
  private volatile boolean replaced;

  /**
   * Opens the predictor, unless the model began as another one, which was opened: such hardware may
   * never be used.
   *
   * @param open opens the predictor of a model; throws if this version cannot run it
   */
  ReplaceablePredictor(ModelBundle bundle, OpenPredictors open) {
    this.bundle = bundle;
    this.open = open;
    if (bundle.card().beganAs().isEmpty()) {
      open.call(this, TowerPredictor::modelId);
    }
  }

  /** Returns the model. */
  ModelBundle bundle() {
    return bundle;
  }

  boolean isReplaced() {
    return replaced;
  }

  @Override
  public String modelId() {
    return bundle.modelId();
  }

  @Override
  public Optional<String> proxyHardware() {
    return bundle.proxyHardware();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    return open.predict(this, predictor -> predictor.predict(tables, batchSize));
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return open.predict(this, predictor -> predictor.predict(tables, cluster));
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    return open.call(this, predictor -> predictor.towers(shapes));
  }

  @Override
  public void close() {
    replaced = true;
    open.closeUnused();
  }
}
