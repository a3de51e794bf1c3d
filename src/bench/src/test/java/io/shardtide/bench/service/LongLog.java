package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A log as years of changes leave it, written in minutes. A planner plans one workload; its plan
 * and its predictions, with other names and generations, are those of all. Changes are real ones.
 * What a planner writes for each change and a dashboard reads only the end of (cost-predictions) is
 * left out; compacted topics get each current record twice, as much as Kafka leaves of them.
 */
final class LongLog {
  private static final Topics TOPICS = BenchmarkCluster.TOPICS;
  private static final int COLUMNS = 64;
  private static final int DEVICES = 16;

  /** Writes of each record of a compacted topic: Kafka compacts when half of a log is stale. */
  private static final int WRITES = 2;

  private final BenchmarkCluster cluster;
  private final List<TableSpec> tables;
  private final StepReporter steps;
  private final List<CostPredictions> predictions = new ArrayList<>();
  private final AtomicReference<ShardingPlan> plan = new AtomicReference<>();
  private final AtomicReference<Exception> failure = new AtomicReference<>();

  LongLog(BenchmarkCluster cluster, int tables, StepReporter steps) {
    this.cluster = cluster;
    this.tables = SyntheticTables.of(tables, COLUMNS, 1);
    this.steps = steps;
  }

  static String workload(int w) {
    return "workload_%05d".formatted(w);
  }

  /** Returns a change of a random table. */
  List<Change> change(Random random) {
    return List.of(
        new Change.TableUpserted(
            SyntheticTables.changed(tables.get(random.nextInt(tables.size())), random)));
  }

  /** Has a planner create the topics, and plan one workload. */
  void plan() throws Exception {
    try (PlannerService service = cluster.start();
        LoadPublisher publisher = new LoadPublisher(cluster, 0);
        BenchmarkListener listener =
            new BenchmarkListener(
                cluster,
                List.of(TOPICS.of(COST_PREDICTIONS), TOPICS.of(SHARDING_PLANS)),
                this::onRecord)) {
      BenchmarkCluster.awaitRunning(service, steps);
      publisher.publish(workload(0), LoadPublisher.workload(tables, DEVICES));
      while (plan.get() == null) {
        listener.check();
        steps.at("the first plan", 0, 1);
        Thread.sleep(10);
      }
    }
  }

  private void onRecord(Object value, long nanos) {
    if (value instanceof CostPredictions part && plan.get() == null) {
      predictions.add(part);
    } else if (value instanceof ShardingPlan planned) {
      plan.compareAndSet(null, planned);
    }
  }

  /**
   * Writes the log of some workloads.
   *
   * @param workloads number of workloads
   * @param plans plans in all, each both a record of sharding-plans and one of current-plans
   * @param changes changes in all
   */
  void write(int workloads, int plans, int changes) {
    try (KafkaProducer<String, byte[]> producer = producer()) {
      Serializer<CostPredictions> parts = serializer(TOPICS.of(CURRENT_PREDICTIONS));
      int writes = WRITES * workloads;
      for (int w = 0; w < writes; w++) {
        steps.at("writing predictions", w, writes);
        for (CostPredictions part : predictions) {
          send(producer, parts, of(part, workload(w % workloads), 1 + w / workloads));
        }
        CostPredictions last = predictions.get(predictions.size() - 1);
        send(producer, parts, of(last.withoutTable(), workload(w % workloads), 1 + w / workloads));
      }
      Serializer<ShardingPlan> planned = serializer(TOPICS.of(SHARDING_PLANS));
      Serializer<ShardingPlan> current = serializer(TOPICS.of(CURRENT_PLANS));
      for (int p = 0; p < plans; p++) {
        steps.at("writing plans", p, plans);
        ShardingPlan next = of(workload(p % workloads), 1 + p / workloads);
        send(producer, TOPICS.of(SHARDING_PLANS), planned, next.workloadId(), next);
        send(producer, TOPICS.of(CURRENT_PLANS), current, next.workloadId(), next);
      }
    }
    writeChanges(workloads, changes);
    Exception failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("The log could not be written", failed);
    }
  }

  private void writeChanges(int workloads, int changes) {
    Random random = new Random(1);
    try (LoadPublisher publisher = new LoadPublisher(cluster, 5)) {
      for (int c = 0; c < changes; c++) {
        if (c % 1_000 == 0) {
          steps.at("writing changes", c, changes);
        }
        publisher.publish(workload(random.nextInt(workloads)), change(random));
      }
      publisher.flush();
    }
  }

  private static CostPredictions of(CostPredictions part, String workload, long generation) {
    return CostPredictionsBuilder.builder(part).workloadId(workload).generation(generation).build();
  }

  private ShardingPlan of(String workload, long generation) {
    ShardingPlan first = plan.get();
    return new ShardingPlan(
            "",
            new PlanOrigin(
                workload,
                generation,
                generation,
                first.origin().effort(),
                first.origin().source(),
                first.origin().modelId(),
                first.origin().settings(),
                Optional.empty(),
                List.of()),
            first.reason(),
            first.shards(),
            first.replication(),
            List.of(),
            List.of(),
            first.prediction(),
            first.transition(),
            first.run())
        .identified();
  }

  private KafkaProducer<String, byte[]> producer() {
    return new KafkaProducer<>(
        Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
            cluster.bootstrapServers(),
            ProducerConfig.LINGER_MS_CONFIG,
            5,
            ProducerConfig.BATCH_SIZE_CONFIG,
            256 * 1024),
        new StringSerializer(),
        new org.apache.kafka.common.serialization.ByteArraySerializer());
  }

  private <V> Serializer<V> serializer(Topic<V> topic) {
    return cluster.registry().serde(topic).serializer();
  }

  private void send(
      KafkaProducer<String, byte[]> producer,
      Serializer<CostPredictions> serializer,
      CostPredictions part) {
    send(producer, TOPICS.of(CURRENT_PREDICTIONS), serializer, PredictionKey.of(part).text(), part);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The callback handles failures.
  private <V> void send(
      KafkaProducer<String, byte[]> producer,
      Topic<V> topic,
      Serializer<V> serializer,
      String key,
      V value) {
    producer.send(
        new ProducerRecord<>(topic.name(), key, serializer.serialize(topic.name(), value)),
        (metadata, error) -> {
          if (error != null) {
            failure.compareAndSet(null, error);
          }
        });
  }
}
