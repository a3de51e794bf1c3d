package io.shardtide.trainer.live;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.trainer.Slowdown;
import io.shardtide.trainer.StepCosts;
import io.shardtide.trainer.Trainer;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
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

  private final Settings settings;
  private final Topics topics;
  private final Watcher watcher;
  private final InstantSource clock;
  private final KafkaConsumer<String, byte[]> consumer;
  private final KafkaProducer<String, byte[]> producer;
  private final Map<String, Deserializer<?>> readers = new HashMap<>();
  private final Serializer<PlanStatus> statuses;
  private final Serializer<MeasuredCosts> measurements;
  private final KnownWorkload known;
  private final Trainer trainer;
  private final Set<String> refused = new HashSet<>();
  private final AtomicBoolean stopped = new AtomicBoolean();
  private final AtomicReference<Slowdown> slowdown = new AtomicReference<>(Slowdown.NONE);
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
  private final Thread thread;
  private Optional<String> running = Optional.empty();
  private long reports;

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
  public record Settings(
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
      Map<String, Object> clients,
      Registry registry,
      Topics topics,
      Settings settings,
      Watcher watcher,
      InstantSource clock) {
    this.topics = topics;
    statuses = registry.serde(topics.planStatus()).serializer();
    measurements = registry.serde(topics.measuredCosts()).serializer();
    this.settings = settings;
    this.watcher = watcher;
    this.clock = clock;
    known = new KnownWorkload(settings.workloadId());
    trainer = new Trainer(settings.seed(), settings.learningRate(), settings.cores());
    Map<String, Object> reading = new HashMap<>(clients);
    reading.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    reading.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new ByteArrayDeserializer());
    Map<String, Object> writing = new HashMap<>(clients);
    writing.put(ProducerConfig.LINGER_MS_CONFIG, 0);
    producer = new KafkaProducer<>(writing, new StringSerializer(), new ByteArraySerializer());
    thread = new Thread(this::run, "trainer-" + settings.workloadId());
    thread.setDaemon(true);
  }

  /**
   * Starts.
   *
   * @param clients settings of Kafka clients, bootstrap.servers at least
   * @param registry has the schemas
   * @param topics the topics
   * @param settings how to run
   * @param watcher hears what happens
   * @param clock says when something was measured, for people
   */
  public static LiveTrainer start(
      Map<String, Object> clients,
      Registry registry,
      Topics topics,
      Settings settings,
      Watcher watcher,
      InstantSource clock) {
    LiveTrainer live = new LiveTrainer(clients, registry, topics, settings, watcher, clock);
    List<Topic<?>> read = List.of(topics.costPredictions(), topics.shardingPlans());
    read.forEach(topic -> live.readers.put(topic.name(), registry.serde(topic).deserializer()));
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
        known.next(running).filter(plan -> !refused.contains(plan.planId())).ifPresent(this::adopt);
        if (running.isPresent()) {
          trainer.setSlowdown(slowdown.get());
          report(trainer.train(settings.stepsPerReport()));
        }
      }
    } catch (RuntimeException e) {
      log.error("The trainer of {} ended", settings.workloadId(), e);
      failure.set(e);
    }
  }

  private void read(Duration wait) {
    for (ConsumerRecord<String, byte[]> record : consumer.poll(wait)) {
      if (settings.workloadId().equals(record.key())) {
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
      running = Optional.of(plan.planId());
      status(plan, PlanStatus.Kind.ADOPTED, Optional.empty());
      status(plan, PlanStatus.Kind.FINISHED_MOVING, Optional.empty());
      trainer.train(WARM_UP);
      watcher.adopted(plan, trainer.step(), moved);
    } catch (IllegalArgumentException e) {
      refused.add(plan.planId());
      status(plan, PlanStatus.Kind.REJECTED, Optional.of(e.getMessage()));
    }
  }

  private void status(ShardingPlan plan, PlanStatus.Kind kind, Optional<String> reason) {
    send(
        topics.planStatus(),
        statuses,
        new PlanStatus(
            settings.workloadId(),
            plan.planId(),
            kind,
            trainer.step(),
            reason,
            settings.source(),
            settings.run(),
            clock.instant()));
  }

  private void report(StepCosts costs) {
    reports++;
    send(
        topics.measuredCosts(),
        measurements,
        new MeasuredCosts(
            "%s/%s/%d".formatted(settings.source(), settings.run(), reports),
            settings.workloadId(),
            running.orElseThrow(),
            settings.run(),
            trainer.step() - 1,
            settings.stepsPerReport(),
            costs.measured(),
            settings.source(),
            clock.instant()));
    watcher.measured(running.orElseThrow(), trainer.step() - 1, costs, trainer.loss());
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The callback hears of failures.
  private <V> void send(Topic<V> topic, Serializer<V> serializer, V value) {
    producer.send(
        new ProducerRecord<>(
            topic.name(), settings.workloadId(), serializer.serialize(topic.name(), value)),
        (metadata, error) -> {
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
    producer.close();
  }
}
