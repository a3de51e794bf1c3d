package io.shardtide.pool;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Bandwidth by racks. All nodes of a rack share the bandwidth to another rack: it is that of the
 * switches between them.
 *
 * @param withinRacks bandwidth between two nodes of one rack; {@link
 *     PoolLinks#GIGABYTES_PER_SECOND}
 * @param betweenRacks bandwidth from all nodes of one rack together to those of another one; same
 *     range
 * @param measured racks and pairs of racks whose bandwidth is another one; same range
 */
public record RackLinks(
    double withinRacks, double betweenRacks, SortedMap<RackPair, Double> measured)
    implements PoolLinks {
  /** Nothing is measured, but nodes of one rack are nearer than others. The numbers say no more. */
  public static final RackLinks UNMEASURED = new RackLinks(2, 1, new TreeMap<>());

  /**
   * @throws RejectedException if a bandwidth is outside its range
   */
  public RackLinks {
    PoolLinks.check(withinRacks, "a node", "one in its rack");
    PoolLinks.check(betweenRacks, "a rack", "another one");
    measured = Collections.unmodifiableSortedMap(new TreeMap<>(measured));
    measured.forEach((pair, value) -> PoolLinks.check(value, pair.first(), pair.second()));
  }

  /**
   * Adds a measured bandwidth.
   *
   * @param measured racks and pairs of racks so far
   * @param pair two racks, or one
   * @param gigabytesPerSecond the bandwidth
   * @throws RejectedException if the pair has another bandwidth already
   */
  public static void put(Map<RackPair, Double> measured, RackPair pair, double gigabytesPerSecond) {
    Double before = measured.put(pair, gigabytesPerSecond);
    if (before != null && before != gigabytesPerSecond) {
      throw RejectionReason.INVALID_POOL.failure(
          "racks %s and %s must have one bandwidth, got %s and %s GB/s"
              .formatted(
                  Names.quote(pair.first()),
                  Names.quote(pair.second()),
                  before,
                  gigabytesPerSecond));
    }
  }

  @Override
  public double gigabytesPerSecond(PoolNode from, PoolNode to) {
    RackPair pair = RackPair.of(from.rack(), to.rack());
    return measured.getOrDefault(pair, pair.isOneRack() ? withinRacks : betweenRacks);
  }

  @Override
  public String group(PoolNode node) {
    return node.rack();
  }

  @Override
  public boolean isSharedBetweenGroups() {
    return true;
  }

  @Override
  public void check(Collection<PoolNode> nodes) {
    Set<String> racks = nodes.stream().map(PoolNode::rack).collect(Collectors.toSet());
    for (RackPair pair : measured.keySet()) {
      for (String rack : new String[] {pair.first(), pair.second()}) {
        if (!racks.contains(rack)) {
          throw RejectionReason.INVALID_POOL.failure(
              "racks of links must be those of the pool's nodes, got %s"
                  .formatted(Names.quote(rack)));
        }
      }
    }
  }
}
