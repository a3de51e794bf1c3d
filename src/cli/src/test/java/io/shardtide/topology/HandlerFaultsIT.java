package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.Samples;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Extension;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Quarantine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * On a broker: an error in each handler of each topology, before and after its first write, each
 * for a key of its own, beside a workload that goes on. {@code QuarantineTest} has the same places
 * in process, with all that is written.
 */
@Tag("nightly")
class HandlerFaultsIT {
  private static final Duration PATIENCE = Duration.ofMinutes(3);
  private static final String GOOD = "good";

  @TempDir private Path data;
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Map<String, BadKey> bad = new TreeMap<>();
  private LogClient client;
  private ServiceSettings settings;

  /**
   * A key that fails at one place: a workload, and a pool or hardware of the same name.
   *
   * @param topology where
   * @param work what fails: a topic whose records do, or due work
   * @param written whether it fails after its first write
   */
  private record BadKey(TopologyName topology, String work, boolean written) {
    boolean isAt(String tried) {
      return Thread.currentThread().getName().contains("%s-".formatted(topology))
          && (tried.equals(work) || (tried.startsWith("record ") && tried.contains(work + "-0@")));
    }
  }

  /** Throws at the place of each bad key, each time. */
  private static final class Broken implements Faults {
    private static final ThreadLocal<Boolean> ARMED = ThreadLocal.withInitial(() -> false);
    private final Map<String, BadKey> bad;

    Broken(Map<String, BadKey> bad) {
      this.bad = Map.copyOf(bad);
    }

    @Override
    public void attempt(String key, String work) {
      BadKey place = bad.get(key);
      ARMED.set(place != null && place.isAt(work));
      if (ARMED.get() && !place.written()) {
        throw new StackOverflowError("injected");
      }
    }

    @Override
    public void write() {
      if (ARMED.get()) {
        throw new StackOverflowError("injected");
      }
    }
  }

  @BeforeEach
  void start() {
    ((Logger) LoggerFactory.getLogger("io.shardtide")).addAppender(logged);
    logged.start();
    String prefix = SharedCluster.freshPrefix();
    client =
        new LogClient(
            SharedCluster.kafka().bootstrapServers(), SharedCluster.registry().url(), prefix);
    settings =
        TestSettings.of(
                SharedCluster.kafka().bootstrapServers(),
                SharedCluster.registry().url(),
                prefix,
                data.resolve("state"))
            .with(Extension.POOLS)
            .build();
    for (boolean written : List.of(false, true)) {
      add(TopologyName.WORKLOAD, client.topics().of(WORKLOAD_CHANGES).name(), written);
      add(TopologyName.PLANNING, client.topics().of(COST_PREDICTIONS).name(), written);
      add(TopologyName.PLANNING, client.topics().of(PLAN_STATUS).name(), written);
      add(TopologyName.PLANNING, client.topics().of(DEVICE_SPEEDS).name(), written);
      add(TopologyName.PLANNING, "planning", written);
      add(TopologyName.FEEDBACK, client.topics().of(COST_PREDICTIONS).name(), written);
      add(TopologyName.FEEDBACK, client.topics().of(SHARDING_PLANS).name(), written);
      add(TopologyName.FEEDBACK, client.topics().of(MEASURED_COSTS).name(), written);
      add(TopologyName.TRAINING, client.topics().of(TRAINING_SAMPLES).name(), written);
      add(TopologyName.TRAINING, client.topics().of(DRIFT_ALARMS).name(), written);
      add(TopologyName.CURVES, client.topics().of(COST_PREDICTIONS).name(), written);
      add(TopologyName.CURVES, client.topics().of(CURVE_REQUESTS).name(), written);
      add(TopologyName.CURVES, "curve of throughput", written);
      add(TopologyName.POOL, client.topics().of(POOL_CHANGES).name(), written);
      add(TopologyName.POOL, client.topics().of(THROUGHPUT_CURVES).name(), written);
      add(TopologyName.POOL, "allocation", written);
    }
    // It writes nothing.
    add(TopologyName.CURVES, client.topics().of(SHARDING_PLANS).name(), false);
  }

  private void add(TopologyName topology, String work, boolean written) {
    bad.put("bad-%02d".formatted(bad.size()), new BadKey(topology, work, written));
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    ((Logger) LoggerFactory.getLogger("io.shardtide")).detachAppender(logged);
  }

  private static ModelBundle named(String hardware) {
    return ModelBundleBuilder.builder(TestModels.bundle())
        .hardware(hardware)
        .modelId("")
        .build()
        .identified();
  }

  private PlannerService service(PlannerMetrics metrics, ServiceHealth health, Faults faults)
      throws Exception {
    List<ModelBundle> models = new ArrayList<>(List.of(TestModels.bundle()));
    bad.forEach(
        (key, place) -> {
          if (place.topology() == TopologyName.TRAINING) {
            models.add(named(key));
          }
        });
    return faults.start(
        new PlannerParts(settings, models, TensorFlowTowers::new)
            .with()
            .trainer(Optional.of(Retraining::retrain))
            .metrics(metrics)
            .health(health)
            .build());
  }

  /** A workload whose cluster a pool of the same name allocates, and what trainers may send. */
  private void publish(String key) throws Exception {
    client.publish(
        Fixtures.eventOf(
            key,
            Fixtures.set(2, Fixtures.GIB),
            Fixtures.upsert("a", 100_000, 64, 5),
            Fixtures.upsert("b", 100_000, 64, 5)));
    TopologyName topology = key.equals(GOOD) ? TopologyName.POOL : bad.get(key).topology();
    if (topology != TopologyName.POOL && topology != TopologyName.CURVES) {
      return;
    }
    Pool pool =
        Pool.of(
            1,
            8 * Fixtures.GIB,
            0,
            Fixtures.HARDWARE,
            Stream.of("n1", "n2").map(n -> new PoolNode(key + n, "")).toList());
    client.publishValue(
        client.topics().of(POOL_CHANGES),
        key,
        new PoolChange(
            UUID.randomUUID(),
            key,
            Fixtures.TIME,
            "test",
            List.of(
                new PoolUpdate.PoolSet(pool),
                new PoolUpdate.ClaimSet(new Claim(key, 1, 2, 1, 0)))));
  }

  private void train(String hardware) throws Exception {
    client.publishValue(
        client.topics().of(TRAINING_SAMPLES),
        hardware,
        CostSampleBuilder.builder(Samples.sample(Samples.computation()))
            .hardware(hardware)
            .build());
    client.publishValue(
        client.topics().of(DRIFT_ALARMS),
        hardware,
        DriftAlarmBuilder.builder(Samples.alarm(OptionalInt.empty()))
            .hardware(hardware)
            .modelId(named(hardware).modelId())
            .build());
  }

  private void report(ShardingPlan plan) throws Exception {
    String key = plan.workloadId();
    client.publishValue(client.topics().of(PLAN_STATUS), key, Fixtures.adopted(plan));
    for (int i = 0; i < 3; i++) {
      client.publishValue(
          client.topics().of(MEASURED_COSTS),
          key,
          new SimulatedTrainer().measured(plan, device -> 1.1));
    }
    client.publishValue(
        client.topics().of(DEVICE_SPEEDS),
        key,
        new DeviceSpeeds(
            key,
            plan.planId(),
            Fixtures.TIME,
            List.of(new DeviceSpeed(0, CostPart.COMPUTATION, 1.5, 0.02, Fixtures.TIME))));
  }

  private Optional<ShardingPlan> planOf(String workload) {
    return client.plansOf(workload).stream().findFirst();
  }

  private Map<String, Quarantine> quarantines() {
    Map<String, Quarantine> latest = new TreeMap<>();
    client.committed(client.topics().of(QUARANTINE)).forEach(held -> latest.put(held.key(), held));
    return latest;
  }

  @Test
  void every_handler_of_every_topology_isolates_its_keys() throws Exception {
    ServiceHealth health = ServiceHealth.watch(settings);
    try (PlannerService service = service(new PlannerMetrics(meters), health, new Broken(bad))) {
      assertThat(service).isNotNull();
      for (String key : bad.keySet()) {
        publish(key);
        if (bad.get(key).topology() == TopologyName.TRAINING) {
          train(key);
        }
      }
      publish(GOOD);
      Set<String> reported = new TreeSet<>();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                for (String key : bad.keySet()) {
                  Optional<ShardingPlan> plan = planOf(key);
                  if (plan.isPresent() && reported.add(key)) {
                    report(plan.get());
                  }
                }
                assertThat(quarantines().keySet()).isEqualTo(bad.keySet());
                assertThat(planOf(GOOD)).isPresent();
              });
      quarantines()
          .forEach(
              (key, held) -> {
                BadKey place = bad.get(key);
                assertThat(held.topology()).as("%s", place).isEqualTo(place.topology().toString());
                assertThat(held.entered()).as("%s", place).isTrue();
                assertThat(held.aborted()).as("%s", place).isEqualTo(place.written());
                assertThat(held.error())
                    .as("%s", place)
                    .contains(place.work(), "StackOverflowError: injected");
                assertThat(List.copyOf(logged.list))
                    .anyMatch(
                        line ->
                            line.getFormattedMessage()
                                .startsWith("\"%s\" is in the quarantine of the ".formatted(key)));
              });
      Map<TopologyName, Long> counts =
          bad.values().stream()
              .collect(Collectors.groupingBy(BadKey::topology, Collectors.counting()));
      counts.forEach(
          (topology, count) ->
              assertThat(
                      meters
                          .get("shardtide.quarantine.keys")
                          .tag("topology", topology.toString())
                          .gauge()
                          .value())
                  .as("%s", topology)
                  .isEqualTo(count.doubleValue()));
      assertThat(health.quarantined())
          .extracting(Quarantine::key)
          .containsExactlyInAnyOrderElementsOf(bad.keySet());
      client.publish(Fixtures.eventOf(GOOD, Fixtures.upsert("c", 100_000, 64, 5)));
      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  client.plansOf(GOOD).stream()
                      .anyMatch(
                          plan -> plan.shards().stream().anyMatch(s -> s.table().equals("c"))));
    } finally {
      health.close();
    }
    // A start, as after an upgrade, releases them, and what waited is made up for.
    try (PlannerService service =
        service(PlannerMetrics.unread(), ServiceHealth.unwatched(settings), new Faults() {})) {
      assertThat(service).isNotNull();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                assertThat(quarantines().values()).noneMatch(Quarantine::entered);
                Map<String, Boolean> planned = new HashMap<>();
                bad.keySet().forEach(key -> planned.put(key, planOf(key).isPresent()));
                assertThat(planned.values()).doesNotContain(false);
              });
    }
    assertThat(
            RunningService.replay(
                data,
                System.getProperty("java.class.path"),
                SharedCluster.kafka().bootstrapServers(),
                SharedCluster.registry().url(),
                client.topics().prefix(),
                data.resolve("replayed.jsonl")))
        .as("plans are recomputed from the log")
        .isZero();
  }

  /** As {@code models promote} does, past its check: the model lacks what a cluster needs. */
  @Test
  void a_model_that_cannot_predict_a_cluster_stops_the_workloads_of_that_cluster_alone()
      throws Exception {
    bad.clear();
    ModelBundle all =
        ModelBundleBuilder.builder(ModelFiles.shippedForNodes())
            .hardware("nodes")
            .modelId("")
            .build()
            .identified();
    ModelBundle few = named("nodes");
    ClusterSpec groups =
        ClusterSpecBuilder.builder(new ClusterSpec(16, Fixtures.GIB, 65_536, 8, "nodes"))
            .replicaGroups(List.of(2))
            .build();
    PlannerMetrics metrics = new PlannerMetrics(meters);
    try (PlannerService service =
        PlannerService.start(
            new PlannerParts(settings, List.of(TestModels.bundle(), all), TensorFlowTowers::new)
                .with()
                .metrics(metrics)
                .build())) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.eventOf(
              "groups", new Change.ClusterSet(groups), Fixtures.upsert("a", 100_000, 64, 5)));
      client.publish(
          Fixtures.eventOf(
              GOOD, Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 100_000, 64, 5)));
      await()
          .atMost(PATIENCE)
          .until(() -> planOf("groups").isPresent() && planOf(GOOD).isPresent());

      client.publishValue(client.topics().of(COST_MODELS), "nodes", few);
      await().atMost(PATIENCE).until(() -> quarantines().containsKey("groups"));
      Quarantine held = quarantines().get("groups");
      assertThat(held.entered()).isTrue();
      assertThat(held.topology()).isEqualTo("workload");
      client.publish(Fixtures.eventOf("groups", Fixtures.upsert("b", 100_000, 64, 5)));
      client.publish(Fixtures.eventOf(GOOD, Fixtures.upsert("b", 100_000, 64, 5)));
      await().atMost(PATIENCE).until(() -> client.plansOf(GOOD).size() >= 2);
      assertThat(client.plansOf("groups")).hasSize(1);

      // Another model releases it, and the event that waited is planned.
      client.publishValue(client.topics().of(COST_MODELS), "nodes", all);
      await()
          .atMost(PATIENCE)
          .until(
              () ->
                  !quarantines().get("groups").entered()
                      && client.plansOf("groups").stream()
                          .anyMatch(plan -> plan.generation() == 2));
    }
    assertThat(client.committed(client.topics().of(REJECTED_EVENTS))).isEmpty();
  }
}
