package io.shardtide.views;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.Claim;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
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

  /**
   * A pool, as the list of pools shows it.
   *
   * @param poolId its id
   * @param generation number of its events that were applied
   * @param hardware kind of its devices; empty until the event that sets the pool is read
   * @param devicesPerNode devices of each node; 0 as long
   * @param nodes number of nodes that it has
   * @param freeNodes those of them that no workload has
   * @param lostNodes number of the latest nodes that it lost and did not get back, {@link
   *     PoolProjection#LOST} at most
   * @param devices devices of all nodes that it has
   * @param workloads number of workloads with a claim
   * @param waiting those of them that have no node
   * @param allocationId its latest allocation; empty before the first
   * @param allocatedGeneration generation of that allocation; 0 before the first
   * @param weightedThroughput sum over the workloads of weight times predicted samples a second
   * @param fairnessLoss part of the pool that is in other hands than in the fair allocation, 0 to 1
   * @param gap by how much the optimum may be better at most, as a share of it
   * @param simulated whether a model that predicted one of the curves was trained on simulated
   *     costs
   * @param changedAt timestamp of the latest event or allocation
   */
  public record PoolRow(
      String poolId,
      long generation,
      Optional<String> hardware,
      int devicesPerNode,
      int nodes,
      int freeNodes,
      int lostNodes,
      int devices,
      int workloads,
      int waiting,
      Optional<String> allocationId,
      long allocatedGeneration,
      Optional<Double> weightedThroughput,
      Optional<Double> fairnessLoss,
      Optional<Double> gap,
      boolean simulated,
      Optional<Instant> changedAt) {}

  /**
   * What a workload asks of a pool, and what it has.
   *
   * @param poolId the pool
   * @param claim what it asks; empty if it withdrew its claim, and the pool is not allocated since
   * @param allocation what it has; empty before the first allocation that has it
   */
  public record PoolShare(
      String poolId, Optional<Claim> claim, Optional<WorkloadAllocation> allocation) {}
}
