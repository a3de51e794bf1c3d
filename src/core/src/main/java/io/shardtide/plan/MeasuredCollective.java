package io.shardtide.plan;

import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardScope;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Measured duration of a collective of one training step.
 *
 * @param scope the shards that it is for
 * @param collective the operation
 * @param direction the half of the step
 * @param ms its duration on each device without idle time, as if all devices began together, in
 *     milliseconds by device number; 0 to {@value MeasuredDevice#MAX_MS}
 */
public record MeasuredCollective(
    ShardScope scope, Collective collective, Direction direction, List<Double> ms) {

  /**
   * Copies what may change.
   *
   * @throws RejectedException if no step has this collective, or a duration is outside its range
   */
  public MeasuredCollective {
    ms = List.copyOf(ms);
    if (!scope.collectives(direction).contains(collective)) {
      throw RejectionReason.INVALID_MEASUREMENT.failure(
          "no step has %s; %s for scope %s must be %s"
              .formatted(
                  shown(collective, direction, scope),
                  direction.label(),
                  scope.label(),
                  scope.collectives(direction).isEmpty()
                      ? "none"
                      : scope.collectives(direction).stream()
                          .map(Collective::label)
                          .collect(Collectors.joining(" or "))));
    }
    for (int d = 0; d < ms.size(); d++) {
      if (!(ms.get(d) >= 0 && ms.get(d) <= MeasuredDevice.MAX_MS)) {
        throw RejectionReason.INVALID_MEASUREMENT.failure(
            String.format(
                Locale.ROOT,
                "%s on device %d must be between 0 and %.0f ms, got %s ms",
                shown(collective, direction, scope),
                d,
                MeasuredDevice.MAX_MS,
                ms.get(d)));
      }
    }
  }

  /**
   * Returns a collective of labels.
   *
   * @throws RejectedException if a name is unknown, or as the constructor
   */
  public static MeasuredCollective ofNames(
      String scope, String collective, String direction, List<Double> ms) {
    RejectionReason reason = RejectionReason.INVALID_MEASUREMENT;
    return new MeasuredCollective(
        Named.parse(ShardScope.class, scope, "scope of a collective", reason),
        Named.parse(Collective.class, collective, "collective", reason),
        Named.parse(Direction.class, direction, "direction of a collective", reason),
        ms);
  }

  /** Returns whether it is the same collective of a step as another one. */
  boolean isSameAs(MeasuredCollective other) {
    return scope == other.scope && collective == other.collective && direction == other.direction;
  }

  /** Returns its name for messages: {@code forward all_to_all for scope device}, say. */
  public String shown() {
    return shown(collective, direction, scope);
  }

  private static String shown(Collective collective, Direction direction, ShardScope scope) {
    return "%s %s for scope %s".formatted(direction.label(), collective.label(), scope.label());
  }
}
