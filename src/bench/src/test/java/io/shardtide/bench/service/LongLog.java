package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A log as years of changes leave it, written in minutes. A planner plans one workload; its plan
 * and its predictions, with other names and generations, are those of all. Changes are real ones.
 * What a planner writes for each change and a dashboard reads only the end of (cost-predictions) is
 * left out; compacted topics get each current record twice, as much as Kafka leaves of them.
 */
final class LongLog {
  /** Writes of each record of a compacted topic: Kafka compacts when half of a log is stale. */
  private static final int WRITES = 2;

  private final BenchmarkCluster cluster;
  private final List<TableSpec> tables;
  private final List<CostPredictions> predictions = new ArrayList<>();
  private final AtomicReference<ShardingPlan> plan = new AtomicReference<>();

  LongLog(BenchmarkCluster cluster, int tables) {
    this.cluster = cluster;
    this.tables = SyntheticTables.of(tables, 64, 1);
  }

  private static String workload(int w) {
    return "workload_%05d".formatted(w);
  }

  /** Publishes a change of a random table of a random workload. */
  @SuppressWarnings("FutureReturnValueIgnored") // Whoever reads the log misses what is lost.
  void change(WorkloadPublisher publisher, Random random, int workloads) {
    TableSpec table = tables.get(random.nextInt(tables.size()));
    publisher.publish(
        new WorkloadChange(
            UUID.randomUUID(),
            workload(random.nextInt(workloads)),
            Instant.now(),
            "bench",
            OptionalLong.empty(),
            List.of(new Change.TableUpserted(SyntheticTables.changed(table, random)))));
  }

  /**
   * Has a planner create the topics and plan one workload, then writes the log.
   *
   * @param workloads number of workloads
   * @param plans plans in all, each both a record of sharding-plans and one of current-plans
   * @param changes changes in all
   */
  void write(int workloads, int plans, int changes) throws Exception {
    plan();
    try (KafkaProducer<String, byte[]> producer =
        new KafkaProducer<>(
            cluster.endpoint().clients(Map.of(), Map.of(ProducerConfig.LINGER_MS_CONFIG, 5)),
            new StringSerializer(),
            new ByteArraySerializer())) {
      CostPredictions last = predictions.get(predictions.size() - 1).withoutTable();
      for (int w = 0; w < WRITES * workloads; w++) {
        for (CostPredictions part : predictions) {
          send(producer, CURRENT_PREDICTIONS, of(part, w % workloads, 1 + w / workloads));
        }
        send(producer, CURRENT_PREDICTIONS, of(last, w % workloads, 1 + w / workloads));
      }
      for (int p = 0; p < plans; p++) {
        ShardingPlan next = of(workload(p % workloads), 1 + p / workloads);
        send(producer, SHARDING_PLANS, next);
        send(producer, CURRENT_PLANS, next);
      }
    }
    Random random = new Random(1);
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), "bench")) {
      for (int c = 0; c < changes; c++) {
        change(publisher, random, workloads);
      }
    }
  }

  private void plan() throws Exception {
    try (PlannerService service =
            cluster.start("state", PlanningSettings.DEFAULTS, parts -> parts);
        AnsweredChanges answers =
            new AnsweredChanges(
                cluster.endpoint(),
                cluster.registry(),
                List.of(COST_PREDICTIONS),
                (value, nanos) -> {
                  if (value instanceof CostPredictions part && plan.get() == null) {
                    predictions.add(part);
                  } else if (value instanceof ShardingPlan planned) {
                    plan.compareAndSet(null, planned);
                  }
                })) {
      BenchmarkCluster.awaitRunning(service);
      answers.publish(workload(0), BenchmarkCluster.workload(tables, 16));
      answers.await(0);
    }
  }

  private static CostPredictions of(CostPredictions part, int w, long generation) {
    return CostPredictionsBuilder.builder(part)
        .workloadId(workload(w))
        .generation(generation)
        .build();
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

  @SuppressWarnings("FutureReturnValueIgnored") // Closing the producer waits for all.
  private <V> void send(KafkaProducer<String, byte[]> producer, TopicType<V> type, V value) {
    var topic = cluster.endpoint().topics().of(type);
    producer.send(
        new ProducerRecord<>(
            topic.name(),
            type.keyOf(value),
            cluster.registry().serde(topic).serializer().serialize(topic.name(), value)));
  }
}
