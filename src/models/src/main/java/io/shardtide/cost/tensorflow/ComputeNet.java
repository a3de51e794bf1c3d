package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.HeadInputs;
import io.shardtide.cost.LaunchGroups;
import io.shardtide.cost.ModelBundle;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Squeeze;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

/**
 * The trainable compute net: the tower on each shard, the sum over the shards of a launch group,
 * the head on the sum, the sum over the groups of a device. The architecture is NeuroShard's (Zha
 * et al., MLSys 2023, section 3.1); {@link io.shardtide.cost.ModelBundle} has the formulas.
 */
final class ComputeNet implements AutoCloseable {
  /**
   * Latency components: outputs of the tower in milliseconds, each corrected by the head, half of
   * them forward.
   */
  private static final int COMPONENTS = 8;

  /** Weight of the errors of forward and backward part, relative to that of their sum. */
  private static final float PART_WEIGHT = 0.5f;

  /** Context: outputs of the tower that only the head reads. 4, 28 and 60 give the same errors. */
  private static final int CONTEXT = 4;

  private static final int HEAD_HIDDEN = 8;
  private static final float CLIP_NORM = 10f;

  private final Graph graph = new Graph();
  private final Session session;
  private final TowerGraph tower;
  private final HeadGraph head;
  private final Placeholder<TInt32> rows;
  private final Placeholder<TInt32> groups;
  private final Placeholder<TInt32> groupCount;
  private final Placeholder<TFloat32> widest;
  private final Placeholder<TFloat32> launchMs;
  private final Placeholder<TFloat32> labels;
  private final Placeholder<TFloat32> forwardLabels;
  private final Placeholder<TFloat32> partWeights;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * Checks that a net of these sizes can be trained on.
   *
   * @throws IllegalArgumentException if training makes nets of other sizes
   */
  static void checkSizes(ModelBundle model) {
    List<Integer> found =
        Stream.of(model.tower(), model.head())
            .flatMap(List::stream)
            .map(DenseLayer::outputs)
            .toList();
    int width = TrainingSettings.WIDTH;
    List<Integer> trained = List.of(width, width, COMPONENTS + CONTEXT, HEAD_HIDDEN, COMPONENTS);
    if (!found.equals(trained)) {
      throw new IllegalArgumentException(
          "layers of a model that training starts from must have %s outputs, got %s of model %s. Train it again (pretrain) with this version"
              .formatted(trained, found, model.shown()));
    }
  }

  /**
   * Makes a net with random weights.
   *
   * @param inputs inputs of each shard that samples may refer to
   * @param hidden outputs of each hidden layer of the tower
   * @param decay of the weights; see {@link Adam}
   */
  ComputeNet(ShardInputs inputs, int hidden, float decay, Random random) {
    int count = inputs.count();
    int width = inputs.width();
    int outputs = COMPONENTS + CONTEXT;
    Ops tf = Ops.create(graph);
    Placeholder<TFloat32> newFeatures =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(count, width)));
    Variable<TFloat32> allFeatures = tf.variable(Shape.of(count, width), TFloat32.class);
    Op setFeatures = tf.assign(allFeatures, newFeatures);
    Placeholder<TFloat32> newBaseline =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(count, 2)));
    Variable<TFloat32> allBaseline = tf.variable(Shape.of(count, 2), TFloat32.class);
    Op setBaseline = tf.assign(allBaseline, newBaseline);
    tower = new TowerGraph(tf, COMPONENTS, width, hidden, hidden, outputs);
    head = new HeadGraph(tf, HeadInputs.size(outputs, true), HEAD_HIDDEN, COMPONENTS);

    rows = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    groups = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    groupCount = tf.placeholder(TInt32.class, Placeholder.shape(Shape.scalar()));
    widest = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 1)));
    launchMs = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 2)));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    forwardLabels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    partWeights = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    Operand<TFloat32> towers =
        tower.apply(
            tf,
            tf.gather(allFeatures, rows, tf.constant(0)),
            tf.gather(allBaseline, rows, tf.constant(0)));
    Operand<TFloat32> ofGroups =
        tf.math.add(
            head.apply(tf, tf.math.unsortedSegmentSum(towers, groups, groupCount), List.of(widest)),
            launchMs);
    Operand<TFloat32> parts =
        tf.reduceSum(
            tf.reshape(ofGroups, tf.constant(new int[] {-1, LaunchGroups.COUNT, 2})),
            tf.constant(1));
    predicted = tf.reduceSum(parts, tf.constant(1));
    Operand<TFloat32> predictedForward =
        tf.squeeze(HeadGraph.columns(tf, parts, 0, 1), Squeeze.axis(List.of(1L)));
    Operand<TFloat32> predictedBackward = tf.math.sub(predicted, predictedForward);
    Operand<TFloat32> backwardLabels = tf.math.sub(labels, forwardLabels);
    Operand<TFloat32> ofParts =
        tf.math.add(
            Losses.relative(tf, predictedForward, forwardLabels, partWeights),
            Losses.relative(tf, predictedBackward, backwardLabels, partWeights));
    loss =
        tf.math.add(
            Losses.relative(tf, predicted, labels, tf.constant(1f)),
            tf.math.mul(ofParts, tf.constant(PART_WEIGHT)));
    List<Variable<TFloat32>> ofTower = tower.layers().variables();
    List<Variable<TFloat32>> variables = new ArrayList<>(ofTower);
    variables.addAll(head.layers().variables());
    adam = new Adam(tf, loss, variables, CLIP_NORM, decay, ofTower);

    session = GraphRun.session(graph);
    new GraphRun(session)
        .feed(newFeatures, inputs.features())
        .feed(newBaseline, inputs.baseline())
        .with(List.of(setFeatures, setBaseline))
        .run();
    adam.reset(session);
    tower.initialize(session, random);
    head.layers().initialize(session, random, 0.1);
  }

  /**
   * A batch of samples as flat arrays.
   *
   * @param rows row of features of each shard
   * @param launchGroups launch group of each shard, those of a sample after those of the one before
   * @param widest of each launch group, what the head reads of its widest shard
   * @param launchMs of each launch group, what its launch costs, forward and backward
   * @param labels cost of each sample, in milliseconds
   * @param forwardLabels forward part of each sample's cost; any part where it was not measured
   * @param partWeights weight of the parts of each sample in the loss, 0 where they were not
   *     measured
   */
  @SuppressWarnings("ArrayRecordComponent") // Used for one run.
  record ComputeBatch(
      int[] rows,
      int[] launchGroups,
      float[] widest,
      float[] launchMs,
      float[] labels,
      float[] forwardLabels,
      float[] partWeights) {
    /** Returns an empty batch of samples whose parts were not measured. */
    static ComputeBatch of(int samples, int shards) {
      return new ComputeBatch(
          new int[shards],
          new int[shards],
          new float[samples * LaunchGroups.COUNT],
          new float[samples * LaunchGroups.COUNT * 2],
          new float[samples],
          new float[samples],
          new float[samples]);
    }

    /** Sets the labels of a sample. */
    void label(int sample, ComputeSample measured) {
      labels[sample] = (float) measured.computeMs();
      forwardLabels[sample] = (float) measured.forwardMs().orElse(measured.computeMs() / 2);
      partWeights[sample] = measured.forwardMs().isPresent() ? 1 : 0;
    }
  }

  /** Makes one optimizer step on a batch; returns its loss. */
  double train(ComputeBatch batch, double learningRate) {
    GraphRun run =
        feed(batch)
            .feed(labels, batch.labels)
            .feed(forwardLabels, batch.forwardLabels)
            .feed(partWeights, batch.partWeights);
    return adam.step(run, learningRate).fetch(loss)[0];
  }

  /** Returns the predicted cost of each sample, in milliseconds. */
  float[] predict(ComputeBatch batch) {
    return feed(batch).fetch(predicted);
  }

  private GraphRun feed(ComputeBatch batch) {
    return new GraphRun(session)
        .feed(rows, batch.rows)
        .feed(groups, batch.launchGroups)
        .feed(groupCount, batch.widest.length)
        .feed(widest, batch.widest)
        .feed(launchMs, batch.launchMs);
  }

  /** Returns the weights of tower and head. */
  Weights weights() {
    return new Weights(tower.layers().get(session), head.layers().get(session));
  }

  /** Sets the weights of tower and head. */
  void set(Weights weights) {
    tower.layers().set(session, weights.tower());
    head.layers().set(session, weights.head());
  }

  /** Weights of tower and head, by layer. */
  record Weights(List<DenseLayer> tower, List<DenseLayer> head) {
    /** Returns weights a share of the way from these to others of the same sizes. */
    Weights towards(Weights others, float share) {
      return new Weights(towards(tower, others.tower, share), towards(head, others.head, share));
    }

    private static List<DenseLayer> towards(
        List<DenseLayer> from, List<DenseLayer> to, float share) {
      return IntStream.range(0, from.size())
          .mapToObj(l -> towards(from.get(l), to.get(l), share))
          .toList();
    }

    private static DenseLayer towards(DenseLayer from, DenseLayer to, float share) {
      return new DenseLayer(
          from.inputs(),
          from.outputs(),
          towards(from.weights(), to.weights(), share),
          towards(from.biases(), to.biases(), share));
    }

    private static float[] towards(float[] from, float[] to, float share) {
      float[] values = new float[from.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = from[i] + share * (to[i] - from[i]);
      }
      return values;
    }
  }

  @Override
  public void close() {
    session.close();
    graph.close();
  }
}
