package io.shardtide.cli;

import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.files.OutputFile;
import io.shardtide.learn.SampleCheck;
import io.shardtide.replay.RefusedException;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.RejectedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Lists cost models, compares them, and selects the current one. */
@Command(
    name = "models",
    description = "Lists the cost models in the log, compares them, and selects the current one.",
    footer = {
      "",
      "Example:",
      "  shardtide models list --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --json"
    },
    mixinStandardHelpOptions = true)
final class ModelsCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "Missing subcommand: list, compare, promote or rollback");
  }

  @Command(
      name = "list",
      description =
          "Lists which models took over, when and why; the last one of each hardware is current.",
      footer = {
        "",
        "Example:",
        "  shardtide models list --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 --json"
      },
      mixinStandardHelpOptions = true)
  int list(
      @Mixin ClusterOption cluster,
      @Option(names = "--json", description = "Print it as JSON instead of a table.")
          boolean asJson,
      @Option(names = "--out", paramLabel = "FILE", description = "Also write it as JSON.")
          Path out)
      throws IOException {
    cluster.check(spec);
    try (ClusterOption.Connection connection = cluster.connect(Optional.empty(), () -> {})) {
      ModelHistory history = ModelHistory.read(connection);
      TextTable table =
          new TextTable(
              "hardware", "model", "since", "current", " samples", " error", "plans lose", "why");
      ArrayNode json = JsonNodeFactory.instance.arrayNode();
      history
          .all()
          .forEach(
              (hardware, all) -> {
                for (int i = 0; i < all.size(); i++) {
                  show(history, all.get(i), i + 1 == all.size(), table, json);
                }
              });
      print(asJson ? JsonText.pretty(json) : table.toString());
      write(out, json);
    }
    return 0;
  }

  private static void show(
      ModelHistory history,
      ModelHistory.Takeover takeOver,
      boolean predicts,
      TextTable table,
      ArrayNode json) {
    ModelBundle bundle = takeOver.bundle();
    Optional<ModelDecision> decision = history.decision(bundle);
    OptionalDouble error =
        decision.isPresent()
            ? decision.get().challengerRecentError()
            : bundle.card().errors().containsKey("test.compute.mape")
                ? OptionalDouble.of(bundle.card().errors().get("test.compute.mape"))
                : OptionalDouble.empty();
    String why =
        decision
            .map(d -> bundle.describe(d.trigger() + ": " + d.reason()))
            .orElse(bundle.describe());
    table.add(
        bundle.hardware(),
        bundle.shown(),
        takeOver.at().truncatedTo(ChronoUnit.SECONDS).toString(),
        predicts ? "yes" : "",
        "%,d".formatted(bundle.card().computeSamples()),
        error.isPresent() ? "%.2f%%".formatted(100 * error.getAsDouble()) : "",
        decision.map(ModelsCommand::planLoss).orElse(""),
        why);
    ObjectNode node =
        json.addObject()
            .put("hardware", bundle.hardware())
            .put("model", bundle.modelId())
            .put("since", takeOver.at().toString())
            .put("predicts", predicts)
            .put("compute_samples", bundle.card().computeSamples())
            .put("why", why);
    bundle.describeOrigin().ifPresent(text -> node.put("origin", text));
    bundle.describeLinks().ifPresent(text -> node.put("links", text));
    bundle.describeCaches().ifPresent(text -> node.put("caches", text));
    error.ifPresent(e -> node.put("error", e));
    decision.ifPresent(
        d -> {
          d.championPlanLoss().ifPresent(loss -> node.put("champion_plan_loss", loss));
          d.challengerPlanLoss().ifPresent(loss -> node.put("plan_loss", loss));
        });
  }

  /** Returns what plans lose by the errors of the model before and of the new one, as text. */
  static String planLoss(ModelDecision decision) {
    return decision.championPlanLoss().isPresent() && decision.challengerPlanLoss().isPresent()
        ? "%.1f%% -> %.1f%%"
            .formatted(
                100 * decision.championPlanLoss().getAsDouble(),
                100 * decision.challengerPlanLoss().getAsDouble())
        : "";
  }

  @Command(
      name = "compare",
      description =
          "Shows the errors of two models of one hardware on the training samples in the log.",
      footer = {
        "",
        "Example:",
        "  shardtide models compare --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 4f3c2a1b9d 0a1b2c3d4e"
      },
      mixinStandardHelpOptions = true)
  int compare(
      @Mixin ClusterOption cluster,
      @Parameters(paramLabel = "ID", description = "The beginning of a model's id.") String one,
      @Parameters(paramLabel = "ID", description = "The beginning of the other model's id.")
          String other,
      @Option(
              names = "--samples",
              paramLabel = "N",
              defaultValue = "5000",
              description = "Number of newest samples to use. Default: ${DEFAULT-VALUE}.")
          int most,
      @Option(names = "--json", description = "Print it as JSON instead of a table.")
          boolean asJson,
      @Option(names = "--out", paramLabel = "FILE", description = "Also write it as JSON.")
          Path out)
      throws IOException {
    cluster.check(spec);
    if (most < 1) {
      throw new ParameterException(
          spec.commandLine(), "--samples must be at least 1, got %d".formatted(most));
    }
    try (ClusterOption.Connection connection = cluster.connect(Optional.empty(), () -> {})) {
      ModelHistory history = ModelHistory.read(connection);
      List<ModelBundle> bundles = List.of(history.model(one), history.model(other));
      if (!bundles.get(0).hardware().equals(bundles.get(1).hardware())) {
        throw new RefusedException(
            "Models must be for the same hardware: %s is for \"%s\", %s for \"%s\""
                .formatted(
                    bundles.get(0).shown(),
                    bundles.get(0).hardware(),
                    bundles.get(1).shown(),
                    bundles.get(1).hardware()));
      }
      List<CostSample> samples = samples(connection, bundles.get(0).hardware());
      samples = samples.subList(Math.max(0, samples.size() - most), samples.size());
      if (samples.isEmpty()) {
        throw new RefusedException(
            "No training samples of hardware \"%s\" in the log; expected hardware that trainers have measured"
                .formatted(bundles.get(0).hardware()));
      }
      SortedMap<String, Double> first = errors(bundles.get(0), samples);
      SortedMap<String, Double> second = errors(bundles.get(1), samples);
      TextTable table =
          new TextTable("error", " " + bundles.get(0).shown(), " " + bundles.get(1).shown());
      ObjectNode json = JsonNodeFactory.instance.objectNode().put("samples", samples.size());
      first.forEach(
          (name, error) -> {
            table.add(
                name, "%.2f%%".formatted(100 * error), "%.2f%%".formatted(100 * second.get(name)));
            json.putObject(name)
                .put(bundles.get(0).modelId(), error)
                .put(bundles.get(1).modelId(), second.get(name));
          });
      print(
          asJson
              ? JsonText.pretty(json)
              : "On the newest %,d samples:%n%s".formatted(samples.size(), table));
      write(out, json);
    }
    return 0;
  }

  private static List<CostSample> samples(ClusterOption.Connection connection, String hardware)
      throws IOException {
    List<CostSample> samples = new ArrayList<>();
    connection
        .records()
        .readNow(
            connection.topics().of(TRAINING_SAMPLES),
            (sample, at) -> {
              if (sample.hardware().equals(hardware) && isValid(sample)) {
                samples.add(sample);
              }
            });
    return samples;
  }

  private static boolean isValid(CostSample sample) {
    try {
      SampleCheck.check(sample);
      return true;
    } catch (RejectedException e) {
      return false;
    }
  }

  /** Returns the mean relative error of each measured quantity. */
  private static SortedMap<String, Double> errors(ModelBundle bundle, List<CostSample> samples) {
    Evaluation evaluation;
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      evaluation = Evaluation.of(new CostModel(bundle), towers, SampleSet.of(samples));
    }
    SortedMap<String, Double> errors = new TreeMap<>();
    if (!evaluation.computations().isEmpty()) {
      errors.put("computation", Accuracy.ofComputations(evaluation.computations()).mape());
    }
    evaluation.collectives().stream()
        .collect(
            Collectors.groupingBy(
                c -> "%s of %d".formatted(c.sample().shown(), c.sample().devices()),
                TreeMap::new,
                Collectors.toList()))
        .forEach((name, list) -> errors.put(name, Accuracy.ofCollectives(list).mape()));
    return errors;
  }

  @Command(
      name = "promote",
      description = "Makes a model the current one; its workloads are predicted and planned again.",
      footer = {
        "",
        "Example:",
        "  shardtide models promote --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 4f3c2a1b9d"
      },
      mixinStandardHelpOptions = true)
  int promote(
      @Mixin ClusterOption cluster,
      @Parameters(
              paramLabel = "ID",
              description =
                  "The beginning of the id of a model in the log or a shipped one, or the file of a"
                      + " model; ./ID is a file.")
          String id)
      throws IOException {
    cluster.check(spec);
    Path file = Path.of(id);
    try (ClusterOption.Connection connection = cluster.connect(Optional.empty(), () -> {})) {
      print(
          (!id.matches("[0-9a-f]+") && Files.isRegularFile(file)
                  ? ModelChoice.promote(connection, file)
                  : ModelChoice.promote(connection, id))
              + System.lineSeparator());
    }
    return 0;
  }

  @Command(
      name = "rollback",
      description =
          "Makes the previous model the current one; its workloads are predicted and planned"
              + " again.",
      footer = {
        "",
        "Example:",
        "  shardtide models rollback --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 --hardware h100"
      },
      mixinStandardHelpOptions = true)
  int rollback(
      @Mixin ClusterOption cluster,
      @Option(
              names = "--hardware",
              required = true,
              paramLabel = "NAME",
              description = "Hardware of the model.")
          String hardware)
      throws IOException {
    cluster.check(spec);
    try (ClusterOption.Connection connection = cluster.connect(Optional.empty(), () -> {})) {
      print(ModelChoice.rollback(connection, hardware) + System.lineSeparator());
    }
    return 0;
  }

  private void print(String text) {
    spec.commandLine().getOut().print(text);
  }

  private static void write(Path out, com.fasterxml.jackson.databind.JsonNode json)
      throws IOException {
    if (out != null) {
      OutputFile.write(out, JsonText.pretty(json));
    }
  }
}
