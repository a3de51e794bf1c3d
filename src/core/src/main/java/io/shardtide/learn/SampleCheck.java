package io.shardtide.learn;

import io.shardtide.cost.CostSample;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;

/** Validates training samples read from the log. */
public final class SampleCheck {
  private static final Limits LIMITS = Limits.of(SampleCheck::invalid, "");
  private static final Limits MS = LIMITS.in(" ms");

  private SampleCheck() {}

  /**
   * Validates a sample.
   *
   * @throws RejectedException with INVALID_MEASUREMENT if a value is out of range
   */
  public static void check(CostSample sample) {
    LIMITS.atLeast("batch size", sample.batchSize(), 1);
    if (sample.cost() instanceof CostSample.Computation computation) {
      LIMITS.atLeast("shards of a computation", computation.shards().size(), 1);
      computation.shards().forEach(shard -> check(shard::check));
      checkMs("computation", computation.measuredMs());
      double forwardMs = computation.measuredForwardMs().orElse(computation.measuredMs() / 2);
      if (!(forwardMs > 0 && forwardMs < computation.measuredMs())) {
        throw MS.failure(
            "forward computation",
            "above 0 and below the computation of " + computation.measuredMs(),
            forwardMs);
      }
    } else if (sample.cost() instanceof CostSample.StepCommunication communication) {
      LIMITS
          .atLeast("devices of a communication", communication.columns().size(), 2)
          .atLeast("devices per node", communication.devicesPerNode(), 1);
      checkBytes(communication.forwardBytesPerElement());
      checkBytes(communication.backwardBytesPerElement());
      communication.columns().forEach(c -> LIMITS.atLeast("columns of a device", c, 0));
      for (MeasuredDevice device : communication.measured()) {
        if (communication.hasAllToAll()) {
          checkMs("forward communication", device.forwardCommMs());
          checkMs("backward communication", device.backwardCommMs());
        }
        MS.within("computation", device.computeMs(), 0, MeasuredDevice.MAX_MS)
            .within("forward communication", device.forwardCommMs(), 0, MeasuredDevice.MAX_MS)
            .within("backward communication", device.backwardCommMs(), 0, MeasuredDevice.MAX_MS);
      }
      for (CostSample.GroupCollective collective : communication.collectives()) {
        collective.ms().forEach(ms -> checkMs(collective.collective().label(), ms));
        check(collective::sample);
      }
      communication.forwardMs().forEach(ms -> checkMs("forward all-to-all", ms));
      communication.backwardMs().forEach(ms -> checkMs("backward all-to-all", ms));
    }
  }

  private static void check(Runnable arguments) {
    try {
      arguments.run();
    } catch (IllegalArgumentException e) {
      throw invalid(e.getMessage());
    }
  }

  private static void checkBytes(double bytes) {
    LIMITS.above("bytes per element of an all-to-all", bytes, 0, ClusterSpec.MAX_WIRE_BYTES);
  }

  private static void checkMs(String what, double ms) {
    MS.above(what, ms, 0, MeasuredDevice.MAX_MS);
  }

  private static RejectedException invalid(String problem) {
    return RejectionReason.INVALID_MEASUREMENT.failure("Invalid training sample: " + problem);
  }
}
