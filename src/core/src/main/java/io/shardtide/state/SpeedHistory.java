package io.shardtide.state;

import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;

/**
 * What feedback stores of a position in the replica groups that is slow, or was slow lately. It is
 * a position in the plan that was measured last. When a plan with other groups is measured, each of
 * its positions gets the slowest history that one of its ranks had.
 *
 * @param position number in its group, from 0, in the plan that was measured last: no rank, as each
 *     group has a rank with it
 * @param part what it does or did slowly
 * @param slow its published speed, with the position as the device; empty if it recovered
 * @param episodes how often it became slow, at least 1; forgotten with this history
 * @param fast measurements since it recovered
 */
@RecordBuilder
public record SpeedHistory(
    int position, CostPart part, Optional<DeviceSpeed> slow, int episodes, int fast) {
  /** The slowest last; of those that recovered, the one that was slow most often. */
  public static final Comparator<SpeedHistory> BY_SLOWNESS =
      Comparator.comparingDouble(
              (SpeedHistory history) -> history.slow.map(DeviceSpeed::slowdown).orElse(0.0))
          .thenComparingInt(SpeedHistory::episodes);

  /** Returns the history of a position that was never slow. */
  public static SpeedHistory none(int position, CostPart part) {
    return new SpeedHistory(position, part, Optional.empty(), 0, 0);
  }

  /** Returns the same history of another position. */
  public SpeedHistory at(int other) {
    return with().position(other).slow(slow.map(speed -> speed.of(other))).build();
  }

  /**
   * Returns this with an estimate of the speed.
   *
   * @param since when the position became slow, if it was not
   */
  public SpeedHistory slow(double slowdown, double standardError, Instant since) {
    Instant begin = slow.map(DeviceSpeed::since).orElse(since);
    return with()
        .slow(Optional.of(new DeviceSpeed(position, part, slowdown, standardError, begin)))
        .episodes(slow.isPresent() ? episodes : episodes + 1)
        .fast(0)
        .build();
  }

  /** Returns this after the position recovered. */
  public SpeedHistory recovered() {
    return with().slow(Optional.empty()).fast(0).build();
  }

  /** Returns a builder of a copy. */
  public SpeedHistoryBuilder with() {
    return SpeedHistoryBuilder.builder(this);
  }
}
