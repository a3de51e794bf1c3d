package io.shardtide.search.bound;

import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.HeadInputs;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import java.util.stream.IntStream;

/**
 * The head of a model with one hidden layer, in double precision: {@link ModelBundle} has the
 * formulas. Its inputs are shares of latency components, forward and backward, then contexts, then
 * totals, and of models with launch groups how wide the widest shard is.
 */
final class HeadNet {
  final int components;
  final int sums;

  /** Where what is added beside a tower's output begins, in a segment of a sum. */
  final int added;

  final int inputs;
  final int hidden;
  final boolean readsWidest;

  /** Weights of each hidden unit, by input. */
  final double[][] hiddenWeights;

  final double[] hiddenBiases;

  /** Weights of each output, by hidden unit. */
  final double[][] outputWeights;

  final double[] outputBiases;

  /** Scales of the totals, in milliseconds. */
  final double[] scalesMs;

  HeadNet(ModelBundle bundle) {
    components = bundle.latencyComponents();
    sums = bundle.headOutputs();
    added = bundle.towerSize();
    DenseLayer first = bundle.head().get(0);
    DenseLayer second = bundle.head().get(1);
    inputs = first.inputs();
    hidden = first.outputs();
    readsWidest = bundle.launches().isPresent();
    hiddenWeights = weights(first);
    hiddenBiases = doubles(first.biases());
    outputWeights = weights(second);
    outputBiases = doubles(second.biases());
    scalesMs = doubles(HeadInputs.scalesMs());
  }

  /** Returns whether the head of a model has one hidden layer. */
  static boolean fits(ModelBundle bundle) {
    return bundle.head().size() == 2;
  }

  private static double[][] weights(DenseLayer layer) {
    double[][] weights = new double[layer.outputs()][layer.inputs()];
    for (int j = 0; j < layer.outputs(); j++) {
      for (int i = 0; i < layer.inputs(); i++) {
        weights[j][i] = layer.weights()[i * layer.outputs() + j];
      }
    }
    return weights;
  }

  private static double[] doubles(float[] values) {
    return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
  }

  /** Returns the number of the input after the last total. */
  int firstAfterTotals() {
    return sums + 2 * scalesMs.length;
  }

  /** Returns the factor of a correction: convex, rising, above 0. */
  static double factor(double correction) {
    return correction > 0 ? 1 + correction : 1 / (1 - correction);
  }

  /** Returns the slope of {@link #factor}. */
  static double slope(double correction) {
    return correction > 0 ? 1 : 1 / ((1 - correction) * (1 - correction));
  }

  /** Returns the factors of the latency components of a device. */
  double[] factors(double[] sum, double widest) {
    double[] x = new double[inputs];
    int half = components / 2;
    int at = sums;
    for (int first = 0; first < components; first += half) {
      double total = 0;
      for (int k = first; k < first + half; k++) {
        total += sum[k];
      }
      for (int k = first; k < first + half; k++) {
        x[k] = sum[k] / (total + HeadInputs.LEAST_MS);
      }
      for (double scale : scalesMs) {
        x[at++] = total / (total + scale);
      }
    }
    for (int c = components; c < sums; c++) {
      x[c] = sum[c] / (1 + sum[c]);
    }
    if (readsWidest) {
      x[inputs - 1] = widest;
    }
    double[] units = new double[hidden];
    for (int j = 0; j < hidden; j++) {
      units[j] = Math.max(0, hiddenBiases[j] + LogCorrection.dot(hiddenWeights[j], x));
    }
    double[] factors = new double[components];
    for (int k = 0; k < components; k++) {
      factors[k] = factor(outputBiases[k] + LogCorrection.dot(outputWeights[k], units));
    }
    return factors;
  }
}
