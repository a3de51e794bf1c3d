package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;

/** What a sample must be to be learned from, whoever wrote it on the log. */
public final class SampleCheck {
  private SampleCheck() {}

  /**
   * Checks a sample.
   *
   * @throws RejectedException with INVALID_MEASUREMENT if a value is outside its legal range
   */
  public static void check(CostSample sample) {
    if (sample.batchSize() < 1) {
      throw invalid("a batch of %d samples; legal are 1 and more".formatted(sample.batchSize()));
    }
    if (sample.cost() instanceof CostSample.Computation computation) {
      if (computation.shards().isEmpty()) {
        throw invalid("a computation without shards; legal is one and more");
      }
      check("computation", computation.measuredMs());
    } else if (sample.cost() instanceof CostSample.AllToAll exchange) {
      if (exchange.columns().size() < 2) {
        throw invalid(
            "an exchange of %d devices; legal are 2 and more".formatted(exchange.columns().size()));
      }
      for (int columns : exchange.columns()) {
        if (columns < 0) {
          throw invalid("a device of %d columns; legal are 0 and more".formatted(columns));
        }
      }
      for (MeasuredDevice device : exchange.measured()) {
        check("forward exchange", device.forwardCommMs());
        check("backward exchange", device.backwardCommMs());
        if (!(device.computeMs() >= 0 && device.computeMs() <= MeasuredDevice.MAX_MS)) {
          throw invalid(
              "a computation of %s ms; legal are 0 to %.0f ms"
                  .formatted(device.computeMs(), MeasuredDevice.MAX_MS));
        }
      }
    }
  }

  private static void check(String what, double ms) {
    if (!(ms > 0 && ms <= MeasuredDevice.MAX_MS)) {
      throw invalid(
          "a %s of %s ms; legal are numbers above 0 to %.0f ms"
              .formatted(what, ms, MeasuredDevice.MAX_MS));
    }
  }

  private static RejectedException invalid(String what) {
    return new RejectedException(
        RejectionReason.INVALID_MEASUREMENT, "The training sample has " + what);
  }
}
