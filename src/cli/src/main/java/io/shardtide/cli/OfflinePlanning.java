package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TableShapes;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.SearchSettings;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.UsableMemory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/** Plans tasks one after another, writes the plans, and reports on them. Single-use. */
final class OfflinePlanning {
  private final PlanModels models;
  private final SearchSettings settings;
  private final RangeWarnings warnings = new RangeWarnings();
  private final Set<String> limitedModels = new TreeSet<>();
  private final List<CacheMisses> guessedCaches = new ArrayList<>();
  private boolean isSimulated;
  private int feasible;

  /** Plans with codecs, and what those save in all of them. */
  private int compressed;

  private double savedMs;
  private String firstReason = "";
  private double totalMs;
  private double totalSeconds;
  private long totalEvaluations;

  /**
   * @param settings the budget of each task's search, and its other settings
   */
  OfflinePlanning(PlanModels models, SearchSettings settings) {
    this.models = models;
    this.settings = settings;
  }

  /**
   * Plans tasks whose hardware has a model, and returns how many have a plan.
   *
   * @param out where plans are written; empty: nowhere
   * @param each takes each task and what was found
   */
  int plan(
      List<WorkloadTask> tasks,
      Optional<Path> out,
      LateBar bar,
      BiConsumer<WorkloadTask, SearchResult> each)
      throws IOException {
    try (bar;
        JsonLinesFile file = out.isPresent() ? new JsonLinesFile(out.get()) : null) {
      long done = 0;
      for (WorkloadTask task : tasks) {
        ObjectNode line = JsonNodeFactory.instance.objectNode().put("task", task.name());
        each.accept(task, plan(task, line));
        if (file != null) {
          file.write(line);
        }
        bar.show(++done, tasks.size());
      }
      if (file != null) {
        file.complete();
      }
    }
    return feasible;
  }

  private SearchResult plan(WorkloadTask task, ObjectNode line) {
    ClusterSpec cluster = task.cluster();
    putMadeFor(line, cluster);
    PlanModels.PlanModel model = models.of(cluster.hardware());
    long start = System.nanoTime();
    GroupedProblem problem = new GroupedProblem(predictions(model, task), cluster, model.cost());
    SearchResult result = GroupSearch.search(problem, settings);
    double seconds = (System.nanoTime() - start) / 1e9;
    warnings.add(model.cost(), cluster, problem.tables());
    isSimulated |= model.cost().bundle().card().simulated();
    totalSeconds += seconds;
    totalEvaluations += result.evaluations();
    if (result instanceof SearchResult.Found found) {
      feasible++;
      ClusterSpec group = found.collectives().cluster();
      warnings.addShards(model.cost(), task.tables(), found.shards(), group);
      totalMs += found.predictedMs();
      line.put("feasible", true);
      line.put("predicted_ms", found.predictedMs());
      line.put("seconds", seconds);
      line.put("evaluations", result.evaluations());
      PlanLine.putMemory(
          line, group, found.deviceCosts().stream().mapToLong(DeviceCost::memoryBytes));
      PlanLine.putShards(line, new WorkloadTask(task.name(), task.tables(), group), found.shards());
      PlanLine.putReplication(line, found.replication(), cluster);
      List<CollectiveCodec> codecs = found.collectives().codecs();
      PlanLine.putCodecs(line, codecs);
      compressed += codecs.isEmpty() ? 0 : 1;
      savedMs += codecs.stream().mapToDouble(CollectiveCodec::savedMs).sum();
      TableShapes.cacheMisses(task.tables(), found.shards(), group).stream()
          .filter(misses -> !misses.reservation().isEmpty())
          .forEach(guessedCaches::add);
    } else if (result instanceof SearchResult.NotFound notFound) {
      line.put("feasible", false);
      line.put("seconds", seconds);
      line.put("evaluations", result.evaluations());
      line.put("reason", notFound.shortfall().message());
      firstReason = firstReason.isEmpty() ? notFound.shortfall().message() : firstReason;
      line.put("bytes_short", notFound.shortfall().bytesShort());
    }
    return result;
  }

  /** Adds the hardware and the memory for shards, with which readers compare theirs. */
  private static void putMadeFor(ObjectNode line, ClusterSpec cluster) {
    UsableMemory memory = cluster.usableMemory();
    line.put("hardware", cluster.hardware());
    line.put("memory_bytes_per_device", memory.bytesPerDevice());
    if (!memory.byDevice().isEmpty()) {
      ArrayNode others = line.putArray("memory_bytes_by_device");
      memory
          .byDevice()
          .forEach((device, bytes) -> others.addObject().put("device", device).put("bytes", bytes));
    }
  }

  private List<TablePrediction> predictions(PlanModels.PlanModel model, WorkloadTask task) {
    ClusterSpec cluster = task.cluster();
    if (!model.cost().predictsAllKinds()) {
      limitedModels.add(
          "%s of %s".formatted(model.cost().bundle().shown(), Printable.of(cluster.hardware())));
    }
    return model.towers().predict(task.tables(), cluster);
  }

  /** Prints what is to be known of the predictions of all plans. */
  void printWarnings(PrintOption on) {
    limitedModels.forEach(
        model ->
            on.warn(
                "model %s lacks measured collectives; its tables are only cut by columns, not by rows or copied"
                    .formatted(model)));
    if (!guessedCaches.isEmpty()) {
      CacheMisses first = guessedCaches.get(0);
      on.warn(
          "%,d cached tables lack an access CDF, so that their caches are sized less well: %s (%s)%s"
              .formatted(
                  guessedCaches.size(),
                  first.table(),
                  first.reservation(),
                  guessedCaches.size() > 1 ? ", ..." : ""));
    }
    warnings.print(on);
  }

  /** Prints warnings and a summary. */
  void report(PrintOption on, int tasks, Path file) {
    printWarnings(on);
    if (feasible == 0) {
      on.error("none of %d tasks fits; the first: %s".formatted(tasks, firstReason));
    }
    ObjectNode summary =
        JsonNodeFactory.instance
            .objectNode()
            .put("tasks", tasks)
            .put("feasible", feasible)
            .put("simulated", isSimulated)
            .put("plans", file.toString());
    if (feasible > 0) {
      summary
          .put("mean_predicted_ms", totalMs / feasible)
          .put("mean_seconds", totalSeconds / tasks)
          .put("mean_evaluations", (double) totalEvaluations / tasks);
    }
    on.print(summary, () -> text(tasks, file));
  }

  private String text(int tasks, Path file) {
    if (feasible == 0) {
      return "0 of %d tasks planned; reasons in %s%n".formatted(tasks, file);
    }
    String planned =
        "%d of %d tasks planned; on average a predicted step of %.3f ms%s, found in %.3f s; plans in %s%n"
            .formatted(
                feasible,
                tasks,
                totalMs / feasible,
                isSimulated ? " (the cost model was trained on simulated costs)" : "",
                totalSeconds / tasks,
                file);
    return compressed == 0
        ? planned
        : planned
            + "codecs in %d of %d plans, which save %.3f ms a step on average%n"
                .formatted(compressed, feasible, savedMs / compressed);
  }
}
