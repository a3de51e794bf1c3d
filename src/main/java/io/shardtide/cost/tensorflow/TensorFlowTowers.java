package io.shardtide.cost.tensorflow;

import io.shardtide.cost.Feature;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;

/**
 * Runs the table tower of a bundle in TensorFlow, many shards a call: a call costs 15 to 25 us
 * whatever its size, so that tables are predicted in batches. One instance serves one thread at a
 * time.
 */
public final class TensorFlowTowers implements TowerPredictor {
  /**
   * Shards per call: enough to make the call's own cost vanish, few enough to stay in the cache.
   */
  private static final int BATCH = 4096;

  private final ModelBundle bundle;
  private final Graph graph = new Graph();
  private final Session session;
  private final Placeholder<TFloat32> features;
  private final Operand<TFloat32> towers;

  /** Builds the graph; the bundle gives its weights. */
  public TensorFlowTowers(ModelBundle bundle) {
    this.bundle = bundle;
    Ops tf = Ops.create(graph);
    DenseStack stack = new DenseStack(tf, DenseStack.sizes(bundle.tower()));
    features =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, bundle.features().size())));
    towers = stack.apply(tf, features, true);
    session = new Session(graph, Tensors.oneThread());
    stack.set(session, bundle.tower());
  }

  @Override
  public String modelId() {
    return bundle.modelId();
  }

  @Override
  public synchronized List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    List<float[]> rows = new ArrayList<>();
    for (TableSpec table : tables) {
      for (int width = TableSpec.COLUMN_UNIT;
          width <= table.columns();
          width += TableSpec.COLUMN_UNIT) {
        rows.add(normalized(ShardFeatures.of(table, width, batchSize)));
      }
    }
    List<float[]> outputs = new ArrayList<>();
    for (int from = 0; from < rows.size(); from += BATCH) {
      outputs.addAll(run(rows.subList(from, Math.min(from + BATCH, rows.size()))));
    }
    List<TablePrediction> predictions = new ArrayList<>();
    int at = 0;
    for (TableSpec table : tables) {
      int widths = table.columns() / TableSpec.COLUMN_UNIT;
      predictions.add(new TablePrediction(table, outputs.subList(at, at + widths)));
      at += widths;
    }
    return predictions;
  }

  private float[] normalized(double[] raw) {
    float[] row = new float[raw.length];
    for (int f = 0; f < row.length; f++) {
      Feature feature = bundle.features().get(f);
      row[f] = feature.normalize(raw[f]);
    }
    return row;
  }

  private List<float[]> run(List<float[]> rows) {
    int width = bundle.features().size();
    float[] flat = new float[rows.size() * width];
    for (int i = 0; i < rows.size(); i++) {
      System.arraycopy(rows.get(i), 0, flat, i * width, width);
    }
    try (TFloat32 fed = Tensors.matrix(flat, rows.size(), width);
        Result result = session.runner().feed(features, fed).fetch(towers).run()) {
      float[] values = Tensors.toArray(result.get(0));
      int outputs = values.length / rows.size();
      List<float[]> split = new ArrayList<>();
      for (int i = 0; i < rows.size(); i++) {
        split.add(Arrays.copyOfRange(values, i * outputs, (i + 1) * outputs));
      }
      return split;
    }
  }

  @Override
  public synchronized void close() {
    session.close();
    graph.close();
  }
}
