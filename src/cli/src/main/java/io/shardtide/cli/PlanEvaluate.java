package io.shardtide.cli;

import io.shardtide.samples.WorkloadTask;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Predicts the steps of given plans. */
@Command(
    name = "evaluate",
    description = "Predicts the steps of given plans, without Kafka.",
    footer = {
      "",
      "Example:",
      "  shardtide plan evaluate -f workloads.jsonl --plans plans.jsonl \\",
      "    --out predicted.jsonl"
    })
final class PlanEvaluate extends OfflinePlan {
  @Option(
      names = "--plans",
      required = true,
      paramLabel = "FILE",
      description = {
        "For each workload a JSON object, one a line, as plan make writes them.",
        "shardtide-py convert makes them of plans of TorchRec."
      })
  private Path plans;

  @Option(
      names = "--out",
      required = true,
      paramLabel = "FILE",
      description = "Where to write what is predicted, one JSON object a line.")
  private Path out;

  @Override
  public Integer call() throws IOException {
    try (PlanModels models = models(false)) {
      List<WorkloadTask> workloads =
          workloads(workload -> models.of(workload.cluster().hardware()));
      OfflinePrediction prediction = new OfflinePrediction(models);
      prediction.predict(workloads, plans, out);
      prediction.report(on, workloads.size(), out);
    }
    return 0;
  }
}
