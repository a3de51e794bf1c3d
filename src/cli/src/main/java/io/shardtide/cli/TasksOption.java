package io.shardtide.cli;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.neuroshard.TableConfigs;
import io.shardtide.neuroshard.Task;
import io.shardtide.samples.WorkloadTask;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** The options that name tasks in NeuroShard's layout, and their cluster. */
final class TasksOption {
  /** The options of the command that must be given with them. */
  static final List<String> REQUIRED =
      List.of("--tables", "--tasks", "--devices", "--memory-gib", "--out");

  private static final double GIB = 1L << 30;

  @Option(
      names = "--tables",
      paramLabel = "FILE",
      description =
          "table_configs.json: a list of objects with row, pooling_factor, bin_0 to bin_16.")
  private Path tables;

  @Option(
      names = "--tasks",
      paramLabel = "FILE",
      description = "Tasks, one a line: id,id,... dim,dim,...")
  private Path tasks;

  @Option(names = "--devices", paramLabel = "N", description = "Number of devices, 1 to 16384.")
  private int devices;

  @Option(
      names = "--memory-gib",
      paramLabel = "G",
      description = "Memory of each device in GiB (2^30 bytes).")
  private double memoryGib;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      defaultValue = "65536",
      description = "Samples in a batch, over all devices. Default: ${DEFAULT-VALUE}.")
  private int batchSize;

  @Option(
      names = "--format",
      paramLabel = "NAME",
      defaultValue = "json",
      description = {
        "How plans are written: json or torchrec. Default: ${DEFAULT-VALUE}.",
        "torchrec is what the Python package shardtide.torchrec makes a ShardingPlan of; tables of --tasks are named by their position."
      })
  private Format format;

  /** How plans are written. */
  enum Format {
    /** Shards by their devices. */
    JSON,
    /** Shardings by their tables, in TorchRec's words. */
    TORCHREC
  }

  boolean isTorchRec() {
    return format == Format.TORCHREC;
  }

  /**
   * Returns the tasks, each named by its position.
   *
   * @param hardware name of the hardware
   * @throws io.shardtide.files.MalformedFileException if a file does not have its format
   * @throws io.shardtide.domain.RejectedException if a value of the cluster is outside its range
   */
  List<WorkloadTask> load(String hardware) throws IOException {
    List<Task> read = Task.read(tasks, TableConfigs.read(tables));
    ClusterSpec cluster =
        new ClusterSpec(devices, Math.round(memoryGib * GIB), batchSize, devices, hardware);
    List<WorkloadTask> named = new ArrayList<>();
    for (Task task : read) {
      named.add(new WorkloadTask(Integer.toString(named.size()), task.tables(), cluster));
    }
    return named;
  }
}
