package io.shardtide.views;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;

/**
 * A pool, its latest allocations, and the curves of the workloads that share it.
 *
 * @param row its row
 * @param state its nodes and the claims on it
 * @param allocation its latest allocation; empty before the first
 * @param allocatedAt timestamp of that allocation
 * @param lost the latest nodes that it lost and did not get back, the first ones first
 * @param transfers the latest allocation that took a node from a workload, by node
 * @param curves predicted throughput of workloads by number of devices; without those that are
 *     older than what the dashboard reads
 * @param simulatedModels models of these curves that were trained on simulated costs
 * @param devices devices that it has from a generation on
 * @param history its latest allocations, the oldest first
 */
public record PoolView(
    PoolRow row,
    PoolState state,
    Optional<Allocation> allocation,
    Optional<Instant> allocatedAt,
    List<LostNode> lost,
    SortedMap<String, PastTransfer> transfers,
    List<ThroughputCurve> curves,
    SortedSet<String> simulatedModels,
    SortedMap<Long, Integer> devices,
    List<PastAllocation> history) {

  /**
   * A node that the pool lost.
   *
   * @param node the node
   * @param at when it was lost
   */
  public record LostNode(PoolNode node, Instant at) {}

  /**
   * How a workload lost a node.
   *
   * @param generation the pool's generation
   * @param transfer the node, from which workload to which, and why
   */
  public record PastTransfer(long generation, NodeTransfer transfer) {}
}
