package io.shardtide.learn;

import io.shardtide.cost.CostSample;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.state.DriftAlarm;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;

/**
 * The result of an accepted measurement.
 *
 * @param hardware the hardware that was measured
 * @param samples training samples
 * @param alarms alarms that this measurement raised
 * @param speeds the slow devices, if the measurement changed them
 * @param ratios measured over predicted cost, the part common to all devices, by quantity; without
 *     quantities that could not be compared
 * @param excluded number of parts that are not used, by reason
 */
public record Feedback(
    String hardware,
    List<CostSample> samples,
    List<DriftAlarm> alarms,
    Optional<DeviceSpeeds> speeds,
    SortedMap<CostQuantity, Double> ratios,
    SortedMap<ExclusionReason, Integer> excluded) {
  /** Copies mutable components. */
  public Feedback {
    samples = List.copyOf(samples);
    alarms = List.copyOf(alarms);
  }
}
