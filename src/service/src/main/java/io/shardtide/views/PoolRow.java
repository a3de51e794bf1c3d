package io.shardtide.views;

import java.time.Instant;
import java.util.Optional;

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
 * @param simulated whether a model that predicted one of the curves was trained on simulated costs
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
