package io.shardtide.cli;

import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.learn.SampleCheck;
import io.shardtide.replay.RefusedException;
import io.shardtide.workload.RejectedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lists cost models, compares them, selects the current one, trains and checks them. */
@Command(
    name = "model",
    description =
        "Lists, compares and selects the cost models in the log; trains and evaluates models.",
    subcommands = {ModelTrain.class, ModelEvaluate.class},
    footer = {"", "Example:", "  shardtide model list"})
final class ModelCommand {
  @Command(
      name = "list",
      description =
          "Lists which models took over, when and why; the last one of each hardware is current.",
      footer = {"", "Example:", "  shardtide model list -o json"})
  int list(@Mixin ClusterOption on) throws IOException {
    try (KafkaLogRecords log = new KafkaLogRecords(on.endpoint())) {
      on.print(ListedModel.table(ListedModel.of(ModelHistory.read(log))));
    }
    return 0;
  }

  @Command(
      name = "compare",
      description =
          "Shows the errors of two models of one hardware on the training samples in the log.",
      footer = {"", "Example:", "  shardtide model compare 4f3c2a1b9d 0a1b2c3d4e"})
  int compare(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "ID", description = "The beginning of a model's id.") String one,
      @Parameters(paramLabel = "ID", description = "The beginning of the other model's id.")
          String other,
      @Option(
              names = "--samples",
              paramLabel = "N",
              defaultValue = "5000",
              description = "Number of newest samples to use. Default: ${DEFAULT-VALUE}.")
          int most)
      throws IOException {
    if (most < 1) {
      throw on.wrong("--samples must be at least 1, got %d".formatted(most));
    }
    try (KafkaLogRecords log = new KafkaLogRecords(on.endpoint())) {
      ModelHistory history = ModelHistory.read(log);
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
      List<CostSample> samples = samples(log, bundles.get(0).hardware());
      samples = samples.subList(Math.max(0, samples.size() - most), samples.size());
      if (samples.isEmpty()) {
        throw new RefusedException(
            "No training samples of hardware \"%s\" in the log; expected hardware that trainers have measured"
                .formatted(bundles.get(0).hardware()));
      }
      Compared compared = new Compared(samples.size(), new TreeMap<>());
      for (ModelBundle bundle : bundles) {
        errors(bundle, samples)
            .forEach(
                (name, error) ->
                    compared
                        .errors()
                        .computeIfAbsent(name, of -> new LinkedHashMap<>())
                        .put(bundle.modelId(), error));
      }
      on.print(compared, () -> compared.show(bundles));
    }
    return 0;
  }

  /**
   * Errors of models.
   *
   * @param samples on how many samples
   * @param errors mean relative errors by measured quantity and model
   */
  private record Compared(int samples, SortedMap<String, Map<String, Double>> errors) {
    Printed show(List<ModelBundle> bundles) {
      Printed out = new Printed();
      out.line("On the newest %,d samples:", samples);
      Table<Map.Entry<String, Map<String, Double>>> table =
          new Table<>(errors.entrySet()).left("error", Map.Entry::getKey);
      for (ModelBundle of : bundles) {
        table.percent(of.shown(), e -> e.getValue().get(of.modelId()));
      }
      out.table(table);
      return out;
    }
  }

  private static List<CostSample> samples(KafkaLogRecords log, String hardware) throws IOException {
    List<CostSample> samples = new ArrayList<>();
    log.readNow(
        TRAINING_SAMPLES,
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
      footer = {"", "Example:", "  shardtide model promote 4f3c2a1b9d"})
  int promote(
      @Mixin ClusterOption on,
      @Parameters(
              paramLabel = "ID",
              description =
                  "The beginning of the id of a model in the log or a shipped one, or the file of a"
                      + " model; ./ID is a file.")
          String id)
      throws IOException {
    Path file = Path.of(id);
    try (KafkaLogRecords log = new KafkaLogRecords(on.endpoint())) {
      on.print(
          (!id.matches("[0-9a-f]+") && Files.isRegularFile(file)
                  ? ModelChoice.promote(log, file)
                  : ModelChoice.promote(log, id))
              + System.lineSeparator());
    }
    return 0;
  }

  @Command(
      name = "rollback",
      description =
          "Makes the previous model the current one; its workloads are predicted and planned"
              + " again.",
      footer = {"", "Example:", "  shardtide model rollback h100"})
  int rollback(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "HARDWARE", description = "Hardware of the model.") String hardware)
      throws IOException {
    try (KafkaLogRecords log = new KafkaLogRecords(on.endpoint())) {
      on.print(ModelChoice.rollback(log, hardware) + System.lineSeparator());
    }
    return 0;
  }
}
