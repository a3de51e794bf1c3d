package io.shardtide.plan;

import io.shardtide.workload.ReplicaGroups;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * How the tables of a workload are sharded over its devices: over those of each replica group
 * alike, if there are several.
 *
 * @param planId {@link #contentId}: SHA-256 over everything but the source's position and the
 *     clocks
 * @param origin what the plan is made from
 * @param reason why the plan was made, for people
 * @param shards every cell of every table exactly once, in {@link Shard#ORDER}; a table with a copy
 *     on each device is one shard
 * @param replication the replica groups
 * @param codecs the codecs of collectives, in {@link CollectiveCodec#ORDER}; collectives that are
 *     not listed have none
 * @param kernels how lookups of tables are computed, in {@link PlannedKernel#ORDER}, where their
 *     publisher decided that
 * @param prediction predicted costs
 * @param transition the moves from the running plan
 * @param run the run of the search
 */
@RecordBuilder
public record ShardingPlan(
    String planId,
    PlanOrigin origin,
    String reason,
    List<Shard> shards,
    Replication replication,
    List<CollectiveCodec> codecs,
    List<PlannedKernel> kernels,
    PlanPrediction prediction,
    PlanMoves transition,
    SearchRun run) {

  /** Copies what may change. */
  public ShardingPlan {
    shards = List.copyOf(shards);
    codecs = List.copyOf(codecs);
    kernels = List.copyOf(kernels);
  }

  /** Returns this plan with the id that follows from its content. */
  public ShardingPlan identified() {
    return ShardingPlanBuilder.builder(this).planId(contentId()).build();
  }

  /** Returns {@link PlanOrigin#workloadId}. */
  public String workloadId() {
    return origin.workloadId();
  }

  /** Returns {@link PlanOrigin#generation}. */
  public long generation() {
    return origin.generation();
  }

  /** Returns whether the plan was chosen to learn what its shards cost. */
  public boolean isExploratory() {
    return origin.settings().risk() < 0;
  }

  /** Returns the shards, the number of devices that they are on, and the replica groups. */
  public PlanShards placed() {
    return new PlanShards(shards, prediction.deviceCosts().size(), groups());
  }

  /** Returns {@link Replication#groups}. */
  public ReplicaGroups groups() {
    return replication.groups();
  }

  /** Returns the number of devices of all replica groups. */
  public int ranks() {
    return placed().ranks();
  }

  /** Returns {@link PlanPrediction#predictedMs}. */
  public double predictedMs() {
    return prediction.predictedMs();
  }

  /** Returns how many shards get anything from another device; see {@link PlanMoves#shards}. */
  public int movedShards() {
    return transition.shards(placed());
  }

  /** Returns the bytes of all moves. */
  public long movedBytes() {
    return transition.bytes();
  }

  /**
   * Returns SHA-256 over the content, as 64 hexadecimal digits. The position of the change in the
   * log is left out, as the clocks are: it shapes nothing in the plan, and an export that is
   * replayed elsewhere has other offsets.
   */
  public String contentId() {
    return PlanHash.of(this);
  }

  /** Returns whether the id is that of the content; if not, the plan was changed. */
  public boolean hasValidId() {
    return contentId().equals(planId);
  }
}
