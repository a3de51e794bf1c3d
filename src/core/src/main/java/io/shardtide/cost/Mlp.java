package io.shardtide.cost;

import java.util.List;

/**
 * A multilayer perceptron in plain Java: dense layers with {@code max(0, x)} between them.
 *
 * <p>Each output is a sum in the order of the inputs, one rounding per multiplication and per
 * addition, so that the result is the same on any machine. Eight outputs are summed at a time, in
 * registers: heads are so small (18-8-8) that the beginnings and ends of vector loops would take
 * more time than the loops.
 *
 * <p>An instance is not thread-safe: it reuses its buffers.
 */
public final class Mlp {
  /** Outputs that are summed at a time. */
  private static final int BLOCK = 8;

  private final List<DenseLayer> layers;

  /** Weights of each layer: of the first block of outputs, input by input, then of the next. */
  private final float[][] weights;

  /** Biases and outputs of each layer, up to the end of the last block. */
  private final float[][] biases;

  private final float[][] buffers;

  /**
   * @param layers at least one; the outputs of each are the inputs of the next
   */
  public Mlp(List<DenseLayer> layers) {
    this.layers = List.copyOf(layers);
    weights = new float[layers.size()][];
    biases = new float[layers.size()][];
    buffers = new float[layers.size()][];
    for (int l = 0; l < layers.size(); l++) {
      DenseLayer layer = layers.get(l);
      if (l > 0 && layers.get(l - 1).outputs() != layer.inputs()) {
        throw new InvalidModelException(
            "inputs of a layer must be the %s outputs of the one before, got %s"
                .formatted(layers.get(l - 1).outputs(), layer.inputs()));
      }
      int outputs = (layer.outputs() + BLOCK - 1) / BLOCK * BLOCK;
      weights[l] = new float[layer.inputs() * outputs];
      for (int i = 0; i < layer.inputs(); i++) {
        for (int j = 0; j < layer.outputs(); j++) {
          weights[l][(j / BLOCK * layer.inputs() + i) * BLOCK + j % BLOCK] =
              layer.weights()[i * layer.outputs() + j];
        }
      }
      biases[l] = new float[outputs];
      System.arraycopy(layer.biases(), 0, biases[l], 0, layer.outputs());
      buffers[l] = new float[outputs];
    }
  }

  /** Returns the number of inputs. */
  public int inputs() {
    return layers.get(0).inputs();
  }

  /** Returns the number of outputs. */
  public int outputs() {
    return layers.get(layers.size() - 1).outputs();
  }

  /**
   * Computes the outputs.
   *
   * @param input {@link #inputs} numbers
   * @return {@link #outputs} numbers, valid until the next call; others may follow
   */
  public float[] apply(float[] input) {
    float[] x = input;
    for (int l = 0; l < weights.length; l++) {
      float[] y = buffers[l];
      int inputs = weights[l].length / y.length;
      for (int from = 0; from < y.length; from += BLOCK) {
        sum(x, inputs, weights[l], biases[l], y, from);
      }
      if (l + 1 < weights.length) {
        rectify(y);
      }
      x = y;
    }
    return x;
  }

  /** Computes a block of outputs. */
  private static void sum(float[] x, int inputs, float[] w, float[] bias, float[] y, int from) {
    float y0 = bias[from];
    float y1 = bias[from + 1];
    float y2 = bias[from + 2];
    float y3 = bias[from + 3];
    float y4 = bias[from + 4];
    float y5 = bias[from + 5];
    float y6 = bias[from + 6];
    float y7 = bias[from + 7];
    int at = from * inputs;
    for (int i = 0; i < inputs; i++) {
      float xi = x[i];
      y0 += xi * w[at];
      y1 += xi * w[at + 1];
      y2 += xi * w[at + 2];
      y3 += xi * w[at + 3];
      y4 += xi * w[at + 4];
      y5 += xi * w[at + 5];
      y6 += xi * w[at + 6];
      y7 += xi * w[at + 7];
      at += BLOCK;
    }
    y[from] = y0;
    y[from + 1] = y1;
    y[from + 2] = y2;
    y[from + 3] = y3;
    y[from + 4] = y4;
    y[from + 5] = y5;
    y[from + 6] = y6;
    y[from + 7] = y7;
  }

  private static void rectify(float[] y) {
    for (int j = 0; j < y.length; j++) {
      y[j] = Math.max(0f, y[j]);
    }
  }
}
