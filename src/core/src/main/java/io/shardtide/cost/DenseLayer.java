package io.shardtide.cost;

/**
 * The linear part of a layer: {@code y = x W + b}. Holds its arrays without a copy.
 *
 * @param inputs length of x
 * @param outputs length of y
 * @param weights W in rows: {@code inputs * outputs} numbers
 * @param biases b: {@code outputs} numbers
 */
@SuppressWarnings(
    "ArrayRecordComponent") // Weights are large, and compared by the bundle's id, not by equals.
public record DenseLayer(int inputs, int outputs, float[] weights, float[] biases) {
  /** Checks the sizes, and that every number is finite. */
  public DenseLayer {
    if (inputs < 1
        || outputs < 1
        || weights.length != (long) inputs * outputs
        || biases.length != outputs) {
      throw new InvalidModelException(
          "a layer of %s inputs and %s outputs must have inputs * outputs weights and outputs biases, got %s and %s"
              .formatted(inputs, outputs, weights.length, biases.length));
    }
    checkFinite(weights);
    checkFinite(biases);
  }

  private static void checkFinite(float[] values) {
    for (float value : values) {
      if (!Float.isFinite(value)) {
        throw new InvalidModelException("weights of a layer must be finite, got " + value);
      }
    }
  }
}
