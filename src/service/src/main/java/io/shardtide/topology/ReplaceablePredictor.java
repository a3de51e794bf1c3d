package io.shardtide.topology;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The predictor of a model that another model may replace while it predicts, and that is closed
 * while it is unused. {@link #close} lets calls that run finish: the last of them frees the
 * predictor. A caller that got this predictor before it was closed may still predict; the predictor
 * is then opened again for the call.
 */
final class ReplaceablePredictor implements TowerPredictor {
  private final ModelBundle bundle;
  private final OpenPredictors open;
  private TowerPredictor predictor;
  private int running;
  private boolean closed;

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
      predictor = open.open(bundle);
      open.used(this);
    }
  }

  /** Returns the model. */
  ModelBundle bundle() {
    return bundle;
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
    return call(acquired -> open.timed(() -> acquired.predict(tables, batchSize)));
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return call(acquired -> open.timed(() -> acquired.predict(tables, cluster)));
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    return call(acquired -> acquired.towers(shapes));
  }

  private <T> T call(Function<TowerPredictor, T> call) {
    TowerPredictor acquired = acquire();
    try {
      return call.apply(acquired);
    } finally {
      release();
    }
  }

  private synchronized TowerPredictor acquire() {
    if (predictor == null) {
      predictor = open.open(bundle);
    }
    running++;
    return predictor;
  }

  private void release() {
    synchronized (this) {
      running--;
      if (closed) {
        closeIfUnused();
        return;
      }
    }
    // Not while this is locked: it may close other predictors.
    open.used(this);
  }

  /** Closes the predictor unless a call runs, after which it counts as used again. */
  synchronized void closeIfUnused() {
    if (running == 0 && predictor != null) {
      predictor.close();
      predictor = null;
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      closeIfUnused();
    }
    open.forget(this);
  }
}
