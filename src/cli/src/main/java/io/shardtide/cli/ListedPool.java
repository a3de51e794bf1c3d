package io.shardtide.cli;

import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.Pool;
import java.util.Collection;
import java.util.Set;

/**
 * A pool in the list of pools; {@code pools list --json} prints these fields.
 *
 * @param poolId its id
 * @param generation number of its events that were applied
 * @param allocatedGeneration generation of its latest allocation; 0 before the first
 * @param hardware kind of its devices
 * @param devicesPerNode devices of each node
 * @param nodes number of its nodes
 * @param freeNodes those of them that the latest allocation gives to no workload
 * @param devices devices of all nodes
 * @param claims number of claims
 * @param waiting workloads that the latest allocation gives no node
 */
record ListedPool(
    String poolId,
    long generation,
    long allocatedGeneration,
    String hardware,
    int devicesPerNode,
    int nodes,
    long freeNodes,
    int devices,
    int claims,
    long waiting) {

  /** Returns the entry of a pool that was set. */
  static ListedPool of(AllocatedPool listed) {
    Pool pool = listed.state().pool().orElseThrow();
    Set<String> held = listed.allocation().map(a -> a.holders().keySet()).orElse(Set.of());
    return new ListedPool(
        listed.state().id(),
        listed.state().generation(),
        listed.allocation().map(Allocation::generation).orElse(0L),
        pool.hardware(),
        pool.devicesPerNode(),
        pool.nodes().size(),
        pool.nodes().keySet().stream().filter(node -> !held.contains(node)).count(),
        pool.devices(),
        listed.state().claims().size(),
        listed.allocation().stream()
            .flatMap(allocation -> allocation.workloads().stream())
            .filter(workload -> workload.nodes().isEmpty())
            .count());
  }

  /** Returns pools as a table for people. */
  static Table<ListedPool> table(Collection<ListedPool> pools) {
    return new Table<>(pools)
        .left("pool", ListedPool::poolId)
        .right("generation", ListedPool::generation)
        .right("nodes", "%,d", ListedPool::nodes)
        .right("free", "%,d", ListedPool::freeNodes)
        .right("devices", "%,d", ListedPool::devices)
        .right("claims", "%,d", ListedPool::claims)
        .right("waiting", "%,d", ListedPool::waiting)
        .left("hardware", ListedPool::hardware);
  }
}
