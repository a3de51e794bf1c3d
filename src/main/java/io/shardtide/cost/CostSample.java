package io.shardtide.cost;

import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.TableSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/**
 * A measured cost beside what was predicted, with all that a training needs and where it comes
 * from.
 *
 * @param measurementId the trainer's report
 * @param hardware the hardware that was measured
 * @param workloadId the workload
 * @param planId the plan that ran
 * @param modelId the model that predicted
 * @param source who measured
 * @param batchSize samples in a batch, over all devices
 * @param steps how many steps the cost is taken from
 * @param measuredAt when
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
   * @param predictedMs what the model said
   */
  public record Computation(
      int device, List<TableSpec> shards, double measuredMs, double predictedMs) implements Cost {
    /** Copies what may change. */
    public Computation {
      shards = List.copyOf(shards);
    }
  }

  /**
   * An exchange between all devices.
   *
   * @param columns columns on each device
   * @param measured what each device measured
   * @param predicted what the model said of each
   */
  public record AllToAll(
      List<Integer> columns, List<MeasuredDevice> measured, List<MeasuredDevice> predicted)
      implements Cost {
    /** Copies what may change. */
    public AllToAll {
      columns = List.copyOf(columns);
      measured = List.copyOf(measured);
      predicted = List.copyOf(predicted);
      if (columns.size() != measured.size() || columns.size() != predicted.size()) {
        throw new IllegalArgumentException(
            "An exchange of %d, %d and %d devices; legal is one number"
                .formatted(columns.size(), measured.size(), predicted.size()));
      }
    }

    /** Returns what was measured in the form that is learned from. */
    public CommunicationSample sample() {
      return CommunicationSample.ofStep(
          columns.stream().mapToInt(Integer::intValue).toArray(), measured);
    }
  }
}
