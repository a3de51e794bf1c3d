package io.shardtide.cli;

import io.shardtide.files.MalformedFileException;
import io.shardtide.samples.WorkloadTask;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that predicts plans of workloads without Kafka: files in, files out. */
abstract class OfflinePlan implements Callable<Integer> {
  @Mixin PrintOption on;

  @Option(
      names = {"-f", "--file"},
      required = true,
      paramLabel = "FILE",
      description = "Workloads, one JSON object a line: task, cluster, tables.")
  private Path file;

  @Mixin private ModelOption model;

  /**
   * Returns the models that predict.
   *
   * @param withShipped whether the shipped ones count beside given ones
   */
  final PlanModels models(boolean withShipped) throws IOException {
    return PlanModels.of(model.allGiven(), withShipped);
  }

  /**
   * Returns the workloads of the file. All are read and checked before the first one is planned.
   *
   * @param check throws an {@link IllegalArgumentException} if a workload cannot be planned
   * @throws MalformedFileException if one cannot be read or planned
   */
  final List<WorkloadTask> workloads(Consumer<WorkloadTask> check) throws IOException {
    List<WorkloadTask> workloads = WorkloadTask.read(file);
    for (int i = 0; i < workloads.size(); i++) {
      try {
        check.accept(workloads.get(i));
      } catch (IllegalArgumentException e) {
        throw new MalformedFileException(file, i + 1, e.getMessage());
      }
    }
    return workloads;
  }
}
