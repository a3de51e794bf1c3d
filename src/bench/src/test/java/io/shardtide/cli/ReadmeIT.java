package io.shardtide.cli;

import static io.shardtide.cli.DocumentedCommands.HERE;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cli.DocumentedCommands.Command;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Docs;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Python;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a new reader does: starts the demo, which stays, and types the README's other commands
 * against the addresses that it prints.
 */
@Tag("nightly")
class ReadmeIT {
  private static final String README = "README.md";

  @TempDir private static Path home;

  private static Process demo;
  private static Process server;
  private static List<Command> commands;
  private static LogClient log;
  private static String bootstrapServers;
  private static String registryUrl;

  @BeforeAll
  static void start() throws Exception {
    commands = DocumentedCommands.of(List.of(README));
    for (String folder : List.of("src", "examples")) {
      Files.createSymbolicLink(home.resolve(folder), HERE.resolve(folder));
    }
    server = DocumentedCommands.startServer(home);
    Path out = home.resolve("demo.out");
    demo =
        new ProcessBuilder(DocumentedCommands.java(Shardtide.class, "demo"))
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    await()
        .atMost(Duration.ofMinutes(2))
        .failFast(() -> assertThat(demo.isAlive()).as(Files.readString(out)).isTrue())
        .until(() -> Files.readString(out).contains("  cost model "));
    bootstrapServers = printed("Kafka");
    registryUrl = printed("schema registry");
    log = new LogClient(bootstrapServers, registryUrl, Topics.DEFAULT_PREFIX);
  }

  @AfterAll
  static void stop() throws IOException {
    if (log != null) {
      log.close();
    }
    for (Process process : List.of(demo, server)) {
      process.destroy();
    }
  }

  private static String printed(String what) throws IOException {
    Matcher line =
        Pattern.compile("(?m)^  " + what + " +(\\S+)$")
            .matcher(Files.readString(home.resolve("demo.out")));
    assertThat(line.find()).as("the demo prints %s", what).isTrue();
    return line.group(1);
  }

  /** Types a command with the demo's addresses, and returns what it prints. */
  private static String type(String text, Map<String, String> environment) throws Exception {
    Path out = Files.createTempFile(home, "output", ".txt");
    String typed = text.replace("HOST:PORT", bootstrapServers).replace("URL", registryUrl);
    int status = DocumentedCommands.run(home, typed, environment, out);
    assertThat(status).as("%s%n%s", typed, Files.readString(out)).isZero();
    return Files.readString(out);
  }

  private static ShardingPlan plan(String workload, int generation) {
    await()
        .atMost(Duration.ofMinutes(2))
        .until(() -> log.plansOf(workload).stream().anyMatch(p -> p.generation() >= generation));
    List<ShardingPlan> plans = log.plansOf(workload);
    return plans.get(plans.size() - 1);
  }

  @Test
  void three_commands_lead_to_the_first_plan() throws Exception {
    assertThat(Docs.block(Path.of(README), "## Quick start").lines())
        .hasSizeLessThanOrEqualTo(3)
        .last()
        .isEqualTo("./shardtide demo");
    await()
        .atMost(Duration.ofMinutes(2))
        .until(() -> !log.committed(log.topics().of(CURRENT_PLANS)).isEmpty());
  }

  @Test
  void published_changes_are_planned_watched_and_explained() throws Exception {
    int publications = 0;
    for (Command command : commands) {
      String text = command.text();
      if (text.startsWith("./shardtide workload apply")) {
        publications++;
        assertThat(type(text, Map.of())).contains("generation " + publications);
        plan("my-model", publications);
      } else if (text.startsWith("./shardtide plan watch")) {
        assertThat(type(text + " --once", Map.of()))
            .contains(plan("my-model", 1).planId().substring(0, 12));
      } else if (text.startsWith("./shardtide plan why")) {
        // The demo's planner may have planned it again since, with a model that it trained.
        ShardingPlan first = plan("my-model", publications);
        String explained = type(text, Map.of());
        assertThat(log.plansOf("my-model"))
            .filteredOn(plan -> plan.generation() == first.generation())
            .anyMatch(plan -> explained.startsWith("plan " + plan.planId()));
      }
    }
    assertThat(publications).isEqualTo(2);
  }

  @Test
  void python_prints_a_decoded_plan() throws Exception {
    Python.assumeHas("confluent_kafka", "avro", "flit_core");
    // As in a virtual environment of the reader, but without a download: the packages are there.
    Path site = home.resolve("site");
    Map<String, String> environment =
        Map.of(
            "PATH",
            Python.folder() + ":" + System.getenv("PATH"),
            "PIP_NO_DEPS",
            "1",
            "PIP_NO_INDEX",
            "1",
            "PIP_NO_BUILD_ISOLATION",
            "0",
            "PIP_TARGET",
            site.toString(),
            "PYTHONPATH",
            site.toString());
    List<String> python =
        commands.stream().map(Command::text).filter(c -> c.matches("(pip|python) .*")).toList();
    assertThat(python).hasSize(2);
    type(python.get(0), environment);
    assertThat(site.resolve("shardtide/log")).isDirectory();
    assertThat(type(python.get(1), environment))
        .contains("plan " + plan("python-example", 1).planId())
        .containsPattern("user \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d")
        .containsPattern("item \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d");
  }

  /** {@link DocumentedCommandsIT} types them there, with addresses of a broker. */
  @Test
  void commands_that_deploy_are_those_of_the_page_for_operators() throws Exception {
    List<String> operating =
        DocumentedCommands.of(List.of("docs/OPERATING.md")).stream().map(Command::text).toList();
    assertThat(commands)
        .extracting(Command::text)
        .filteredOn(text -> text.startsWith("./shardtide run"))
        .hasSize(2)
        .isSubsetOf(operating);
  }
}
