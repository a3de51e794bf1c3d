package io.shardtide.state;

import io.shardtide.plan.CostQuantity;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.OptionalInt;

/**
 * Measured costs went away from what a model predicts.
 *
 * @param hardware the model's hardware
 * @param modelId the model
 * @param kind what causes the drift
 * @param quantity which part of the cost
 * @param workloadId the workload whose measurement raised the alarm
 * @param device the slow device of a STRAGGLER alarm; empty otherwise
 * @param planId the plan that ran
 * @param detector name of the detector that found it
 * @param samples number of measurements from the detector's last reset to the alarm
 * @param usualRatio median of measured over predicted cost before the drift; of a slow device,
 *     divided by the median of its peers
 * @param recentRatio the same ratio over the last measurements
 * @param measuredAt when the measurement was made that raised the alarm
 */
@RecordBuilder
public record DriftAlarm(
    String hardware,
    String modelId,
    AlarmKind kind,
    CostQuantity quantity,
    String workloadId,
    OptionalInt device,
    String planId,
    String detector,
    long samples,
    double usualRatio,
    double recentRatio,
    Instant measuredAt) {

  /** What causes the drift. */
  public enum AlarmKind {
    /** The model is wrong for all devices: it must be retrained. */
    MODEL,
    /** One device is slower than its peers: a person should look at it; the model is right. */
    STRAGGLER
  }

  /** Checks what must be there. */
  public DriftAlarm {
    if ((kind == AlarmKind.STRAGGLER) != device.isPresent()) {
      throw new IllegalArgumentException(
          "device must be given for an alarm of kind STRAGGLER only, got %s for kind %s"
              .formatted(device, kind));
    }
  }
}
