package io.shardtide.cost;

/**
 * The inputs of a head, from the sums S of a device's tower outputs; {@link ModelBundle} has the
 * formulas. All are between 0 and 1.
 */
public final class HeadInputs {
  /**
   * A sum of latency components enters as {@code sum / (sum + scale)}, in milliseconds, for each of
   * these scales: steps of DLRMs take from hundredths of a millisecond to tens.
   */
  private static final float[] SCALES_MS = {0.03f, 0.3f, 3f};

  /** Added to a sum that is divided by: a device with lookups in no table computes nothing. */
  public static final float LEAST_MS = 1e-6f;

  private HeadInputs() {}

  /** Returns the scales, in milliseconds. */
  public static float[] scalesMs() {
    return SCALES_MS.clone();
  }

  /**
   * Returns the number of inputs of a head.
   *
   * @param towerOutputs sums that it reads
   * @param readsWidest whether it reads how wide the widest shard is, too
   */
  public static int size(int towerOutputs, boolean readsWidest) {
    return towerOutputs + 2 * SCALES_MS.length + (readsWidest ? 1 : 0);
  }

  /**
   * Writes the inputs.
   *
   * @param sums S of all groups
   * @param from where those of the group begin
   * @param components number of latency components, forward and backward
   * @param outputs number of sums that the head reads
   * @param inputs receives them
   */
  static void write(double[] sums, int from, int components, int outputs, float[] inputs) {
    int half = components / 2;
    int at = outputs;
    for (int first = 0; first < components; first += half) {
      float total = 0;
      for (int k = first; k < first + half; k++) {
        total += (float) sums[from + k];
      }
      float divisor = total + LEAST_MS;
      for (int k = first; k < first + half; k++) {
        inputs[k] = (float) sums[from + k] / divisor;
      }
      for (float scale : SCALES_MS) {
        inputs[at++] = total / (total + scale);
      }
    }
    for (int c = components; c < outputs; c++) {
      float context = (float) sums[from + c];
      inputs[c] = context / (1f + context);
    }
  }
}
