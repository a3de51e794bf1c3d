package io.shardtide.cli;

import static io.shardtide.cli.DocumentedCommands.HERE;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cli.DocumentedCommands.Command;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs every command that the documentation shows on a line of its own, in the order of the pages,
 * in a shell, in a folder with the files that they mention. All but {@code run} are served by one
 * JVM, see {@link CommandServer}.
 */
abstract class DocumentedPages {
  private static final Path REFERENCE = HERE.resolve("src/models/src/test/resources/reference");

  /** Options that shorten commands which would take long, or run for ever. */
  private static final Map<String, String> SHORTENED = Map.of("./shardtide plan watch", "--once");

  /** Commands that a test cannot run, and what runs them. */
  private static final Map<String, String> ELSEWHERE =
      Map.of(
          "pip install", ".ci/run",
          "python examples/torchrec/one_line.py", "PythonTorchRecIT");

  @TempDir private Path home;

  /** Creates the files that the pages mention. */
  private void createFiles() throws IOException {
    for (String folder : List.of("src", "models")) {
      Files.createSymbolicLink(home.resolve(folder), HERE.resolve(folder));
    }
    for (String samples : List.of("samples/train", "samples/valid", "cpu-samples")) {
      for (String file : List.of("compute.jsonl.gz", "collectives.jsonl.gz")) {
        copy(REFERENCE.resolve("valid").resolve(file), home.resolve(samples).resolve(file));
      }
      copy(REFERENCE.resolve("tables.jsonl"), home.resolve(samples).resolve("tables.jsonl"));
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to.getParent());
    Files.copy(from, to);
  }

  private String complete(Command command, Map<String, String> names) {
    String text = command.text();
    for (Map.Entry<String, String> name : names.entrySet()) {
      text = text.replace(name.getKey(), name.getValue());
    }
    for (Map.Entry<String, String> shortened : SHORTENED.entrySet()) {
      if (text.startsWith(shortened.getKey()) && !text.contains(shortened.getValue())) {
        text += " " + shortened.getValue();
      }
    }
    return text;
  }

  /** Runs the commands of pages, in the order of a new reader: something is published first. */
  final void runAll(List<String> pages) throws Exception {
    createFiles();
    Process server = DocumentedCommands.startServer(home);
    try {
      type(DocumentedCommands.of(pages));
    } finally {
      server.destroyForcibly();
    }
  }

  private void type(List<Command> commands) throws Exception {
    try (LocalPlanner planner =
            LocalPlanner.start(home, Topics.DEFAULT_PREFIX, Set.of(Extension.GROWTH));
        LogClient log = planner.log()) {
      Map<String, String> names = new LinkedHashMap<>();
      names.put("HOST:PORT", planner.bootstrapServers());
      names.put("URL", planner.registryUrl());
      // Published from a list of configs, in Python; the other pages' workload stands for it.
      names.put("plan watch feed ", "plan watch feed-ranking ");
      names.put("plan watch my-model ", "plan watch feed-ranking ");
      assertThat(commands).as("the pages show commands").hasSizeGreaterThan(10);
      for (Command command : commands) {
        if (ELSEWHERE.keySet().stream().anyMatch(command.text()::startsWith)) {
          continue;
        }
        String text = complete(command, names);
        Path out = Files.createTempFile(home, "output", ".txt");
        if (text.startsWith("./shardtide run --config")) {
          runService(out);
        } else {
          int status = DocumentedCommands.run(home, text, Map.of(), out);
          assertThat(status)
              .as("%s: %s%n%s", command.document(), text, Files.readString(out))
              .isZero();
        }
        if (text.endsWith("--example > shardtide.properties")) {
          completeSettings(planner);
        }
        if (text.matches(".*(publish|workload apply).*")) {
          await()
              .atMost(Duration.ofSeconds(60))
              .until(() -> !log.committed(log.topics().of(CURRENT_PLANS)).isEmpty());
          names.put(
              "d9ff41608bd1",
              log.committed(log.topics().of(CURRENT_PLANS)).get(0).planId().substring(0, 12));
        }
        if (text.matches("./shardtide (log )?export .*")) {
          Files.copy(home.resolve("exported/events.jsonl"), home.resolve("edited.jsonl"));
        }
      }
    }
  }

  /** Sets the addresses in the documented settings. */
  private void completeSettings(LocalPlanner planner) throws IOException {
    Path settings = home.resolve("shardtide.properties");
    Files.writeString(
        settings,
        """
        %s
        bootstrap.servers=%s
        schema.registry.url=%s
        state.directory=%s
        topics.prefix=documented.
        topics.replication=1
        http.port=0
        """
            .formatted(
                Files.readString(settings)
                    .replaceAll("(?m)^(bootstrap|schema|state|topics|http)\\..*$", ""),
                planner.bootstrapServers(),
                planner.registryUrl(),
                home.resolve("run-state")));
  }

  private void runService(Path out) throws Exception {
    Path settings = home.resolve("shardtide.properties");
    Process process =
        new ProcessBuilder(
                DocumentedCommands.java(Shardtide.class, "run", "--config", settings.toString()))
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    try {
      await()
          .atMost(Duration.ofSeconds(90))
          .failFast(() -> assertThat(process.isAlive()).as(Files.readString(out)).isTrue())
          .until(() -> Files.readString(out).contains("Serving."));
      process.destroy();
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(143);
    } finally {
      process.destroyForcibly();
    }
  }
}
