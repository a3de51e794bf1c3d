package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.numbered;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RegistryFront;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Publishers with schemas that the planner has not read yet, and a registry that fails. */
class RegistryFaultsIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static Admin admin;

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private DevelopmentRegistry registry;
  private RegistryFront front;
  private LogClient client;

  @BeforeAll
  static void startBroker() throws Exception {
    // Transactions that have timed out are aborted at once, not up to 10 s later.
    kafka =
        EmbeddedKafka.start(
            data, 0, Map.of("transaction.abort.timed.out.transaction.cleanup.interval.ms", "100"));
    admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  @AfterAll
  static void stopBroker() {
    admin.close();
    kafka.close();
  }

  @BeforeEach
  void startRegistry() throws Exception {
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    front = new RegistryFront(registry.url(), Optional.empty(), Optional.empty(), "");
    client = new LogClient(kafka.bootstrapServers(), front.url(), prefix);
  }

  @AfterEach
  void stopRegistry() throws Exception {
    client.close();
    front.close();
    registry.close();
  }

  private static boolean readsASchema(String request) {
    return request.startsWith("GET /schemas/ids/");
  }

  private ServiceSettings settings(Map<String, String> clients) {
    return TestSettings.of(kafka.bootstrapServers(), front.url(), prefix, folder.resolve("state"))
        // Whoever waits for a session waits longer than the test.
        .kafka(
            Map.of(
                "main.consumer.session.timeout.ms", "300000",
                "main.consumer.heartbeat.interval.ms", "1000"))
        .kafka(clients)
        .registry(Map.of("http.read.timeout.ms", "500", "retries.wait.ms", "1"))
        .build();
  }

  private PlannerService start(ServiceSettings settings, ServiceHealth health) throws Exception {
    return PlannerService.start(
        new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new)
            .with()
            .health(health)
            .build());
  }

  /** Waits until the workload topology waits for the registry, or no longer does. */
  private static void awaitWait(ServiceHealth health, boolean waits) {
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                health.parts().stream()
                    .filter(part -> part.name().equals("workload topology"))
                    .anyMatch(
                        part ->
                            waits
                                ? part.problem()
                                    .orElse("")
                                    .startsWith("The topology waits for the schema registry: ")
                                : part.problem().isEmpty()));
  }

  /** Returns the members of the workload topology's group; a thread that is replaced is another. */
  private Set<String> members() throws Exception {
    String group = TopologyName.WORKLOAD.applicationId(prefix);
    return admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().stream()
        .map(MemberDescription::consumerId)
        .collect(Collectors.toSet());
  }

  @Test
  void no_fault_of_the_registry_loses_or_rejects_a_change_or_replaces_a_thread() throws Exception {
    List<WorkloadChange> events = PlanningGuarantees.life();
    CountDownLatch until = new CountDownLatch(1);
    ServiceSettings settings = settings(Map.of());
    try (ServiceHealth health = ServiceHealth.unwatched(settings);
        PlannerService service = start(settings, health)) {
      await().atMost(PATIENCE).until(service::isRunning);
      Set<String> members = members();
      assertThat(members).hasSize(1);
      int published = 0;
      List<Runnable> faults =
          List.of(
              front::well,
              () -> front.fail(RegistryFaultsIT::readsASchema, 503, 50301),
              () -> front.fail(RegistryFaultsIT::readsASchema, 404, "<html>Not Found</html>"),
              () -> front.fail(RegistryFaultsIT::readsASchema, 401, 401),
              () -> front.fail(RegistryFaultsIT::readsASchema, 500, 50002),
              () -> front.hold(RegistryFaultsIT::readsASchema, until));
      for (Runnable fault : faults) {
        byte[] value = client.withForeignSchema(events.get(published), "p" + published);
        fault.run();
        client.publish(Fixtures.WORKLOAD, value);
        published++;
        if (published > 1) {
          awaitWait(health, true);
          assertThat(front.met()).isPositive();
          front.well();
          awaitWait(health, false);
        }
      }
      for (; published < events.size(); published++) {
        byte[] value = client.withForeignSchema(events.get(published), "p" + published);
        registry.close();
        client.publish(Fixtures.WORKLOAD, value);
        awaitWait(health, true);
        registry = DevelopmentRegistry.start(0, Optional.of(folder));
        front.leadTo(registry.url());
        awaitWait(health, false);
      }
      client.plans(9);
      client.awaitIdle();
      assertThat(client.plans(9))
          .extracting(ShardingPlan::generation)
          .containsExactly(1L, 2L, 3L, 5L, 6L, 7L, 8L, 9L, 10L);
      assertThat(client.rejected(0)).isEmpty();
      assertThat(client.aborted(client.topics().of(COST_PREDICTIONS))).isZero();
      assertThat(members()).as("the thread kept its place in the group").isEqualTo(members);
      assertThat(health.parts())
          .filteredOn(part -> part.name().equals("workload topology"))
          .allMatch(part -> part.problem().isEmpty());
    } finally {
      until.countDown();
    }
  }

  /** The broker aborts the transaction that the thread has open while it waits. */
  @Test
  void a_wait_longer_than_a_transaction_loses_and_doubles_nothing() throws Exception {
    ServiceSettings settings = settings(Map.of("producer.transaction.timeout.ms", "3000"));
    try (PlannerService service = start(settings, ServiceHealth.unwatched(settings))) {
      await().atMost(PATIENCE).until(service::isRunning);
    }
    // One poll: changes whose state is written in a transaction, then the one that waits.
    for (int i = 0; i < 5; i++) {
      client.publish(numbered(i, upsert("table" + i, 1_000, 8, 2)));
    }
    byte[] last = client.withForeignSchema(numbered(5, set(2, Fixtures.GIB)));
    front.fail(RegistryFaultsIT::readsASchema, 503, 50301);
    client.publish(Fixtures.WORKLOAD, last);
    try (ServiceHealth health = ServiceHealth.unwatched(settings);
        PlannerService service = start(settings, health)) {
      assertThat(service).isNotNull();
      awaitWait(health, true);
      await()
          .atMost(PATIENCE)
          .alias("the broker aborts the transaction that timed out")
          .until(() -> transactions(TransactionState.COMPLETE_ABORT) == 1);
      front.well();
      client.plans(1);
      client.awaitIdle();
      assertThat(client.plans(1))
          .singleElement()
          .satisfies(plan -> assertThat(plan.generation()).isEqualTo(6));
      assertThat(client.committed(client.topics().of(COST_PREDICTIONS)))
          .extracting(part -> part.generation())
          .containsOnly(6L);
      assertThat(client.rejected(0)).isEmpty();
    }
  }

  private int transactions(TransactionState state) throws Exception {
    int count = 0;
    for (TransactionListing transaction : admin.listTransactions().all().get()) {
      if (transaction.transactionalId().startsWith(TopologyName.WORKLOAD.applicationId(prefix))
          && transaction.state() == state) {
        count++;
      }
    }
    return count;
  }
}
