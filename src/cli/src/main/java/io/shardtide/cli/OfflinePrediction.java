package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.plan.Shard;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.UsableMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Predicts the steps of given plans, writes them, and reports on them. Single-use. */
final class OfflinePrediction {
  private final PlanModels models;
  private final RangeWarnings warnings = new RangeWarnings();
  private boolean isSimulated;
  private int fitting;
  private double totalMs;

  OfflinePrediction(PlanModels models) {
    this.models = models;
  }

  /**
   * Predicts the plans of tasks whose hardware has a model.
   *
   * @param plans a file with a plan for each task, one a line
   * @throws MalformedFileException if a line is no such plan of its task
   */
  void predict(List<WorkloadTask> tasks, Path plans, Path out) throws IOException {
    List<GivenPlan> given = read(tasks, plans);
    try (JsonLinesFile file = new JsonLinesFile(out)) {
      for (GivenPlan plan : given) {
        ObjectNode line = JsonNodeFactory.instance.objectNode().put("task", plan.workload().name());
        predict(plan.workload(), plan.shards(), line);
        file.write(line);
      }
      file.complete();
    }
  }

  private List<GivenPlan> read(List<WorkloadTask> tasks, Path plans) throws IOException {
    List<GivenPlan> read = new ArrayList<>();
    TextFiles.readLines(
        plans,
        line -> {
          if (read.size() == tasks.size()) {
            throw new IllegalArgumentException(
                "there must be a plan for each of the %d workloads, got more"
                    .formatted(tasks.size()));
          }
          GivenPlan plan = GivenPlan.parse(line, tasks.get(read.size()));
          checkPredicted(plan);
          read.add(plan);
        });
    if (read.size() < tasks.size()) {
      throw new MalformedFileException(
          plans,
          0,
          "there must be a plan for each of the %d workloads, got %d"
              .formatted(tasks.size(), read.size()));
    }
    return read;
  }

  private void checkPredicted(GivenPlan plan) {
    PlanModels.PlanModel model = models.of(plan.workload().cluster().hardware());
    for (Shard shard : plan.shards()) {
      if (shard.kind().scope() != ShardScope.DEVICE && !model.cost().predictsAllKinds()) {
        throw new IllegalArgumentException(
            "Table \"%s\" is %s; model %s lacks measured collectives, and predicts tables only whose shards have all rows"
                .formatted(shard.table(), shard.kind().label(), model.cost().bundle().shown()));
      }
    }
  }

  private void predict(WorkloadTask task, List<Shard> shards, ObjectNode line) {
    ClusterSpec cluster = task.cluster();
    PlanModels.PlanModel model = models.of(cluster.hardware());
    warnings.add(model.cost(), cluster, model.towers().predict(task.tables(), cluster));
    warnings.addShards(model.cost(), task.tables(), shards, cluster);
    isSimulated |= model.cost().bundle().card().simulated();
    CostEvaluator evaluator = model.cost().evaluator();
    List<DeviceLoad> loads =
        StepCost.loads(task.tables(), shards, cluster, evaluator, model.towers());
    double predictedMs =
        StepCost.of(evaluator, StepCollectives.of(cluster), loads, Slowdowns.none(loads.size()))
            .predictedMs();
    totalMs += predictedMs;
    UsableMemory memory = cluster.usableMemory();
    int fullest = 0;
    for (int d = 1; d < loads.size(); d++) {
      fullest = bytesShort(loads, memory, d) > bytesShort(loads, memory, fullest) ? d : fullest;
    }
    long bytesShort = bytesShort(loads, memory, fullest);
    boolean isFitting = bytesShort <= 0;
    fitting += isFitting ? 1 : 0;
    line.put("feasible", isFitting).put("predicted_ms", predictedMs);
    if (!isFitting) {
      line.put(
          "reason",
          "Device %d needs %d bytes, and has %d usable"
              .formatted(fullest, loads.get(fullest).bytes(), memory.bytes(fullest)));
      line.put("bytes_short", bytesShort);
    }
    PlanLine.putMemory(line, cluster, loads.stream().mapToLong(DeviceLoad::bytes));
    PlanLine.putShards(line, task, shards);
  }

  private static long bytesShort(List<DeviceLoad> loads, UsableMemory memory, int device) {
    return loads.get(device).bytes() - memory.bytes(device);
  }

  /** Prints warnings and a summary. */
  void report(PrintOption on, int tasks, Path file) {
    warnings.print(on);
    ObjectNode summary =
        JsonNodeFactory.instance
            .objectNode()
            .put("tasks", tasks)
            .put("feasible", fitting)
            .put("simulated", isSimulated)
            .put("mean_predicted_ms", totalMs / tasks)
            .put("plans", file.toString());
    on.print(
        summary,
        () ->
            "%d plans predicted, %d fit into memory; on average a predicted step of %.3f ms%s; plans in %s%n"
                .formatted(
                    tasks,
                    fitting,
                    totalMs / tasks,
                    isSimulated ? " (the cost model was trained on simulated costs)" : "",
                    file));
  }
}
