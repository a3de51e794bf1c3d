package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.client.Endpoint;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.Verdict;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Two planners are replaced by another version, one after the other, on three brokers, while
 * publishers and trainers go on: docs/OPERATING.md, Upgrades. Each planner keeps its state
 * directory.
 */
abstract class RollingUpgrade {
  private static final Logger log = LoggerFactory.getLogger(RollingUpgrade.class);

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PARTITIONS = 4;

  /** So many that a table changes a few times: its rows grow with each change. */
  private static final int WORKLOADS = 24;

  private static final double CHANGES_PER_SECOND = 5;
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  @TempDir private Path folder;
  private final List<RunningService> planners = new ArrayList<>();
  private final Ledger ledger = new Ledger();
  private final Waits waits = new Waits();
  private DevelopmentRegistry registryServer;
  private KafkaCluster brokers;

  @BeforeEach
  void start() throws Exception {
    registryServer = DevelopmentRegistry.start(0, Optional.of(folder.resolve("registry")));
    brokers =
        KafkaCluster.of(folder.resolve("kafka"), 3)
            // Kafka's default: no broker is killed here, and the machine may be busy.
            .set("broker.session.timeout.ms", "9000")
            .start();
  }

  @AfterEach
  void stop() throws Exception {
    for (RunningService planner : planners) {
      planner.kill();
    }
    brokers.close();
    registryServer.close();
  }

  /**
   * Starts a planner. It has no samples enough to retrain a model, which would take minutes.
   *
   * @param more further lines of its settings
   */
  private RunningService planner(String name, String classPath, String... more) throws Exception {
    Path home = Files.createDirectories(folder.resolve(name));
    Path settings =
        Files.writeString(
            home.resolve("shardtide.properties"),
            """
            bootstrap.servers=%s
            schema.registry.url=%s
            state.directory=%s
            topics.partitions=%d
            planning.deep.after.ms=500
            training.samples=1000000
            http.port=0
            %s
            """
                .formatted(
                    brokers.bootstrapServers(),
                    registryServer.url(),
                    home.resolve("state"),
                    PARTITIONS,
                    String.join("\n", more)));
    RunningService planner = RunningService.start(settings, classPath);
    await()
        .atMost(PATIENCE)
        .failFast(() -> assertThat(planner.process().isAlive()).as(planner.err()).isTrue())
        .untilAsserted(() -> assertThat(planner.out()).as(planner.err()).contains("Serving."));
    return planner;
  }

  /** Stops a planner, starts it with another version, and waits until both share the work. */
  private void replace(int planner, String classPath, Admin admin) throws Exception {
    long from = System.nanoTime();
    int sent = waits.ended() + waits.open();
    planners.get(planner).terminate();
    planners.set(planner, planner("planner-" + planner, classPath));
    await().atMost(PATIENCE).until(() -> shared(admin));
    // So that each pair of versions plans for a while.
    TimeUnit.SECONDS.sleep(2);
    assertThat(waits.ended() + waits.open()).as("sent meanwhile").isGreaterThan(sent);
    log.info(
        "Planner {} is replaced; longest wait for an answer meanwhile: {}",
        planner,
        waits.longest(from, System.nanoTime(), System.nanoTime()));
  }

  /** Returns whether two planners have partitions of both topologies. */
  private static boolean shared(Admin admin) throws Exception {
    for (ConsumerGroupDescription group :
        admin
            .describeConsumerGroups(List.of("shardtide.workload", "shardtide.planning"))
            .all()
            .get()
            .values()) {
      if (group.groupState() != GroupState.STABLE
          || group.members().stream()
                  .filter(member -> !member.assignment().topicPartitions().isEmpty())
                  .count()
              != 2) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the planners have read all measurements: nobody is told that. */
  private static boolean measurementsAreRead(Admin admin) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> read =
        admin.listConsumerGroupOffsets("shardtide.feedback").partitionsToOffsetAndMetadata().get();
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    for (int p = 0; p < PARTITIONS; p++) {
      ends.put(new TopicPartition("shardtide.measured-costs", p), OffsetSpec.latest());
    }
    return admin.listOffsets(ends).all().get().entrySet().stream()
        .allMatch(
            end ->
                end.getValue().offset() == 0
                    || (read.containsKey(end.getKey())
                        && read.get(end.getKey()).offset() >= end.getValue().offset()));
  }

  static String present() {
    return System.getProperty("java.class.path");
  }

  /** Starts a planner of a version and stops it: the registry has its schemas, then. */
  void startOnce(String classPath) throws Exception {
    planner("once", classPath).terminate();
  }

  /**
   * Replaces both planners. Each plan of the log must then be what one of the versions makes of its
   * inputs; a search that changed between them makes other plans.
   */
  void replaceUnderLoad(String from, String to) throws Exception {
    Endpoint endpoint = Endpoint.of(brokers.bootstrapServers(), registryServer.url());
    for (int p = 0; p < 2; p++) {
      planners.add(planner("planner-" + p, from));
    }
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers.bootstrapServers()));
        Registry registry = endpoint.connectRegistry();
        SoakAnswers answers = new SoakAnswers(endpoint, registry, ledger, waits);
        SoakLoad load =
            new SoakLoad(
                endpoint,
                registry,
                WORKLOADS,
                ModelFiles.shipped().hardware(),
                1,
                ledger,
                waits,
                answers)) {
      // The load is of this version: its schemas are those that an upgraded planner registers.
      registry.register(endpoint.topics());
      load.begin();
      awaitAnswers(answers);
      load.run(CHANGES_PER_SECOND);
      await().atMost(PATIENCE).until(() -> shared(admin));
      replace(0, to, admin);
      replace(1, to, admin);
      load.end();
      awaitAnswers(answers);
      await().atMost(PATIENCE).until(() -> measurementsAreRead(admin));
      log.info(
          "{} events were answered, 99% of them within {}", waits.ended(), waits.quantile(0.99));
      for (RunningService planner : planners) {
        planner.terminate();
      }
      assertThat(ledger.deliveries())
          .as("what publishers sent is acknowledged at once")
          .filteredOn(delivery -> delivery.kind() == Ledger.InputKind.EVENT)
          .hasSizeGreaterThan(WORKLOADS)
          .allMatch(delivery -> delivery.acknowledged().isPresent());
      try (KafkaSoakLog records =
          new KafkaSoakLog(
              Map.of("bootstrap.servers", brokers.bootstrapServers()),
              registry,
              endpoint.topics())) {
        // Among others: no generation is missing.
        SoakReport report = new SoakChecker(TensorFlowTowers::new).check(records, ledger);
        log.info("What was checked:\n{}", report);
        assertThat(report.violations())
            .as(report.toString())
            .allMatch(
                violation ->
                    violation.guarantee() == Guarantee.PLANS_REPLAYED
                        && violation.message().contains("\"" + Verdict.DIFFERS + "\""));
        assertThat(recordedPlans(records))
            .as("plans that a version recomputes")
            .isSubsetOf(recomputedPlans(from, to));
      }
    }
  }

  /** Turns growth on: a hashed table of a workload that planners know already is forecast. */
  void turnOnGrowth() throws Exception {
    planners.set(0, planner("planner-0", present(), "growth.enabled=true"));
    try (LogClient client =
        new LogClient(brokers.bootstrapServers(), registryServer.url(), Topics.DEFAULT_PREFIX)) {
      Topics topics = client.topics();
      String workload = client.committed(topics.of(COST_PREDICTIONS)).get(0).workloadId();
      int plans = client.plansOf(workload).size();
      client.publish(
          Fixtures.eventOf(
              workload, new Change.TableUpserted(Fixtures.hashed("hashed", 1_000, 64, 5))));
      await().atMost(PATIENCE).until(() -> client.plansOf(workload).size() > plans);
      client.awaitRead("shardtide.growth", topics.of(COST_PREDICTIONS));
      client.publishValue(
          topics.of(TABLE_FILLS),
          workload,
          new FillReport(
              "r",
              workload,
              "p",
              "run",
              "trainer",
              Instant.now(),
              List.of(new TableFill("hashed", List.of(new ShardFill(0, 0, 1_000, 10, 0, 0, 0))))));
      assertThat(client.read(topics.of(TABLE_FORECASTS), 1))
          .singleElement()
          .satisfies(
              forecasts ->
                  assertThat(forecasts.generation())
                      .isEqualTo(
                          client.committed(topics.of(COST_PREDICTIONS)).stream()
                              .filter(part -> part.workloadId().equals(workload))
                              .mapToLong(CostPredictions::generation)
                              .max()
                              .orElseThrow()));
    }
  }

  private static Set<String> recordedPlans(SoakLog records) throws IOException {
    Set<String> ids = new HashSet<>();
    records.read(
        records.topics().of(SHARDING_PLANS),
        record -> {
          if (record instanceof CommittedRecord.Stored<ShardingPlan> stored) {
            ids.add(stored.value().planId());
          }
        });
    return ids;
  }

  /** Returns the ids of the plans that versions make of the inputs of the log's plans. */
  private Set<String> recomputedPlans(String... versions) throws Exception {
    Set<String> ids = new HashSet<>();
    for (String version : versions) {
      Path replayed = Files.createTempFile(folder, "replayed", ".jsonl");
      RunningService.replay(
          folder,
          version,
          brokers.bootstrapServers(),
          registryServer.url(),
          Topics.DEFAULT_PREFIX,
          replayed);
      for (String line : Files.readAllLines(replayed)) {
        ids.add(JSON.readTree(line).path("planId").asText());
      }
    }
    return ids;
  }

  private void awaitAnswers(SoakAnswers answers) {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              answers.check();
              assertThat(waits.unanswered()).isEmpty();
            });
  }
}
