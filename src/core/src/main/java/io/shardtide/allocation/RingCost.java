package io.shardtide.allocation;

import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Cost of rings over nodes. Each node of a ring all-reduce sends as many bytes to the next one, so
 * that its slowest link decides. Links from one rack to another share their bandwidth.
 *
 * <p>Slowness is the inverse of a bandwidth, in seconds for 10^9 bytes.
 */
final class RingCost {
  private final double[][] slowness;

  /** Number of each node's group, if links between groups are shared; otherwise 0. */
  private final int[] groups;

  private final int groupCount;
  private final Crossings crossings;

  /**
   * @param links measured bandwidth
   * @param nodes the nodes of the rings, which are numbered in this order
   */
  RingCost(PoolLinks links, List<PoolNode> nodes) {
    int size = nodes.size();
    slowness = new double[size][size];
    for (int i = 0; i < size; i++) {
      for (int j = 0; j < size; j++) {
        slowness[i][j] = i == j ? 0 : 1 / links.gigabytesPerSecond(nodes.get(i), nodes.get(j));
      }
    }
    TreeMap<String, Integer> numbers = new TreeMap<>();
    int[] ofNodes = new int[size];
    for (int i = 0; i < size; i++) {
      ofNodes[i] = numbers.computeIfAbsent(links.group(nodes.get(i)), group -> numbers.size());
    }
    groups = links.isSharedBetweenGroups() ? ofNodes : new int[size];
    groupCount = links.isSharedBetweenGroups() ? numbers.size() : 1;
    crossings = new Crossings();
  }

  /** Slowness of the slowest link, then the sum over all links: less is better. */
  record Slowness(double slowest, double sum) {
    boolean isBelow(Slowness other) {
      return slowest < other.slowest || (slowest == other.slowest && sum < other.sum);
    }
  }

  /** Returns the slowness of the link between two nodes that no other link shares. */
  double between(int from, int to) {
    return slowness[from][to];
  }

  /** Returns the slowness of a ring, which begins and ends at the first node. */
  Slowness of(int[] ring) {
    double slowest = 0;
    double sum = 0;
    for (int i = 0; i < ring.length; i++) {
      int from = ring[i];
      int to = ring[i + 1 < ring.length ? i + 1 : 0];
      slowest = Math.max(slowest, slowness[from][to] * crossings.add(from, to));
      sum += slowness[from][to];
    }
    for (int i = 0; i < ring.length; i++) {
      crossings.remove(ring[i], ring[i + 1 < ring.length ? i + 1 : 0]);
    }
    return new Slowness(slowest, sum);
  }

  /**
   * Returns a lower bound of the slowest link of every ring: each node has two neighbours, and a
   * ring without one of its links is a spanning tree, of which none has a faster slowest link than
   * the one that Prim's algorithm finds. Sharing is not considered.
   */
  double bound() {
    int size = slowness.length;
    double bound = 0;
    boolean[] isIn = new boolean[size];
    double[] nearest = slowness[0].clone();
    isIn[0] = true;
    for (int added = 1; added < size; added++) {
      int next = -1;
      for (int i = 0; i < size; i++) {
        if (!isIn[i] && (next < 0 || nearest[i] < nearest[next])) {
          next = i;
        }
      }
      bound = Math.max(bound, nearest[next]);
      isIn[next] = true;
      for (int i = 0; i < size; i++) {
        nearest[i] = Math.min(nearest[i], slowness[next][i]);
      }
    }
    for (int i = 0; i < size && size > 2; i++) {
      double[] sorted = slowness[i].clone();
      Arrays.sort(sorted);
      // The first is the node itself.
      bound = Math.max(bound, sorted[2]);
    }
    return bound;
  }

  /** Returns the slowness between the two nodes that have the slowest link. */
  double slowestPair() {
    return Arrays.stream(slowness).flatMapToDouble(Arrays::stream).max().orElse(0);
  }

  /** Returns the slowness between the two nodes that have the fastest link. */
  double leastPair() {
    return IntStream.range(0, slowness.length)
        .mapToObj(i -> Arrays.stream(slowness[i], 0, i))
        .flatMapToDouble(pairs -> pairs)
        .min()
        .orElse(Double.POSITIVE_INFINITY);
  }

  /** Counts links from each group to each other one. */
  final class Crossings {
    private final int[] counts = new int[groupCount * groupCount];

    /** Adds a link, and returns how many there are that share its bandwidth. */
    int add(int from, int to) {
      return isShared(from, to) ? ++counts[groups[from] * groupCount + groups[to]] : 1;
    }

    /** Removes a link. */
    void remove(int from, int to) {
      if (isShared(from, to)) {
        counts[groups[from] * groupCount + groups[to]]--;
      }
    }

    private boolean isShared(int from, int to) {
      return groups[from] != groups[to];
    }
  }
}
