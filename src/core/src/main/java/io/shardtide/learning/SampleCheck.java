package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import java.util.Locale;

/** Validates training samples read from the log. */
public final class SampleCheck {
  private SampleCheck() {}

  /**
   * Validates a sample.
   *
   * @throws RejectedException with INVALID_MEASUREMENT if a value is out of range
   */
  public static void check(CostSample sample) {
    if (sample.batchSize() < 1) {
      throw invalid("batch size must be at least 1, got %s".formatted(sample.batchSize()));
    }
    if (sample.cost() instanceof CostSample.Computation computation) {
      if (computation.shards().isEmpty()) {
        throw invalid("a computation must have at least 1 shard, got 0");
      }
      computation.shards().forEach(SampleCheck::check);
      checkMs("computation", computation.measuredMs());
      double forwardMs = computation.measuredForwardMs().orElse(computation.measuredMs() / 2);
      if (!(forwardMs > 0 && forwardMs < computation.measuredMs())) {
        throw invalid(
            "forward computation must be above 0 and below the computation of %s ms, got %s ms"
                .formatted(computation.measuredMs(), forwardMs));
      }
    } else if (sample.cost() instanceof CostSample.StepCommunication communication) {
      if (communication.columns().size() < 2) {
        throw invalid(
            "communication must have at least 2 devices, got %s"
                .formatted(communication.columns().size()));
      }
      if (communication.devicesPerNode() < 1) {
        throw invalid(
            "devices per node must be at least 1, got %s"
                .formatted(communication.devicesPerNode()));
      }
      checkBytes(communication.forwardBytesPerElement());
      checkBytes(communication.backwardBytesPerElement());
      for (int columns : communication.columns()) {
        if (columns < 0) {
          throw invalid("columns of a device must be at least 0, got %s".formatted(columns));
        }
      }
      for (MeasuredDevice device : communication.measured()) {
        if (communication.hasAllToAll()) {
          checkMs("forward communication", device.forwardCommMs());
          checkMs("backward communication", device.backwardCommMs());
        }
        checkMsOrNone("computation", device.computeMs());
        checkMsOrNone("forward communication", device.forwardCommMs());
        checkMsOrNone("backward communication", device.backwardCommMs());
      }
      communication.collectives().forEach(SampleCheck::check);
      communication.forwardMs().forEach(ms -> checkMs("forward all-to-all", ms));
      communication.backwardMs().forEach(ms -> checkMs("backward all-to-all", ms));
    }
  }

  private static void check(DeviceShard shard) {
    try {
      shard.sampled(0);
    } catch (IllegalArgumentException e) {
      throw invalid(e.getMessage());
    }
  }

  private static void check(CostSample.GroupCollective collective) {
    collective.ms().forEach(ms -> checkMs(collective.collective().label(), ms));
    try {
      collective.sample();
    } catch (IllegalArgumentException e) {
      throw invalid(e.getMessage());
    }
  }

  private static void checkMsOrNone(String what, double ms) {
    if (!(ms >= 0 && ms <= MeasuredDevice.MAX_MS)) {
      throw invalid(
          String.format(
              Locale.ROOT,
              "%s must be between 0 and %.0f ms, got %s ms",
              what,
              MeasuredDevice.MAX_MS,
              ms));
    }
  }

  private static void checkBytes(double bytes) {
    if (!(bytes > 0 && bytes <= ClusterSpec.MAX_WIRE_BYTES)) {
      throw invalid(
          String.format(
              Locale.ROOT,
              "bytes per element of an all-to-all must be above 0 and at most %.0f, got %s",
              ClusterSpec.MAX_WIRE_BYTES,
              bytes));
    }
  }

  private static void checkMs(String what, double ms) {
    if (!(ms > 0 && ms <= MeasuredDevice.MAX_MS)) {
      throw invalid(
          String.format(
              Locale.ROOT,
              "%s must be above 0 and at most %.0f ms, got %s ms",
              what,
              MeasuredDevice.MAX_MS,
              ms));
    }
  }

  private static RejectedException invalid(String problem) {
    return new RejectedException(
        RejectionReason.INVALID_MEASUREMENT, "Invalid training sample: " + problem);
  }
}
