package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs that are not ours read plans from the embedded broker, where they are installed (CI
 * installs them), and find schemas in its registry.
 */
class OtherClientsIT {
  private static final Path KCAT = Path.of("/usr/bin/kcat");
  private static final String PREFIX = SharedCluster.freshPrefix();

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static ShardingPlan plan;
  private static LogClient client;

  @BeforeAll
  static void plan() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX);
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), PREFIX, data.resolve("state"))
            .build();
    try (PlannerService service =
        PlannerService.start(
            new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new))) {
      assertThat(service).isNotNull();
      client.publish(
          event(set(2, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 1_000, 8, 2)));
      plan = client.plans(1).get(0);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    client.close();
  }

  /** Returns what a program printed; it must end well. */
  private static byte[] run(String... command) throws IOException, InterruptedException {
    Path out = Files.createTempFile(data, "out", "");
    Path err = Files.createTempFile(data, "err", "");
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start();
    assertThat(process.waitFor(90, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(Files.readString(err)).isZero();
    return Files.readAllBytes(out);
  }

  @Test
  void kcat_reads_the_current_plan() throws Exception {
    assumeTrue(Files.isExecutable(KCAT), "kcat is not installed");
    byte[] value =
        run(
            KCAT.toString(),
            "-C",
            "-q",
            "-e",
            "-b",
            kafka.bootstrapServers(),
            "-t",
            client.topics().of(CURRENT_PLANS).name(),
            "-X",
            "isolation.level=read_committed",
            "-D",
            "",
            "-f",
            "%s");
    assertThat(
            client
                .registry()
                .serde(client.topics().of(CURRENT_PLANS))
                .deserializer()
                .deserialize(client.topics().of(CURRENT_PLANS).name(), value))
        .isEqualTo(plan);
    byte[] key =
        run(
            KCAT.toString(),
            "-C",
            "-q",
            "-e",
            "-b",
            kafka.bootstrapServers(),
            "-t",
            client.topics().of(CURRENT_PLANS).name(),
            "-X",
            "isolation.level=read_committed",
            "-D",
            "",
            "-f",
            "%k");
    assertThat(key).asString().isEqualTo(Fixtures.WORKLOAD);
  }

  /** Every topic's subject is where clients look for it, and stays readable for old records. */
  @Test
  void schemas_are_registered_under_the_usual_names_and_evolve_backward_only() throws Exception {
    List<String> subjects = new ArrayList<>();
    for (Topic<?> topic : Topics.inUse(PREFIX, Set.of()).all()) {
      subjects.add(topic.name() + "-value");
    }
    JsonNode registered = call("GET", "/subjects", null, 200);
    assertThat(registered)
        .extracting(JsonNode::textValue)
        .filteredOn(subject -> subject.startsWith(PREFIX))
        .containsExactlyInAnyOrderElementsOf(subjects);
    for (String subject : subjects) {
      assertThat(call("GET", "/config/" + subject, null, 200).get("compatibilityLevel").textValue())
          .as(subject)
          .isEqualTo("BACKWARD_TRANSITIVE");
      String another =
          "{\"schema\": \"{\\\"type\\\": \\\"record\\\", \\\"name\\\": \\\"R\\\", \\\"fields\\\":"
              + " [{\\\"name\\\": \\\"a\\\", \\\"type\\\": \\\"int\\\"}]}\"}";
      assertThat(
              call("POST", "/subjects/" + subject + "/versions", another, 409)
                  .get("error_code")
                  .intValue())
          .isEqualTo(409);
    }
  }

  private static JsonNode call(String method, String path, String body, int status)
      throws IOException, InterruptedException {
    HttpResponse<String> response =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(registry.url() + path))
                    .method(
                        method,
                        body == null
                            ? HttpRequest.BodyPublishers.noBody()
                            : HttpRequest.BodyPublishers.ofString(body))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(path + ": " + response.body()).isEqualTo(status);
    return new ObjectMapper().readTree(response.body());
  }
}
