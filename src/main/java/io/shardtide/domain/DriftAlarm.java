package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Objects;
import java.util.OptionalInt;

/**
 * Measured costs went away from what a model predicts.
 *
 * @param hardware the model's hardware
 * @param modelId the model
 * @param kind what is to blame
 * @param quantity which part of the cost
 * @param workloadId the workload whose measurement raised the alarm
 * @param device the slow device, if one is to blame
 * @param planId the plan that ran
 * @param detector name of the detector that found it
 * @param samples measurements since the detector began anew, until the alarm
 * @param usualRatio median of measured over predicted cost before; of a slow device, in relation to
 *     what it is for its peers
 * @param recentRatio the same of the last measurements
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

  /** What is to blame. */
  public enum AlarmKind {
    /** The model is wrong for all devices: it wants training. */
    MODEL,
    /** One device is slower than its peers: a person should look at it; the model is right. */
    STRAGGLER
  }

  /** Checks what must be there. */
  public DriftAlarm {
    Objects.requireNonNull(hardware, "hardware");
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(quantity, "quantity");
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(planId, "planId");
    Objects.requireNonNull(detector, "detector");
    Objects.requireNonNull(measuredAt, "measuredAt");
    if ((kind == AlarmKind.STRAGGLER) != device.isPresent()) {
      throw new IllegalArgumentException(
          "An alarm of kind %s with device %s; legal is a device for a straggler, and only then"
              .formatted(kind, device));
    }
  }
}
