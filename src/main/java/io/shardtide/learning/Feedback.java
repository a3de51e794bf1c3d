package io.shardtide.learning;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DriftAlarm;
import java.util.List;
import java.util.SortedMap;

/**
 * What a measurement came to.
 *
 * @param hardware the hardware that was measured
 * @param samples what can be learned from
 * @param alarms what is wrong as of now
 * @param ratios measured over predicted cost, in the part that is common to all devices, of the
 *     quantities that could be compared
 * @param setAside how many parts are not used, by the reason
 */
public record Feedback(
    String hardware,
    List<CostSample> samples,
    List<DriftAlarm> alarms,
    SortedMap<CostQuantity, Double> ratios,
    SortedMap<ExclusionReason, Integer> setAside) {
  /** Copies what may change. */
  public Feedback {
    samples = List.copyOf(samples);
    alarms = List.copyOf(alarms);
  }
}
