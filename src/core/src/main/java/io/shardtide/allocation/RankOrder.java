package io.shardtide.allocation;

import io.shardtide.allocation.RingCost.Slowness;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RingPrediction;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Orders the nodes of a workload so that neighbours in a ring all-reduce are near (Luo et al.,
 * Cloud Collectives, 2021). A pure function of the nodes and their links: it does not depend on the
 * order in which they are given, and is never worse than the order of their names.
 *
 * <p>Up to {@value #MAX_EXACT} nodes, a search of all rings finds an optimal one. Beyond, the
 * nearest neighbour begins at several nodes, and 2-opt improves the best ring, within {@value
 * #MAX_WORK} looks at links.
 */
public final class RankOrder {
  /** 20,160 rings at most. */
  static final int MAX_EXACT = 9;

  /** More nodes are ordered by rack and name: all pairs of them would take too much memory. */
  static final int MAX_NODES = 1_024;

  /** A fraction of a second. */
  static final long MAX_WORK = 50_000_000;

  private static final Comparator<PoolNode> BY_RACK =
      Comparator.comparing(PoolNode::rack).thenComparing(Comparator.naturalOrder());

  private final List<PoolNode> nodes;
  private final RingCost cost;
  private int[] best;
  private Slowness bestSlowness;

  private RankOrder(PoolLinks links, Collection<PoolNode> nodes) {
    this.nodes = nodes.stream().sorted().toList();
    cost = new RingCost(links, this.nodes);
    best = IntStream.range(0, this.nodes.size()).toArray();
    bestSlowness = cost.of(best);
  }

  /**
   * Returns the names of nodes in the order in which ranks are numbered; the least name is the
   * first.
   *
   * @param links measured bandwidth
   * @param nodes nodes with different names, in any order
   */
  public static List<String> of(PoolLinks links, Collection<PoolNode> nodes) {
    if (nodes.size() > MAX_NODES) {
      return nodes.stream().sorted(BY_RACK).map(PoolNode::name).toList();
    }
    if (nodes.size() <= 3) {
      // All rings are one.
      return nodes.stream().sorted().map(PoolNode::name).toList();
    }
    return new RankOrder(links, nodes).search();
  }

  /**
   * Predicts the bandwidth of a ring.
   *
   * @param links measured bandwidth
   * @param order nodes in the order of ranks
   * @return empty if there are fewer than two nodes, or more than {@value #MAX_NODES}
   */
  public static Optional<RingPrediction> predict(PoolLinks links, List<PoolNode> order) {
    if (order.size() < 2 || order.size() > MAX_NODES) {
      return Optional.empty();
    }
    RankOrder byName = new RankOrder(links, order);
    int[] ring =
        order.stream().mapToInt(node -> Collections.binarySearch(byName.nodes, node)).toArray();
    double slowest = byName.cost.of(ring).slowest();
    double least = byName.cost.bound();
    if (slowest > least && order.size() <= MAX_EXACT) {
      RankOrder optimal = new RankOrder(links, order);
      optimal.search();
      least = optimal.bestSlowness.slowest();
    }
    return Optional.of(
        new RingPrediction(
            1 / slowest,
            1 / byName.bestSlowness.slowest(),
            1 / Math.min(least, slowest),
            1 / byName.cost.slowestPair()));
  }

  private List<String> search() {
    neighbourRings().forEach(this::offer);
    if (nodes.size() <= MAX_EXACT) {
      new Enumeration().extend(1, new Slowness(0, 0));
    } else {
      improve();
    }
    return canonical(best).stream().map(i -> nodes.get(i).name()).toList();
  }

  private boolean offer(int[] ring) {
    Slowness slowness = cost.of(ring);
    if (!slowness.isBelow(bestSlowness)) {
      return false;
    }
    best = ring.clone();
    bestSlowness = slowness;
    return true;
  }

  /** Returns the rings that go on to the nearest node that is left, from as many starts as fit. */
  private List<int[]> neighbourRings() {
    int size = nodes.size();
    long starts = Math.max(1, Math.min(size, MAX_WORK / 4 / ((long) size * size)));
    List<int[]> rings = new ArrayList<>();
    for (int start = 0; start < starts; start++) {
      int[] ring = new int[size];
      boolean[] isIn = new boolean[size];
      ring[0] = start;
      isIn[start] = true;
      for (int i = 1; i < size; i++) {
        int next = -1;
        for (int j = 0; j < size; j++) {
          if (!isIn[j]
              && (next < 0 || cost.between(ring[i - 1], j) < cost.between(ring[i - 1], next))) {
            next = j;
          }
        }
        ring[i] = next;
        isIn[next] = true;
      }
      rings.add(ring);
    }
    return rings;
  }

  /** Reverses parts of the best ring while that makes it better: 2-opt. */
  private void improve() {
    int size = nodes.size();
    long left = MAX_WORK / size;
    boolean isBetter = true;
    while (isBetter && left > 0) {
      isBetter = false;
      for (int first = 1; first < size - 1 && left > 0; first++) {
        for (int last = first + 1; last < size && left > 0; last++) {
          left--;
          isBetter |= offer(reversed(best, first, last));
        }
      }
    }
  }

  private static int[] reversed(int[] ring, int first, int last) {
    int[] reversed = ring.clone();
    for (int i = first; i <= last; i++) {
      reversed[i] = ring[first + last - i];
    }
    return reversed;
  }

  /** Returns the ring from the least node, in the direction of its lesser neighbour. */
  private static List<Integer> canonical(int[] ring) {
    int size = ring.length;
    int start = IntStream.range(0, size).filter(i -> ring[i] == 0).findFirst().orElseThrow();
    int step = ring[(start + 1) % size] < ring[(start + size - 1) % size] ? 1 : size - 1;
    return IntStream.range(0, size).mapToObj(i -> ring[(start + i * step) % size]).toList();
  }

  /** All rings that begin at the least node, but for those that cannot be better. */
  private final class Enumeration {
    private final int[] ring = new int[nodes.size()];
    private final boolean[] isIn = new boolean[nodes.size()];
    private final RingCost.Crossings crossings = cost.new Crossings();
    private final double least = cost.leastPair();

    void extend(int length, Slowness before) {
      if (length == ring.length) {
        offer(ring);
        return;
      }
      int from = ring[length - 1];
      for (int next = 1; next < ring.length; next++) {
        if (isIn[next]) {
          continue;
        }
        double slowness = cost.between(from, next);
        Slowness after =
            new Slowness(
                Math.max(before.slowest(), slowness * crossings.add(from, next)),
                before.sum() + slowness);
        double leastSum = after.sum() + (ring.length - length) * least;
        if (new Slowness(after.slowest(), leastSum).isBelow(bestSlowness)) {
          ring[length] = next;
          isIn[next] = true;
          extend(length + 1, after);
          isIn[next] = false;
        }
        crossings.remove(from, next);
      }
    }
  }
}
