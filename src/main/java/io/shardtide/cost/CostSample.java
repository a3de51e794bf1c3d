package io.shardtide.cost;

import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.TableSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
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

  /** Checks what must be there. */
  public CostSample {
    Objects.requireNonNull(measurementId, "measurementId");
    Objects.requireNonNull(hardware, "hardware");
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(planId, "planId");
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(measuredAt, "measuredAt");
    Objects.requireNonNull(cost, "cost");
  }

  /** What was measured. */
  public sealed interface Cost {}

  /**
   * A device's computation.
   *
   * @param device number of the device
   * @param shards its shards, at least one: each table's spec with the shard's columns as its
   *     columns
   * @param measuredMs computation, forward and backward, in milliseconds; above 0
   * @param measuredForwardMs the forward part of {@code measuredMs} in milliseconds, above 0 and
   *     below it; empty if it was not measured apart
   * @param predictedMs predicted computation in milliseconds
   */
  public record Computation(
      int device,
      List<TableSpec> shards,
      double measuredMs,
      OptionalDouble measuredForwardMs,
      double predictedMs)
      implements Cost {
    /** Copies what may change. */
    public Computation {
      shards = List.copyOf(shards);
      Objects.requireNonNull(measuredForwardMs, "measuredForwardMs");
    }

    /** A computation whose parts were not measured apart. */
    public Computation(int device, List<TableSpec> shards, double measuredMs, double predictedMs) {
      this(device, shards, measuredMs, OptionalDouble.empty(), predictedMs);
    }
  }

  /**
   * The all-to-alls of a step.
   *
   * @param columns columns on each device
   * @param devicesPerNode devices that share a node, at least 1
   * @param forwardBytesPerElement bytes of an output's element on the wire, above 0
   * @param backwardBytesPerElement bytes of a gradient's element on the wire, above 0
   * @param measured measured costs of each device
   * @param predicted predicted costs of each device
   * @param forwardMs duration of the forward all-to-all on each device without idle time, in
   *     milliseconds, above 0; empty if only {@code measured} is known
   * @param backwardMs duration of the backward all-to-all, likewise
   */
  public record AllToAll(
      List<Integer> columns,
      int devicesPerNode,
      double forwardBytesPerElement,
      double backwardBytesPerElement,
      List<MeasuredDevice> measured,
      List<MeasuredDevice> predicted,
      List<Double> forwardMs,
      List<Double> backwardMs)
      implements Cost {

    /** Copies what may change. */
    public AllToAll {
      columns = List.copyOf(columns);
      measured = List.copyOf(measured);
      predicted = List.copyOf(predicted);
      if (columns.size() != measured.size() || columns.size() != predicted.size()) {
        throw new IllegalArgumentException(
            "an all-to-all sample must have one entry for each device, got %d columns, %d measured and %d predicted costs"
                .formatted(columns.size(), measured.size(), predicted.size()));
      }
      forwardMs = List.copyOf(forwardMs);
      backwardMs = List.copyOf(backwardMs);
      checkDurations(Direction.FORWARD, forwardMs, columns.size());
      checkDurations(Direction.BACKWARD, backwardMs, columns.size());
    }

    /** All-to-alls whose durations without idle time are not known. */
    public AllToAll(
        List<Integer> columns,
        int devicesPerNode,
        double forwardBytesPerElement,
        double backwardBytesPerElement,
        List<MeasuredDevice> measured,
        List<MeasuredDevice> predicted) {
      this(
          columns,
          devicesPerNode,
          forwardBytesPerElement,
          backwardBytesPerElement,
          measured,
          predicted,
          List.of(),
          List.of());
    }

    private static void checkDurations(Direction direction, List<Double> ms, int devices) {
      if (!ms.isEmpty() && ms.size() != devices) {
        throw new IllegalArgumentException(
            "an all-to-all sample must have no %s durations or one for each of %d devices, got %d"
                .formatted(direction.fileName(), devices, ms.size()));
      }
    }

    /**
     * Returns both all-to-alls as training samples; none if no device sends anything. Durations
     * that are not known follow from the measured costs: a device begins the forward all-to-all
     * after its computation and its backward all-to-all, as in {@link StepCost}; the time until the
     * last one begins is no part of the sample.
     *
     * @param batchSize samples in the measured batch, over all devices
     */
    public List<CollectiveSample> samples(int batchSize) {
      if (columns.stream().allMatch(own -> own == 0)) {
        return List.of();
      }
      double last = measured.stream().mapToDouble(MeasuredDevice::startMs).max().orElse(0);
      return List.of(
          sample(
              Direction.FORWARD,
              batchSize * forwardBytesPerElement,
              forwardMs,
              device -> transferMs(device, last - device.startMs())),
          sample(
              Direction.BACKWARD,
              batchSize * backwardBytesPerElement,
              backwardMs,
              MeasuredDevice::backwardCommMs));
    }

    /**
     * Returns the forward all-to-all without idle time; at least a thousandth of the whole, since
     * the clocks of devices may differ.
     */
    private static double transferMs(MeasuredDevice device, double idleMs) {
      return Math.max(device.forwardCommMs() / 1000, device.forwardCommMs() - idleMs);
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
}
