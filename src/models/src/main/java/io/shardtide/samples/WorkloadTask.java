package io.shardtide.samples;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A workload to plan without Kafka. In a file of workloads it is a line; the format is in
 * docs/FILES.md, fields and defaults are those of events.
 *
 * @param name name of the task; its plan has it too
 * @param tables the tables, at least one, with unique names
 * @param cluster the devices
 */
public record WorkloadTask(String name, List<TableSpec> tables, ClusterSpec cluster) {
  /**
   * @throws IllegalArgumentException if there are no tables, two have the same name, or one must be
   *     on the devices of a table that there is not
   */
  public WorkloadTask {
    tables = tables.stream().map(table -> table.withDefaultOptimizer(cluster.optimizer())).toList();
    if (tables.isEmpty()) {
      throw new IllegalArgumentException("tables must have at least one table, got none");
    }
    Map<String, Integer> positions = new HashMap<>();
    for (TableSpec table : tables) {
      Integer same = positions.putIfAbsent(table.name(), positions.size());
      if (same != null) {
        throw new IllegalArgumentException(
            "tables[%s]: name must be unique, got \"%s\" as in tables[%s]"
                .formatted(positions.size(), table.name(), same));
      }
    }
    for (TableSpec table : tables) {
      String leader = table.constraints().sameDevicesAs().orElse(table.name());
      if (!positions.containsKey(leader)) {
        throw new IllegalArgumentException(
            "tables[%s]: constraints: sameDevicesAs must be the name of a table, got \"%s\""
                .formatted(positions.get(table.name()), leader));
      }
    }
  }

  /**
   * Reads a file of workloads, plain or gzip: the task at position i is on line i + 1.
   *
   * @throws MalformedFileException if a line is no such workload, or there is none
   * @throws IOException if the file cannot be read
   */
  public static List<WorkloadTask> read(Path file) throws IOException {
    List<WorkloadTask> tasks = new ArrayList<>();
    TextFiles.readLines(file, line -> tasks.add(parse(line)));
    if (tasks.isEmpty()) {
      throw new MalformedFileException(
          file,
          0,
          "no workloads; expected lines of the form"
              + " {\"task\":\"..\",\"cluster\":{..},\"tables\":[{..},..]}");
    }
    return tasks;
  }

  private static WorkloadTask parse(String line) {
    WorkloadSpec spec = JsonRecords.read(WorkloadSpec.class, JsonRecords.parse(line));
    JsonRecords.check(
        spec.cluster().isPresent(), "cluster", "an object", MissingNode.getInstance());
    return new WorkloadTask(spec.task(), spec.tables(), spec.cluster().orElseThrow());
  }
}
