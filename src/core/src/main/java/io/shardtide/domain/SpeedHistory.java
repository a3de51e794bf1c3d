package io.shardtide.domain;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;

/**
 * What feedback stores of a position in the replica groups that is slow, or was slow lately. It is
 * a position in the plan that was measured last. When a plan with other groups is measured, each of
 * its positions gets the slowest history that one of its ranks had.
 *
 * @param position the position in the plan that was measured last
 * @param part what it does or did slowly
 * @param slow its published speed; empty if it recovered
 * @param episodes how often it became slow, at least 1; forgotten with this history
 * @param fast measurements since it recovered
 */
@RecordBuilder
public record SpeedHistory(
    Position position, CostPart part, Optional<PositionSpeed> slow, int episodes, int fast) {
  /** The slowest last; of those that recovered, the one that was slow most often. */
  public static final Comparator<SpeedHistory> BY_SLOWNESS =
      Comparator.comparingDouble(
              (SpeedHistory history) -> history.slow.map(PositionSpeed::slowdown).orElse(0.0))
          .thenComparingInt(SpeedHistory::episodes);

  /** Returns the history of a position that was never slow. */
  public static SpeedHistory none(Position position, CostPart part) {
    return new SpeedHistory(position, part, Optional.empty(), 0, 0);
  }

  /**
   * Returns this with an estimate of the speed.
   *
   * @param since when the position became slow, if it was not
   */
  public SpeedHistory slow(double slowdown, double standardError, Instant since) {
    return with()
        .slow(
            Optional.of(
                new PositionSpeed(
                    slowdown, standardError, slow.map(PositionSpeed::since).orElse(since))))
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
