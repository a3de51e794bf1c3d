package io.shardtide.cost;

import io.shardtide.domain.MeasuredDevice;
import java.util.Arrays;
import java.util.List;

/**
 * A measured exchange between all devices. Holds its arrays without a copy.
 *
 * @param columns columns on each device
 * @param startMs when each device began, in milliseconds after the first
 * @param forwardMs how long the forward exchange took each device, waiting included, in
 *     milliseconds
 * @param backwardMs how long the backward exchange took each device when all began together, in
 *     milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // Read by the hundred thousand, never compared.
public record CommunicationSample(
    int[] columns, double[] startMs, double[] forwardMs, double[] backwardMs) {
  /** Checks the sizes and the ranges. */
  public CommunicationSample {
    int devices = columns.length;
    if (devices < 2
        || startMs.length != devices
        || forwardMs.length != devices
        || backwardMs.length != devices) {
      throw new IllegalArgumentException(
          "A communication sample of %d, %d, %d and %d numbers; legal are four times the number of devices, 2 or more"
              .formatted(devices, startMs.length, forwardMs.length, backwardMs.length));
    }
    for (int d = 0; d < devices; d++) {
      if (columns[d] < 0
          || !(startMs[d] >= 0 && Double.isFinite(startMs[d]))
          || !(forwardMs[d] > 0 && Double.isFinite(forwardMs[d]))
          || !(backwardMs[d] > 0 && Double.isFinite(backwardMs[d]))) {
        throw new IllegalArgumentException(
            "A communication sample with %d columns, start %s ms, forward %s ms, backward %s ms; legal are 0 and more, and costs above 0"
                .formatted(columns[d], startMs[d], forwardMs[d], backwardMs[d]));
      }
    }
  }

  /**
   * Returns the exchange of a step that was measured whole. A device begins the forward exchange
   * after its computation and its backward exchange, as {@link CostEvaluator} has it.
   *
   * @param columns columns on each device
   * @param measured what each device measured
   */
  public static CommunicationSample ofStep(int[] columns, List<MeasuredDevice> measured) {
    double[] starts = measured.stream().mapToDouble(MeasuredDevice::startMs).toArray();
    double first = Arrays.stream(starts).min().orElse(0);
    return new CommunicationSample(
        columns,
        Arrays.stream(starts).map(start -> start - first).toArray(),
        measured.stream().mapToDouble(MeasuredDevice::forwardCommMs).toArray(),
        measured.stream().mapToDouble(MeasuredDevice::backwardCommMs).toArray());
  }

  /**
   * Returns the numbers that each device contributes to the all-to-all.
   *
   * @param batchSize samples in the measured batch, over all devices
   */
  public double[] elements(int batchSize) {
    return Arrays.stream(columns).mapToDouble(own -> (double) own * batchSize).toArray();
  }

  /** Returns the number of devices. */
  public int devices() {
    return columns.length;
  }

  /** Returns how long a device waits for the last one to begin, in milliseconds. */
  public double waitMs(int device) {
    double last = 0;
    for (double start : startMs) {
      last = Math.max(last, start);
    }
    return last - startMs[device];
  }
}
