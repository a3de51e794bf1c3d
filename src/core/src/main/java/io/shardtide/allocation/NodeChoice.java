package io.shardtide.allocation;

import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RackLinks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Chooses nodes for numbers of nodes. A workload keeps the nodes that it has as far as it may. One
 * that shrinks gives up the nodes that are far from its others; one that grows gets nodes that are
 * near those that it has, then of the smallest group that has enough for the rest of it, so that
 * large holes stay for large workloads. Near is who has a high bandwidth; a group is a rack, or a
 * node where pairs of nodes are measured ({@link PoolLinks#group}).
 */
final class NodeChoice {
  /** Looks at the bandwidth of groups to find where one workload starts; less than a second. */
  private static final long MAX_WORK = 50_000_000;

  private final Map<String, PoolNode> nodes;
  private final PoolLinks links;

  /** A group is worth a start of its own only if bandwidths are known. */
  private final boolean isMeasured;

  private NodeChoice(Map<String, PoolNode> nodes, Optional<PoolLinks> links) {
    this.nodes = nodes;
    this.links = links.orElse(RackLinks.UNMEASURED);
    isMeasured = links.isPresent();
  }

  /** A demand with its position, and the number of nodes that it gets. */
  private record PlacedDemand(int position, Demand demand, int count) {
    /** Those that have to find room first, then the largest, choose first. */
    static final Comparator<PlacedDemand> ORDER =
        Comparator.comparingInt((PlacedDemand p) -> -p.demand().claim().priority())
            .thenComparingInt(p -> p.demand().held().size() - p.count())
            .thenComparingInt(PlacedDemand::position);
  }

  /**
   * Returns the nodes of each demand, ascending.
   *
   * @param nodes the nodes of the pool by name
   * @param links measured bandwidth; without it, nodes of one rack are nearer than others
   * @param demands the admitted demands
   * @param counts number of nodes of each
   */
  static List<List<String>> choose(
      Map<String, PoolNode> nodes,
      Optional<PoolLinks> links,
      List<Demand> demands,
      List<NodeCount> counts) {
    return new NodeChoice(nodes, links).choose(demands, counts);
  }

  private List<List<String>> choose(List<Demand> demands, List<NodeCount> counts) {
    SortedSet<String> unused = new TreeSet<>(nodes.keySet());
    List<List<String>> chosen = new ArrayList<>();
    List<PlacedDemand> growing = new ArrayList<>();
    for (int w = 0; w < demands.size(); w++) {
      Demand demand = demands.get(w);
      int count = counts.get(w).nodes();
      List<String> kept = keep(demand.held(), count);
      unused.removeAll(kept);
      chosen.add(new ArrayList<>(kept));
      if (kept.size() < count) {
        growing.add(new PlacedDemand(w, demand, count));
      }
    }
    growing.sort(PlacedDemand.ORDER);
    for (PlacedDemand placed : growing) {
      List<String> more = grow(unused, chosen.get(placed.position()), placed.count());
      unused.removeAll(more);
      chosen.get(placed.position()).addAll(more);
    }
    chosen.forEach(list -> list.sort(Comparator.naturalOrder()));
    return chosen;
  }

  /** Returns the nodes that a workload keeps of those that it has. */
  private List<String> keep(List<String> held, int count) {
    if (held.size() <= count) {
      return held;
    }
    List<List<String>> groups = List.copyOf(groups(held).values());
    NearGroups others = new NearGroups(groups, held, 0);
    for (int left = held.size(); left > count; left--) {
      int farthest = others.farthest();
      List<String> group = groups.get(farthest);
      others.addTo(others.nearHeld, others.examples.get(farthest), -1);
      group.remove(group.size() - 1);
    }
    return groups.stream().flatMap(List::stream).toList();
  }

  private SortedMap<String, List<String>> groups(Collection<String> of) {
    SortedMap<String, List<String>> groups = new TreeMap<>();
    of.forEach(
        node ->
            groups.computeIfAbsent(links.group(nodes.get(node)), g -> new ArrayList<>()).add(node));
    return groups;
  }

  /** Returns the nodes that a workload gets besides those that it has. */
  private List<String> grow(Collection<String> unused, List<String> has, int count) {
    NearGroups groups =
        new NearGroups(List.copyOf(groups(unused).values()), has, count - has.size());
    if (!has.isEmpty() || !isMeasured) {
      return groups.from(groups.next(groups.nearHeld));
    }
    List<String> best = List.of();
    double most = Double.NEGATIVE_INFINITY;
    for (int start : groups.starts()) {
      List<String> other = groups.from(start);
      if (groups.nearness > most) {
        most = groups.nearness;
        best = other;
      }
    }
    return best;
  }

  /** Groups of nodes, and how near they are to the nodes that a workload has. */
  private final class NearGroups {
    /** Names of the nodes of each group. */
    private final List<List<String>> free;

    /** A node of each group. */
    private final List<PoolNode> examples;

    private final int missing;

    /** For each group, its bandwidth to all nodes that the workload has. */
    private final double[] nearHeld;

    private final boolean[] isTaken;
    private int left;

    /** Sum of the bandwidths between the nodes that the last call found, and to those held. */
    private double nearness;

    NearGroups(List<List<String>> free, List<String> has, int missing) {
      this.free = free;
      this.missing = missing;
      examples = free.stream().map(group -> nodes.get(group.get(0))).toList();
      nearHeld = new double[free.size()];
      isTaken = new boolean[free.size()];
      left = missing;
      has.forEach(node -> addTo(nearHeld, nodes.get(node), 1));
    }

    private void addTo(double[] near, PoolNode node, int times) {
      for (int g = 0; g < near.length; g++) {
        near[g] += times * links.gigabytesPerSecond(node, examples.get(g));
      }
    }

    /** Returns the group whose nodes are the farthest from the other nodes; the last of several. */
    int farthest() {
      int farthest = -1;
      double least = Double.POSITIVE_INFINITY;
      for (int g = 0; g < free.size(); g++) {
        double near = nearHeld[g] - links.gigabytesPerSecond(examples.get(g), examples.get(g));
        if (!free.get(g).isEmpty() && near <= least) {
          farthest = g;
          least = near;
        }
      }
      return farthest;
    }

    /** Returns the groups to start with: the best fitting first, as many as there is time for. */
    List<Integer> starts() {
      long looks = (long) missing * free.size();
      double[] equal = new double[free.size()];
      List<Integer> starts = new ArrayList<>();
      for (long limit = Math.max(1, Math.min(free.size(), MAX_WORK / looks)); limit > 0; limit--) {
        int start = next(equal);
        starts.add(start);
        isTaken[start] = true;
      }
      return starts;
    }

    /** Returns nodes, of a group first. */
    List<String> from(int start) {
      Arrays.fill(isTaken, false);
      double[] near = nearHeld.clone();
      List<String> found = new ArrayList<>();
      nearness = 0;
      left = missing;
      int group = start;
      while (true) {
        int times = Math.min(left, free.get(group).size());
        found.addAll(free.get(group).subList(0, times));
        PoolNode node = examples.get(group);
        nearness +=
            times * near[group] + times * (times - 1) / 2.0 * links.gigabytesPerSecond(node, node);
        isTaken[group] = true;
        left -= times;
        if (left == 0) {
          return found;
        }
        addTo(near, node, times);
        group = next(near);
      }
    }

    /**
     * Returns the nearest group that is left; of equally near ones that with the fewest nodes that
     * are enough, or the one with the most.
     */
    int next(double[] near) {
      int best = -1;
      for (int g = 0; g < free.size(); g++) {
        if (!isTaken[g] && (best < 0 || isBetter(g, best, near))) {
          best = g;
        }
      }
      return best;
    }

    private boolean isBetter(int group, int than, double[] near) {
      if (near[group] != near[than]) {
        return near[group] > near[than];
      }
      int size = free.get(group).size();
      int other = free.get(than).size();
      return size >= left ? other < left || size < other : size > other;
    }
  }
}
