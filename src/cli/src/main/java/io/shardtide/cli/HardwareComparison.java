package io.shardtide.cli;

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
import java.util.Optional;
import java.util.Set;
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

  /**
   * A workload on a hardware.
   *
   * @param plan what its plan takes; empty if there is none
   * @param shortfall what it lacks, if there is no plan
   */
  private record Row(
      String task,
      String hardware,
      String model,
      boolean simulated,
      int devices,
      long usableBytesPerDevice,
      boolean mustFit,
      Optional<Planned> plan,
      Optional<Shortfall> shortfall) {
    /** Returns the workload and the hardware, for sentences. */
    String where() {
      return Printable.of("%s on %s".formatted(task, hardware));
    }
  }

  /**
   * What a plan takes.
   *
   * @param aboveBound how far the step is above the lower bound, as a share of the bound
   * @param fullestDevice the first device that has the largest share of its memory filled
   */
  private record Planned(
      double predictedMs,
      double lowerBoundMs,
      double aboveBound,
      Bottleneck bottleneck,
      int fullestDevice,
      long fullestDeviceBytes,
      long fullestDeviceUsableBytes) {
    static Planned of(SearchResult.Found found, UsableMemory memory) {
      Insight insight = found.insight().orElseThrow();
      int fullest =
          IntStream.range(0, found.deviceCosts().size())
              .boxed()
              .max(
                  Comparator.<Integer>comparingDouble(
                          d -> found.deviceCosts().get(d).memoryBytes() / (double) memory.bytes(d))
                      .thenComparing(Comparator.reverseOrder()))
              .orElseThrow();
      return new Planned(
          found.predictedMs(),
          insight.lowerBoundMs(),
          PlanText.aboveBound(found.predictedMs(), insight),
          insight.bottleneck(),
          fullest,
          found.deviceCosts().get(fullest).memoryBytes(),
          memory.bytes(fullest));
    }
  }

  /**
   * Adds the plan of a workload on a hardware, that of its cluster.
   *
   * @param model the model that predicted it
   * @param result what the search found
   */
  void add(WorkloadTask task, PlanModels.PlanModel model, SearchResult result) {
    ClusterSpec cluster = task.cluster();
    rows.add(
        new Row(
            task.name(),
            cluster.hardware(),
            model.cost().bundle().modelId(),
            model.cost().bundle().card().simulated(),
            cluster.devices(),
            cluster.usableMemory().bytesPerDevice(),
            mustFit.contains(cluster.hardware()),
            result instanceof SearchResult.Found found
                ? Optional.of(Planned.of(found, cluster.usableMemory()))
                : Optional.empty(),
            result instanceof SearchResult.NotFound not
                ? Optional.of(not.shortfall())
                : Optional.empty()));
  }

  /** Prints the table, and below it a line for each workload that does not fit; or the rows. */
  void print(PrintOption on) {
    on.printAll(rows, this::table);
  }

  private Printed table() {
    Printed out = new Printed();
    out.table(
        new Table<>(rows)
            .left("workload", Row::task)
            .left("hardware", Row::hardware)
            .left("fits", row -> row.shortfall().map(HardwareComparison::fits).orElse("yes"))
            .right("step ms", "%.3f", row -> row.plan().map(Planned::predictedMs))
            .right("bound ms", "%.3f", row -> row.plan().map(Planned::lowerBoundMs))
            .percent("above", row -> row.plan().map(Planned::aboveBound))
            .left("bottleneck", row -> row.plan().map(p -> PlanText.bottleneck(p.bottleneck())))
            .right("fullest GiB", "%.2f", row -> row.plan().map(p -> p.fullestDeviceBytes() / GIB))
            .right("of GiB", "%.2f", HardwareComparison::memoryGib));
    for (Row row : rows) {
      row.shortfall().ifPresent(s -> out.line("does not fit: %s: %s", row.where(), s.message()));
    }
    String simulated =
        rows.stream()
            .filter(Row::simulated)
            .map(Row::hardware)
            .distinct()
            .sorted()
            .collect(Collectors.joining(", "));
    if (!simulated.isEmpty()) {
      out.line("simulated costs: %s", simulated);
    }
    return out;
  }

  private static double memoryGib(Row row) {
    return row.plan().map(Planned::fullestDeviceUsableBytes).orElse(row.usableBytesPerDevice())
        / GIB;
  }

  private static String fits(Shortfall shortfall) {
    return "no"
        + (shortfall.bytesShort() == 0
            ? ""
            : ", %s short".formatted(ByteSizes.describe(shortfall.bytesShort())))
        + (shortfall.proven() ? "" : " (not proven)");
  }

  /**
   * Says on standard error which workloads must fit and do not.
   *
   * @return whether there are none
   */
  boolean reportMustFit(PrintOption on) {
    List<Row> required = rows.stream().filter(Row::mustFit).toList();
    List<String> missing =
        required.stream().filter(row -> row.shortfall().isPresent()).map(Row::where).toList();
    if (!missing.isEmpty()) {
      on.error(
          "%,d of %,d plans that --must-fit names do not fit: %s"
              .formatted(missing.size(), required.size(), String.join(", ", missing)));
    }
    return missing.isEmpty();
  }
}
