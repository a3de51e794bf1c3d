package io.shardtide.trainer.live;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.trainer.Slowdown;
import io.shardtide.trainer.StepCosts;
import io.shardtide.trainer.Trainer;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Deserializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A trainer of one workload on the event log. Between two reports it looks whether there is another
 * plan, goes over to it, and says so: ADOPTED and, since nothing trains while shards move,
 * FINISHED_MOVING; REJECTED if it cannot run it. Then it trains, and reports the median costs of
 * the steps.
 */
public final class LiveTrainer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(LiveTrainer.class);

  /** How long is waited for a plan while there is none to run. */
  private static final Duration IDLE = Duration.ofMillis(50);

  /** After an adoption buffers are cold and code is compiled anew: such steps are not reported. */
  private static final int WARM_UP = 2;

  private final LiveTrainerSettings settings;
  private final Watcher watcher;
  private final Registry registry;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final TrainerReports reports;
  private final Map<String, Deserializer<?>> readers = new HashMap<>();
  private final KnownWorkload known;
  private final Trainer trainer;
  private final Set<String> refused = new HashSet<>();
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final AtomicReference<Slowdown> slowdown = new AtomicReference<>(Slowdown.NONE);
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
  private final Thread thread;
  private Optional<ShardingPlan> running = Optional.empty();

  /**
   * How a trainer runs.
   *
   * @param workloadId the workload
   * @param source who reports
   * @param run which run reports: another text after each start
   * @param seed seed of what is looked up
   * @param learningRate of the gradient descent
   * @param cores how many devices may compute at a time
   * @param stepsPerReport steps that a report is taken from, at least 1
   */
  public record LiveTrainerSettings(
      String workloadId,
      String source,
      String run,
      long seed,
      float learningRate,
      int cores,
      int stepsPerReport) {}

  /** Hears what a trainer does, on its thread. */
  public interface Watcher {
    /** Hears that a plan is run from now on, all its shards in their places. */
    default void adopted(ShardingPlan plan, long step, long movedBytes) {}

    /** Hears what steps cost. */
    default void measured(String planId, long step, StepCosts costs, double loss) {}
  }

  private LiveTrainer(
      Endpoint endpoint, LiveTrainerSettings settings, Watcher watcher, InstantSource clock) {
    this.settings = settings;
    this.watcher = watcher;
    registry = endpoint.connectRegistry();
    known = new KnownWorkload(settings.workloadId());
    trainer = new Trainer(settings.seed(), settings.learningRate(), settings.cores());
    consumer = endpoint.reader(Map.of());
    reports = TrainerReports.connect(endpoint, registry, settings.source(), settings.run(), clock);
    thread = new Thread(this::run, "trainer-" + settings.workloadId());
    thread.setDaemon(true);
  }

  /**
   * Starts.
   *
   * @param endpoint where the log is
   * @param settings how to run
   * @param watcher hears what happens
   * @param clock says when something was measured, for people
   */
  public static LiveTrainer start(
      Endpoint endpoint, LiveTrainerSettings settings, Watcher watcher, InstantSource clock) {
    LiveTrainer live = new LiveTrainer(endpoint, settings, watcher, clock);
    Topics topics = endpoint.topics();
    List<Topic<?>> read = List.of(topics.costPredictions(), topics.shardingPlans());
    read.forEach(
        topic -> live.readers.put(topic.name(), live.registry.serde(topic).deserializer()));
    List<TopicPartition> partitions =
        read.stream()
            .flatMap(topic -> live.consumer.partitionsFor(topic.name()).stream())
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    live.consumer.assign(partitions);
    live.consumer.seekToBeginning(partitions);
    live.thread.start();
    return live;
  }

  /** Makes the machine slower from the next step on. */
  public void setSlowdown(Slowdown slower) {
    slowdown.set(slower);
  }

  /** Throws what ended the training, if anything did. */
  public void check() {
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("The trainer ended: " + failed.getMessage(), failed);
    }
  }

  private void run() {
    try {
      while (!stopped.get()) {
        read(running.isEmpty() ? IDLE : Duration.ZERO);
        known
            .next(running.map(ShardingPlan::planId))
            .filter(plan -> !refused.contains(plan.planId()))
            .ifPresent(this::adopt);
        if (running.isPresent()) {
          trainer.setSlowdown(slowdown.get());
          report(running.get(), trainer.train(settings.stepsPerReport()));
        }
      }
    } catch (RuntimeException e) {
      log.error("The trainer of {} ended", settings.workloadId(), e);
      failure.set(e);
    }
  }

  private void read(Duration wait) {
    byte[] key = settings.workloadId().getBytes(StandardCharsets.UTF_8);
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(wait)) {
      if (Arrays.equals(key, record.key())) {
        Object value = readers.get(record.topic()).deserialize(record.topic(), record.value());
        if (value instanceof CostPredictions part) {
          known.take(part);
        } else if (value instanceof ShardingPlan plan) {
          known.take(plan);
        }
      }
    }
  }

  private void adopt(ShardingPlan plan) {
    try {
      long moved = trainer.reshard(known.cluster(), known.tables(), plan.shards());
      running = Optional.of(plan);
      check(reports.adopted(plan, trainer.step()));
      check(reports.finishedMoving(plan, trainer.step()));
      trainer.train(WARM_UP);
      watcher.adopted(plan, trainer.step(), moved);
    } catch (IllegalArgumentException e) {
      refused.add(plan.planId());
      check(reports.rejected(plan, trainer.step(), e.getMessage()));
    }
  }

  private void report(ShardingPlan plan, StepCosts costs) {
    long step = trainer.step() - 1;
    check(reports.measured(plan, step, settings.stepsPerReport(), costs.measured()));
    watcher.measured(plan.planId(), step, costs, trainer.loss());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // What it completes with is looked at here.
  private void check(CompletableFuture<Void> sent) {
    sent.whenComplete(
        (done, error) -> {
          if (error != null) {
            failure.compareAndSet(null, new IllegalStateException(error.getMessage(), error));
          }
        });
  }

  @Override
  public void close() {
    stopped.set(true);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    trainer.close();
    consumer.close();
    reports.close();
    try {
      registry.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
