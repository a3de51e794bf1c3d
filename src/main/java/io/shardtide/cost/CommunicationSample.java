package io.shardtide.cost;

import io.shardtide.domain.MeasuredDevice;
import java.util.Arrays;
import java.util.List;

/**
 * Measured all-to-alls of a step. Holds its arrays without a copy.
 *
 * @param columns columns on each device
 * @param startMs when each device began the forward all-to-all, in milliseconds after the first
 * @param forwardMs duration of the forward all-to-all on each device in milliseconds, idle time
 *     included
 * @param backwardMs duration of the backward all-to-all on each device in milliseconds, when all
 *     began together
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
          "a communication sample must have four times as many numbers as devices, at least 2, got %d, %d, %d and %d"
              .formatted(devices, startMs.length, forwardMs.length, backwardMs.length));
    }
    for (int d = 0; d < devices; d++) {
      if (columns[d] < 0
          || !(startMs[d] >= 0 && Double.isFinite(startMs[d]))
          || !(forwardMs[d] > 0 && Double.isFinite(forwardMs[d]))
          || !(backwardMs[d] > 0 && Double.isFinite(backwardMs[d]))) {
        throw new IllegalArgumentException(
            "columns and start of a communication sample must be at least 0 and costs above 0, got %d columns, start %s ms, forward %s ms, backward %s ms"
                .formatted(columns[d], startMs[d], forwardMs[d], backwardMs[d]));
      }
    }
  }

  /**
   * Returns the all-to-alls of a measured step. A device begins the forward all-to-all after its
   * computation and its backward all-to-all, as in {@link StepCost}.
   *
   * @param columns columns on each device
   * @param measured measured costs of each device
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

  /** Returns how long a device is idle until the last one begins, in milliseconds. */
  public double waitMs(int device) {
    double last = 0;
    for (double start : startMs) {
      last = Math.max(last, start);
    }
    return last - startMs[device];
  }
}
