package io.shardtide.trainer.live;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.trainer.Slowdown;
import io.shardtide.trainer.StepCosts;
import io.shardtide.trainer.Trainer;
import io.shardtide.trainer.live.KnownWorkload.RunnablePlan;
import io.shardtide.wire.Registry;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reference trainer of one workload, connected to Kafka. Between two reports it looks for a new
 * plan, reshards, and reports ADOPTED and, since no step runs while shards move, FINISHED_MOVING;
 * or REJECTED if it cannot run the plan. Then it trains, and reports the median costs of the steps.
 * When the workload is deleted, it drops the tables and waits for another plan.
 *
 * <p>Steps never wait for Kafka or the registry: plans are received and reports sent by threads of
 * their own. While the cluster is away the running plan goes on, and reports beyond a limit are
 * dropped ({@link #undeliveredReports}). Records that cannot be decoded are skipped ({@link
 * #undecodableRecords}).
 */
public final class LiveTrainer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(LiveTrainer.class);

  /** Steps after an adoption that are not reported: caches are cold and code is compiled again. */
  private static final int WARM_UP = 2;

  private final LiveTrainerSettings settings;
  private final Watcher watcher;
  private final Registry registry;
  private final TopicReader reader;
  private final TrainerReports reports;
  private final KnownWorkload known = new KnownWorkload();
  private final Trainer trainer;
  private final Set<String> rejectedPlanIds = new HashSet<>();
  private final AtomicReference<Slowdown> slowdown = new AtomicReference<>(Slowdown.NONE);
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
  private final Thread thread;
  private volatile boolean stopped;
  private Optional<ShardingPlan> running = Optional.empty();

  /**
   * Settings of a trainer.
   *
   * @param workloadId the workload
   * @param source name of the trainer in its reports
   * @param run id of this run; another one after each start
   * @param seed seed of the random lookups
   * @param learningRate of the gradient descent
   * @param cores how many devices may compute at a time, at least 1
   * @param stepsPerReport number of steps that a report is taken from, at least 1
   */
  public record LiveTrainerSettings(
      String workloadId,
      String source,
      String run,
      long seed,
      float learningRate,
      int cores,
      int stepsPerReport) {}

  /** Receives what a trainer does, on its thread. */
  public interface Watcher {
    /**
     * Called when a plan runs, all its shards on their devices.
     *
     * @param step the next step, from 0
     * @param movedBytes bytes that were moved between devices
     */
    default void adopted(ShardingPlan plan, long step, long movedBytes) {}

    /**
     * Called when the workload was deleted: no step runs until it has a plan again.
     *
     * @param step the next step
     */
    default void deleted(long step) {}

    /**
     * Called with the median costs of the last steps.
     *
     * @param step the last of them
     * @param loss log loss of the last step
     */
    default void measured(String planId, long step, StepCosts costs, double loss) {}
  }

  private LiveTrainer(
      Endpoint endpoint, LiveTrainerSettings settings, Watcher watcher, InstantSource clock) {
    this.settings = settings;
    this.watcher = watcher;
    registry = endpoint.connectRegistry();
    reader =
        endpoint
            .reader(registry)
            .onlyKey(Optional.of(settings.workloadId()))
            .handle(
                endpoint.topics().costPredictions(),
                StartPosition.BEGINNING,
                Optional.of(CostPredictions::workloadId),
                (position, writtenAt, part) -> known.take(part))
            .handle(
                endpoint.topics().shardingPlans(),
                StartPosition.BEGINNING,
                Optional.of(ShardingPlan::workloadId),
                (position, writtenAt, plan) -> known.take(plan))
            .onFailure(e -> failure.compareAndSet(null, e));
    try {
      reader.open();
    } catch (RuntimeException e) {
      registry.close();
      throw e;
    }
    trainer = new Trainer(settings.seed(), settings.learningRate(), settings.cores());
    reports = TrainerReports.connect(endpoint, registry, settings.source(), settings.run(), clock);
    thread = new Thread(this::run, "trainer-" + settings.workloadId());
    thread.setDaemon(true);
  }

  /**
   * Connects, and starts to train when there is a plan.
   *
   * @param endpoint the cluster and the registry
   * @param settings how to run
   * @param watcher receives what happens
   * @param clock dates reports
   * @throws IllegalStateException if the cluster does not have the planner's topics
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public static LiveTrainer start(
      Endpoint endpoint, LiveTrainerSettings settings, Watcher watcher, InstantSource clock) {
    LiveTrainer live = new LiveTrainer(endpoint, settings, watcher, clock);
    live.reader.start("trainer-plans-" + settings.workloadId());
    live.thread.start();
    return live;
  }

  /** Slows the simulated hardware down, from the next step on. */
  public void setSlowdown(Slowdown slower) {
    slowdown.set(slower);
  }

  /**
   * Throws the error that ended the training or the receiving of plans, if one did.
   *
   * @throws IllegalStateException with that error as its cause
   */
  public void check() {
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("The trainer ended: " + failed.getMessage(), failed);
    }
  }

  /** Returns how many reports were dropped or could not be sent. */
  public long undeliveredReports() {
    return reports.undelivered();
  }

  /** Returns how many records of this workload could not be decoded and were skipped. */
  public long undecodableRecords() {
    return reader.undecodableRecords();
  }

  private void run() {
    try {
      while (!stopped) {
        if (running.isPresent()) {
          known.deletedFrom().ifPresent(this::drop);
        }
        Set<String> except = new HashSet<>(rejectedPlanIds);
        running.ifPresent(plan -> except.add(plan.planId()));
        (running.isEmpty() ? known.awaitNext(except) : known.next(except)).ifPresent(this::adopt);
        if (running.isPresent() && !stopped) {
          trainer.setSlowdown(slowdown.get());
          report(running.get(), trainer.train(settings.stepsPerReport()));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      log.error("The trainer of {} ended", settings.workloadId(), e);
      failure.compareAndSet(null, e);
    }
  }

  /** Drops all tables of the deleted workload. */
  private void drop(ClusterSpec cluster) {
    trainer.reshard(cluster, Map.of(), List.of());
    running = Optional.empty();
    watcher.deleted(trainer.step());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The reporter counts and logs failures.
  private void adopt(RunnablePlan next) {
    ShardingPlan plan = next.plan();
    try {
      if (plan.groups().areSeveral()) {
        throw new IllegalArgumentException(
            "this trainer is one replica group, got " + plan.groups().describe());
      }
      long moved = trainer.reshard(next.cluster(), next.tables(), plan.shards());
      running = Optional.of(plan);
      reports.adopted(plan, trainer.step());
      reports.finishedMoving(plan, trainer.step());
      trainer.train(WARM_UP);
      watcher.adopted(plan, trainer.step(), moved);
    } catch (IllegalArgumentException e) {
      rejectedPlanIds.add(plan.planId());
      reports.rejected(plan, trainer.step(), e.getMessage());
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The reporter counts and logs failures.
  private void report(ShardingPlan plan, StepCosts costs) {
    long step = trainer.step() - 1;
    try {
      reports.measured(
          plan, step, settings.stepsPerReport(), costs.measured(), costs.measuredCollectives());
    } catch (RejectedException e) {
      log.warn("Step {} of {} is not reported: {}", step, plan.workloadId(), e.getMessage());
    }
    watcher.measured(plan.planId(), step, costs, trainer.loss());
  }

  /** Ends after the steps that run; delivers the last reports, for up to about 10 seconds. */
  @Override
  public void close() {
    stopped = true;
    known.close();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    trainer.close();
    reader.close();
    reports.close();
    registry.close();
  }
}
