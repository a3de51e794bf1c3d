package io.shardtide.learn;

import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.StepTimes;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Compares measured with predicted costs by device. A device starts its forward communication after
 * its computation and its backward communication, and waits for the last device to start; this idle
 * time, which {@link io.shardtide.cost.StepCost} adds to the prediction, is subtracted from both
 * sides.
 *
 * @param predicted predicted cost of each device
 * @param measured measured cost of each device
 */
public record CostComparison(List<MeasuredDevice> predicted, List<MeasuredDevice> measured) {
  /**
   * Shorter costs are not compared: jitter of the scheduler or the network, of order 10
   * microseconds, would be half of them.
   */
  static final double MIN_COMPARED_MS = 0.02;

  /** The rest of a difference of equal times: there is no such cost. */
  private static final double ROUNDING_MS = 1e-9;

  /** Trained models are not off by a larger factor; beyond it, the measurement is implausible. */
  static final int MAX_RATIO = 100;

  /**
   * The same for a model with the costs of other hardware: a simulated GPU's of a loaded processor,
   * say. What is beyond is a wrong unit on top of that.
   */
  static final int MAX_RATIO_OF_OTHER_HARDWARE = 10_000;

  /**
   * Rejects implausible measurements.
   *
   * @param isOtherHardware whether the predictions are costs of other hardware
   * @throws RejectedException if a measured cost is less than a hundredth of the predicted one, or
   *     more than a hundred times as much; of other hardware, a ten-thousandth and ten thousand
   *     times
   */
  void check(boolean isOtherHardware) {
    int max = isOtherHardware ? MAX_RATIO_OF_OTHER_HARDWARE : MAX_RATIO;
    double lastPredicted = StepTimes.lastStartMs(predicted);
    double lastMeasured = StepTimes.lastStartMs(measured);
    for (CostQuantity quantity : CostQuantity.values()) {
      for (int d = 0; d < measured.size(); d++) {
        double predictedMs = ms(predicted.get(d), quantity, lastPredicted);
        double measuredMs = ms(measured.get(d), quantity, lastMeasured);
        double ratio =
            Math.max(measuredMs, MIN_COMPARED_MS) / Math.max(predictedMs, MIN_COMPARED_MS);
        // After a long wait, the transfer time is the small difference of two large numbers.
        boolean comparable =
            quantity != CostQuantity.FORWARD || !waitedMostly(measured.get(d), lastMeasured);
        if (comparable && !(ratio >= 1.0 / max && ratio <= max)) {
          throw RejectionReason.INCOMPARABLE_MEASUREMENT.failure(
              "%s of device %s must be 1/%s to %s times the predicted %s ms, got %s ms"
                  .formatted(name(quantity), d, max, max, predictedMs, measuredMs));
        }
      }
    }
  }

  /**
   * Returns ln(measured / predicted) by device number, without devices that cannot be compared.
   *
   * @param excluded counts the devices left out, by reason
   */
  public SortedMap<Integer, Double> residuals(
      CostQuantity quantity, SortedMap<ExclusionReason, Integer> excluded) {
    SortedMap<Integer, Double> residuals = new TreeMap<>();
    double lastPredicted = StepTimes.lastStartMs(predicted);
    double lastMeasured = StepTimes.lastStartMs(measured);
    for (int d = 0; d < measured.size(); d++) {
      double predictedMs = ms(predicted.get(d), quantity, lastPredicted);
      double measuredMs = ms(measured.get(d), quantity, lastMeasured);
      if (Math.max(predictedMs, measuredMs) < ROUNDING_MS) {
        continue;
      }
      if (quantity == CostQuantity.FORWARD && waitedMostly(measured.get(d), lastMeasured)) {
        excluded.merge(ExclusionReason.MOSTLY_WAITING, 1, Integer::sum);
      } else if (predictedMs < MIN_COMPARED_MS || measuredMs < MIN_COMPARED_MS) {
        excluded.merge(ExclusionReason.TOO_SHORT, 1, Integer::sum);
      } else {
        residuals.put(d, StrictMath.log(measuredMs / predictedMs));
      }
    }
    return residuals;
  }

  private static double ms(MeasuredDevice cost, CostQuantity quantity, double lastStartMs) {
    return switch (quantity) {
      case COMPUTE -> cost.computeMs();
      case BACKWARD -> cost.backwardCommMs();
      case FORWARD -> cost.transferMs(lastStartMs);
    };
  }

  private static boolean waitedMostly(MeasuredDevice cost, double lastStartMs) {
    return cost.idleMs(lastStartMs) > cost.transferMs(lastStartMs);
  }

  private static String name(CostQuantity quantity) {
    return switch (quantity) {
      case COMPUTE -> "The computation";
      case FORWARD -> "The forward communication (without idle time)";
      case BACKWARD -> "The backward communication";
    };
  }
}
