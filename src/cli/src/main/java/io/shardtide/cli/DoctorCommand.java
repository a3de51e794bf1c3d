package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.config.InvalidSettingsException;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.topology.CheckResult;
import io.shardtide.topology.ClientSettings;
import io.shardtide.topology.ClusterChecks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Checks what a planner needs before it is started. */
@Command(
    name = "doctor",
    description = {
      "Checks the settings, brokers and their versions, rights, topics, state, schema registry,"
          + " disk, clock and cost models of a planner, and prints what to do about each problem.",
      "Run it on the planner's machine as the planner's user. It changes nothing.",
      "Exit status: 0 if a planner can start, 1 if a check failed, 2 if the settings are invalid."
    },
    footer = {"", "Example:", "  shardtide doctor --config shardtide.properties"})
final class DoctorCommand implements Callable<Integer> {
  private static final int WIDTH = 100;

  @Mixin private PrintOption on;

  @Option(
      names = "--config",
      required = true,
      paramLabel = "FILE",
      description = "Settings file of the planner, as for run.")
  private Path config;

  @Override
  public Integer call() throws Exception {
    ServiceSettings settings;
    try {
      settings =
          SettingsFile.read(
              config, line -> on.note("%s: %s".formatted(config, line)), (key, value) -> {});
    } catch (InvalidSettingsException | IOException e) {
      on.error(Errors.describe(e));
      return CommandLine.ExitCode.USAGE;
    }
    List<CheckResult> results = new ArrayList<>();
    results.add(settings(settings).named("settings"));
    String server = settings.endpoint().bootstrapServers();
    KafkaWarnings.of(Optional.of(new KafkaWarnings.Outages(server, on.err())));
    try {
      results.addAll(ClusterChecks.run(settings));
    } finally {
      KafkaWarnings.of(Optional.empty());
    }
    results.add(models(settings).named("models"));
    on.printAll(results.stream().map(DoctorCommand::json).toList(), () -> table(results));
    return results.stream().anyMatch(result -> result.status() == CheckResult.CheckStatus.FAILED)
        ? CommandLine.ExitCode.SOFTWARE
        : CommandLine.ExitCode.OK;
  }

  private CheckResult settings(ServiceSettings settings) {
    Optional<String> refusal = ClientSettings.refusal(settings);
    if (refusal.isPresent()) {
      return CheckResult.failed(refusal.get(), "correct it in " + config);
    }
    List<String> unknown = ClientSettings.unknown(settings.endpoint().kafka().keySet());
    return unknown.isEmpty()
        ? CheckResult.ok(config + " is valid")
        : CheckResult.warning(
            String.join(" ", unknown),
            "correct the names in %s; Kafka's clients get them as they are".formatted(config));
  }

  /** Opens each model with TensorFlow, as a planner does. */
  private static CheckResult models(ServiceSettings settings) {
    try {
      List<ModelBundle> bundles = RunningModels.load(settings);
      List<String> found = new ArrayList<>();
      boolean simulated = false;
      for (ModelBundle bundle : bundles) {
        // Loads TensorFlow and builds the graphs, as a planner does.
        new TensorFlowTowers(bundle).close();
        found.add("%s (%s)".formatted(bundle.hardware(), RunningModels.describe(bundle)));
        simulated |= bundle.card().simulated();
      }
      String finding = "for " + String.join(", ", found);
      return simulated
          ? CheckResult.warning(
              finding,
              "predicted milliseconds of simulated hardware are a simulator's; name your hardware in the"
                  + " cluster, train a model on samples of your machines (collect, pretrain) and set"
                  + " models=FILE")
          : CheckResult.ok(finding);
    } catch (IOException | IllegalArgumentException e) {
      return CheckResult.failed(
          Errors.describe(e), "correct models= in the settings, or remove it");
    } catch (UnsatisfiedLinkError | NoClassDefFoundError e) {
      return CheckResult.failed(
          "TensorFlow's library cannot be loaded: " + Errors.describe(e),
          "run on linux-x86_64 with glibc, or build for your platform; docs/CONTRIBUTING.md,"
              + " Platforms");
    }
  }

  private static ObjectNode json(CheckResult result) {
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("check", result.check())
            .put("status", result.status().toString())
            .put("finding", result.finding());
    result.remedy().ifPresent(remedy -> node.put("remedy", remedy));
    return node;
  }

  /**
   * Returns a table of at most 100 columns, and then, unbroken so that it can be copied, what to
   * do.
   */
  static String table(List<CheckResult> results) {
    int check = results.stream().mapToInt(r -> r.check().length()).max().orElse(0) + 2;
    int status = CheckResult.CheckStatus.SKIPPED.toString().length() + 2;
    StringBuilder table = new StringBuilder();
    StringBuilder remedies = new StringBuilder();
    for (CheckResult result : results) {
      String first =
          ("%-" + check + "s%-" + status + "s").formatted(result.check(), result.status());
      for (String line : TextLines.wrap(Printable.of(result.finding()), WIDTH - first.length())) {
        table.append(first).append(line).append('\n');
        first = " ".repeat(first.length());
      }
      result
          .remedy()
          .ifPresent(
              remedy ->
                  remedies
                      .append("  ")
                      .append(result.check())
                      .append(": ")
                      .append(remedy.replace(System.lineSeparator(), "\n    "))
                      .append('\n'));
    }
    return remedies.isEmpty() ? table.toString() : table + "To do:\n" + remedies;
  }
}
