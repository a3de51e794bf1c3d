package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
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
 * Runs the table tower of a model in TensorFlow. Tables are predicted in batches, since each call
 * has an overhead of 15 to 25 us. Thread-safe; calls are serialized.
 */
public final class TensorFlowTowers implements TowerPredictor {
  /** Maximum shards per call: amortizes the overhead of a call, and fits the cache. */
  private static final int BATCH = 4096;

  private final CostModel model;
  private final Graph graph = new Graph();
  private final Session session;
  private final Placeholder<TFloat32> features;
  private final Placeholder<TFloat32> baselines;
  private final Operand<TFloat32> towers;

  /** The inputs of one shard: normalized features, sum of the fitted terms in milliseconds. */
  @SuppressWarnings("ArrayRecordComponent") // Used for one run.
  private record TowerInput(float[] features, float baseline) {}

  /** Builds the graph and sets the bundle's weights. */
  public TensorFlowTowers(ModelBundle bundle) {
    model = new CostModel(bundle);
    Ops tf = Ops.create(graph);
    TowerGraph tower = TowerGraph.of(tf, bundle.latencyComponents(), bundle.tower());
    features =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, bundle.features().size())));
    baselines = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 1)));
    towers = tower.apply(tf, features, baselines);
    session = Tensors.session(graph);
    tower.set(session, bundle.tower());
  }

  @Override
  public String modelId() {
    return model.id();
  }

  @Override
  public synchronized List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    List<TowerInput> rows = new ArrayList<>();
    for (TableSpec table : tables) {
      for (int width = TableSpec.COLUMN_UNIT;
          width <= table.columns();
          width += TableSpec.COLUMN_UNIT) {
        rows.add(row(ShardShape.ofColumns(table, width, batchSize)));
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
      predictions.add(
          new TablePrediction(
              table, outputs.subList(at, at + widths), model.limits().ofTable(table, batchSize)));
      at += widths;
    }
    return predictions;
  }

  private TowerInput row(ShardShape shape) {
    ModelBundle bundle = model.bundle();
    return new TowerInput(
        Normalization.apply(bundle.features(), ShardFeatures.of(shape)),
        (float)
            NonNegativeLeastSquares.weightedSum(
                bundle.computeCoefficients(), ComputeTerms.of(shape)));
  }

  private List<float[]> run(List<TowerInput> rows) {
    int width = model.bundle().features().size();
    float[] flat = new float[rows.size() * width];
    float[] baseline = new float[rows.size()];
    for (int i = 0; i < rows.size(); i++) {
      System.arraycopy(rows.get(i).features(), 0, flat, i * width, width);
      baseline[i] = rows.get(i).baseline();
    }
    try (TFloat32 fedFeatures = Tensors.matrix(flat, rows.size(), width);
        TFloat32 fedBaselines = Tensors.matrix(baseline, rows.size(), 1);
        Result result =
            session
                .runner()
                .feed(features, fedFeatures)
                .feed(baselines, fedBaselines)
                .fetch(towers)
                .run()) {
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
