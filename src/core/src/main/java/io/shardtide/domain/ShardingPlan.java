package io.shardtide.domain;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

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
    return new ShardingPlan(
        contentId(),
        origin,
        reason,
        shards,
        replication,
        codecs,
        kernels,
        prediction,
        transition,
        run);
  }

  /** Returns {@link PlanOrigin#workloadId}. */
  public String workloadId() {
    return origin.workloadId();
  }

  /** Returns {@link PlanOrigin#generation}. */
  public long generation() {
    return origin.generation();
  }

  /** Returns {@link PlanOrigin#firstGeneration}. */
  public long firstGeneration() {
    return origin.firstGeneration();
  }

  /** Returns {@link PlanOrigin#effort}. */
  public Effort effort() {
    return origin.effort();
  }

  /** Returns {@link PlanOrigin#source}. */
  public SourcePosition source() {
    return origin.source();
  }

  /** Returns {@link PlanOrigin#modelId}. */
  public String modelId() {
    return origin.modelId();
  }

  /** Returns {@link PlanOrigin#settings}. */
  public SearchSettings settings() {
    return origin.settings();
  }

  /** Returns whether the plan was chosen to learn what its shards cost. */
  public boolean isExploratory() {
    return settings().risk() < 0;
  }

  /** Returns {@link PlanOrigin#previousPlanId}. */
  public Optional<String> previousPlanId() {
    return origin.previousPlanId();
  }

  /** Returns {@link PlanOrigin#slow}. */
  public List<DeviceSpeed> slow() {
    return origin.slow();
  }

  /** Returns the shards, the number of devices that they are on, and the replica groups. */
  public PlanShards placed() {
    return new PlanShards(shards, deviceCosts().size(), groups());
  }

  /** Returns {@link Replication#groups}. */
  public ReplicaGroups groups() {
    return replication.groups();
  }

  /** Returns the number of devices of all replica groups. */
  public int ranks() {
    return placed().ranks();
  }

  /** Returns {@link PlanPrediction#deviceCosts}. */
  public List<DeviceCost> deviceCosts() {
    return prediction.deviceCosts();
  }

  /** Returns {@link PlanPrediction#predictedMs}. */
  public double predictedMs() {
    return prediction.predictedMs();
  }

  /** Returns {@link PlanPrediction#insight}. */
  public Insight insight() {
    return prediction.insight();
  }

  /** Returns {@link PlanPrediction#outOfRange}. */
  public List<OutOfRange> outOfRange() {
    return prediction.outOfRange();
  }

  /** Returns {@link PlanPrediction#cacheMisses}. */
  public List<CacheMisses> cacheMisses() {
    return prediction.cacheMisses();
  }

  /** Returns {@link PlanPrediction#outOfRangeCount}. */
  public int outOfRangeCount() {
    return prediction.outOfRangeCount();
  }

  /** Returns {@link PlanMoves#moves}. */
  public List<Move> moves() {
    return transition.moves();
  }

  /** Returns {@link PlanMoves#moveOrder}. */
  public List<MoveStep> moveOrder() {
    return transition.moveOrder();
  }

  /** Returns how many shards get anything from another device; see {@link PlanMoves#shards}. */
  public int movedShards() {
    return transition.shards(placed());
  }

  /** Returns the bytes of all moves. */
  public long movedBytes() {
    return transition.bytes();
  }

  /** Returns {@link SearchRun#evaluations}. */
  public long evaluations() {
    return run.evaluations();
  }

  /** Returns {@link SearchRun#searchMillis}. */
  public double searchMillis() {
    return run.searchMillis();
  }

  /** Returns {@link SearchRun#createdAt}. */
  public Instant createdAt() {
    return run.createdAt();
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
