package io.shardtide.client;

import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredCostsBuilder;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.serialization.Serializer;

/**
 * What a trainer says: which plan it runs, and what steps cost it. May be used by several threads;
 * the log has what one thread says in its order. Each call returns what completes when the cluster
 * has it on all its copies, or with an error of Kafka's.
 */
public final class TrainerReports implements AutoCloseable {
  /** What a client of Kafka sends by default: a report of 16,384 devices is half of it. */
  private static final int REPORT_BYTES = 1 << 20;

  private final Topics topics;
  private final String source;
  private final String run;
  private final InstantSource clock;
  private final Serializer<PlanStatus> statuses;
  private final Serializer<MeasuredCosts> measurements;
  private final RecordSender sender;

  private TrainerReports(
      Endpoint endpoint, Registry registry, String source, String run, InstantSource clock) {
    topics = endpoint.topics();
    this.source = source;
    this.run = run;
    this.clock = clock;
    statuses = registry.serde(topics.planStatus()).serializer();
    measurements = registry.serde(topics.measuredCosts()).serializer();
    sender = new RecordSender(endpoint, REPORT_BYTES);
  }

  /**
   * Connects.
   *
   * @param endpoint where the log is
   * @param registry has the schemas; is not closed with this
   * @param source who reports, for people
   * @param run which run of the trainer reports: another text after each start, since a trainer
   *     that starts from a checkpoint goes back in its steps
   */
  public static TrainerReports connect(
      Endpoint endpoint, Registry registry, String source, String run) {
    return connect(endpoint, registry, source, run, InstantSource.system());
  }

  /** Connects as above, with a clock that dates reports, for people. */
  public static TrainerReports connect(
      Endpoint endpoint, Registry registry, String source, String run, InstantSource clock) {
    return new TrainerReports(endpoint, registry, source, run, clock);
  }

  /**
   * Says that a plan is run from a step on, or that shards are being moved for it. From now on
   * moves are counted from this plan.
   */
  public CompletableFuture<Void> adopted(ShardingPlan plan, long step) {
    return status(plan, PlanStatus.StatusKind.ADOPTED, step, Optional.empty());
  }

  /** Says that a plan is not run, and why: the next is made from the plan that runs. */
  public CompletableFuture<Void> rejected(ShardingPlan plan, long step, String reason) {
    return status(plan, PlanStatus.StatusKind.REJECTED, step, Optional.of(reason));
  }

  /** Says that all shards of a plan are in their places. */
  public CompletableFuture<Void> finishedMoving(ShardingPlan plan, long step) {
    return status(plan, PlanStatus.StatusKind.FINISHED_MOVING, step, Optional.empty());
  }

  private CompletableFuture<Void> status(
      ShardingPlan plan, PlanStatus.StatusKind kind, long step, Optional<String> reason) {
    return send(
        topics.planStatus(),
        statuses,
        plan.workloadId(),
        new PlanStatus(
            plan.workloadId(), plan.planId(), kind, step, reason, source, run, clock.instant()));
  }

  /**
   * Says what steps cost while a plan ran.
   *
   * @param plan the plan
   * @param step the last of the steps that were measured, from 0; a step is reported once in a run
   * @param steps how many steps the costs are taken from, at least 1
   * @param devices one per device, in the order of their numbers
   * @throws io.shardtide.domain.RejectedException if a value is outside its legal range
   */
  public CompletableFuture<Void> measured(
      ShardingPlan plan, long step, int steps, List<MeasuredDevice> devices) {
    return send(
        topics.measuredCosts(),
        measurements,
        plan.workloadId(),
        MeasuredCostsBuilder.builder()
            .measurementId("%s/%s/%d".formatted(source, run, step))
            .workloadId(plan.workloadId())
            .planId(plan.planId())
            .run(run)
            .step(step)
            .steps(steps)
            .devices(devices)
            .source(source)
            .measuredAt(clock.instant())
            .build());
  }

  private <V> CompletableFuture<Void> send(
      Topic<V> topic, Serializer<V> serializer, String key, V value) {
    return sender.send(topic, serializer, key, value).thenApply(position -> null);
  }

  /** Sends what is on its way, and lets go of the cluster. */
  @Override
  public void close() {
    sender.close();
  }
}
