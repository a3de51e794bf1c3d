package io.shardtide.samples;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A workload to plan without Kafka. In a file of workloads it is a line; the format is in
 * docs/PLANNING.md, fields and defaults are those of events.
 *
 * @param name name of the task; its plan has it too
 * @param tables the tables, at least one, with unique names
 * @param cluster the devices
 */
public record WorkloadTask(String name, List<TableSpec> tables, ClusterSpec cluster) {
  private static final List<String> FIELDS = List.of("task", "cluster", "tables");

  /** Names that files had before they had those of events. */
  private static final Map<String, String> EARLIER_NAMES =
      Map.of(
          "least_columns", "leastColumns",
          "same_devices_as", "sameDevicesAs",
          "may_be_cached", "mayBeCached",
          "may_have_hot_rows", "mayHaveHotRows");

  /**
   * @throws IllegalArgumentException if there are no tables, two have the same name, or one must be
   *     on the devices of a table that there is not
   */
  public WorkloadTask {
    tables = tables.stream().map(table -> table.withOptimizerOf(cluster)).toList();
    if (tables.isEmpty()) {
      throw new IllegalArgumentException("tables must have at least one table, got none");
    }
    Map<String, Integer> positions = new HashMap<>();
    for (int t = 0; t < tables.size(); t++) {
      Integer same = positions.putIfAbsent(tables.get(t).name(), t);
      if (same != null) {
        throw new IllegalArgumentException(
            "tables[%s]: name must be unique, got \"%s\" as in tables[%s]"
                .formatted(t, tables.get(t).name(), same));
      }
    }
    for (int t = 0; t < tables.size(); t++) {
      String leader = tables.get(t).constraints().sameDevicesAs().orElse(tables.get(t).name());
      if (!positions.containsKey(leader)) {
        throw new IllegalArgumentException(
            "tables[%s]: constraints: sameDevicesAs must be the name of a table, got \"%s\""
                .formatted(t, leader));
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
    TextFiles.readLines(file, line -> tasks.add(task(JsonFields.parse(line))));
    if (tasks.isEmpty()) {
      throw new MalformedFileException(
          file,
          0,
          "no workloads; expected lines of the form"
              + " {\"task\":\"..\",\"cluster\":{..},\"tables\":[{..},..]}");
    }
    return tasks;
  }

  private static WorkloadTask task(JsonFields json) {
    json.checkNames(FIELDS);
    return new WorkloadTask(
        json.text("task"),
        json.objects("tables", WorkloadTask::table),
        json.object("cluster", WorkloadTask::cluster));
  }

  private static TableSpec table(JsonFields json) {
    json.checkNames(TableSpec.class);
    TableSpec table = SampleTables.table(json);
    return TableSpecBuilder.builder(table)
        .columns((int) json.wholeNumber("columns", TableSpec.COLUMN_UNIT, TableSpec.MAX_COLUMNS))
        .bytesPerElement(json.number("bytesPerElement", table.bytesPerElement()))
        .optimizerBytesPerElement(
            json.number("optimizerBytesPerElement", table.optimizerBytesPerElement()))
        .optimizerBytesPerRow(json.number("optimizerBytesPerRow", table.optimizerBytesPerRow()))
        .constraints(
            json.optionalObject("constraints", WorkloadTask::constraints)
                .orElse(TableConstraints.NONE))
        .pooled(json.flag("pooled", true))
        .optimizer(json.optionalText("optimizer").map(Optimizer::of))
        .enforceHbm(json.flag("enforceHbm", false))
        .idWeights(json.optionalText("idWeights").map(IdWeights::of))
        .kernel(json.optionalObject("kernel", WorkloadTask::kernel).orElse(TableKernel.NONE))
        .storage(json.optionalObject("storage", WorkloadTask::storage))
        .build();
  }

  private static HashedStorage storage(JsonFields json) {
    json.checkNames(HashedStorage.class);
    HashedStorage plain = HashedStorage.PLAIN;
    return new HashedStorage(
        json.wholeNumber("ids", 0, HashedStorage.MAX_IDS, plain.ids()),
        json.number("idsPerDay", plain.idsPerDay()),
        json.number("slotBytes", plain.slotBytes()),
        json.optionalText("eviction").map(Eviction::of).orElse(plain.eviction()),
        new AccessCdf(json.optionalNumbers("hitShares")),
        json.optionalText("resizeReason"));
  }

  private static TableKernel kernel(JsonFields json) {
    json.checkNames(TableKernel.class);
    return new TableKernel(
        json.optionalText("computeKernel").map(ComputeKernel::of),
        json.optionalNumber("cacheLoadFactor"),
        json.optionalText("cacheAlgorithm").map(CacheAlgorithm::of),
        json.optionalText("outputType").map(OutputType::of),
        json.has("stochasticRounding")
            ? Optional.of(json.flag("stochasticRounding", true))
            : Optional.empty());
  }

  private static TableConstraints constraints(JsonFields given) {
    JsonFields json = given.renamed(EARLIER_NAMES);
    json.checkNames(TableConstraints.class);
    return new TableConstraints(
        TableConstraints.kindsOf(json.optionalTexts("kinds")),
        (int) json.wholeNumber("leastColumns", 0, TableSpec.MAX_COLUMNS, 0),
        json.optionalText("sameDevicesAs"),
        json.flag("mayBeCached", true),
        json.flag("mayHaveHotRows", true));
  }

  private static ClusterSpec cluster(JsonFields json) {
    json.checkNames(ClusterSpec.class);
    int devices = (int) json.wholeNumber("devices", 1, ClusterSpec.MAX_DEVICES);
    long memory = json.wholeNumber("memoryBytesPerDevice", 1, ClusterSpec.MAX_MEMORY_BYTES);
    return new ClusterSpec(
        devices,
        memory,
        json.wholeNumber("batchSize", 1),
        (int) json.wholeNumber("devicesPerNode", 1, Integer.MAX_VALUE, devices),
        json.text("hardware"),
        json.wholeNumber("hostMemoryBytesPerDevice", 0, ClusterSpec.MAX_MEMORY_BYTES, 0),
        json.wholeNumber("reservedMemoryBytesPerDevice", 0, memory - 1, 0),
        json.flag("countsStepMemory", false),
        json.number("forwardBytesPerElement", ClusterSpec.DEFAULT_WIRE_BYTES),
        json.number("backwardBytesPerElement", ClusterSpec.DEFAULT_WIRE_BYTES),
        json.has("replicaGroups") ? json.wholeNumbers("replicaGroups") : ClusterSpec.ONE_GROUP,
        (int) json.wholeNumber("synchronizationSteps", 1, ClusterSpec.MAX_SYNCHRONIZATION_STEPS, 1),
        json.optionalObjects("codecs", WorkloadTask::codec),
        json.optionalText("optimizer").map(Optimizer::of),
        json.optionalText("pipeline").map(TrainingPipeline::of),
        json.optionalObjects("memoryBytesByDevice", of -> memory(of, devices)),
        (int) json.wholeNumber("devicesPerHost", 0, Integer.MAX_VALUE, 0));
  }

  private static DeviceMemory memory(JsonFields json, int devices) {
    json.checkNames(DeviceMemory.class);
    return new DeviceMemory(
        (int) json.wholeNumber("device", 0, devices - 1),
        json.wholeNumber("bytes", 1, ClusterSpec.MAX_MEMORY_BYTES));
  }

  private static CommCodec codec(JsonFields json) {
    json.checkNames(CommCodec.class);
    String name = json.text("name");
    return new CommCodec(
        name,
        CommCodec.directionsOf(name, json.optionalTexts("directions")),
        json.number("bytesPerElement"),
        json.number("gigabytesPerSecond", 0),
        json.number("density", 1),
        json.flag("canBeSummed", true));
  }
}
