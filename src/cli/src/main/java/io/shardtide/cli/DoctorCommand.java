package io.shardtide.cli;

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
import java.util.stream.IntStream;
import java.util.stream.Stream;
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
    on.printAll(results, () -> text(results));
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

  /**
   * Returns a table of at most 100 columns, and then, unbroken so that it can be copied, what to
   * do.
   */
  private static Printed text(List<CheckResult> results) {
    int check = results.stream().mapToInt(result -> result.check().length()).max().orElse(0);
    int width = WIDTH - check - CheckResult.CheckStatus.SKIPPED.toString().length() - 2 * 2;
    Printed out = new Printed();
    out.table(
        new Table<>(results.stream().flatMap(result -> lines(result, width)).toList())
            .left("check", line -> line.get(0))
            .left("status", line -> line.get(1))
            .left("finding", line -> line.get(2)));
    List<CheckResult> problems = results.stream().filter(r -> r.remedy().isPresent()).toList();
    if (!problems.isEmpty()) {
      out.line("To do:");
    }
    for (CheckResult problem : problems) {
      String indent = "  ";
      for (String line : (problem.check() + ": " + problem.remedy().get()).lines().toList()) {
        out.line("%s%s", indent, line);
        indent = "    ";
      }
    }
    return out;
  }

  /** Returns the cells of a check: its finding in lines. */
  private static Stream<List<String>> lines(CheckResult result, int width) {
    List<String> finding = Printed.wrap(result.finding(), width);
    return IntStream.range(0, finding.size())
        .mapToObj(
            l ->
                List.of(
                    l == 0 ? result.check() : "",
                    l == 0 ? result.status().toString() : "",
                    finding.get(l)));
  }
}
