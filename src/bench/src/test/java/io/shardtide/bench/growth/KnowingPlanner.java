package io.shardtide.bench.growth;

import io.shardtide.growth.CapacityPolicy;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What a planner does that knows how tables will grow, with the same policy: when the ids of any
 * table will exceed its capacity within the lead time, all tables get room for the ids that they
 * will have. Memory does not limit it.
 */
final class KnowingPlanner {
  private final CapacityPolicy policy;
  private final SortedMap<String, GrowingTable> tables;
  private final SortedMap<String, Long> capacities;
  private final SortedMap<String, Long> chosen;
  private int resizes;

  /**
   * @param tables how tables grow, by name
   * @param capacities slots that they have at first
   */
  KnowingPlanner(
      CapacityPolicy policy, SortedMap<String, GrowingTable> tables, Map<String, Long> capacities) {
    this.policy = policy;
    this.tables = tables;
    this.capacities = new TreeMap<>(capacities);
    this.chosen = new TreeMap<>(capacities);
  }

  /** Decides; what was chosen before is adopted now. */
  void report(int hour) {
    capacities.putAll(chosen);
    boolean isDue =
        tables.entrySet().stream()
            .anyMatch(
                table ->
                    in(table.getValue(), hour, policy.leadDays()) > chosen.get(table.getKey()));
    if (isDue) {
      tables.forEach(
          (name, table) -> chosen.merge(name, in(table, hour, policy.coverDays()), Math::max));
      resizes++;
    }
  }

  /** Returns the slots that a table will need. */
  private static long in(GrowingTable table, int hour, double days) {
    return GrowingWorkload.slots(
        (double) table.ids(hour + (int) Math.ceil(days * GrowingTable.HOURS)));
  }

  /** Returns the adopted capacities, by table. */
  Map<String, Long> capacities() {
    return capacities;
  }

  /** Returns how many times tables were resized. */
  int resizes() {
    return resizes;
  }
}
