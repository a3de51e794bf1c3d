package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.SecureKafka;
import io.shardtide.topology.AclGrant;
import io.shardtide.topology.Acls;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourceType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The doctor on a broker with an authorizer, and without any server. */
class DoctorIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private static Path data;
  private static SecureKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;
  private String out = "";
  private String err = "";

  @BeforeAll
  static void start() throws Exception {
    kafka = SecureKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
    kafka.users("planner");
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  private int run(String... args) {
    StringWriter printed = new StringWriter();
    StringWriter failed = new StringWriter();
    int status = Shardtide.run(new PrintWriter(printed), new PrintWriter(failed), args);
    out = printed.toString();
    err = failed.toString();
    return status;
  }

  /** A check by its name, from the JSON. */
  private Map<String, JsonNode> checks(Path config, int status) throws IOException {
    assertThat(run("doctor", "--config", config.toString(), "--json"))
        .as(out + err)
        .isEqualTo(status);
    Map<String, JsonNode> checks = new HashMap<>();
    JSON.readTree(out).forEach(node -> checks.put(node.get("check").textValue(), node));
    return checks;
  }

  private static String status(Map<String, JsonNode> checks, String check) {
    return checks.get(check).get("status").textValue();
  }

  private Path config(String bootstrap, String url, String prefix, String more) throws IOException {
    return Files.writeString(
        folder.resolve("shardtide.properties"),
        """
        bootstrap.servers=%s
        schema.registry.url=%s
        state.directory=%s
        topics.prefix=%s
        topics.replication=1
        topics.partitions=1
        %s
        """
            .formatted(bootstrap, url, folder.resolve("state"), prefix, more));
  }

  private Path secured(String prefix) throws IOException {
    return config(kafka.bootstrapServers(), registry.url(), prefix, kafka.plannerSettings());
  }

  @Test
  void with_all_rights_a_planner_can_start_and_nothing_is_changed() throws Exception {
    kafka.allow("planner", Acls.of(Acls.Role.PLANNER, "ready.", Set.of()));
    Path config = secured("ready.");
    await()
        .atMost(Duration.ofSeconds(60))
        .dontCatchUncaughtExceptions()
        .until(() -> run("doctor", "--config", config.toString()) == 0);
    assertThat(out.lines().takeWhile(line -> !line.equals("To do:")))
        .as("one table of at most 100 columns")
        .hasSizeGreaterThanOrEqualTo(12)
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(100));
    assertThat(out).doesNotContain(Certificates.SECRET);
    Map<String, JsonNode> checks = checks(config, 0);
    assertThat(List.of("settings", "brokers", "versions", "rights", "topics", "replicas", "state"))
        .allSatisfy(check -> assertThat(status(checks, check)).isEqualTo("ok"));
    assertThat(List.of("registry", "disk", "clock"))
        .allSatisfy(check -> assertThat(status(checks, check)).isEqualTo("ok"));
    assertThat(checks.get("versions").get("finding").textValue()).isEqualTo("Kafka 4.2");
    assertThat(checks.get("topics").get("finding").textValue()).startsWith("0 of ");
    assertThat(checks.get("registry").get("finding").textValue()).contains("run registers");
    assertThat(status(checks, "models")).as("simulated costs").isEqualTo("warning");
    assertThat(checks.get("rights").get("finding").textValue())
        .as("brokers say nothing of topics that do not exist")
        .endsWith("run doctor again when its topics exist");
    assertThat(kafka.admin().listTopics().names().get())
        .noneMatch(topic -> topic.startsWith("ready."));
    assertThat(folder.resolve("state")).doesNotExist();
  }

  @Test
  void a_missing_right_and_a_wrong_topic_are_named_with_what_to_do() throws Exception {
    AclGrant write =
        new AclGrant(
            ResourceType.TOPIC, "poor.cost-models", PatternType.LITERAL, AclOperation.WRITE, "-");
    List<AclGrant> rights = new ArrayList<>(Acls.of(Acls.Role.PLANNER, "poor.", Set.of()));
    rights.removeIf(
        right -> right.name().equals(write.name()) && right.operation() == write.operation());
    rights.removeIf(right -> right.type() == ResourceType.TRANSACTIONAL_ID);
    kafka.allow("planner", rights);
    kafka
        .admin()
        .createTopics(
            List.of(
                new NewTopic("poor.cost-models", 1, (short) 1),
                // The planner writes it, and only its dashboard reads it.
                new NewTopic("poor.current-plans", 1, (short) 1),
                new NewTopic("poor.workload-changes", 1, (short) 1)
                    .configs(Map.of("retention.ms", "604800000"))))
        .all()
        .get();
    Path config = secured("poor.");
    await()
        .atMost(Duration.ofSeconds(60))
        .dontCatchUncaughtExceptions()
        .untilAsserted(
            () -> {
              Map<String, JsonNode> checks = checks(config, 1);
              assertThat(status(checks, "rights")).isEqualTo("failed");
              assertThat(checks.get("rights").get("finding").textValue())
                  .isEqualTo(
                      "This user lacks Write on transactional id poor.*; Write on topic"
                          + " poor.cost-models");
              assertThat(status(checks, "topics")).isEqualTo("failed");
            });
    Map<String, JsonNode> checks = checks(config, 1);
    assertThat(checks.get("rights").get("remedy").textValue())
        .contains("./shardtide rights --role planner --prefix poor.");
    assertThat(checks.get("topics").get("finding").textValue())
        .contains("retention.ms of poor.workload-changes is 604800000, should be -1");
    assertThat(checks.get("topics").get("remedy").textValue())
        .contains("kafka-configs.sh")
        .contains("--add-config retention.ms=-1");
    assertThat(status(checks, "dashboard rights")).isEqualTo("warning");
    assertThat(status(checks, "registry")).as("later checks go on").isEqualTo("ok");
  }

  @Test
  void a_user_whom_the_brokers_do_not_know_and_state_of_another_cluster_fail() throws Exception {
    Path wrong =
        config(
            kafka.bootstrapServers(),
            registry.url(),
            "any.",
            kafka.plannerSettings().replace("hunter2-planner", "wrong"));
    Map<String, JsonNode> checks = checks(wrong, 1);
    assertThat(checks.get("brokers").get("finding").textValue())
        .contains("The brokers do not accept this user");
    assertThat(status(checks, "rights")).isEqualTo("skipped");

    kafka.allow("planner", Acls.of(Acls.Role.PLANNER, "moved.", Set.of()));
    Files.createDirectories(folder.resolve("state"));
    Files.writeString(folder.resolve("state/kafka-cluster-id"), "elsewhere\nmoved.\n");
    checks = checks(secured("moved."), 1);
    assertThat(status(checks, "state")).isEqualTo("failed");
    assertThat(checks.get("state").get("finding").textValue()).contains("elsewhere");
  }

  @Test
  void dead_servers_are_reported_and_the_rest_is_checked() throws Exception {
    String dead;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      dead = "127.0.0.1:" + socket.getLocalPort();
    }
    Path damaged = Files.writeString(folder.resolve("damaged.avro"), "no model");
    Path config = config(dead, "http://" + dead, "dead.", "models=" + damaged);
    Map<String, JsonNode> checks = checks(config, 1);
    assertThat(List.of("brokers", "registry", "models"))
        .allSatisfy(check -> assertThat(status(checks, check)).isEqualTo("failed"));
    assertThat(List.of("rights", "topics", "state", "clock"))
        .allSatisfy(check -> assertThat(status(checks, check)).isEqualTo("skipped"));
    assertThat(status(checks, "disk")).isEqualTo("ok");
    assertThat(checks.get("brokers").get("finding").textValue())
        .startsWith("Kafka at " + dead + " does not answer: ");
    assertThat(checks.get("models").get("finding").textValue())
        .startsWith(damaged + " is not a model that can be used: ");
    assertThat(err).as("no warnings of clients").isEmpty();
  }

  @Test
  void invalid_settings_are_wrong_usage() throws IOException {
    Path config = Files.writeString(folder.resolve("bad.properties"), "threads=0\n");
    assertThat(run("doctor", "--config", config.toString())).isEqualTo(2);
    assertThat(err).contains("threads must be 1 to 256 threads, got \"0\"");
  }
}
