package io.shardtide.allocation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which workloads have nodes at all. In the order of priority, each one is admitted whose least
 * nodes are still there: where the least claims exceed the pool, those with the lowest priority get
 * nothing. Of equal priority, those that run come first, then those that need fewest nodes, then
 * the order of ids.
 */
final class Admission {
  private static final Comparator<Demand> ORDER =
      Comparator.comparingInt((Demand d) -> -d.claim().priority())
          .thenComparing(d -> !d.runs())
          .thenComparingInt(Demand::leastNodes)
          .thenComparing(d -> d.claim().workloadId());

  private Admission() {}

  /**
   * Returns the admitted demands, in the order of their workloads' ids.
   *
   * @param demands the demands, in any order; those without options are not admitted
   * @param nodes number of nodes
   */
  static List<Demand> admit(List<Demand> demands, int nodes) {
    List<Demand> admitted = new ArrayList<>();
    int free = nodes;
    for (Demand demand :
        demands.stream().filter(d -> !d.options().isEmpty()).sorted(ORDER).toList()) {
      if (demand.leastNodes() <= free) {
        free -= demand.leastNodes();
        admitted.add(demand);
      }
    }
    admitted.sort(Comparator.comparing(d -> d.claim().workloadId()));
    return admitted;
  }
}
