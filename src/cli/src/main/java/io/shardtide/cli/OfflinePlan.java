package io.shardtide.cli;

import io.shardtide.files.MalformedFileException;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.torchrec.Target;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
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

  @Option(
      names = "--format",
      paramLabel = "NAME",
      defaultValue = "json",
      description = {
        "How plans are written: json or torchrec. Default: ${DEFAULT-VALUE}.",
        "torchrec is what the Python package shardtide.torchrec makes a ShardingPlan of."
      })
  private Format format;

  @Mixin private TorchRecOption torchRec;
  @Mixin private ModelOption model;

  /** How plans are written. */
  enum Format {
    /** Shards by their tables. */
    JSON,
    /** Shardings by their tables, in TorchRec's words. */
    TORCHREC
  }

  /**
   * Returns the models that predict.
   *
   * @param withShipped whether the shipped ones count beside given ones
   */
  final PlanModels models(boolean withShipped) throws IOException {
    return PlanModels.of(model.allGiven(), withShipped);
  }

  final PlanLayout layout() {
    if (on.isGiven("--devices-per-node")) {
      throw on.wrong("--devices-per-node must be left out: the workload's cluster says it");
    }
    Target target = torchRec.target(format == Format.TORCHREC);
    return format == Format.TORCHREC ? new PlanLayout.TorchRec(target) : new PlanLayout.ByTable();
  }

  /** What a workload must be before the first one is planned. */
  @FunctionalInterface
  interface WorkloadCheck {
    /** Throws an {@link IllegalArgumentException} if a workload cannot be planned. */
    void accept(WorkloadTask workload);
  }

  /**
   * Returns the workloads of the file as a layout has room for them. All are read and checked
   * before the first one is planned.
   *
   * @throws MalformedFileException if one cannot be read or planned
   */
  final List<WorkloadTask> workloads(PlanLayout layout, WorkloadCheck check) throws IOException {
    List<WorkloadTask> workloads = new ArrayList<>();
    for (WorkloadTask read : WorkloadTask.read(file)) {
      try {
        WorkloadTask workload =
            layout.prepare(read, why -> on.warn("%s: %s".formatted(read.name(), why)));
        check.accept(workload);
        workloads.add(workload);
      } catch (IllegalArgumentException e) {
        throw new MalformedFileException(file, workloads.size() + 1, e.getMessage());
      }
    }
    return workloads;
  }
}
