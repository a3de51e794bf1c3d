package io.shardtide.learn;

import io.shardtide.learn.DriftMonitor.MeasuredQuantity;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.PlanShards;
import io.shardtide.state.ResidualWindow;
import io.shardtide.state.SpeedHistory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Hands what is known of the positions of a measured plan to those of one with other replica
 * groups, by rank: devices stay slow when plans group them in another way. A position is as slow as
 * the slowest of its ranks was, because it costs what the slowest one does.
 *
 * @param before the plan that was measured before
 * @param now the plan that is measured
 */
record Regrouping(PlanShards before, PlanShards now) {
  /** Returns the histories of the positions of the plan that is measured. */
  List<SpeedHistory> histories(List<SpeedHistory> ofBefore) {
    List<SpeedHistory> histories = new ArrayList<>();
    for (CostPart part : CostPart.values()) {
      for (int p = 0; p < now.devices(); p++) {
        int position = p;
        List<Integer> earlier = earlier(position);
        ofBefore.stream()
            .filter(of -> of.part() == part && earlier.contains(of.position()))
            .max(SpeedHistory.BY_SLOWNESS.thenComparing(of -> -of.position()))
            .ifPresent(of -> histories.add(of.at(position)));
      }
    }
    return histories;
  }

  /**
   * Moves the residuals of a quantity: each position goes on with the series of its slowest rank
   * or, if none is slow, of its first one that was there before. A position of new ranks begins.
   */
  void moveWindows(MeasuredQuantity quantity) {
    List<ResidualWindow> windows = new ArrayList<>();
    for (int p = 0; p < before.devices(); p++) {
      windows.add(quantity.ofDevice(p));
    }
    ResidualWindow none = ResidualWindow.begin(quantity.plan().origin().modelId());
    for (int p = 0; p < Math.max(before.devices(), now.devices()); p++) {
      Optional<ResidualWindow> next =
          p < now.devices()
              ? earlier(p).stream()
                  .map(windows::get)
                  .min(Comparator.comparing(window -> window.slowIn().isEmpty()))
              : Optional.empty();
      quantity.putDevice(p, next.orElse(none));
    }
  }

  /** Returns the positions that the ranks of a position had. */
  private List<Integer> earlier(int position) {
    return now.ranks(position).stream()
        .filter(rank -> rank < before.ranks())
        .map(before::position)
        .toList();
  }
}
