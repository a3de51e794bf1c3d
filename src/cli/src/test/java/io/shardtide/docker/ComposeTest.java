package io.shardtide.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import io.shardtide.testing.Compose;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The compose file, as far as can be said without an engine. */
class ComposeTest {
  private static final Path FOLDER = Path.of("docker");
  private static final Path DOCKER_COMPOSE = Path.of("/usr/bin/docker-compose");

  private final JsonNode services = Compose.file().get("services");

  private static List<String> texts(JsonNode array) {
    List<String> texts = new ArrayList<>();
    array.forEach(node -> texts.add(node.asText()));
    return texts;
  }

  private static Set<String> names(JsonNode object) {
    Set<String> names = new TreeSet<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  @Test
  void everything_is_there_once() {
    assertThat(names(services))
        .containsExactly(
            "grafana", "kafka", "planner-1", "planner-2", "prometheus", "registry", "token");
  }

  @Test
  void images_are_named_by_their_full_version() {
    for (String service : names(services)) {
      if (!services.get(service).has("build")) {
        assertThat(services.get(service).get("image").asText())
            .matches("[a-z/-]+:v?\\d+\\.\\d+\\.\\d+");
      }
    }
  }

  @Test
  void nothing_listens_beyond_loopback() {
    Set<String> ports = new TreeSet<>();
    for (String service : names(services)) {
      for (String port : texts(services.get(service).path("ports"))) {
        assertThat(port).startsWith("127.0.0.1:");
        assertThat(ports.add(port.split(":", -1)[1])).as(port + " is used once").isTrue();
      }
    }
    assertThat(ports).hasSize(6);
  }

  /** Whatever is waited for exists, and has what it is waited for by. */
  @Test
  void waiting_ends() {
    for (String service : names(services)) {
      JsonNode needed = services.get(service).path("depends_on");
      if (needed.isArray()) {
        assertThat(names(services)).containsAll(texts(needed));
      }
      for (String other : names(needed)) {
        JsonNode target = services.get(other);
        switch (needed.get(other).get("condition").asText()) {
          case "service_healthy" -> assertThat(target.has("healthcheck")).isTrue();
          case "service_completed_successfully" ->
              assertThat(target.has("restart")).as("%s ends", other).isFalse();
          default -> throw new AssertionError(needed.toString());
        }
      }
    }
  }

  @Test
  void planners_are_confined_and_have_a_state_each() {
    Set<String> states = new TreeSet<>();
    for (String planner : List.of("planner-1", "planner-2")) {
      JsonNode service = services.get(planner);
      assertThat(service.get("read_only").booleanValue()).isTrue();
      assertThat(texts(service.get("cap_drop"))).containsExactly("ALL");
      assertThat(texts(service.get("security_opt"))).contains("no-new-privileges:true");
      texts(service.get("volumes")).stream()
          .filter(v -> v.endsWith(":/var/lib/shardtide"))
          .forEach(states::add);
    }
    assertThat(states).hasSize(2);
  }

  @Test
  void files_that_are_mounted_are_there() {
    int mounted = 0;
    for (String service : names(services)) {
      for (String volume : texts(services.get(service).path("volumes"))) {
        String source = volume.substring(0, volume.indexOf(':'));
        if (source.startsWith(".")) {
          assertThat(FOLDER.resolve(source)).exists();
          assertThat(volume).endsWith(":ro");
          mounted++;
        } else {
          assertThat(names(Compose.file().get("volumes"))).contains(source);
        }
      }
    }
    assertThat(mounted).isPositive();
  }

  /** The planners' settings are legal, and name the services beside them. */
  @Test
  void the_planners_settings_are_legal(@TempDir Path folder) throws IOException {
    Path token = Files.writeString(folder.resolve("token"), "0123456789abcdefg");
    Path file =
        Files.writeString(
            folder.resolve("a.properties"),
            Files.readString(FOLDER.resolve("shardtide.properties"))
                .replace("/run/token/token", token.toString()));
    ServiceSettings settings = SettingsFile.read(file, warning -> {}, (key, value) -> {});
    assertThat(settings.endpoint().bootstrapServers()).isEqualTo("kafka:9092");
    assertThat(settings.endpoint().registryUrl()).isEqualTo("http://registry:8081");
    assertThat(settings.http().token()).isPresent();
    assertThat(settings.http().port()).isEqualTo(8080);
    assertThat(texts(services.get("planner-1").get("volumes")))
        .anyMatch(v -> v.startsWith("token:/run/token:"));
  }

  /** docker-compose itself, which needs no engine for this; CI installs it. */
  @Test
  void docker_compose_takes_the_file(@TempDir Path folder) throws Exception {
    assumeTrue(Files.isExecutable(DOCKER_COMPOSE), "docker-compose is not installed");
    Path out = folder.resolve("out");
    Process process =
        new ProcessBuilder(
                DOCKER_COMPOSE.toString(),
                "-f",
                FOLDER.resolve("compose.yaml").toString(),
                "config")
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(Files.readString(out)).isZero();
    assertThat(Files.readString(out)).contains("planner-2:", "condition: service_healthy");
  }
}
