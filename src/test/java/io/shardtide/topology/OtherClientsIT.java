package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs that are not ours read plans from the embedded broker, where they are installed (CI
 * installs them).
 */
class OtherClientsIT {
  private static final Path KCAT = Path.of("/usr/bin/kcat");
  private static final Path PYTHON = Path.of("/usr/bin/python3");
  private static final String PREFIX = "others.";

  @TempDir private static Path data;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static ShardingPlan plan;
  private static LogClient client;

  @BeforeAll
  static void plan() throws Exception {
    kafka = EmbeddedKafka.start(data.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.empty());
    client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX);
    ServiceSettings settings =
        new ServiceSettings(
            kafka.bootstrapServers(),
            registry.url(),
            PREFIX,
            1,
            (short) 1,
            data.resolve("state"),
            PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
            Map.of(),
            Map.of());
    try (TensorFlowTowers towers = new TensorFlowTowers(Fixtures.bundle());
        PlannerService service = PlannerService.start(settings, Fixtures.bundle(), towers)) {
      assertThat(service).isNotNull();
      client.publish(
          event(set(2, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 1_000, 8, 2)));
      plan = client.plans(1).get(0);
    }
  }

  @AfterAll
  static void stop() throws Exception {
    client.close();
    registry.close();
    kafka.close();
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
            client.topics().currentPlans().name(),
            "-X",
            "isolation.level=read_committed",
            "-D",
            "",
            "-f",
            "%s");
    assertThat(
            client
                .registry()
                .serde(client.topics().currentPlans())
                .deserializer()
                .deserialize(client.topics().currentPlans().name(), value))
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
            client.topics().currentPlans().name(),
            "-X",
            "isolation.level=read_committed",
            "-D",
            "",
            "-f",
            "%k");
    assertThat(key).asString().isEqualTo(Fixtures.WORKLOAD);
  }

  @Test
  void python_reads_the_current_plan_with_the_schema_from_the_registry() throws Exception {
    assumeTrue(
        Files.isExecutable(PYTHON) && hasPythonModules(),
        "Debian's Python clients are not installed");
    byte[] out =
        run(
            PYTHON.toString(),
            "src/test/python/read_plan.py",
            kafka.bootstrapServers(),
            registry.url(),
            client.topics().currentPlans().name());
    JsonNode read = new ObjectMapper().readTree(out);
    assertThat(read.get("planId").textValue()).isEqualTo(plan.planId());
    assertThat(read.get("workloadId").textValue()).isEqualTo(Fixtures.WORKLOAD);
    assertThat(read.get("shards")).hasSize(plan.shards().size());
    assertThat(read.get("shards").get(0).get("kind").textValue())
        .isEqualTo(plan.shards().get(0).kind().name());
    assertThat(read.get("predictedMs").doubleValue()).isEqualTo(plan.predictedMs());
    assertThat(read.get("settings").get("evaluationsPerTable").intValue()).isEqualTo(5_000);
  }

  private static boolean hasPythonModules() throws IOException, InterruptedException {
    Process probe =
        new ProcessBuilder(List.of(PYTHON.toString(), "-c", "import confluent_kafka, avro"))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    return probe.waitFor() == 0;
  }
}
