package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A linear correction of the table tower's last layer: a function of the layer's inputs, added to
 * the logarithm of every latency component. {@link RobustRidge} fits it. The logarithm of a
 * device's cost changes by the mean of its shards' corrections, weighted by the shards' costs.
 */
final class TowerShift {
  /**
   * Candidate penalties in units of distinct devices, the largest first. With smaller penalties, a
   * search finds shards that the correction underestimates (RATIONALE.md of {@code cost}).
   */
  private static final double[] PENALTIES = {12_000, 1_200, 120};

  /**
   * More distinct devices do not reduce the penalty: they give no information on tables that were
   * not measured.
   */
  private static final double MAX_DEVICES = 120;

  /** Iterations: each recomputes the shards' shares of their devices' costs. */
  private static final int ROUNDS = 4;

  private final ComputeNet.Weights weights;

  /** Inputs of the last layer, by row of features. */
  private final double[][] inputs;

  /**
   * @param weights weights to correct
   * @param shards inputs of each row
   */
  TowerShift(ComputeNet.Weights weights, ShardInputs shards) {
    this.weights = weights;
    inputs = new double[shards.count()][];
    int width = shards.width();
    for (int r = 0; r < inputs.length; r++) {
      inputs[r] = lastInput(Arrays.copyOfRange(shards.features(), r * width, (r + 1) * width));
    }
  }

  /** Returns 1 and the inputs of the last layer: the outputs of the previous one, the features. */
  private double[] lastInput(float[] features) {
    double[] h = new double[features.length];
    for (int i = 0; i < h.length; i++) {
      h[i] = features[i];
    }
    for (DenseLayer layer : weights.tower().subList(0, weights.tower().size() - 1)) {
      double[] y = new double[layer.outputs()];
      for (int j = 0; j < y.length; j++) {
        y[j] = layer.biases()[j];
        for (int i = 0; i < h.length; i++) {
          y[j] += h[i] * layer.weights()[i * layer.outputs() + j];
        }
        y[j] /= 1 + StrictMath.exp(-y[j]);
      }
      h = y;
    }
    double[] input = new double[1 + h.length + features.length];
    input[0] = 1;
    System.arraycopy(h, 0, input, 1, h.length);
    for (int i = 0; i < features.length; i++) {
      input[1 + h.length + i] = features[i];
    }
    return input;
  }

  /**
   * Corrects a net.
   *
   * @param net the net, with the weights to correct
   * @param samples measured devices with their weights
   * @param anchors rows of shards whose predictions should not change, except for a common factor
   */
  void apply(ComputeNet net, ComputeNet.ComputeBatch samples, int[] anchors) {
    double[] theta = new double[inputs[0].length];
    double[][] anchorInputs = new double[anchors.length][];
    for (int a = 0; a < anchors.length; a++) {
      anchorInputs[a] = inputs[anchors[a]].clone();
      // The intercept, a common factor of all costs, is not penalized.
      anchorInputs[a][0] = 0;
    }
    int[] groups = groups(samples);
    double[] sampleWeights = new double[samples.weights().length];
    for (int i = 0; i < sampleWeights.length; i++) {
      sampleWeights[i] = samples.weights()[i];
    }
    double devices = Math.min(MAX_DEVICES, distinctDevices(sampleWeights, groups));
    double[] lambdas = Arrays.stream(PENALTIES).map(penalty -> penalty / devices).toArray();
    double lambda = 0;
    for (int round = 0; round < ROUNDS; round++) {
      float[] predicted = net.predict(samples);
      double[][] features = meanInputs(samples, standaloneMs(net));
      double[] targets = new double[predicted.length];
      for (int i = 0; i < targets.length; i++) {
        targets[i] =
            StrictMath.log((double) samples.labels()[i] / predicted[i])
                + RobustRidge.dot(features[i], theta);
      }
      RobustRidge ridge = new RobustRidge(features, sampleWeights, anchorInputs);
      if (round == 0) {
        lambda = ridge.chooseLambda(targets, groups, lambdas);
      }
      theta = ridge.fit(targets, lambda);
      net.set(corrected(theta));
    }
  }

  /** Returns a group number for each device; devices with the same shards are one group. */
  private static int[] groups(ComputeNet.ComputeBatch batch) {
    List<List<Integer>> shards = new ArrayList<>();
    for (int d = 0; d < batch.labels().length; d++) {
      shards.add(new ArrayList<>());
    }
    for (int s = 0; s < batch.rows().length; s++) {
      shards.get(batch.devices()[s]).add(batch.rows()[s]);
    }
    Map<List<Integer>, Integer> numbers = new HashMap<>();
    return shards.stream().mapToInt(s -> numbers.computeIfAbsent(s, n -> numbers.size())).toArray();
  }

  /** Returns the number of groups; one with a maximum weight below 1 counts as that weight. */
  private static double distinctDevices(double[] weights, int[] groups) {
    double[] maxWeights = new double[weights.length];
    for (int i = 0; i < weights.length; i++) {
      maxWeights[groups[i]] = Math.max(maxWeights[groups[i]], Math.min(1, weights[i]));
    }
    return Arrays.stream(maxWeights).sum();
  }

  /** Returns the predicted cost of each row as the only shard of a device, in milliseconds. */
  private float[] standaloneMs(ComputeNet net) {
    ComputeNet.ComputeBatch each = ComputeNet.ComputeBatch.of(inputs.length, inputs.length);
    for (int r = 0; r < inputs.length; r++) {
      each.rows()[r] = r;
      each.devices()[r] = r;
    }
    return net.predict(each);
  }

  /** Returns the mean inputs of each device's shards, weighted by their standalone costs. */
  private double[][] meanInputs(ComputeNet.ComputeBatch batch, float[] standaloneMs) {
    double[][] means = new double[batch.labels().length][inputs[0].length];
    double[] sums = new double[means.length];
    for (int s = 0; s < batch.rows().length; s++) {
      sums[batch.devices()[s]] += standaloneMs[batch.rows()[s]];
    }
    for (int s = 0; s < batch.rows().length; s++) {
      int device = batch.devices()[s];
      double share = standaloneMs[batch.rows()[s]] / sums[device];
      double[] input = inputs[batch.rows()[s]];
      for (int i = 0; i < input.length; i++) {
        means[device][i] += share * input[i];
      }
    }
    return means;
  }

  private ComputeNet.Weights corrected(double[] theta) {
    int last = weights.tower().size() - 1;
    DenseLayer layer = weights.tower().get(last);
    int components = weights.head().get(weights.head().size() - 1).outputs();
    float[] newWeights = layer.weights().clone();
    float[] newBiases = Arrays.copyOf(layer.biases(), layer.outputs());
    for (int k = 0; k < components; k++) {
      newBiases[k] += (float) theta[0];
      for (int i = 0; i < layer.inputs(); i++) {
        newWeights[i * layer.outputs() + k] += (float) theta[1 + i];
      }
    }
    List<DenseLayer> tower = new ArrayList<>(weights.tower().subList(0, last));
    tower.add(new DenseLayer(layer.inputs(), layer.outputs(), newWeights, newBiases));
    return new ComputeNet.Weights(tower, weights.head());
  }
}
