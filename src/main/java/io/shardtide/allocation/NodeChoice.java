package io.shardtide.allocation;

import io.shardtide.domain.pool.PoolNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Chooses nodes for numbers of nodes. A workload keeps the nodes that it has as far as it may. One
 * that shrinks gives up nodes in racks where it has few; one that grows gets nodes in racks where
 * it has many, then in the fullest rack that has enough for the rest of it, so that large holes
 * stay for large workloads.
 */
final class NodeChoice {
  private final Map<String, PoolNode> nodes;

  /** Names of free nodes by rack; no rack is empty. */
  private final NavigableMap<String, SortedSet<String>> free = new TreeMap<>();

  private NodeChoice(Map<String, PoolNode> nodes) {
    this.nodes = nodes;
  }

  /** A demand with its position, and the number of nodes that it gets. */
  private record Growing(int position, Demand demand, int count) {
    /** Those that have to find room first, then the largest, choose first. */
    static final Comparator<Growing> ORDER =
        Comparator.comparingInt((Growing p) -> -p.demand().claim().priority())
            .thenComparingInt(p -> p.demand().held().size() - p.count())
            .thenComparingInt(Growing::position);
  }

  /**
   * Returns the nodes of each demand, ascending.
   *
   * @param nodes the nodes of the pool by name
   * @param demands the admitted demands
   * @param counts number of nodes of each
   */
  static List<List<String>> choose(
      Map<String, PoolNode> nodes, List<Demand> demands, List<NodeCount> counts) {
    return new NodeChoice(nodes).choose(demands, counts);
  }

  private List<List<String>> choose(List<Demand> demands, List<NodeCount> counts) {
    SortedSet<String> unused = new TreeSet<>(nodes.keySet());
    List<List<String>> chosen = new ArrayList<>();
    List<Growing> growing = new ArrayList<>();
    for (int w = 0; w < demands.size(); w++) {
      Demand demand = demands.get(w);
      int count = counts.get(w).nodes();
      List<String> kept = keep(demand.held(), count);
      unused.removeAll(kept);
      chosen.add(new ArrayList<>(kept));
      if (kept.size() < count) {
        growing.add(new Growing(w, demand, count));
      }
    }
    unused.forEach(node -> free.computeIfAbsent(rack(node), r -> new TreeSet<>()).add(node));
    growing.sort(Growing.ORDER);
    growing.forEach(placed -> grow(chosen.get(placed.position()), placed.count()));
    chosen.forEach(list -> list.sort(Comparator.naturalOrder()));
    return chosen;
  }

  /** Returns the nodes that a workload keeps of those that it has. */
  private List<String> keep(List<String> held, int count) {
    if (held.size() <= count) {
      return held;
    }
    Map<String, Integer> inRack = countRacks(held);
    return held.stream()
        .sorted(
            Comparator.comparingInt((String node) -> -inRack.get(rack(node)))
                .thenComparing(this::rack)
                .thenComparing(Comparator.naturalOrder()))
        .limit(count)
        .toList();
  }

  private void grow(List<String> has, int count) {
    Map<String, Integer> inRack = countRacks(has);
    List<String> own = new ArrayList<>(inRack.keySet());
    own.sort(Comparator.comparingInt(rack -> -inRack.get(rack)));
    own.forEach(rack -> take(has, rack, count));
    while (has.size() < count) {
      take(has, rackFor(count - has.size()), count);
    }
  }

  /** Returns the rack with the fewest free nodes that are enough, or the one with the most. */
  private String rackFor(int missing) {
    String best = free.firstKey();
    for (Map.Entry<String, SortedSet<String>> rack : free.entrySet()) {
      int size = rack.getValue().size();
      int bestSize = free.get(best).size();
      boolean isBetter = size >= missing ? bestSize < missing || size < bestSize : size > bestSize;
      if (isBetter) {
        best = rack.getKey();
      }
    }
    return best;
  }

  private void take(List<String> has, String rack, int count) {
    SortedSet<String> there = free.get(rack);
    while (there != null && has.size() < count && !there.isEmpty()) {
      String node = there.first();
      there.remove(node);
      has.add(node);
    }
    if (there != null && there.isEmpty()) {
      free.remove(rack);
    }
  }

  private Map<String, Integer> countRacks(Collection<String> of) {
    Map<String, Integer> counts = new TreeMap<>();
    of.forEach(node -> counts.merge(rack(node), 1, Integer::sum));
    return counts;
  }

  private String rack(String node) {
    return nodes.get(node).rack();
  }
}
