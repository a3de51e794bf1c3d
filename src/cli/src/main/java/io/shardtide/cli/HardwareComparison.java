package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.Insight;
import io.shardtide.plan.Shortfall;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What workloads take on several kinds of hardware, as a table or as JSON. */
final class HardwareComparison {
  private static final double GIB = 1L << 30;

  private final Set<String> mustFit;
  private final List<Row> rows = new ArrayList<>();

  /**
   * @param mustFit names of the hardware on which every workload must fit
   */
  HardwareComparison(Set<String> mustFit) {
    this.mustFit = Set.copyOf(mustFit);
  }

  private record Row(WorkloadTask task, String model, boolean isSimulated, SearchResult result) {
    String hardware() {
      return task.cluster().hardware();
    }

    /** Returns the workload and the hardware, for sentences. */
    String where() {
      return Printable.of("%s on %s".formatted(task.name(), hardware()));
    }
  }

  /**
   * Adds the plan of a workload on a hardware, that of its cluster.
   *
   * @param model the model that predicted it
   * @param result what the search found
   */
  void add(WorkloadTask task, PlanModels.PlanModel model, SearchResult result) {
    rows.add(
        new Row(
            task,
            model.cost().bundle().modelId(),
            model.cost().bundle().card().simulated(),
            result));
  }

  /** Returns the table, and below it a line for each workload that does not fit. */
  String table() {
    TextTable table =
        new TextTable(
            "workload",
            "hardware",
            "fits",
            " step ms",
            " bound ms",
            " above %",
            "bottleneck",
            " fullest GiB",
            " of GiB");
    StringBuilder below = new StringBuilder();
    for (Row row : rows) {
      UsableMemory memory = row.task().cluster().usableMemory();
      if (row.result() instanceof SearchResult.Found found) {
        Insight insight = insight(found);
        int fullest = fullest(found, memory);
        table.add(
            row.task().name(),
            row.hardware(),
            "yes",
            String.format(Locale.ROOT, "%.3f", found.predictedMs()),
            String.format(Locale.ROOT, "%.3f", insight.lowerBoundMs()),
            String.format(
                Locale.ROOT, "%.1f", 100 * PlanText.aboveBound(found.predictedMs(), insight)),
            bottleneck(insight.bottleneck()),
            number(found.deviceCosts().get(fullest).memoryBytes() / GIB),
            number(memory.bytes(fullest) / GIB));
      } else if (row.result() instanceof SearchResult.NotFound notFound) {
        Shortfall shortfall = notFound.shortfall();
        table.add(
            row.task().name(),
            row.hardware(),
            fits(shortfall),
            "",
            "",
            "",
            "",
            "",
            number(memory.bytesPerDevice() / GIB));
        below.append("does not fit: %s: ".formatted(row.where()));
        below.append(Printable.of(shortfall.message())).append('\n');
      }
    }
    Set<String> simulated =
        rows.stream()
            .filter(Row::isSimulated)
            .map(Row::hardware)
            .collect(Collectors.toCollection(TreeSet::new));
    if (!simulated.isEmpty()) {
      below.append(Printable.of("simulated costs: " + String.join(", ", simulated))).append('\n');
    }
    return table + below.toString();
  }

  private static String number(double gib) {
    return String.format(Locale.ROOT, "%.2f", gib);
  }

  private static String fits(Shortfall shortfall) {
    return "no"
        + (shortfall.bytesShort() == 0
            ? ""
            : ", %s short".formatted(ByteSizes.describe(shortfall.bytesShort())))
        + (shortfall.proven() ? "" : " (not proven)");
  }

  private static String bottleneck(Bottleneck bottleneck) {
    return "device %d, %s%s"
        .formatted(
            bottleneck.device(),
            PlanText.lower(bottleneck.cause()),
            bottleneck.table().isEmpty() ? "" : ", table " + bottleneck.table());
  }

  private static Insight insight(SearchResult.Found found) {
    return found
        .insight()
        .orElseThrow(() -> new IllegalStateException("A finished search has an insight"));
  }

  /** Returns the first device that has the largest share of its memory filled. */
  private static int fullest(SearchResult.Found found, UsableMemory memory) {
    return IntStream.range(0, found.deviceCosts().size())
        .boxed()
        .max(
            Comparator.<Integer>comparingDouble(
                    d -> found.deviceCosts().get(d).memoryBytes() / (double) memory.bytes(d))
                .thenComparing(Comparator.reverseOrder()))
        .orElseThrow();
  }

  /** Returns a JSON object for each workload and hardware. */
  List<ObjectNode> json() {
    return rows.stream().map(this::json).toList();
  }

  private ObjectNode json(Row row) {
    ClusterSpec cluster = row.task().cluster();
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("task", row.task().name())
            .put("hardware", row.hardware())
            .put("model", row.model())
            .put("simulated", row.isSimulated())
            .put("devices", cluster.devices())
            .put("usable_bytes_per_device", cluster.usableMemory().bytesPerDevice())
            .put("must_fit", mustFit.contains(row.hardware()))
            .put("feasible", row.result() instanceof SearchResult.Found);
    if (row.result() instanceof SearchResult.Found found) {
      Insight insight = insight(found);
      Bottleneck bottleneck = insight.bottleneck();
      int fullest = fullest(found, cluster.usableMemory());
      node.put("predicted_ms", found.predictedMs())
          .put("lower_bound_ms", insight.lowerBoundMs())
          .put("above_bound", PlanText.aboveBound(found.predictedMs(), insight));
      node.putObject("bottleneck")
          .put("device", bottleneck.device())
          .put("cause", bottleneck.cause().name().toLowerCase(Locale.ROOT))
          .put("table", bottleneck.table())
          .put("gain_ms", bottleneck.gainMs());
      node.put("fullest_device", fullest)
          .put("fullest_device_bytes", found.deviceCosts().get(fullest).memoryBytes())
          .put("fullest_device_usable_bytes", cluster.usableMemory().bytes(fullest));
    } else if (row.result() instanceof SearchResult.NotFound notFound) {
      Shortfall shortfall = notFound.shortfall();
      node.put("reason", shortfall.message())
          .put("bytes_short", shortfall.bytesShort())
          .put("proven", shortfall.proven());
    }
    return node;
  }

  /**
   * Says on standard error which workloads must fit and do not.
   *
   * @return whether there are none
   */
  boolean reportMustFit(PrintOption on) {
    List<Row> required = rows.stream().filter(row -> mustFit.contains(row.hardware())).toList();
    List<String> missing =
        required.stream()
            .filter(row -> row.result() instanceof SearchResult.NotFound)
            .map(Row::where)
            .toList();
    if (!missing.isEmpty()) {
      on.error(
          "%,d of %,d plans that --must-fit names do not fit: %s"
              .formatted(missing.size(), required.size(), String.join(", ", missing)));
    }
    return missing.isEmpty();
  }
}
