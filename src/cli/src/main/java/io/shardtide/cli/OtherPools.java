package io.shardtide.cli;

import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.config.ShellWord;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.workload.Names;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Finds what an event of a pool takes from another one: a node is in one pool, and a workload has a
 * claim on one. The planner applies the events of each pool by itself and cannot see the others'.
 */
final class OtherPools {
  private OtherPools() {}

  /** Returns whether a change can contradict another pool at all. */
  static boolean mayConflict(PoolUpdate update) {
    return update instanceof PoolUpdate.ClaimSet || !nodes(update).isEmpty();
  }

  /**
   * Returns why a change of a pool contradicts another pool, for people; empty if it does not.
   *
   * @param poolId the pool
   * @param update the change
   * @param pools all pools by id
   */
  static Optional<String> conflict(
      String poolId, PoolUpdate update, Map<String, AllocatedPool> pools) {
    if (update instanceof PoolUpdate.ClaimSet set) {
      String workload = set.claim().workloadId();
      return pools.values().stream()
          .filter(other -> !other.state().id().equals(poolId))
          .filter(other -> other.state().claims().containsKey(workload))
          .map(
              other ->
                  "workload %s must have a claim on one pool, got one on pool %s besides that on pool %s. Maybe withdraw that first: shardtide pool delete %s %s"
                      .formatted(
                          Names.quote(workload),
                          Names.quote(poolId),
                          Names.quote(other.state().id()),
                          ShellWord.of(other.state().id()),
                          ShellWord.of(workload)))
          .findFirst();
    }
    Collection<String> nodes = nodes(update);
    return pools.values().stream()
        .filter(other -> !other.state().id().equals(poolId))
        .flatMap(
            other ->
                other.state().pool().orElseThrow().nodes().keySet().stream()
                    .filter(nodes::contains)
                    .map(
                        node ->
                            "node %s must be in one pool, got pool %s besides pool %s. Maybe take it from there first: shardtide pool node rm %s %s"
                                .formatted(
                                    Names.quote(node),
                                    Names.quote(poolId),
                                    Names.quote(other.state().id()),
                                    ShellWord.of(other.state().id()),
                                    ShellWord.of(node))))
        .findFirst();
  }

  private static Collection<String> nodes(PoolUpdate update) {
    if (update instanceof PoolUpdate.PoolSet set) {
      return set.pool().nodes().keySet();
    }
    return update instanceof PoolUpdate.PoolNodeAdded added
        ? List.of(added.node().name())
        : Set.of();
  }
}
