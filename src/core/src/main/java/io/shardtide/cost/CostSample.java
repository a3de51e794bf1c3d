package io.shardtide.cost;

import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.StepTimes;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * A measured cost with the predicted one, everything that a retraining needs, and its origin.
 *
 * @param measurementId the trainer's report
 * @param hardware the hardware that was measured
 * @param workloadId the workload
 * @param planId the plan that ran
 * @param modelId the model that predicted
 * @param source name of the trainer
 * @param batchSize samples in a batch, over all devices
 * @param steps number of steps that the cost summarises
 * @param measuredAt when it was measured
 * @param cost what was measured
 */
@RecordBuilder
public record CostSample(
    String measurementId,
    String hardware,
    String workloadId,
    String planId,
    String modelId,
    String source,
    int batchSize,
    int steps,
    Instant measuredAt,
    Cost cost) {

  /** What was measured. */
  public sealed interface Cost {}

  /**
   * A device's computation.
   *
   * @param device number of the device
   * @param shards its shards, at least one
   * @param measuredMs computation, forward and backward, in milliseconds; above 0
   * @param measuredForwardMs the forward part of {@code measuredMs} in milliseconds, above 0 and
   *     below it; empty if it was not measured apart
   * @param predictedMs predicted computation in milliseconds
   */
  public record Computation(
      int device,
      List<DeviceShard> shards,
      double measuredMs,
      OptionalDouble measuredForwardMs,
      double predictedMs)
      implements Cost {
    /** Copies what may change. */
    public Computation {
      shards = List.copyOf(shards);
    }
  }

  /**
   * The communication of a step.
   *
   * @param columns columns of shards with all rows on each device, which take part in the
   *     all-to-alls of all devices
   * @param devicesPerNode devices that share a node, at least 1
   * @param forwardBytesPerElement bytes of an output's element on the wire, above 0
   * @param backwardBytesPerElement bytes of a gradient's element on the wire, above 0
   * @param measured measured costs of each device
   * @param predicted predicted costs of each device
   * @param forwardMs duration of the forward all-to-all on each device without idle time, in
   *     milliseconds, above 0; empty if only {@code measured} is known, or no device has columns
   * @param backwardMs duration of the backward all-to-all, likewise
   * @param collectives the collectives of shards that are split over devices or copied; empty if
   *     there are none, or they were not measured apart
   * @param onlyAllToAll whether devices communicate nothing but the all-to-alls of all devices, so
   *     that durations that are not known follow from {@code measured}
   */
  public record StepCommunication(
      List<Integer> columns,
      int devicesPerNode,
      double forwardBytesPerElement,
      double backwardBytesPerElement,
      List<MeasuredDevice> measured,
      List<MeasuredDevice> predicted,
      List<Double> forwardMs,
      List<Double> backwardMs,
      List<GroupCollective> collectives,
      boolean onlyAllToAll)
      implements Cost {

    /** Copies what may change. */
    public StepCommunication {
      columns = List.copyOf(columns);
      measured = List.copyOf(measured);
      predicted = List.copyOf(predicted);
      if (columns.size() != measured.size() || columns.size() != predicted.size()) {
        throw new IllegalArgumentException(
            "a communication sample must have one entry for each device, got %s columns, %s measured and %s predicted costs"
                .formatted(columns.size(), measured.size(), predicted.size()));
      }
      forwardMs = List.copyOf(forwardMs);
      backwardMs = List.copyOf(backwardMs);
      collectives = List.copyOf(collectives);
      checkDurations(Direction.FORWARD, forwardMs, columns.size());
      checkDurations(Direction.BACKWARD, backwardMs, columns.size());
    }

    private static void checkDurations(Direction direction, List<Double> ms, int devices) {
      if (!ms.isEmpty() && ms.size() != devices) {
        throw new IllegalArgumentException(
            "a communication sample must have no %s durations or one for each of %s devices, got %s"
                .formatted(direction.label(), devices, ms.size()));
      }
    }

    /**
     * Returns the collectives as training samples. Durations of all-to-alls that are not known
     * follow from the measured costs: a device begins the forward all-to-all after its computation
     * and its backward all-to-all, as in {@link StepCost}; the time until the last one begins is no
     * part of the sample. There are no all-to-alls if no device sends anything, or if they are
     * neither known nor the only collectives.
     *
     * @param batchSize samples in the measured batch, over all devices
     */
    public List<CollectiveSample> samples(int batchSize) {
      List<CollectiveSample> samples = new ArrayList<>();
      collectives.forEach(collective -> samples.add(collective.sample()));
      boolean areKnown = !forwardMs.isEmpty() && !backwardMs.isEmpty();
      if (!hasAllToAll() || !(areKnown || onlyAllToAll)) {
        return samples;
      }
      double last = StepTimes.lastStartMs(measured);
      samples.add(
          sample(
              Direction.FORWARD,
              batchSize * forwardBytesPerElement,
              forwardMs,
              device -> transferMs(device, last)));
      samples.add(
          sample(
              Direction.BACKWARD,
              batchSize * backwardBytesPerElement,
              backwardMs,
              MeasuredDevice::backwardCommMs));
      return samples;
    }

    /** Returns whether the step has all-to-alls of all devices. */
    public boolean hasAllToAll() {
      return columns.stream().anyMatch(own -> own > 0);
    }

    /**
     * Returns the forward all-to-all without idle time; at least a thousandth of the whole, since
     * the clocks of devices may differ.
     */
    private static double transferMs(MeasuredDevice device, double last) {
      return Math.max(device.forwardCommMs() / 1000, device.transferMs(last));
    }

    private CollectiveSample sample(
        Direction direction,
        double bytesPerColumn,
        List<Double> known,
        ToDoubleFunction<MeasuredDevice> derived) {
      int devices = columns.size();
      return new CollectiveSample(
          Collective.ALL_TO_ALL,
          Optional.of(direction),
          devices,
          Math.min(devices, devicesPerNode),
          columns.stream().mapToDouble(own -> own * bytesPerColumn / devices).toArray(),
          known.isEmpty()
              ? measured.stream().mapToDouble(derived).toArray()
              : known.stream().mapToDouble(Double::doubleValue).toArray());
    }
  }

  /**
   * A collective of shards that are split over devices or copied.
   *
   * @param collective the operation
   * @param direction the half of the step
   * @param devices devices that took part, at least 2
   * @param devicesPerNode devices that share a node, 1 to {@code devices}
   * @param bytes as {@link CollectiveSample#bytes}
   * @param ms as {@link CollectiveSample#ms}
   */
  public record GroupCollective(
      Collective collective,
      Direction direction,
      int devices,
      int devicesPerNode,
      List<Double> bytes,
      List<Double> ms) {
    /** Copies what may change. */
    public GroupCollective {
      bytes = List.copyOf(bytes);
      ms = List.copyOf(ms);
    }

    /**
     * Returns this as a training sample.
     *
     * @throws IllegalArgumentException if a value is outside its range
     */
    public CollectiveSample sample() {
      return new CollectiveSample(
          collective,
          Optional.of(direction),
          devices,
          devicesPerNode,
          bytes.stream().mapToDouble(Double::doubleValue).toArray(),
          ms.stream().mapToDouble(Double::doubleValue).toArray());
    }
  }
}
