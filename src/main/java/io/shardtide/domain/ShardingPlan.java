package io.shardtide.domain;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * How the tables of a workload are sharded over its devices, and where that comes from.
 *
 * @param planId {@link #contentId}: SHA-256 over everything but {@code createdAt} and {@code
 *     searchMillis}
 * @param workloadId the workload
 * @param generation generation of the workload that the plan is for
 * @param firstGeneration the first generation that the plan answers; it answers all from there to
 *     {@code generation}
 * @param effort how long was searched
 * @param source where the last change that the plan answers lies in the log
 * @param modelId the cost model whose predictions were used
 * @param settings every setting of the search that shapes the result
 * @param previousPlanId the plan that runs, and that moves are counted from
 * @param reason why the plan was made, for people
 * @param shards every column of every table exactly once, in {@link Shard#ORDER}
 * @param deviceCosts one per device, in the order of their numbers
 * @param predictedMs the largest {@link DeviceCost#totalMs} of any device, up to rounding, in
 *     milliseconds
 * @param moves what changes its device since the previous plan, in {@link Move#ORDER}
 * @param moveOrder an order in which the moves can be made with no device above its memory
 * @param insight a lower bound, the bottleneck, and why tables were cut and moved
 * @param outOfRange where the cost model was not trained, in {@link OutOfRange#ORDER}; the first
 *     {@value #MAX_OUT_OF_RANGE}
 * @param outOfRangeCount how many such places there are in all
 * @param evaluations predicted costs of a device that the search asked for
 * @param searchMillis how long the search took, in milliseconds
 * @param createdAt when the plan was made
 */
public record ShardingPlan(
    String planId,
    String workloadId,
    long generation,
    long firstGeneration,
    Effort effort,
    SourcePosition source,
    String modelId,
    SearchSettings settings,
    Optional<String> previousPlanId,
    String reason,
    List<Shard> shards,
    List<DeviceCost> deviceCosts,
    double predictedMs,
    List<Move> moves,
    List<MoveStep> moveOrder,
    Insight insight,
    List<OutOfRange> outOfRange,
    int outOfRangeCount,
    long evaluations,
    double searchMillis,
    Instant createdAt) {

  /** More than a person reads, few enough for a record. */
  public static final int MAX_OUT_OF_RANGE = 100;

  /** Copies what may change. */
  public ShardingPlan {
    Objects.requireNonNull(planId, "planId");
    Objects.requireNonNull(workloadId, "workloadId");
    Objects.requireNonNull(effort, "effort");
    Objects.requireNonNull(source, "source");
    if (firstGeneration < 1 || firstGeneration > generation) {
      throw new IllegalArgumentException(
          "A plan for generations %d to %d; legal are 1 and more, the first not after the last"
              .formatted(firstGeneration, generation));
    }
    Objects.requireNonNull(modelId, "modelId");
    Objects.requireNonNull(settings, "settings");
    Objects.requireNonNull(previousPlanId, "previousPlanId");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(createdAt, "createdAt");
    shards = List.copyOf(shards);
    deviceCosts = List.copyOf(deviceCosts);
    moves = List.copyOf(moves);
    moveOrder = List.copyOf(moveOrder);
    Objects.requireNonNull(insight, "insight");
    outOfRange = List.copyOf(outOfRange);
  }

  /** Returns this plan with the id that its content gives it. */
  public ShardingPlan identified() {
    return new ShardingPlan(
        contentId(),
        workloadId,
        generation,
        firstGeneration,
        effort,
        source,
        modelId,
        settings,
        previousPlanId,
        reason,
        shards,
        deviceCosts,
        predictedMs,
        moves,
        moveOrder,
        insight,
        outOfRange,
        outOfRangeCount,
        evaluations,
        searchMillis,
        createdAt);
  }

  /** Returns the bytes that all moves carry. */
  public long movedBytes() {
    return moves.stream().mapToLong(Move::bytes).sum();
  }

  /**
   * Returns SHA-256 over the content, as 64 hexadecimal digits. Where the change lies in the log is
   * left out with the clocks: it shapes nothing in the plan, and an export that is replayed
   * elsewhere has other offsets.
   */
  public String contentId() {
    CanonicalHash hash =
        new CanonicalHash("ShardingPlan/3")
            .put(workloadId)
            .put(generation)
            .put(firstGeneration)
            .put(effort.name())
            .put(modelId)
            .put(settings.evaluationsPerTable())
            .put(settings.repairEvaluations())
            .put(settings.moveGigabytesPerSecond())
            .put(settings.moveOverheadMs())
            .put(settings.paybackSteps())
            .put(previousPlanId.orElse(""))
            .put(reason)
            .put(predictedMs)
            .put(evaluations)
            .put(outOfRangeCount)
            .put(insight.lowerBoundMs())
            .put(insight.bottleneck().device())
            .put(insight.bottleneck().cause().name())
            .put(insight.bottleneck().table())
            .put(insight.bottleneck().gainMs());
    hash.putAll(
        shards,
        shard ->
            hash.put(shard.table())
                .put(shard.kind().name())
                .put(shard.columnOffset())
                .put(shard.columns())
                .put(shard.rowOffset())
                .put(shard.rows())
                .put(shard.device()));
    hash.putAll(
        deviceCosts,
        cost ->
            hash.put(cost.computeMs())
                .put(cost.forwardCommMs())
                .put(cost.backwardCommMs())
                .put(cost.memoryBytes()));
    hash.putAll(
        moves,
        move ->
            hash.put(move.table())
                .put(move.region().columnOffset())
                .put(move.region().columns())
                .put(move.region().rowOffset())
                .put(move.region().rows())
                .put(move.fromDevice())
                .put(move.toDevice())
                .put(move.bytes()));
    hash.putAll(moveOrder, step -> hash.put(step.move()).put(step.stage().name()));
    hash.putAll(
        outOfRange,
        place ->
            hash.put(place.subject())
                .put(place.quantity())
                .put(place.value())
                .put(place.min())
                .put(place.max()));
    hash.putAll(
        insight.explanations(),
        explanation ->
            hash.put(explanation.kind().name())
                .put(explanation.table())
                .put(explanation.fromDevice())
                .put(explanation.toDevice())
                .put(explanation.cause().name())
                .put(explanation.gainMs()));
    return hash.hex();
  }
}
