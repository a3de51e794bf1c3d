package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Allowed;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Docs;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Python;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.Acls.Role;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The Python clients on a real broker with TLS, SASL (SCRAM) and an authorizer: the rights that
 * {@code ./shardtide rights} prints are enough, and without one of them a message names it.
 */
@Tag("nightly")
class PythonSecurityIT {
  private static final String PREFIX = "python-rights.";
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private static Path data;
  private static SecureKafka kafka;
  private static DevelopmentRegistry registry;
  private static PlannerService planner;
  private static LogClient admin;

  static String password(Role role) {
    return Certificates.SECRET + "-" + role;
  }

  @BeforeAll
  static void start() throws Exception {
    Python.assumeHas("confluent_kafka", "avro");
    kafka = SecureKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
    for (Role role : List.of(Role.PLANNER, Role.PUBLISHER, Role.TRAINER)) {
      kafka.users(role.toString());
      kafka.allow(role.toString(), Acls.of(role, PREFIX, Set.of()));
    }
    Map<String, String> clients = new HashMap<>();
    kafka.clients("planner").forEach((key, value) -> clients.put(key, value.toString()));
    planner =
        PlannerService.start(
            new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), PREFIX, data.resolve("state"))
                    .kafka(clients)
                    .build(),
                List.of(TestModels.bundle()),
                PlainTowers::new));
    admin = new LogClient(kafka.adminClients(), registry.url(), PREFIX);
    // A plan, and a record on each topic that is read.
    WorkloadChange first = event(set(1, Fixtures.GIB), upsert("a", 100_000, 64, 5));
    admin.publish(first);
    admin.publish(first);
    assertThat(admin.plans(1)).hasSize(1);
    assertThat(admin.rejected(1)).hasSize(1);
  }

  @AfterAll
  static void stop() throws Exception {
    if (kafka != null) {
      admin.close();
      planner.close();
      registry.close();
      kafka.close();
    }
  }

  /** Returns a file with a user's settings, as the page shows them. */
  private static Path settings(Role role, String password) throws IOException {
    return settings(data, role, password);
  }

  static Path settings(Path folder, Role role, String password) throws IOException {
    String shown = Docs.block(PythonPageTest.PAGE, "### Clusters with TLS and users");
    return Files.writeString(
        Files.createTempFile(folder, "settings", ".json"),
        shown
            .replace("/etc/shardtide/", folder + "/")
            .replace("\"publisher\"", "\"%s\"".formatted(role))
            .replace("...", password));
  }

  private static Python.Ended run(Role role, String script, String... arguments)
      throws IOException, InterruptedException {
    String[] start = {
      "src/python/tests/" + script,
      kafka.bootstrapServers(),
      registry.url(),
      PREFIX,
      settings(role, password(role)).toString()
    };
    return Python.run(
        data, Stream.concat(Stream.of(start), Stream.of(arguments)).toArray(String[]::new));
  }

  private static Python.Ended publish(String... arguments) throws Exception {
    return run(Role.PUBLISHER, "publish_change.py", arguments);
  }

  private static Python.Ended train() throws Exception {
    return run(Role.TRAINER, "train_briefly.py", Fixtures.WORKLOAD);
  }

  @Test
  void a_publisher_works_with_the_printed_rights() throws Exception {
    Python.Ended planned = publish("planned", "--cluster", "--twice");
    assertThat(planned.status()).as(planned.err()).isZero();
    assertThat(planned.out().lines())
        .hasSize(2)
        .startsWith("Accepted(generation=1, costs_of=None)")
        .element(1)
        .asString()
        .startsWith("Rejected(reason='DUPLICATE_EVENT', message=");
    Python.Ended without = publish("without-a-cluster");
    assertThat(without.out())
        .as(without.err())
        .isEqualTo("Accepted(generation=None, costs_of=None)\n");
    assertThat(without.err()).isEmpty();
  }

  @Test
  void a_trainer_works_with_the_printed_rights() throws Exception {
    ShardingPlan plan = admin.plans(1).get(0);
    Python.Ended trained = train();
    assertThat(trained.status()).as(trained.err()).isZero();
    assertThat(trained.err()).isEmpty();
    assertThat(new ObjectMapper().readTree(trained.out()))
        .isEqualTo(
            new ObjectMapper()
                .readTree(
                    "{\"plan\": \"%s\", \"sent\": 2, \"failed\": 0, \"dropped\": 0}"
                        .formatted(plan.planId())));
  }

  /** Runs a program while its user lacks a right. */
  private static Python.Ended without(Role role, AclGrant right, Program program) throws Exception {
    String readable = admin.topics().of(CURRENT_PLANS).name();
    try (Allowed allowed = new Allowed(kafka.clients(role.toString()), readable)) {
      kafka.forbid(role.toString(), right);
      await().atMost(PATIENCE).until(() -> !allowed.is(right));
      try {
        return program.run();
      } finally {
        kafka.allow(role.toString(), List.of(right));
        await().atMost(PATIENCE).until(() -> allowed.is(right));
      }
    }
  }

  private interface Program {
    Python.Ended run() throws Exception;
  }

  private static String sentence(Role role, AclGrant right) {
    return "This user needs %s on %s %s; ./shardtide rights --role %s prints the commands that grant it"
        .formatted(
            right.operationName(),
            right.type().name().toLowerCase(Locale.ROOT),
            right.name(),
            role);
  }

  @Test
  void a_publisher_names_the_right_that_is_missing() throws Exception {
    for (AclGrant right : Acls.of(Role.PUBLISHER, PREFIX, Set.of())) {
      Python.Ended refused =
          without(Role.PUBLISHER, right, () -> publish("lacks-" + right.name().hashCode()));
      assertThat(refused.status()).as(right.toString()).isEqualTo(1);
      assertThat(refused.err())
          .as(right.toString())
          .isEqualTo("PermissionError: %s\n".formatted(sentence(Role.PUBLISHER, right)));
    }
  }

  @Test
  void a_trainer_names_the_right_that_is_missing() throws Exception {
    for (AclGrant right : Acls.of(Role.TRAINER, PREFIX, Set.of())) {
      Python.Ended refused = without(Role.TRAINER, right, PythonSecurityIT::train);
      assertThat(refused.err()).as(right.toString()).contains(sentence(Role.TRAINER, right));
      assertThat(refused.err()).doesNotContain("Traceback");
      if (right.name().equals(admin.topics().of(CURRENT_PLANS).name())) {
        assertThat(refused.status()).as("there is no plan to begin with").isEqualTo(1);
      } else {
        assertThat(refused.status()).as("training goes on without reports").isZero();
        JsonNode counts = new ObjectMapper().readTree(refused.out());
        assertThat(counts.get("failed").intValue()).as(right.toString()).isEqualTo(1);
        assertThat(counts.get("sent").intValue()).as(right.toString()).isEqualTo(1);
      }
    }
  }

  private static Python.Ended follow(String password) throws Exception {
    return Python.run(
        data,
        "-m",
        "shardtide.log",
        kafka.bootstrapServers(),
        registry.url(),
        "--prefix",
        PREFIX,
        "--settings",
        settings(Role.TRAINER, password).toString());
  }

  @Test
  void a_wrong_password_is_one_line_without_a_secret() throws Exception {
    Python.Ended refused = follow(Certificates.SECRET + "-wrong");
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err().lines())
        .singleElement()
        .asString()
        .startsWith(
            "shardtide-py plans: Kafka at %s refuses this user: "
                .formatted(kafka.bootstrapServers()))
        .contains("Authentication failed")
        .doesNotContain(Certificates.SECRET);
  }

  /** Its producer would try until the time-out, a day here. */
  @Test
  void a_wrong_password_ends_a_publication_at_once() throws Exception {
    Python.Ended refused =
        Python.run(
            data,
            "-c",
            """
            import datetime, json, sys
            from shardtide.log import Log
            bootstrap_servers, registry_url, prefix, settings = sys.argv[1:]
            kafka = {"bootstrap.servers": bootstrap_servers, **json.load(open(settings))}
            log = Log(kafka, {"url": registry_url}, prefix, timeout_seconds=86400)
            now = datetime.datetime.now(datetime.timezone.utc)
            status = {"workloadId": "w", "planId": "p", "status": "ADOPTED", "step": 0, "source": "test", "occurredAt": now}
            try:
                log.publish("plan-status", "w", status)
            except PermissionError as e:
                print(e)
            """,
            kafka.bootstrapServers(),
            registry.url(),
            PREFIX,
            settings(Role.TRAINER, Certificates.SECRET + "-wrong").toString());
    assertThat(refused.err()).isEmpty();
    assertThat(refused.out())
        .startsWith("Kafka at %s refuses this user: ".formatted(kafka.bootstrapServers()))
        .contains("Authentication failed")
        .doesNotContain(Certificates.SECRET);
  }
}
