package io.shardtide.learning;

import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Measured costs beside predicted ones, in the same form: waiting for slower devices is taken out
 * of the forward exchange as {@link io.shardtide.cost.CostEvaluator} puts it in. A device begins
 * the forward exchange after its computation and its backward exchange, and waits for the last.
 *
 * @param predicted what the model said of each device
 * @param measured what each device measured
 */
public record CostComparison(List<MeasuredDevice> predicted, List<MeasuredDevice> measured) {
  /**
   * What is shorter is not compared. A scheduler's or a network's jitter is of the order of 10
   * microseconds, so that here a ratio would be off by half; and no plan depends on it.
   */
  static final double SHORTEST_MS = 0.02;

  /** No model that was trained is off by more, in either direction: it was not measured rightly. */
  static final double MAX_RATIO = 100;

  /**
   * Refuses what cannot be, or not of these predictions.
   *
   * @throws RejectedException if a measured cost is implausible
   */
  void check() {
    double lastPredicted = lastStartMs(predicted);
    double lastMeasured = lastStartMs(measured);
    for (CostQuantity quantity : CostQuantity.values()) {
      for (int d = 0; d < measured.size(); d++) {
        double said = ms(predicted.get(d), quantity, lastPredicted);
        double was = ms(measured.get(d), quantity, lastMeasured);
        double ratio = Math.max(was, SHORTEST_MS) / Math.max(said, SHORTEST_MS);
        // A device that waited for long knows its exchange only as a small difference.
        boolean known =
            quantity != CostQuantity.FORWARD || !mostlyWaited(measured.get(d), lastMeasured);
        if (known && !(ratio >= 1 / MAX_RATIO && ratio <= MAX_RATIO)) {
          throw new RejectedException(
              RejectionReason.INCOMPARABLE_MEASUREMENT,
              "Device %d measured %s of %s ms and was predicted %s ms; legal are a hundredth to a hundred times as much"
                  .formatted(d, name(quantity), was, said));
        }
      }
    }
  }

  /**
   * Returns the logarithms of measured over predicted cost, by device.
   *
   * @param setAside counts what is not compared
   */
  public SortedMap<Integer, Double> residuals(
      CostQuantity quantity, SortedMap<ExclusionReason, Integer> setAside) {
    SortedMap<Integer, Double> residuals = new TreeMap<>();
    double lastPredicted = lastStartMs(predicted);
    double lastMeasured = lastStartMs(measured);
    for (int d = 0; d < measured.size(); d++) {
      double said = ms(predicted.get(d), quantity, lastPredicted);
      double was = ms(measured.get(d), quantity, lastMeasured);
      if (said == 0 && was == 0) {
        continue;
      }
      if (quantity == CostQuantity.FORWARD && mostlyWaited(measured.get(d), lastMeasured)) {
        setAside.merge(ExclusionReason.MOSTLY_WAITING, 1, Integer::sum);
      } else if (said < SHORTEST_MS || was < SHORTEST_MS) {
        setAside.merge(ExclusionReason.TOO_SHORT, 1, Integer::sum);
      } else {
        residuals.put(d, StrictMath.log(was / said));
      }
    }
    return residuals;
  }

  private static double ms(MeasuredDevice cost, CostQuantity quantity, double lastStartMs) {
    return switch (quantity) {
      case COMPUTE -> cost.computeMs();
      case BACKWARD -> cost.backwardCommMs();
      case FORWARD -> cost.forwardCommMs() - (lastStartMs - cost.startMs());
    };
  }

  private static boolean mostlyWaited(MeasuredDevice cost, double lastStartMs) {
    return lastStartMs - cost.startMs() > ms(cost, CostQuantity.FORWARD, lastStartMs);
  }

  private static double lastStartMs(List<MeasuredDevice> devices) {
    return devices.stream().mapToDouble(MeasuredDevice::startMs).max().orElseThrow();
  }

  private static String name(CostQuantity quantity) {
    return switch (quantity) {
      case COMPUTE -> "a computation";
      case FORWARD -> "a forward exchange (without waiting)";
      case BACKWARD -> "a backward exchange";
    };
  }
}
