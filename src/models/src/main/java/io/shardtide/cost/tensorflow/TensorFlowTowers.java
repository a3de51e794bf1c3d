package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TablePredictions;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;

/**
 * Runs the table tower of a model in TensorFlow. Shards are predicted in batches, since each call
 * has an overhead of 15 to 50 us; batches run on all processors. Which shards share a batch does
 * not depend on the processors. Thread-safe: a call does not wait for another one, such as a live
 * change's prediction for those of a curve. {@link #close} waits for batches that run.
 */
public final class TensorFlowTowers implements TowerPredictor {
  /** Maximum shards per call: amortizes the overhead of a call, and fits the cache. */
  private static final int BATCH = 1024;

  private final CostModel model;
  private final Graph graph = new Graph();
  private final Session session;
  private final Placeholder<TFloat32> features;
  private final Placeholder<TFloat32> baselines;
  private final Operand<TFloat32> towers;

  /** Builds the graph and sets the bundle's weights. */
  public TensorFlowTowers(ModelBundle bundle) {
    model = new CostModel(bundle);
    Ops tf = Ops.create(graph);
    TowerGraph tower =
        new TowerGraph(tf, bundle.latencyComponents(), DenseStack.sizes(bundle.tower()));
    features =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, bundle.features().size())));
    baselines = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 2)));
    towers = tower.apply(tf, features, baselines);
    session = GraphRun.session(graph);
    tower.layers().set(session, bundle.tower());
  }

  @Override
  public String modelId() {
    return model.id();
  }

  @Override
  public Optional<String> proxyHardware() {
    return model.bundle().proxyHardware();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    return TablePredictions.ofColumns(model, this::towers, tables, batchSize);
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return TablePredictions.ofAllKinds(model, this::towers, tables, cluster);
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    if (shapes.isEmpty()) {
      return List.of();
    }
    float[][] outputs = new float[shapes.size()][];
    IntStream.rangeClosed(0, (shapes.size() - 1) / BATCH)
        .parallel()
        .forEach(batch -> run(shapes, batch * BATCH, outputs));
    return Arrays.asList(outputs);
  }

  /** Predicts a batch of shapes. */
  private void run(List<ShardShape> shapes, int from, float[][] outputs) {
    int to = Math.min(from + BATCH, shapes.size());
    ShardInputs inputs = ShardInputs.of(model.bundle(), shapes.subList(from, to));
    float[] values =
        new GraphRun(session)
            .feed(features, inputs.features())
            .feed(baselines, inputs.baseline())
            .fetch(towers);
    int size = model.bundle().headOutputs();
    for (int i = from; i < to; i++) {
      float[] tower = Arrays.copyOfRange(values, (i - from) * size, (i - from + 1) * size);
      outputs[i] = model.corrected(shapes.get(i), tower);
    }
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
