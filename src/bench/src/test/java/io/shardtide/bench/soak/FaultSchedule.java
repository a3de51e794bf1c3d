package io.shardtide.bench.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * The faults of a soak, drawn from its seed: all kinds in an order that is drawn, again and again,
 * so that a short soak has each kind as well. The next fault begins some seconds after the one
 * before it has ended, so that each one's cost can be told, and sometimes while that is being
 * recovered from.
 */
final class FaultSchedule {
  /** From the end of a fault to the next one: shorter than a group's session, and longer. */
  private static final Duration SHORTEST_PAUSE = Duration.ofSeconds(2);

  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(8);

  private final Random random;
  private final List<FaultKind> kinds;
  private final List<FaultKind> left = new ArrayList<>();
  private final int machines;

  /**
   * A fault.
   *
   * @param kind what happens
   * @param target position of the planner, broker or registry that it happens to
   * @param lasting time until it is mended
   * @param pause time from its end to the next fault
   * @param seed draws what else there is to draw
   */
  record ScheduledFault(FaultKind kind, int target, Duration lasting, Duration pause, long seed) {}

  /**
   * @param seed draws everything
   * @param kinds the kinds that this machine can do, at least one
   * @param machines number of planners and of brokers
   */
  FaultSchedule(long seed, Collection<FaultKind> kinds, int machines) {
    this.random = new Random(seed);
    this.kinds = List.copyOf(kinds);
    this.machines = machines;
  }

  /** Returns the next fault. */
  ScheduledFault next() {
    if (left.isEmpty()) {
      left.addAll(kinds);
      Collections.shuffle(left, random);
    }
    FaultKind kind = left.remove(left.size() - 1);
    return new ScheduledFault(
        kind,
        random.nextInt(machines),
        between(kind.shortest(), kind.longest()),
        between(SHORTEST_PAUSE, LONGEST_PAUSE),
        random.nextLong());
  }

  private Duration between(Duration shortest, Duration longest) {
    long millis = longest.minus(shortest).toMillis();
    return shortest.plusMillis(millis == 0 ? 0 : random.nextLong(millis));
  }
}
