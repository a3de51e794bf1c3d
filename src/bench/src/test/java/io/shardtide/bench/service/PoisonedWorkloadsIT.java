package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.bench.Figures;
import io.shardtide.bench.SyntheticTables;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Topic;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.WorkloadChange;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Workloads that harm a planner, one of each kind, beside others: a search that does not end,
 * records with the id of a schema that nobody registered, a table with very large predictions, and
 * a model that takes over and cannot predict the workload's cluster. None of the others loses a
 * change.
 */
@Tag("nightly")
class PoisonedWorkloadsIT {
  private static final int PLANNERS = Integer.getInteger("bench.planners", 3);
  private static final int WORKLOADS = Integer.getInteger("bench.workloads", 9);
  private static final int PER_SECOND = Integer.getInteger("bench.per.second", 5);
  private static final int SECONDS = Integer.getInteger("bench.seconds", 6);
  private static final String PREFIX = "poison_";
  private static final String SLOW = PREFIX + "slow_search";
  private static final String ODD_SCHEMA = PREFIX + "odd_schema";
  private static final String LARGE = PREFIX + "large_prediction";
  private static final String MODEL = PREFIX + "model";

  /** Hardware of its own, so that its model predicts no other workload. */
  private static final String HARDWARE = "poisoned-hardware";

  /** No schema of a small registry has this id. */
  private static final int UNKNOWN_ID = 424_242;

  /** With these, the predictions of a table are more than a MiB. */
  private static final int LARGE_COLUMNS = 1_024;

  private static final long GIB = 1L << 30;
  private static final int BATCH_SIZE = 65_536;

  private final CountDownLatch end = new CountDownLatch(1);
  private final Map<String, String> outcomes = new ConcurrentSkipListMap<>();
  private final Random random = new Random(1);
  private final List<List<TableSpec>> workloads =
      IntStream.range(0, WORKLOADS)
          .mapToObj(w -> SyntheticTables.of(26 + 274 * w / Math.max(1, WORKLOADS - 1), 64, w))
          .toList();

  @Test
  void they_leave_no_other_without_a_plan() throws Exception {
    List<PlannerService> planners = new ArrayList<>();
    try (BenchmarkCluster cluster = new BenchmarkCluster(PLANNERS)) {
      for (int p = 0; p < PLANNERS; p++) {
        planners.add(
            cluster.start(
                "planner-" + p,
                PlanningSettings.DEFAULTS,
                parts ->
                    parts
                        .with()
                        .bundles(List.of(BenchmarkCluster.MODEL, model(BenchmarkCluster.MODEL)))
                        .planner(
                            new Planner(InstantSource.system(), System::nanoTime, this::search))
                        .build()));
      }
      try (KafkaProducer<String, byte[]> producer =
              new KafkaProducer<>(
                  cluster.endpoint().clients(Map.of(), Map.of()),
                  new StringSerializer(),
                  new ByteArraySerializer());
          WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), "bench");
          AnsweredChanges answers =
              new AnsweredChanges(
                  cluster.endpoint(),
                  cluster.registry(),
                  List.of(QUARANTINE),
                  (value, nanos) -> onRecord(value))) {
        for (PlannerService planner : planners) {
          BenchmarkCluster.awaitRunning(planner);
        }
        for (int w = 0; w < WORKLOADS; w++) {
          answers.publish("workload_" + w, BenchmarkCluster.workload(workloads.get(w), 16));
        }
        answers.await(0);
        change(answers, SECONDS / 3);
        answers.takeMillis();
        poison(publisher, producer, cluster);
        change(answers, SECONDS / 3);
        // Before, its cluster would be rejected: the model predicts no collectives of groups.
        await().until(() -> outcomes.containsKey(MODEL));
        takeOver(producer, cluster);
        change(answers, SECONDS - SECONDS / 3);
        LatencySample millis = answers.takeMillis();
        end.countDown();
        await().atMost(Duration.ofMinutes(2)).untilAsserted(this::checkPoisoned);
        Figures figures = new Figures("beside workloads that harm a planner", "value");
        figures.add("changes", "%,d", millis.count());
        figures.add("change to plan, median", "%,.1f ms", millis.quantile(0.5));
        figures.add("change to plan, p99", "%,.1f ms", millis.quantile(0.99));
        figures.add("change to plan, maximum", "%,.1f ms", millis.quantile(1));
        System.out.println(figures);
        assertThat(millis.count()).isEqualTo(PER_SECOND * SECONDS);
      } finally {
        end.countDown();
        planners.forEach(PlannerService::close);
      }
    }
  }

  private void checkPoisoned() {
    assertThat(outcomes)
        .containsEntry(SLOW, "planned")
        .containsEntry(ODD_SCHEMA, "rejected, UNKNOWN_SCHEMA")
        .containsEntry(LARGE, "planned")
        .hasEntrySatisfying(MODEL, outcome -> assertThat(outcome).contains("in quarantine"));
  }

  private void change(AnsweredChanges answers, int seconds) throws Exception {
    long began = System.nanoTime();
    for (int i = 0; i < PER_SECOND * seconds; i++) {
      TimeUnit.NANOSECONDS.sleep(began + i * (1_000_000_000L / PER_SECOND) - System.nanoTime());
      int w = random.nextInt(WORKLOADS);
      TableSpec table = workloads.get(w).get(random.nextInt(workloads.get(w).size()));
      answers.publish("workload_" + w, List.of(upsert(SyntheticTables.changed(table, random))));
    }
    answers.await(0);
  }

  /** Returns a model of the poisoned hardware. */
  private static ModelBundle model(ModelBundle of) {
    return ModelBundleBuilder.builder(of).modelId("").hardware(HARDWARE).build().identified();
  }

  /** Searches; for the slow workload, waits for the end first. */
  private SearchResult search(GroupedProblem problem, SearchSettings settings) {
    if (problem.tables().stream().anyMatch(table -> table.table().name().equals(SLOW))) {
      try {
        end.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CancellationException("the planner closes");
      }
    }
    return GroupSearch.search(problem, settings);
  }

  private static void poison(
      WorkloadPublisher publisher, KafkaProducer<String, byte[]> producer, BenchmarkCluster cluster)
      throws Exception {
    publish(publisher, SLOW, List.of(BenchmarkCluster.clusterSet(8), upsert(table(SLOW))));
    byte[] odd = ByteBuffer.allocate(7).put((byte) 0).putInt(UNKNOWN_ID).array();
    String topic = cluster.endpoint().topics().of(WORKLOAD_CHANGES).name();
    for (int partition = 0; partition < PLANNERS; partition++) {
      producer.send(new ProducerRecord<>(topic, partition, ODD_SCHEMA, odd)).get();
    }
    publish(publisher, LARGE, large());
    ClusterSpec groups =
        ClusterSpecBuilder.builder(new ClusterSpec(16, 80 * GIB, BATCH_SIZE, 8, HARDWARE))
            .replicaGroups(List.of(2))
            .build();
    publish(publisher, MODEL, List.of(new Change.ClusterSet(groups), upsert(table("t"))));
  }

  private static void publish(WorkloadPublisher publisher, String id, List<Change> changes)
      throws Exception {
    publisher
        .publish(
            new WorkloadChange(
                UUID.randomUUID(), id, Instant.now(), "bench", OptionalLong.empty(), changes))
        .get();
  }

  /** Lets a model take over that predicts no collectives of replica groups. */
  private static void takeOver(KafkaProducer<String, byte[]> producer, BenchmarkCluster cluster)
      throws Exception {
    Topic<ModelBundle> topic = cluster.endpoint().topics().of(COST_MODELS);
    byte[] bytes =
        cluster
            .registry()
            .serde(topic)
            .serializer()
            .serialize(topic.name(), model(ModelFiles.shipped()));
    producer.send(new ProducerRecord<>(topic.name(), HARDWARE, bytes)).get();
  }

  /** An unpooled table on a cluster of nodes, groups and host memory, that is cut in many ways. */
  private static List<Change> large() {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                new ClusterSpec(
                    128, 80 * GIB, 4 * BATCH_SIZE, 8, BenchmarkCluster.MODEL.hardware()))
            .hostMemoryBytesPerDevice(200 * GIB)
            .replicaGroups(IntStream.range(0, 8).mapToObj(i -> 1 << i).toList())
            .build();
    long rows = 1L << 30;
    int size = AccessCdf.size(rows);
    List<Double> shares = new ArrayList<>();
    for (int i = 1; i <= size; i++) {
      shares.add((double) i / size);
    }
    TableSpec table =
        TableSpecBuilder.builder(
                new TableSpec(LARGE, rows, LARGE_COLUMNS, 20, ReuseHistogram.UNKNOWN, Float.BYTES))
            .accessCdf(new AccessCdf(shares))
            .pooled(false)
            .build();
    return List.of(new Change.ClusterSet(cluster), upsert(table));
  }

  private static TableSpec table(String name) {
    return new TableSpec(name, 1_000_000, 64, 5, ReuseHistogram.UNKNOWN, Float.BYTES);
  }

  private static Change upsert(TableSpec table) {
    return new Change.TableUpserted(table);
  }

  /** Keeps what is said of them. */
  private void onRecord(Object value) {
    if (value instanceof ShardingPlan plan) {
      keep(plan.workloadId(), "planned");
    } else if (value instanceof InfeasibleWorkload infeasible) {
      keep(infeasible.workloadId(), "infeasible");
    } else if (value instanceof RejectedEvent rejected) {
      keep(rejected.workloadId().orElse(""), "rejected, " + rejected.reason());
    } else if (value instanceof Quarantine quarantine && quarantine.entered()) {
      keep(quarantine.key(), "in quarantine");
    }
  }

  private void keep(String id, String outcome) {
    outcomes.merge(
        id, outcome, (before, next) -> before.endsWith(next) ? before : before + ", then " + next);
  }
}
