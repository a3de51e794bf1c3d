package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.numbered;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RegistryContainer;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.junit.jupiter.Testcontainers;

/**
 * The guarantees on the embedded broker and the development registry, and what happens when either
 * goes away; and on the images of Kafka and of a registry that the compose file names.
 */
class PlannerServiceIT extends PlanningGuarantees {
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  @BeforeAll
  static void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
  }

  @Override
  String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  @Override
  String registryUrl() {
    return registry.url();
  }

  /** Records whose schema the planner cannot read yet wait for the registry, and none is lost. */
  @Test
  void a_registry_outage_delays_changes_and_loses_none(@TempDir Path folder) throws Exception {
    String prefix = SharedCluster.freshPrefix();
    DevelopmentRegistry first = DevelopmentRegistry.start(0, Optional.of(folder));
    int port = first.port();
    List<WorkloadChange> events = life();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), first.url(), prefix)) {
      ServiceSettings settings =
          TestSettings.of(kafka.bootstrapServers(), first.url(), prefix, folder.resolve("state"))
              .build();
      client.registry().register(client.topics());
      // The planner has never read a record with this schema, and must ask.
      List<byte[]> values = new ArrayList<>();
      for (WorkloadChange event : events) {
        values.add(client.withForeignSchema(event));
      }
      try (ServiceHealth health = ServiceHealth.unwatched(settings);
          PlannerService service =
              PlannerService.start(
                  new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
                      .with()
                      .health(health)
                      .build())) {
        assertThat(service).isNotNull();
        first.close();
        for (byte[] value : values) {
          client.publish(Fixtures.WORKLOAD, value);
        }
        await()
            .atMost(Duration.ofSeconds(60))
            .until(
                () ->
                    health.parts().stream()
                        .flatMap(part -> part.problem().stream())
                        .anyMatch(
                            p -> p.startsWith("The topology waits for the schema registry: ")));
        assertThat(client.committed(client.topics().of(SHARDING_PLANS))).isEmpty();
        DevelopmentRegistry second = DevelopmentRegistry.start(port, Optional.of(folder));
        try {
          client.plans(9);
          client.awaitIdle();
          assertThat(client.plans(9)).hasSize(9);
          assertThat(client.rejected(0)).isEmpty();
        } finally {
          second.close();
        }
      }
    }
  }

  /** A broker that stops and starts again under a running planner: the same plans as without. */
  @Test
  void a_broker_restart_loses_and_repeats_nothing(@TempDir Path folder) throws Exception {
    EmbeddedKafka first = EmbeddedKafka.start(folder.resolve("kafka"));
    String address = first.bootstrapServers();
    int port = Integer.parseInt(address.substring(address.indexOf(':') + 1));
    String prefix = SharedCluster.freshPrefix();
    ServiceSettings settings =
        TestSettings.of(address, registry.url(), prefix, folder.resolve("state")).build();
    List<WorkloadChange> events = life();
    EmbeddedKafka running = first;
    try (LogClient client = new LogClient(address, registry.url(), prefix);
        PlannerService service =
            PlannerService.start(
                new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new))) {
      assertThat(service).isNotNull();
      for (WorkloadChange event : events.subList(0, 4)) {
        client.publish(event);
      }
      first.close();
      running = EmbeddedKafka.start(folder.resolve("kafka"), port, Map.of());
      for (WorkloadChange event : events.subList(4, events.size())) {
        client.publish(event);
      }
      client.plans(9);
      client.awaitIdle();
      List<ShardingPlan> plans = client.plans(9);
      assertThat(plans)
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L, 3L, 5L, 6L, 7L, 8L, 9L, 10L);
    } finally {
      running.close();
    }
  }

  /** A second process with another model, while the first one's plans are on the log. */
  @Test
  void a_new_model_predicts_all_tables_again(@TempDir Path folder) throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (LogClient client = new LogClient(bootstrapServers(), registryUrl(), prefix)) {
      try (PlannerService service = start(prefix, folder)) {
        assertThat(service).isNotNull();
        client.publish(
            numbered(
                0, set(2, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 1_000, 8, 2)));
        client.plans(1);
      }
      var other = TestModels.otherBundle();
      try (PlannerService service =
          PlannerService.start(
              new PlannerParts(settings(prefix, folder), List.of(other), TensorFlowTowers::new))) {
        assertThat(service).isNotNull();
        List<ShardingPlan> plans = client.plans(2);
        assertThat(plans.get(1).origin().modelId()).isEqualTo(other.modelId());
        assertThat(plans.get(1).generation()).as("nothing else changed").isEqualTo(1);
        assertThat(plans.get(1).reason()).isEqualTo("new cost model");
        client.publish(numbered(1, upsert("c", 100, 4, 1)));
        assertThat(client.plans(3).get(2).reason()).isEqualTo("1 table added (c)");
        assertThat(client.read(client.topics().of(COST_MODELS), 2)).hasSize(2);
        assertThat(client.read(client.topics().of(COST_PREDICTIONS), 5))
            .as("a, b, both with the new model, then c")
            .hasSize(5);
      }
    }
  }

  /** Skipped where there is no container engine. */
  @Nested
  @Tag("docker")
  @Testcontainers(disabledWithoutDocker = true)
  class Containers extends PlanningGuarantees {
    private static RegistryContainer containers;

    @BeforeAll
    static void startContainers() {
      containers = RegistryContainer.start();
    }

    @AfterAll
    static void stopContainers() {
      containers.close();
    }

    @Override
    String bootstrapServers() {
      return containers.bootstrapServers();
    }

    @Override
    String registryUrl() {
      return containers.url();
    }

    @Override
    Map<String, String> clients() {
      // A broker accepts no shorter sessions than 6 s by default.
      return Map.of("main.consumer.session.timeout.ms", "6000");
    }
  }
}
