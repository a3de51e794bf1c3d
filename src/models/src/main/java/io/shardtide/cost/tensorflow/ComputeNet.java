package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.HeadInputs;
import io.shardtide.cost.LaunchGroups;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
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
  private final Placeholder<TFloat32> weights;
  private final Placeholder<TFloat32> forwardLabels;
  private final Placeholder<TFloat32> partWeights;
  private final Operand<TFloat32> predicted;
  private final Operand<TFloat32> loss;
  private final Adam adam;

  /**
   * Sizes of the layers.
   *
   * @param hidden features, then outputs of the tower's hidden layers
   * @param outputs outputs of the tower
   * @param head inputs, then outputs of the head's layers; the last is the number of latency
   *     components
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Sizes(int[] hidden, int outputs, int[] head) {}

  /**
   * Returns a net with random weights.
   *
   * @param inputs inputs of each shard that samples may refer to
   * @param width outputs of each hidden layer of the tower
   * @param decay of the weights; see {@link Adam}
   */
  static ComputeNet random(ShardInputs inputs, int width, float decay, Random random) {
    int[] hidden = {inputs.width(), width, width};
    int outputs = COMPONENTS + CONTEXT;
    int[] head = {HeadInputs.size(outputs, true), HEAD_HIDDEN, COMPONENTS};
    ComputeNet net = new ComputeNet(inputs, new Sizes(hidden, outputs, head), decay);
    net.tower.initialize(net.session, random);
    net.head.initialize(net.session, random);
    return net;
  }

  /**
   * Checks that a net of these sizes can be trained on.
   *
   * @throws IllegalArgumentException if training makes nets of other sizes
   */
  static void checkSizes(String model, int[] hidden, int outputs, List<DenseLayer> head) {
    int[] headSizes = DenseStack.sizes(head);
    int[] found = {hidden[1], hidden[hidden.length - 1], outputs, headSizes[1], headSizes[2]};
    int width = TrainingSettings.WIDTH;
    int[] trained = {width, width, COMPONENTS + CONTEXT, HEAD_HIDDEN, COMPONENTS};
    if (hidden.length != 3 || headSizes.length != 3 || !Arrays.equals(found, trained)) {
      throw new IllegalArgumentException(
          "layers of a model that training starts from must have %s outputs, got %s of model %s. Train it again (pretrain) with this version"
              .formatted(Arrays.toString(trained), Arrays.toString(found), model));
    }
  }

  private ComputeNet(ShardInputs inputs, Sizes sizes, float decay) {
    int count = inputs.count();
    int width = inputs.width();
    Ops tf = Ops.create(graph);
    Placeholder<TFloat32> newFeatures =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(count, width)));
    Variable<TFloat32> allFeatures = tf.variable(Shape.of(count, width), TFloat32.class);
    Op setFeatures = tf.assign(allFeatures, newFeatures);
    Placeholder<TFloat32> newBaseline =
        tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(count, 2)));
    Variable<TFloat32> allBaseline = tf.variable(Shape.of(count, 2), TFloat32.class);
    Op setBaseline = tf.assign(allBaseline, newBaseline);
    int components = sizes.head()[sizes.head().length - 1];
    tower = new TowerGraph(tf, components, sizes.hidden(), sizes.outputs());
    head = new HeadGraph(tf, sizes.head());

    rows = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    groups = tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(-1)));
    groupCount = tf.placeholder(TInt32.class, Placeholder.shape(Shape.scalar()));
    widest = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 1)));
    launchMs = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 2)));
    labels = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
    weights = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1)));
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
        tf.squeeze(
            tf.slice(parts, tf.constant(new int[] {0, 0}), tf.constant(new int[] {-1, 1})),
            Squeeze.axis(List.of(1L)));
    Operand<TFloat32> predictedBackward = tf.math.sub(predicted, predictedForward);
    Operand<TFloat32> backwardLabels = tf.math.sub(labels, forwardLabels);
    Operand<TFloat32> ofParts =
        tf.math.add(
            Losses.relative(tf, predictedForward, forwardLabels, partWeights),
            Losses.relative(tf, predictedBackward, backwardLabels, partWeights));
    loss =
        tf.math.add(
            Losses.relative(tf, predicted, labels, weights),
            tf.math.mul(ofParts, tf.constant(PART_WEIGHT)));
    List<Variable<TFloat32>> variables = new ArrayList<>(tower.variables());
    variables.addAll(head.variables());
    adam = new Adam(tf, loss, variables, CLIP_NORM, decay, tower.variables());

    session = Tensors.session(graph);
    try (TFloat32 fedFeatures = inputs.featureTensor();
        TFloat32 fedBaseline = inputs.baselineTensor()) {
      session
          .runner()
          .feed(newFeatures, fedFeatures)
          .feed(newBaseline, fedBaseline)
          .addTarget(setFeatures)
          .addTarget(setBaseline)
          .run()
          .close();
    }
    adam.reset(session);
  }

  /**
   * A batch of samples as flat arrays.
   *
   * @param rows row of features of each shard
   * @param launchGroups launch group of each shard, those of a sample after those of the one before
   * @param widest of each launch group, what the head reads of its widest shard
   * @param launchMs of each launch group, what its launch costs, forward and backward
   * @param labels cost of each sample, in milliseconds
   * @param weights weight of each sample in the loss
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
      float[] weights,
      float[] forwardLabels,
      float[] partWeights) {
    /** Returns an empty batch of equally weighted samples, whose parts were not measured. */
    static ComputeBatch of(int samples, int shards) {
      float[] equal = new float[samples];
      Arrays.fill(equal, 1);
      return new ComputeBatch(
          new int[shards],
          new int[shards],
          new float[samples * LaunchGroups.COUNT],
          new float[samples * LaunchGroups.COUNT * 2],
          new float[samples],
          equal,
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
    Session.Runner runner = session.runner().fetch(loss);
    try (TInt32 fedRows = Tensors.vector(batch.rows);
        TInt32 fedGroups = Tensors.vector(batch.launchGroups);
        TInt32 fedCount = TInt32.scalarOf(batch.widest.length);
        TFloat32 fedWidest = Tensors.matrix(batch.widest, batch.widest.length, 1);
        TFloat32 fedLaunches = Tensors.matrix(batch.launchMs, batch.widest.length, 2);
        TFloat32 fedLabels = TFloat32.vectorOf(batch.labels);
        TFloat32 fedWeights = TFloat32.vectorOf(batch.weights);
        TFloat32 fedForward = TFloat32.vectorOf(batch.forwardLabels);
        TFloat32 fedParts = TFloat32.vectorOf(batch.partWeights);
        Adam.Step step = adam.step(runner, learningRate);
        Result result =
            feed(runner, fedRows, fedGroups, fedCount)
                .feed(widest, fedWidest)
                .feed(launchMs, fedLaunches)
                .feed(labels, fedLabels)
                .feed(weights, fedWeights)
                .feed(forwardLabels, fedForward)
                .feed(partWeights, fedParts)
                .run()) {
      assert step != null;
      return Tensors.toArray(result.get(0))[0];
    }
  }

  /** Returns the predicted cost of each sample, in milliseconds. */
  float[] predict(ComputeBatch batch) {
    try (TInt32 fedRows = Tensors.vector(batch.rows);
        TInt32 fedGroups = Tensors.vector(batch.launchGroups);
        TInt32 fedCount = TInt32.scalarOf(batch.widest.length);
        TFloat32 fedWidest = Tensors.matrix(batch.widest, batch.widest.length, 1);
        TFloat32 fedLaunches = Tensors.matrix(batch.launchMs, batch.widest.length, 2);
        Result result =
            feed(session.runner(), fedRows, fedGroups, fedCount)
                .feed(widest, fedWidest)
                .feed(launchMs, fedLaunches)
                .fetch(predicted)
                .run()) {
      return Tensors.toArray(result.get(0));
    }
  }

  private Session.Runner feed(
      Session.Runner runner, TInt32 fedRows, TInt32 fedGroups, TInt32 fedCount) {
    return runner.feed(rows, fedRows).feed(groups, fedGroups).feed(groupCount, fedCount);
  }

  /** Returns the weights of tower and head. */
  Weights weights() {
    return new Weights(tower.get(session), head.get(session));
  }

  /** Sets the weights of tower and head. */
  void set(Weights weights) {
    tower.set(session, weights.tower());
    head.set(session, weights.head());
  }

  /** Weights of tower and head, by layer. */
  record Weights(List<DenseLayer> tower, List<DenseLayer> head) {
    /** Returns weights a share of the way from these to others of the same sizes. */
    Weights towards(Weights others, float share) {
      return new Weights(towards(tower, others.tower, share), towards(head, others.head, share));
    }

    private static List<DenseLayer> towards(
        List<DenseLayer> from, List<DenseLayer> to, float share) {
      List<DenseLayer> layers = new ArrayList<>();
      for (int l = 0; l < from.size(); l++) {
        DenseLayer layer = from.get(l);
        layers.add(
            new DenseLayer(
                layer.inputs(),
                layer.outputs(),
                towards(layer.weights(), to.get(l).weights(), share),
                towards(layer.biases(), to.get(l).biases(), share)));
      }
      return layers;
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
