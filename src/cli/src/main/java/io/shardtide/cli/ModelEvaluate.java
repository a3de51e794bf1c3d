package io.shardtide.cli;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.models.ModelFiles;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Evaluates a cost model on labelled samples. */
@Command(
    name = "evaluate",
    description =
        "Prints how well a cost model predicts labelled samples, and where it is off most.",
    footer = {
      "",
      "Examples:",
      "  shardtide model evaluate --samples samples --model h100.avro",
      "  shardtide model evaluate --published --model h100.avro"
    })
final class ModelEvaluate implements Callable<Integer> {
  private static final String PUBLISHED = "models/published/measurements.jsonl";
  private static final String WORKLOADS = "workloads.jsonl";

  @Mixin private PrintOption on;

  @Mixin private SamplesOption samples;

  @Mixin private ModelOption model;

  @Option(
      names = "--predictions",
      paramLabel = "FILE",
      description =
          "Also write measured and predicted milliseconds of each computation, one JSON object a"
              + " line.")
  private Path predictions;

  @Option(
      names = "--published",
      arity = "0..1",
      fallbackValue = PUBLISHED,
      paramLabel = "FILE",
      description =
          "Predict published figures instead, whose workloads are in workloads.jsonl beside them;"
              + " exit with 1 if one is wrong. Default: ${FALLBACK-VALUE}, and the model of h200.")
  private Path published;

  @Override
  public Integer call() throws Exception {
    if (published != null) {
      return evaluatePublished();
    }
    ModelBundle bundle = model.load();
    SampleSet set = samples.load();
    samples.problem(bundle.hardware()).ifPresent(on::warn);
    if (set.compute().stream().anyMatch(ComputeSample::hasCaches)) {
      bundle.describeCaches().ifPresent(text -> on.warn(text + "; they were not measured"));
    }
    Evaluation evaluation;
    Evaluation reuseOnly;
    Evaluation withoutUse;
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      CostModel cost = new CostModel(bundle);
      evaluation = Evaluation.of(cost, towers, set);
      reuseOnly = Evaluation.of(cost, towers, set.seenAs(TableSpec::withoutCdf));
      withoutUse = Evaluation.of(cost, towers, set.seenAs(TableSpec::withoutUse));
    }
    EvaluatedModel errors = EvaluatedModel.of(bundle, evaluation, reuseOnly, withoutUse);
    on.print(errors, errors::show);
    if (predictions != null) {
      write(evaluation);
    }
    return 0;
  }

  private int evaluatePublished() throws IOException {
    if (samples.isGiven() || predictions != null) {
      throw on.wrong("--published must be given without --samples and --predictions");
    }
    Path folder = published.toAbsolutePath().getParent();
    PublishedFigures figures =
        PublishedFigures.of(
            model.load(ModelFiles::shippedForH200),
            published,
            TextFiles.find(folder, WORKLOADS)
                .orElseThrow(() -> new MalformedFileException(folder, 0, "no " + WORKLOADS)),
            on.bar("Planning"));
    on.print(figures, figures::show);
    figures.wrong().forEach(row -> on.error("%s: %s".formatted(row.what(), row.verdict().label())));
    return figures.wrong().isEmpty() ? 0 : 1;
  }

  private void write(Evaluation evaluation) throws IOException {
    try (JsonLinesFile file = new JsonLinesFile(predictions)) {
      for (Evaluation.ComputePrediction computation : evaluation.computations()) {
        file.write(Computed.of(computation));
      }
      file.complete();
    }
  }

  /** What was measured and predicted of a computation; of directions where both are known. */
  private record Computed(
      int sample,
      int shards,
      double measuredMs,
      double predictedMs,
      OptionalDouble measuredForwardMs,
      OptionalDouble predictedForwardMs,
      int outOfRange) {
    static Computed of(Evaluation.ComputePrediction computation) {
      boolean isKnown = computation.forwardError().isPresent();
      return new Computed(
          computation.number(),
          computation.sample().shards().size(),
          computation.sample().computeMs(),
          computation.predictedMs(),
          isKnown ? computation.sample().forwardMs() : OptionalDouble.empty(),
          isKnown ? computation.predictedForwardMs() : OptionalDouble.empty(),
          computation.outOfRange().size());
    }
  }
}
