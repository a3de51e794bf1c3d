package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import io.shardtide.cost.ModelBundle;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Topics;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The service as an operator has it: processes of their own, settings files, signals and HTTP. */
class RunIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final List<RunningService> services = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
  }

  @AfterEach
  void end() throws Exception {
    for (RunningService service : services) {
      service.kill();
    }
  }

  private Path settings(String bootstrapServers, String registryUrl, String state, String more)
      throws IOException {
    return Files.writeString(
        Files.createDirectories(folder.resolve(state)).resolve("a.properties"),
        """
        bootstrap.servers=%s
        schema.registry.url=%s
        state.directory=%s
        topics.prefix=%s
        topics.partitions=2
        topics.replication=1
        http.port=0
        %s
        """
            .formatted(
                bootstrapServers,
                registryUrl,
                folder.resolve(state).resolve("state"),
                prefix,
                more));
  }

  private RunningService start(Path settings) throws IOException {
    RunningService service = RunningService.start(settings);
    services.add(service);
    return service;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static WorkloadChange change(String workload, int rows) {
    return new WorkloadChange(
        UUID.randomUUID(),
        workload,
        Fixtures.TIME,
        "test",
        OptionalLong.empty(),
        List.of(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", rows, 64, 5)));
  }

  /** A day in the life: started too early, serving, the registry away and back, told to stop. */
  @Test
  void a_service_says_how_it_is_and_stops_when_told() throws Exception {
    int registryPort = freePort();
    String registryUrl = "http://127.0.0.1:" + registryPort;
    RunningService service =
        start(
            settings(
                kafka.bootstrapServers(),
                registryUrl,
                "a",
                "kafka.my.password=hunter2\nregistry.bearer.auth.token=hunter2\nkafka.clientid=x"));
    service.says("The schema registry is unavailable (The schema registry at " + registryUrl);
    JsonNode early = service.health(503);
    assertThat(RunningService.problem(early, "workload topology"))
        .isEqualTo("The topology has not started yet.");
    assertThat(RunningService.problem(early, "models")).isEqualTo("Models are not published yet.");

    DevelopmentRegistry own = DevelopmentRegistry.start(registryPort, Optional.of(folder));
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registryUrl, prefix)) {
      service.says("Serving.");
      assertThat(service.health(200).get("status").textValue()).isEqualTo("UP");
      client.publish(change(Fixtures.WORKLOAD, 1_000));
      client.publish(Fixtures.WORKLOAD, new byte[] {1});
      assertThat(client.plans(1)).hasSize(1);
      assertThat(client.rejected(1)).hasSize(1);
      assertThat(client.read(client.topics().of(COST_MODELS), 3))
          .as("shipped models")
          .extracting(ModelBundle::hardware)
          .containsExactlyInAnyOrder("h200", "simulated", "simulated-8xh100");
      assertThat(service.ask("metrics").body())
          .as("of a store that is being closed, they would end the process")
          .doesNotContain("kafka_stream_state")
          .contains(
              "shardtide_events_applied_total 1.0",
              "shardtide_events_rejected_total{reason=\"UNDECODABLE\"} 1.0",
              "shardtide_tables_predicted_total 1.0",
              "shardtide_prediction_seconds_count 1",
              "shardtide_plans_published_total{effort=\"deep\"}",
              "shardtide_answer_seconds_bucket",
              "shardtide_workloads_pending",
              "shardtide_up{part=\"registry\"} 1.0",
              "topology=\"planning\"",
              "kafka_stream_thread_",
              "jvm_memory_used_bytes");

      byte[] unread = client.withForeignSchema(change(Fixtures.WORKLOAD, 2_000));
      assertThat(service.err()).as("a line for an outage").doesNotContain("Exception", "\tat ");
      own.close();
      client.publish(Fixtures.WORKLOAD, unread);
      JsonNode down =
          service.health("workload topology", "The topology waits for the schema registry:");
      assertThat(RunningService.problem(down, "workload topology"))
          .startsWith("The topology waits for the schema registry:")
          .contains("The schema registry at " + registryUrl);
      down = service.health("registry", "The schema registry");
      assertThat(down.get("status").textValue()).isEqualTo("DOWN");
      assertThat(RunningService.problem(down, "registry"))
          .startsWith("The schema registry at " + registryUrl + " does not answer: ");
      assertThat(RunningService.problem(down, "kafka")).isEmpty();
      own = DevelopmentRegistry.start(registryPort, Optional.of(folder));
      assertThat(client.plans(2)).hasSize(2);
      service.health(200);
    } finally {
      own.close();
    }
    service.terminate();
    assertThat(service.out())
        .containsPattern("  topics.prefix +" + prefix + "\n")
        .containsPattern(
            "  cost model for \"%s\" +[0-9a-f]{12}, trained on simulated costs\n"
                .formatted(TestModels.bundle().hardware()))
        .containsPattern(
            "  cost model for \"h200\" +[0-9a-f]{12}, links of h200 from a data sheet\n")
        .containsPattern("  kafka.my.password +\\*{8}\n")
        .endsWith("Stopping: leaving the consumer groups.\nStopped.\n");
    assertThat(service.err())
        .contains("No Kafka client has a setting kafka.clientid. Maybe kafka.client.id.");
    assertThat(service.out() + service.err()).doesNotContain("hunter2");
    assertThat(groupMembers("workload")).as("left the group").isEmpty();
  }

  @Test
  void a_service_without_a_cluster_waits_and_can_be_stopped() throws Exception {
    String nowhere = "127.0.0.1:" + freePort();
    RunningService service =
        start(
            settings(
                nowhere,
                registry.url(),
                "a",
                "pools.enabled=true\ngrowth.enabled=true\ngrowth.cover.days=30"));
    service.says("Kafka at " + nowhere + " is unavailable");
    assertThat(service.out())
        .containsPattern("(?m)^  pools.enabled +true$")
        .containsPattern("(?m)^  growth.cover.days +30$");
    assertThat(RunningService.problem(service.health(503), "kafka"))
        .startsWith("Kafka at " + nowhere + " does not answer: ");
    service.terminate();
    assertThat(service.err()).doesNotContain("Exception", "\tat ", "ERROR");
  }

  @Test
  void two_instances_share_the_work_and_one_takes_over() throws Exception {
    String sooner = "kafka.session.timeout.ms=6000\nkafka.heartbeat.interval.ms=1000";
    RunningService one = start(settings(kafka.bootstrapServers(), registry.url(), "one", sooner));
    RunningService two = start(settings(kafka.bootstrapServers(), registry.url(), "two", sooner));
    one.says("Serving.");
    two.says("Serving.");
    List<String> workloads = List.of("a", "b", "c", "d", "e", "f");
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), prefix)) {
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(groupMembers("workload"))
                      .hasSize(2)
                      .allMatch(m -> m.assignment().topicPartitions().size() == 1));
      for (String workload : workloads) {
        client.publish(change(workload, 1_000));
      }
      assertThat(client.plans(6)).hasSize(6);
      one.kill();
      for (String workload : workloads) {
        client.publish(change(workload, 2_000));
      }
      assertThat(client.plans(12))
          .hasSize(12)
          .filteredOn(plan -> plan.generation() == 2)
          .extracting(ShardingPlan::workloadId)
          .containsExactlyInAnyOrderElementsOf(workloads);
    }
    two.terminate();
  }

  private List<MemberDescription> groupMembers(String topology) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      return List.copyOf(
          admin
              .describeConsumerGroups(List.of(prefix + topology))
              .all()
              .get()
              .get(prefix + topology)
              .members());
    }
  }

  @Test
  void topics_that_would_lose_records_stop_the_start() throws Exception {
    Topics topics = Topics.withPrefix(prefix);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .createTopics(
              List.of(
                  new NewTopic(topics.of(WORKLOAD_CHANGES).name(), 1, (short) 1),
                  new NewTopic(topics.of(CURRENT_PLANS).name(), 2, (short) 1)
                      .configs(
                          Map.of("cleanup.policy", "delete", "max.message.bytes", "100000000"))))
          .all()
          .get();
    }
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(out),
            new PrintWriter(err),
            "run",
            "--config",
            settings(kafka.bootstrapServers(), registry.url(), "a", "").toString());
    assertThat(status).isEqualTo(1);
    assertThat(err.toString())
        .startsWith(
            "shardtide: The cluster would lose, refuse or misorder records; nothing was started:")
        .contains(
            "refused: cleanup.policy of " + prefix + "current-plans is delete, should be compact: ",
            "partitions of " + prefix + "workload-changes is 1, should be 2: topics.partitions",
            "retention.ms of " + prefix + "workload-changes is 604800000, should be -1: ")
        .contains(
            "kafka-topics.sh --bootstrap-server %s --alter --topic %sworkload-changes --partitions 2"
                .formatted(kafka.bootstrapServers(), prefix))
        .doesNotContain("\tat ");
  }
}
