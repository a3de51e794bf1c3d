package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Python;
import io.shardtide.testing.SecureKafka;
import io.shardtide.testing.SharedCluster;
import io.shardtide.topology.Acls.Role;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The lowest versions that {@code pyproject.toml} promises, of Python and of its two dependencies.
 * Skipped where there is no such Python, or no index of packages.
 */
@Tag("nightly")
class OldestPythonIT {
  private static final Path PROJECT = Path.of("src/python/pyproject.toml");
  private static final long MINUTES = 3;

  @TempDir private static Path data;
  private static Path python;

  @BeforeAll
  static void install() throws Exception {
    String project = Files.readString(PROJECT);
    String version = found(project, "requires-python = \">=([0-9.]+)\"");
    String kafka = found(project, "confluent-kafka>=([0-9.]+)");
    String avro = found(project, "avro>=([0-9.]+)");
    Path folder = data.resolve("venv");
    python = folder.resolve("bin/python");
    succeed(version, "python" + version, "-m", "venv", folder.toString());
    succeed(
        version,
        python.toString(),
        "-m",
        "pip",
        "install",
        "--quiet",
        "confluent-kafka==%s.*".formatted(kafka),
        "avro==%s.*".formatted(avro));
  }

  private static String found(String project, String pattern) {
    Matcher matcher = Pattern.compile(pattern).matcher(project);
    assertThat(matcher.find()).as(pattern).isTrue();
    return matcher.group(1);
  }

  private static void succeed(String version, String... command) throws Exception {
    Path out = Files.createTempFile(data, "install", ".out");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
    // Where pyenv keeps several, it runs the one that this names.
    builder.environment().put("PYENV_VERSION", version);
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      abort("Python %s is not installed: %s".formatted(version, e.getMessage()));
      throw e;
    }
    if (!process.waitFor(MINUTES, TimeUnit.MINUTES) || process.exitValue() != 0) {
      process.destroyForcibly();
      abort("%s: %s".formatted(String.join(" ", command), Files.readString(out)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"test_schemas.py", "test_torchrec.py", "test_trainer.py"})
  void tests_without_a_broker_succeed(String file) throws Exception {
    Python.test(python, data, Map.of(), file);
  }

  @Test
  void clients_publish_follow_and_report() throws Exception {
    String prefix = SharedCluster.freshPrefix();
    try (EmbeddedKafka kafka = EmbeddedKafka.start(data.resolve("plain"));
        DevelopmentRegistry server = DevelopmentRegistry.start(0, Optional.empty());
        Registry registry = Registry.connect(server.url(), Map.of())) {
      registry.register(Topics.withPrefix(prefix));
      Map<String, String> environment =
          Map.of("KAFKA", kafka.bootstrapServers(), "REGISTRY", server.url(), "PREFIX", prefix);
      Python.test(python, data, environment, "test_clients.py");
    }
  }

  @Test
  void a_client_that_cannot_use_scram_is_named() throws Exception {
    try (SecureKafka kafka = SecureKafka.start(data.resolve("secure"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.empty())) {
      kafka.users(Role.TRAINER.toString());
      Path settings =
          PythonSecurityIT.settings(
              data.resolve("secure"), Role.TRAINER, PythonSecurityIT.password(Role.TRAINER));
      List<String> command = new ArrayList<>(List.of("-m", "shardtide.log"));
      command.addAll(List.of(kafka.bootstrapServers(), registry.url()));
      command.addAll(List.of("--settings", settings.toString()));
      Python.Ended refused = Python.run(python, data, Map.of(), command.toArray(String[]::new));
      assertThat(refused.status()).isEqualTo(1);
      assertThat(refused.err())
          .contains("cannot use SCRAM-SHA-512 with Kafka 3.8.1 and later; install confluent-kafka");
    }
  }
}
