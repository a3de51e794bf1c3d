package io.shardtide.docker;

import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Compose;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.RunningService;
import io.shardtide.testing.SimulatedTrainer;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboard and the alerts against the metrics of a real planner that has planned something.
 */
class DashboardIT {
  private static final Path DOCKER = Path.of("docker");
  private static final Path PROMETHEUS = Path.of("/usr/bin/prometheus");
  private static final String TOKEN = "a-token-that-nobody-guesses";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Prometheus' own, of each target. */
  private static final Set<String> ITS_OWN = Set.of("up");

  /** Words of the language that look like the name of a metric. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?<![\\w\"$.{,])(shardtide_\\w+|kafka_\\w+|jvm_\\w+|process_\\w+|system_\\w+|up)\\b");

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static RunningService service;

  @BeforeAll
  static void planSomething() throws Exception {
    kafka = EmbeddedKafka.start(data.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.empty());
    Path token = Files.writeString(data.resolve("token"), TOKEN);
    service =
        RunningService.start(
                Files.writeString(
                    data.resolve("a.properties"),
                    """
                    bootstrap.servers=%s
                    schema.registry.url=%s
                    state.directory=%s
                    topics.partitions=1
                    topics.replication=1
                    http.port=0
                    http.token.file=%s
                    """
                        .formatted(
                            kafka.bootstrapServers(),
                            registry.url(),
                            data.resolve("state"),
                            token)))
            .with(TOKEN);
    service.says("Serving.");
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "shardtide.")) {
      client.publish(
          Fixtures.event(
              Fixtures.set(2, Fixtures.GIB),
              Fixtures.upsert("a", 1_000_000, 64, 20),
              Fixtures.upsert("b", 1_000_000, 64, 20)));
      client.publish(Fixtures.WORKLOAD, new byte[] {1});
      ShardingPlan plan = client.plans(1).get(0);
      client.publishValue(
          client.topics().of(MEASURED_COSTS),
          plan.workloadId(),
          new SimulatedTrainer().measured(plan, device -> 1.1));
      client.read(client.topics().of(TRAINING_SAMPLES), 1);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    service.kill();
    registry.close();
    kafka.close();
  }

  /** Returns the queries of the dashboard's panels. */
  private static List<String> panels() throws IOException {
    List<String> queries = new ArrayList<>();
    JsonNode dashboard = JSON.readTree(DOCKER.resolve("grafana/shardtide.json").toFile());
    for (JsonNode panel : dashboard.get("panels")) {
      for (JsonNode target : panel.get("targets")) {
        queries.add(target.get("expr").textValue());
      }
    }
    return queries;
  }

  /** Returns the conditions of the alerts. */
  private static List<String> alerts() {
    List<String> queries = new ArrayList<>();
    for (JsonNode group : Compose.read(DOCKER.resolve("alerts.yaml")).get("groups")) {
      for (JsonNode rule : group.get("rules")) {
        queries.add(rule.get("expr").textValue());
      }
    }
    return queries;
  }

  @Test
  void every_metric_that_is_asked_for_is_there() throws Exception {
    Set<String> asked = new TreeSet<>();
    for (List<String> queries : List.of(panels(), alerts())) {
      for (String query : queries) {
        List<String> names = NAME.matcher(query).results().map(r -> r.group(1)).toList();
        assertThat(names).as(query).isNotEmpty();
        asked.addAll(names);
      }
    }
    asked.removeAll(ITS_OWN);
    assertThat(asked).hasSizeGreaterThan(15);
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              Set<String> there = new TreeSet<>();
              service
                  .ask("metrics")
                  .body()
                  .lines()
                  .filter(line -> !line.startsWith("#"))
                  .forEach(line -> there.add(line.split("[{ ]", 2)[0]));
              assertThat(there).containsAll(asked);
            });
  }

  /** The metrics that pages tell of are there too. */
  @Test
  void every_metric_that_is_documented_is_there() throws Exception {
    String scrape = service.ask("metrics").body();
    String page =
        Files.readString(Path.of("docs/OPERATING.md"))
            + Files.readString(Path.of("docs/RUNBOOK.md"));
    Set<String> documented = new TreeSet<>();
    Pattern.compile("`(shardtide_\\w+)")
        .matcher(page)
        .results()
        .forEach(r -> documented.add(r.group(1)));
    assertThat(documented).hasSizeGreaterThan(5);
    for (String name : documented) {
      assertThat(scrape).containsPattern("(?m)^" + name + "(_bucket)?[{ ]");
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /** A real Prometheus with the configuration of the compose file; CI installs it. */
  @Test
  void prometheus_answers_every_query() throws Exception {
    assumeTrue(Files.isExecutable(PROMETHEUS), "prometheus is not installed");
    Path folder = Files.createDirectories(data.resolve("prometheus"));
    URI metrics = service.address("metrics");
    Files.copy(DOCKER.resolve("alerts.yaml"), folder.resolve("alerts.yaml"));
    Path config =
        Files.writeString(
            folder.resolve("prometheus.yaml"),
            Files.readString(DOCKER.resolve("prometheus.yaml"))
                .replace("/run/token/token", data.resolve("token").toString())
                .replace("planner-1:8080", metrics.getAuthority())
                .replaceAll("(?m)^ *- planner-2:8080\n", "")
                .replaceAll("_interval: 5s", "_interval: 1s"));
    int port = freePort();
    Process prometheus =
        new ProcessBuilder(
                PROMETHEUS.toString(),
                "--config.file=" + config,
                "--storage.tsdb.path=" + folder.resolve("data"),
                "--web.listen-address=127.0.0.1:" + port)
            .redirectErrorStream(true)
            .redirectOutput(new File(folder.toFile(), "out"))
            .start();
    try {
      String address = "http://127.0.0.1:" + port;
      await()
          .atMost(PATIENCE)
          .failFast(() -> !prometheus.isAlive())
          .ignoreExceptions()
          .until(() -> query(address, "up{job=\"shardtide\"} == 1").size() == 1);
      // A rate needs two scrapes.
      await()
          .atMost(PATIENCE)
          .until(() -> query(address, "rate(shardtide_answer_seconds_count[1m])").size() == 1);
      for (String query : panels()) {
        String filled = query.replace("$__rate_interval", "1m");
        JsonNode answer = query(address, filled);
        if (!query.contains("> 0")) {
          assertThat(answer).as(filled).isNotEmpty();
        }
      }
      for (String query : alerts()) {
        assertThat(query(address, query)).as(query).isNotNull();
      }
      JsonNode rules = get(address + "/api/v1/rules").get("data").get("groups").get(0).get("rules");
      assertThat(rules).hasSize(alerts().size());
      assertThat(rules).allSatisfy(r -> assertThat(r.get("health").textValue()).isEqualTo("ok"));
    } finally {
      prometheus.destroyForcibly().waitFor();
    }
  }

  /** Returns what a query gives; it has to be one. */
  private static JsonNode query(String address, String query) throws Exception {
    JsonNode answer =
        get(address + "/api/v1/query?query=" + URLEncoder.encode(query, StandardCharsets.UTF_8));
    assertThat(answer.get("status").textValue()).as("%s: %s", query, answer).isEqualTo("success");
    return answer.get("data").get("result");
  }

  private static JsonNode get(String address) throws Exception {
    return JSON.readTree(
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(address)).build(),
                HttpResponse.BodyHandlers.ofString())
            .body());
  }
}
