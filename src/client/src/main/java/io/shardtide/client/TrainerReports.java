package io.shardtide.client;

import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;

import io.shardtide.growth.FillReport;
import io.shardtide.growth.TableFill;
import io.shardtide.log.DaemonThreads;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A trainer's reports: which plan it runs, the costs it measures, and how full its hashed tables
 * are. Reports are sent in the background: no call waits for Kafka or the registry. While they do
 * not answer, up to {@link #MAX_MEASUREMENTS} measurements of costs and fill, and {@link
 * #MAX_STATUSES} statuses are kept; further ones are dropped and counted in {@link #undelivered}.
 *
 * <p>Each call returns a future that completes when all in-sync replicas have the report, or with
 * the reason why they do not. A trainer need not look at it. Safe for use by several threads; the
 * reports of one thread are written in its order.
 */
public final class TrainerReports implements AutoCloseable {
  /** Measurements that wait to be delivered, at most. */
  public static final int MAX_MEASUREMENTS = 100;

  /** Statuses that wait to be delivered, at most; there are few, and the planner needs each. */
  public static final int MAX_STATUSES = 1_000;

  private static final Logger log = LoggerFactory.getLogger(TrainerReports.class);

  /**
   * The producer's default limit. A report of 16,384 devices with both all-to-alls is four fifths
   * of it; with all eight collectives that a step may have, 10,000 devices fit.
   */
  private static final int REPORT_BYTES = 1 << 20;

  private final String source;
  private final String run;
  private final InstantSource clock;
  private final Kind<PlanStatus> statuses;
  private final Kind<MeasuredCosts> measurements;
  private final Kind<FillReport> fills;
  private final RecordSender sender;
  private final AtomicLong undelivered = new AtomicLong();
  private final ExecutorService background =
      Executors.newSingleThreadExecutor(DaemonThreads.named("shardtide-reports"));

  /**
   * A kind of reports.
   *
   * @param room has a permit for each report that may still wait; several kinds may share it
   * @param limit its permits while nothing waits
   */
  private record Kind<V>(Topic<V> topic, Serializer<V> serializer, Semaphore room, int limit) {
    Kind(Registry registry, Topic<V> topic, Semaphore room) {
      this(topic, registry.serde(topic).serializer(), room, room.availablePermits());
    }
  }

  private TrainerReports(
      Endpoint endpoint, Registry registry, String source, String run, InstantSource clock) {
    this.source = source;
    this.run = run;
    this.clock = clock;
    Topics topics = endpoint.topics();
    statuses = new Kind<>(registry, topics.of(PLAN_STATUS), new Semaphore(MAX_STATUSES));
    Semaphore room = new Semaphore(MAX_MEASUREMENTS);
    measurements = new Kind<>(registry, topics.of(MEASURED_COSTS), room);
    fills = new Kind<>(registry, topics.of(TABLE_FILLS), room);
    sender = new RecordSender(endpoint, new ClusterRefusals(endpoint, "trainer"), REPORT_BYTES);
  }

  /**
   * Creates a reporter; connects in the background.
   *
   * @param endpoint the cluster and the registry
   * @param registry looks schemas up; not closed with this reporter
   * @param source name of the trainer, for people
   * @param run id of this run of the trainer; another one after each start, because a trainer that
   *     restarts from a checkpoint repeats step numbers
   */
  public static TrainerReports connect(
      Endpoint endpoint, Registry registry, String source, String run) {
    return connect(endpoint, registry, source, run, InstantSource.system());
  }

  /** As {@link #connect(Endpoint, Registry, String, String)}, with the clock of the reports. */
  public static TrainerReports connect(
      Endpoint endpoint, Registry registry, String source, String run, InstantSource clock) {
    return new TrainerReports(endpoint, registry, source, run, clock);
  }

  /**
   * Reports that the trainer adopted a plan: it runs it, or moves shards for it. The planner counts
   * the moves of later plans from this plan.
   *
   * @param step the first step with this plan, at least 0
   */
  public CompletableFuture<Void> adopted(ShardingPlan plan, long step) {
    return status(plan, PlanStatus.StatusKind.ADOPTED, step, Optional.empty(), 1, 1);
  }

  /**
   * Reports that the trainer does not run a plan. The planner makes the next plan from the plan
   * that runs.
   *
   * @param step the current step, at least 0
   * @param reason why, for people
   */
  public CompletableFuture<Void> rejected(ShardingPlan plan, long step, String reason) {
    return status(plan, PlanStatus.StatusKind.REJECTED, step, Optional.of(reason), 1, 1);
  }

  /**
   * Reports that all shards of an adopted plan are on their devices.
   *
   * @param step the current step, at least 0
   */
  public CompletableFuture<Void> finishedMoving(ShardingPlan plan, long step) {
    return finishedMoving(plan, step, 1, 1);
  }

  /**
   * Reports that the shards of a wave of moves are on their devices; see {@link
   * io.shardtide.plan.MoveWaves}.
   *
   * @param step the current step, at least 0
   * @param wave number of the wave, from 1
   * @param waves number of waves, at least {@code wave}
   * @throws io.shardtide.workload.RejectedException if a number is out of range
   */
  public CompletableFuture<Void> finishedMoving(ShardingPlan plan, long step, int wave, int waves) {
    return status(plan, PlanStatus.StatusKind.FINISHED_MOVING, step, Optional.empty(), wave, waves);
  }

  private CompletableFuture<Void> status(
      ShardingPlan plan,
      PlanStatus.StatusKind kind,
      long step,
      Optional<String> reason,
      int wave,
      int waves) {
    return send(
        statuses,
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            reason,
            source,
            run,
            clock.instant(),
            wave,
            waves));
  }

  /**
   * Reports the measured costs of steps with a plan, as {@link #measured(ShardingPlan, long, int,
   * List, List)}, without durations of collectives.
   */
  public CompletableFuture<Void> measured(
      ShardingPlan plan, long step, int steps, List<MeasuredDevice> devices) {
    return measured(plan, step, steps, devices, List.of());
  }

  /**
   * Reports the measured costs of steps with a plan.
   *
   * @param plan the plan that ran
   * @param step the last of the measured steps, at least 0; report a step once in a run
   * @param steps number of steps that the costs are taken from, at least 1
   * @param devices costs in milliseconds, one element per device in the order of their numbers
   * @param collectives durations of the collectives of a step without idle time, if they were
   *     measured apart: all that the plan needs, or none
   * @throws io.shardtide.workload.RejectedException if a value is out of range; the message names
   *     the value and what is expected
   */
  public CompletableFuture<Void> measured(
      ShardingPlan plan,
      long step,
      int steps,
      List<MeasuredDevice> devices,
      List<MeasuredCollective> collectives) {
    return send(
        measurements,
        MeasuredCostsBuilder.builder()
            .measurementId(id(step))
            .workloadId(plan.workloadId())
            .planId(plan.planId())
            .run(run)
            .step(step)
            .steps(steps)
            .devices(devices)
            .collectives(collectives)
            .source(source)
            .measuredAt(clock.instant())
            .build());
  }

  /**
   * Reports how full hashed tables are. The planner forecasts from such reports when a table will
   * be full, and gives it another capacity before; it needs {@code growth.enabled=true}.
   *
   * @param plan the plan that runs
   * @param step the step, at least 0; report the fill of a step once in a run
   * @param tables the tables with their shards on all ranks, each table at most once
   * @throws io.shardtide.workload.RejectedException if a value is out of range; the message names
   *     the value and what is expected
   */
  public CompletableFuture<Void> filled(ShardingPlan plan, long step, List<TableFill> tables) {
    return send(
        fills,
        new FillReport(
            id(step), plan.workloadId(), plan.planId(), run, source, clock.instant(), tables));
  }

  private String id(long step) {
    return "%s/%s/%d".formatted(source, run, step);
  }

  private <V> CompletableFuture<Void> send(Kind<V> kind, V value) {
    CompletableFuture<Void> delivered = new CompletableFuture<>();
    if (!kind.room().tryAcquire()) {
      drop(
          delivered,
          kind.topic(),
          new IllegalStateException("%d reports wait already".formatted(kind.limit())));
      return delivered;
    }
    try {
      background.execute(() -> deliver(kind, value, delivered));
    } catch (RejectedExecutionException e) {
      kind.room().release();
      drop(delivered, kind.topic(), new IllegalStateException("The reporter is closed", e));
    }
    return delivered;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // whenComplete looks at the result.
  private <V> void deliver(Kind<V> kind, V value, CompletableFuture<Void> delivered) {
    CompletableFuture<?> sent;
    try {
      sent = sender.send(kind.topic(), kind.serializer(), value);
    } catch (RuntimeException e) {
      sent = CompletableFuture.failedFuture(e);
    }
    sent.whenComplete(
        (position, error) -> {
          kind.room().release();
          if (error == null) {
            delivered.complete(null);
          } else {
            drop(delivered, kind.topic(), error);
          }
        });
  }

  private void drop(CompletableFuture<Void> delivered, Topic<?> topic, Throwable reason) {
    long count = undelivered.incrementAndGet();
    if (Long.bitCount(count) == 1) {
      // The 1st, 2nd, 4th, 8th ...: an outage does not fill the log.
      log.warn(
          "A report for {} was not delivered, {} so far: {}",
          topic.name(),
          count,
          reason.getMessage());
    }
    delivered.completeExceptionally(reason);
  }

  /** Returns how many reports were dropped, or refused by Kafka or the registry. */
  public long undelivered() {
    return undelivered.get();
  }

  /** Delivers waiting reports, for up to about 10 seconds; drops the rest. */
  @Override
  public void close() {
    background.shutdown();
    try {
      background.awaitTermination(RecordSender.CLOSE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    // Ends a send that still blocks.
    sender.close();
  }
}
