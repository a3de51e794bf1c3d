package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.RunningService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The distribution as an operator has it: unpacked, with a JDK and nothing else. */
class DistributionIT {
  @TempDir private static Path unpacked;
  private static Path home;

  @TempDir private Path folder;

  @BeforeAll
  static void unpack() throws Exception {
    Path archive = only(Path.of("target"), "shardtide-.*\\.tar\\.gz");
    Process tar =
        new ProcessBuilder("tar", "-xzf", archive.toString(), "-C", unpacked.toString())
            .inheritIO()
            .start();
    assertThat(tar.waitFor()).isZero();
    home = only(unpacked, "shardtide-.*");
  }

  private static Path only(Path parent, String name) throws IOException {
    try (Stream<Path> files = Files.list(parent)) {
      List<Path> found = files.filter(f -> f.getFileName().toString().matches(name)).toList();
      assertThat(found).as(name).hasSize(1);
      return found.get(0);
    }
  }

  private ProcessBuilder command(String... arguments) {
    List<String> command = new ArrayList<>(List.of(home.resolve("bin/shardtide").toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectOutput(folder.resolve("out").toFile())
            .redirectError(folder.resolve("err").toFile());
    builder.environment().clear();
    builder
        .environment()
        .putAll(
            Map.of(
                "JAVA_HOME", System.getProperty("java.home"),
                "PATH", System.getenv("PATH")));
    return builder;
  }

  private int run(String... arguments) throws Exception {
    Process process = command(arguments).start();
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).as("ended").isTrue();
    return process.exitValue();
  }

  private String out() throws IOException {
    return Files.readString(folder.resolve("out"));
  }

  private String err() throws IOException {
    return Files.readString(folder.resolve("err"));
  }

  @Test
  void it_has_what_production_needs_and_no_broker_or_benchmark() throws Exception {
    assertThat(home.resolve("LICENSE")).exists();
    assertThat(home.resolve("README.md")).exists();
    assertThat(home.resolve("python/pyproject.toml")).exists();
    assertThat(home.resolve("python/shardtide/log/__init__.py")).exists();
    assertThat(home.resolve("models/simulated.avro")).exists();
    try (Stream<Path> jars = Files.list(home.resolve("lib"))) {
      assertThat(jars.map(jar -> jar.getFileName().toString()))
          .filteredOn(name -> name.matches("(kafka|scala|jmh|log4j|metrics).*"))
          .allMatch(name -> name.matches("kafka-(clients|streams)-.*"));
    }
    assertThat(home.resolve("python/tests")).doesNotExist();
    try (Stream<Path> jars = Files.list(home.resolve("lib"))) {
      assertThat(
              jars.map(jar -> jar.getFileName().toString())
                  .filter(name -> name.startsWith("shardtide-"))
                  .map(name -> name.replaceAll("-[0-9.]+(-SNAPSHOT)?\\.jar", "")))
          .containsExactlyInAnyOrder(
              "shardtide-core",
              "shardtide-models",
              "shardtide-registry",
              "shardtide-wire",
              "shardtide-client",
              "shardtide-service",
              "shardtide-cli");
    }
    for (String module : List.of("core", "models", "wire", "client", "service", "cli")) {
      try (JarFile jar =
          new JarFile(
              only(home.resolve("lib"), "shardtide-%s-.*\\.jar".formatted(module)).toFile())) {
        assertThat(jar.stream().map(JarEntry::getName))
            .as("of %s: our classes, and none of another project", module)
            .filteredOn(name -> name.endsWith(".class"))
            .isNotEmpty()
            .allMatch(name -> name.startsWith("io/shardtide/"))
            .noneMatch(name -> name.matches("io/shardtide/(embedded|bench|testing)/.+"));
      }
    }
  }

  @Test
  void its_commands_are_those_that_need_no_checkout() throws Exception {
    assertThat(run("--version")).as(err()).isZero();
    assertThat(out()).startsWith("shardtide ");
    assertThat(err()).isEmpty();
    assertThat(run("--help")).as(err()).isZero();
    assertThat(out()).contains("  run ", "  workload ").doesNotContain("  demo ", "  bench ");
    assertThat(run("demo")).isEqualTo(2);
    assertThat(err())
        .contains(
            "demo is not part of this distribution; run ./shardtide demo in a source checkout");
  }

  /** TensorFlow warns twice when a process runs its first model, whatever its log level is. */
  @Test
  void it_plans_and_standard_error_has_progress_and_two_warnings() throws Exception {
    Path kit = Path.of("src/models/src/test/resources/reference");
    assertThat(
            run(
                "plan",
                "--workloads",
                kit.resolve("tasks/4gpu_dim4.jsonl.gz").toString(),
                "--out",
                folder.resolve("plans.jsonl").toString()))
        .as(err())
        .isZero();
    assertThat(Files.readAllLines(folder.resolve("plans.jsonl"))).hasSize(6);
    assertThat(err().split("[\\r\\n]+", -1))
        .filteredOn(line -> !line.isBlank())
        .allMatch(
            line ->
                line.startsWith("Planning ")
                    || line.startsWith("WARNING: All log messages before absl::InitializeLog() ")
                    || line.contains("MLIR V1 optimization pass is not enabled")
                    || line.contains("lacks measured collectives"));
  }

  /** Against a real broker: no class is missing that only the checkout has. */
  @Test
  void it_serves_on_a_cluster() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder))) {
      Path settings =
          Files.writeString(
              folder.resolve("a.properties"),
              """
              bootstrap.servers=%s
              schema.registry.url=%s
              state.directory=%s
              topics.replication=1
              topics.partitions=1
              http.port=0
              """
                  .formatted(kafka.bootstrapServers(), registry.url(), folder.resolve("state")));
      Path says = Files.createDirectory(folder.resolve("service"));
      RunningService service =
          new RunningService(
              command("run", "--config", settings.toString())
                  .redirectOutput(says.resolve("out").toFile())
                  .redirectError(says.resolve("err").toFile())
                  .start(),
              says,
              Optional.empty());
      try {
        service.says("Serving.");
        assertThat(
                run(
                    "publish",
                    "--bootstrap",
                    kafka.bootstrapServers(),
                    "--registry",
                    registry.url(),
                    "--workload",
                    "feed",
                    "--cluster",
                    "devices=2,memoryGib=8,batchSize=65536,hardware=simulated",
                    "--upsert",
                    "name=user_id,rows=1000000,columns=64,poolingFactor=2"))
            .as(err())
            .isZero();
        assertThat(
                run(
                    "watch",
                    "--once",
                    "--bootstrap",
                    kafka.bootstrapServers(),
                    "--registry",
                    registry.url()))
            .as(err())
            .isZero();
        assertThat(service.ask("metrics").body()).contains("shardtide_plans_published_total");
        service.terminate();
        assertThat(service.err()).doesNotContain("NoClassDefFoundError", "ClassNotFound");
      } finally {
        service.kill();
      }
    }
  }
}
