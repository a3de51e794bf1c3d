package io.shardtide.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.neuroshard.TableConfigs;
import io.shardtide.neuroshard.Task;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import io.shardtide.torchrec.TorchRecPlans;
import java.io.BufferedWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Offline planning: files in, files out, no Kafka. */
@Command(
    name = "plan",
    description = "Plans sharding tasks from files in NeuroShard's layout, without Kafka.",
    mixinStandardHelpOptions = true)
final class PlanCommand implements Callable<Integer> {
  private static final double GIB = 1L << 30;

  @Spec private CommandSpec spec;

  @Option(
      names = "--tables",
      required = true,
      paramLabel = "FILE",
      description =
          "table_configs.json: a list of objects with row, pooling_factor, bin_0 to bin_16.")
  private Path tables;

  @Option(
      names = "--tasks",
      required = true,
      paramLabel = "FILE",
      description = "Tasks, one a line: id,id,... dim,dim,...")
  private Path tasks;

  @Option(
      names = "--devices",
      required = true,
      paramLabel = "N",
      description = "Number of devices, 1 to 16384.")
  private int devices;

  @Option(
      names = "--memory-gib",
      required = true,
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
      names = "--out",
      required = true,
      paramLabel = "FILE",
      description = "Where to write the plans, one JSON object a line.")
  private Path out;

  @Option(
      names = "--format",
      paramLabel = "NAME",
      defaultValue = "json",
      description = {
        "How plans are written: json or torchrec. Default: ${DEFAULT-VALUE}.",
        "torchrec is what src/main/python/shardtide_torchrec.py makes a ShardingPlan of; a table is named by its position in the task."
      })
  private Format format;

  @Mixin private ModelOption model;
  @Mixin private TorchRecOption torchRec;

  /** How plans are written. */
  enum Format {
    /** Shards by their devices. */
    JSON,
    /** Shardings by their tables, in TorchRec's words. */
    TORCHREC
  }

  /** Tables outside the training range that are named; the others are counted. */
  private static final int NAMED_PLACES = 3;

  private final Set<OutOfRange> outOfRange = new TreeSet<>(OutOfRange.ORDER);

  @Override
  public Integer call() throws Exception {
    TorchRecPlans torchRecPlans = torchRec.plans(format == Format.TORCHREC);
    ModelBundle bundle = model.load();
    List<Task> list = Task.read(tasks, TableConfigs.read(tables));
    ClusterSpec cluster =
        new ClusterSpec(
            devices, Math.round(memoryGib * GIB), batchSize, devices, bundle.hardware());
    CostModel costModel = new CostModel(bundle);
    ObjectMapper json = new ObjectMapper();
    json.getFactory().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
    int feasible = 0;
    double totalMs = 0;
    double totalSeconds = 0;
    if (out.toAbsolutePath().getParent() != null) {
      Files.createDirectories(out.toAbsolutePath().getParent());
    }
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle);
        BufferedWriter writer = Files.newBufferedWriter(out, StandardCharsets.UTF_8);
        ProgressBar bar = Progress.bar("Planning", list.size())) {
      for (int i = 0; i < list.size(); i++) {
        long start = System.nanoTime();
        SearchProblem problem =
            new SearchProblem(towers.predict(list.get(i).tables(), batchSize), cluster, costModel);
        problem.tables().forEach(table -> outOfRange.addAll(table.outOfRange()));
        SearchResult result = LocalSearch.search(problem, SearchSettings.DEFAULTS);
        double seconds = (System.nanoTime() - start) / 1e9;
        writer.write(json.writeValueAsString(toJson(json, i, seconds, result, torchRecPlans)));
        writer.newLine();
        totalSeconds += seconds;
        if (result instanceof SearchResult.Found found) {
          feasible++;
          totalMs += found.predictedMs();
        }
        bar.step();
      }
    }
    warnOutOfRange(spec.commandLine().getErr(), costModel.limits().ofCluster(cluster));
    PrintWriter report = spec.commandLine().getOut();
    report.printf(
        "%d of %d tasks planned; on average a predicted step of %.3f ms%s, found in %.3f s; plans in %s%n",
        feasible,
        list.size(),
        totalMs / Math.max(1, feasible),
        bundle.card().simulated() ? " (the cost model was trained on simulated costs)" : "",
        totalSeconds / list.size(),
        out);
    report.flush();
    return feasible > 0 ? ExitCode.OK : ExitCode.SOFTWARE;
  }

  /** The cluster's values come first: they concern every table. */
  private void warnOutOfRange(PrintWriter err, List<OutOfRange> ofCluster) {
    Stream.concat(ofCluster.stream(), outOfRange.stream().limit(NAMED_PLACES))
        .forEach(
            place ->
                err.printf(
                    "shardtide: warning: outside the cost model's training range: %s; predicted costs are extrapolated%n",
                    place.describe()));
    if (outOfRange.size() > NAMED_PLACES) {
      err.printf(
          "shardtide: warning: %,d more values are outside the training range%n",
          outOfRange.size() - NAMED_PLACES);
    }
    err.flush();
  }

  private ObjectNode toJson(
      ObjectMapper json,
      int task,
      double seconds,
      SearchResult result,
      TorchRecPlans torchRecPlans) {
    ObjectNode node = json.createObjectNode();
    node.put("task", task);
    if (result instanceof SearchResult.Found found) {
      node.put("feasible", true);
      node.put("predicted_ms", found.predictedMs());
      node.put("seconds", seconds);
      if (format == Format.TORCHREC) {
        return torchRecPlans.describe(node, found.shards(), found.deviceCosts().size());
      }
      ArrayNode perDevice = node.putArray("devices");
      found.deviceCosts().forEach(cost -> perDevice.addArray());
      for (Shard shard : found.shards()) {
        ((ArrayNode) perDevice.get(shard.device()))
            .addObject()
            .put("table", Integer.parseInt(shard.table()))
            .put("column_offset", shard.columnOffset())
            .put("columns", shard.columns());
      }
    } else if (result instanceof SearchResult.NotFound notFound) {
      node.put("feasible", false);
      node.put("seconds", seconds);
      node.put("reason", notFound.shortfall().message());
      node.put("bytes_short", notFound.shortfall().bytesShort());
    }
    return node;
  }
}
