package io.shardtide.cost.tensorflow;

import io.shardtide.cost.DenseLayer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A correction of the table tower's last layer: one more linear function of what that layer reads,
 * added to the logarithm of every work. Its coefficients are found by {@link RobustRidge}: the
 * logarithm of a device's cost changes by the corrections of its shards, each as much as the shard
 * is of the device's cost.
 */
final class TowerShift {
  /**
   * Penalties to choose from, the heaviest first: as much as so many different devices count. Below
   * the least, a search finds shards that the correction makes too cheap (RATIONALE.md).
   */
  private static final double[] PENALTIES = {12_000, 1_200, 120};

  /** More different devices make no penalty lighter: they say nothing of tables not measured. */
  private static final double MOST_DEVICES = 120;

  /** Times that the shards' parts in the cost are looked at anew. */
  private static final int ROUNDS = 4;

  private final ComputeNet.Weights weights;
  private final double[][] read;

  /**
   * @param weights the layers that are corrected
   * @param features normalised features of each row
   */
  TowerShift(ComputeNet.Weights weights, float[][] features) {
    this.weights = weights;
    read = new double[features.length][];
    for (int r = 0; r < read.length; r++) {
      read[r] = lastInput(features[r]);
    }
  }

  /** Returns 1 and what the last layer reads: the layer before it, and the features. */
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
   * @param net the net, with the weights that are corrected
   * @param samples measured devices, with their weights
   * @param anchors rows of shards on which nothing should change, but for what changes everywhere
   */
  void apply(ComputeNet net, ComputeNet.ComputeBatch samples, int[] anchors) {
    double[] theta = new double[read[0].length];
    double[][] held = new double[anchors.length][];
    for (int a = 0; a < anchors.length; a++) {
      held[a] = read[anchors[a]].clone();
      // What changes everywhere is free.
      held[a][0] = 0;
    }
    int[] groups = groups(samples);
    double[] counts = new double[samples.weights().length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = samples.weights()[i];
    }
    double devices = Math.min(MOST_DEVICES, different(counts, groups));
    double[] lambdas = Arrays.stream(PENALTIES).map(penalty -> penalty / devices).toArray();
    double lambda = 0;
    for (int round = 0; round < ROUNDS; round++) {
      float[] said = net.predict(samples);
      double[][] features = means(samples, alone(net));
      double[] targets = new double[said.length];
      for (int i = 0; i < targets.length; i++) {
        targets[i] =
            StrictMath.log((double) samples.labels()[i] / said[i])
                + RobustRidge.dot(features[i], theta);
      }
      RobustRidge ridge = new RobustRidge(features, counts, held);
      if (round == 0) {
        lambda = ridge.choose(targets, groups, lambdas);
      }
      theta = ridge.fit(targets, lambda);
      net.set(shifted(theta));
    }
  }

  /** Numbers devices so that those with the same shards have one number. */
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

  /** Returns how many different devices there are; one whose weight is below 1 counts that much. */
  private static double different(double[] weights, int[] groups) {
    double[] most = new double[weights.length];
    for (int i = 0; i < weights.length; i++) {
      most[groups[i]] = Math.max(most[groups[i]], Math.min(1, weights[i]));
    }
    return Arrays.stream(most).sum();
  }

  /** Returns what each row costs alone on a device. */
  private float[] alone(ComputeNet net) {
    ComputeNet.ComputeBatch each = ComputeNet.ComputeBatch.of(read.length, read.length);
    for (int r = 0; r < read.length; r++) {
      each.rows()[r] = r;
      each.devices()[r] = r;
    }
    return net.predict(each);
  }

  /** Returns what the last layer reads of a device: the mean of its shards by their cost. */
  private double[][] means(ComputeNet.ComputeBatch batch, float[] alone) {
    double[][] means = new double[batch.labels().length][read[0].length];
    double[] sums = new double[means.length];
    for (int s = 0; s < batch.rows().length; s++) {
      sums[batch.devices()[s]] += alone[batch.rows()[s]];
    }
    for (int s = 0; s < batch.rows().length; s++) {
      int device = batch.devices()[s];
      double part = alone[batch.rows()[s]] / sums[device];
      double[] input = read[batch.rows()[s]];
      for (int i = 0; i < input.length; i++) {
        means[device][i] += part * input[i];
      }
    }
    return means;
  }

  private ComputeNet.Weights shifted(double[] theta) {
    int last = weights.tower().size() - 1;
    DenseLayer layer = weights.tower().get(last);
    int works = weights.head().get(weights.head().size() - 1).outputs();
    float[] newWeights = layer.weights().clone();
    float[] newBiases = Arrays.copyOf(layer.biases(), layer.outputs());
    for (int k = 0; k < works; k++) {
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
