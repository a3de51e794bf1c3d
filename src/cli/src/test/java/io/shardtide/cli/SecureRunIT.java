package io.shardtide.cli;

import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Certificates;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.SecureKafka;
import io.shardtide.topology.Acls;
import io.shardtide.topology.Acls.Role;
import io.shardtide.wire.Topics;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code run} on a cluster with TLS, SCRAM and access control lists: it serves, it says what it
 * lacks, and no password or token is in anything that it prints or answers.
 */
class SecureRunIT {
  private static final String TOKEN = Certificates.SECRET + "-a-token-that-nobody-guesses";

  @TempDir private static Path data;
  private static SecureKafka kafka;
  private static DevelopmentRegistry registry;

  @TempDir private Path folder;

  @BeforeAll
  static void start() throws Exception {
    kafka = SecureKafka.start(data);
    registry = DevelopmentRegistry.start(0, Optional.empty());
    kafka.users("planner", "publisher", "trainer", "viewer");
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
    kafka.close();
  }

  private Path settings(String prefix, String more) throws Exception {
    Path token = Files.writeString(folder.resolve("token"), TOKEN + "\n");
    return Files.writeString(
        folder.resolve("a.properties"),
        """
        bootstrap.servers=%s
        schema.registry.url=%s
        state.directory=%s
        topics.prefix=%s
        topics.partitions=1
        topics.replication=1
        http.port=0
        http.host=0.0.0.0
        http.token.file=%s
        registry.basic.auth.credentials.source=USER_INFO
        registry.basic.auth.user.info=planner:%s-registry
        %s
        %s
        """
            .formatted(
                kafka.bootstrapServers(),
                registry.url(),
                folder.resolve("state"),
                prefix,
                token,
                Certificates.SECRET,
                kafka.plannerSettings(),
                more));
  }

  private HttpResponse<String> ask(RunningService service, String page, String authorization)
      throws Exception {
    URI shown = service.address(page);
    URI address = URI.create("http://127.0.0.1:" + shown.getPort() + "/" + page);
    HttpRequest.Builder request = HttpRequest.newBuilder(address);
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void it_serves_and_keeps_its_secrets() throws Exception {
    for (Role role : Role.values()) {
      kafka.allow(role.toString(), Acls.of(role, "a.", Set.of()));
    }
    RunningService service = RunningService.start(settings("a.", "kafka.client.id=planner-7"));
    StringBuilder answers = new StringBuilder();
    try (LogClient publisher = new LogClient(kafka.clients("publisher"), registry.url(), "a.");
        LogClient everybody = new LogClient(kafka.adminClients(), registry.url(), "a.")) {
      service.says("Serving.");
      publisher.publish(
          Fixtures.event(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 5)));
      List<ShardingPlan> plans = everybody.plans(1);
      assertThat(plans).extracting(ShardingPlan::generation).containsExactly(1L);
      assertViewerOnlyLooks(plans.get(0).planId());

      HttpResponse<String> refused = ask(service, "metrics", null);
      assertThat(refused.statusCode()).isEqualTo(401);
      HttpResponse<String> wrong = ask(service, "metrics", "Bearer " + TOKEN + "x");
      assertThat(wrong.statusCode()).isEqualTo(401);
      HttpResponse<String> metrics = ask(service, "metrics", "Bearer " + TOKEN);
      assertThat(metrics.statusCode()).isEqualTo(200);
      assertThat(metrics.body()).contains("shardtide_events_applied_total 1.0");
      HttpResponse<String> health = ask(service, "health", null);
      assertThat(health.body()).doesNotContain("kafka");
      HttpResponse<String> all = ask(service, "health", "Bearer " + TOKEN);
      assertThat(all.body()).contains("kafka");
      for (HttpResponse<String> answer : List.of(refused, wrong, metrics, health, all)) {
        answers.append(answer.headers().map()).append(answer.body());
      }

      // The broker's address is refused to a planner that has lost a right.
      kafka.forbid(
          "planner",
          Acls.of(Role.PLANNER, "a.", Set.of()).stream()
              .filter(
                  r ->
                      r.operation() == AclOperation.WRITE
                          && r.name().equals(Topics.withPrefix("a.").of(SHARDING_PLANS).name()))
              .findFirst()
              .orElseThrow());
      publisher.publish(Fixtures.event(Fixtures.upsert("a", 2_000, 64, 5)));
      service.says("This user needs Create, DescribeConfigs, Read, Write on a.sharding-plans;");
    }
    service.terminate();
    assertThat(service.out())
        .contains("kafka.sasl.jaas.config", "kafka.ssl.truststore.password", "planner-7");
    assertThat(service.out() + service.err() + answers).doesNotContain(Certificates.SECRET);
  }

  private void assertViewerOnlyLooks(String planId) throws Exception {
    assertThat(viewer("why", "--plan", planId)).as(err.toString()).isZero();
    assertThat(viewer("watch", "--once")).as(err.toString()).isZero();
    assertThat(viewer("models", "list")).as(err.toString()).isZero();
    assertThat(viewer("export", "--out", folder.resolve("export").toString()))
        .as(err.toString())
        .isZero();
    assertThat(viewer("replay", "--out", folder.resolve("replayed").toString()))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains(Fixtures.WORKLOAD).doesNotContain(Certificates.SECRET);
    assertThat(viewer("publish", "--events", folder.resolve("export/events.jsonl").toString()))
        .isNotZero();
    assertThat(out.toString() + err)
        .contains("not sent  The Kafka cluster at " + kafka.bootstrapServers() + " refuses")
        .doesNotContain(Certificates.SECRET);
  }

  private int viewer(String... arguments) throws Exception {
    StringBuilder settings = new StringBuilder();
    kafka.clients("viewer").forEach((key, value) -> settings.append(key + "=" + value + "\n"));
    Path config = Files.writeString(folder.resolve("viewer.properties"), settings);
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--bootstrap", kafka.bootstrapServers(), "--registry", registry.url()));
    all.addAll(List.of("--prefix", "a.", "--kafka-config", config.toString()));
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(String[]::new));
  }

  @Test
  void it_ends_with_a_sentence_where_it_is_not_let_in() throws Exception {
    assertThat(run(settings("b.", ""))).isEqualTo(1);
    assertThat(err.toString())
        .containsPattern("^shardtide: Kafka refuses to describe topic b\\.\\S+: ")
        .contains("./shardtide rights --role planner prints the commands that add it")
        .doesNotContain("\tat ", Certificates.SECRET);
    assertThat(out.toString()).doesNotContain(Certificates.SECRET);
  }

  @Test
  void it_does_not_open_to_others_without_a_token() throws Exception {
    Path file = settings("c.", "");
    Files.writeString(file, Files.readString(file).replaceAll("(?m)^http.token.file=.*$", ""));
    assertThat(run(file)).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "host must be a loopback address unless there is a token, got 0.0.0.0 and no token")
        .doesNotContain(Certificates.SECRET);
  }

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(Path settings) {
    return Shardtide.run(
        new PrintWriter(out), new PrintWriter(err), "run", "--config", settings.toString());
  }

  /** The printed commands, run by Kafka's own tool, give just what the list says. */
  @Test
  void acls_prints_commands_that_kafka_takes() throws Exception {
    assertThat(
            Shardtide.run(
                new PrintWriter(out),
                new PrintWriter(err),
                "acls",
                "--prefix",
                "d.",
                "--bootstrap",
                kafka.bootstrapServers(),
                "--command-config",
                kafka.adminFile().toString()))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains("# publisher\n", "# planner\n", "# trainer\n");
    out.toString().lines().filter(line -> !line.startsWith("#")).forEach(SecureKafka::run);
    Set<AclBinding> given =
        kafka.admin().describeAcls(AclBindingFilter.ANY).values().get().stream()
            .filter(binding -> binding.pattern().name().startsWith("d."))
            .collect(Collectors.toSet());
    Set<AclBinding> listed = new HashSet<>();
    for (Role role : Role.values()) {
      Acls.of(role, "d.", Set.of()).forEach(right -> listed.add(right.binding("User:" + role)));
    }
    assertThat(given).isEqualTo(listed);
  }

  @Test
  void acls_for_one_principal_are_for_one_role() {
    assertThat(
            Shardtide.run(
                new PrintWriter(out), new PrintWriter(err), "acls", "--principal", "User:x"))
        .isEqualTo(2);
    assertThat(err.toString()).contains("--principal needs --role");
    assertThat(
            Shardtide.run(
                new PrintWriter(out),
                new PrintWriter(err),
                "acls",
                "--role",
                "trainer",
                "--principal",
                "User:x"))
        .isZero();
    assertThat(out.toString())
        .startsWith(
            "# trainer\n# reads the latest plan of each workload\nkafka-acls.sh --bootstrap-server HOST:PORT --command-config admin.properties --add"
                + " --allow-principal User:x --operation Read --topic shardtide.current-plans\n")
        .doesNotContain("planner");
  }
}
