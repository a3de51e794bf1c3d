package io.shardtide.cli;

import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.samples.WorkloadTask;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Plans workloads of a file. */
@Command(
    name = "make",
    description = "Plans workloads of a file, without Kafka.",
    footer = {
      "",
      "Examples:",
      "  shardtide plan make -f workloads.jsonl --out plans.jsonl",
      "  shardtide plan make -f workloads.jsonl \\",
      "    --hardware h200=141,simulated-8xh100=80 --must-fit all"
    })
final class PlanMake extends OfflinePlan {
  @Option(
      names = "--out",
      paramLabel = "FILE",
      description =
          "Where to write the plans, one JSON object a line; with --hardware it may be left out.")
  private Path out;

  @Option(
      names = "--evaluations-per-table",
      paramLabel = "N",
      description =
          "How long to search: evaluations (predictions of a device's cost) for each table, 1 to"
              + " 10000000; of up to 1,000 tables, and at least as many as 160 would have. More take"
              + " longer, for plans with shorter steps. Default: ${DEFAULT-VALUE}.")
  private long evaluationsPerTable = SearchSettings.DEFAULTS.evaluationsPerTable();

  @Mixin private HardwareOption hardware;

  @Override
  public Integer call() throws IOException {
    hardware.check();
    if (out == null && !hardware.isGiven()) {
      throw on.wrong("plan make needs --out FILE, or --hardware");
    }
    SearchSettings settings =
        SearchSettingsBuilder.builder(SearchSettings.DEFAULTS)
            .evaluationsPerTable(evaluationsPerTable)
            .build();
    try (PlanModels models = models(hardware.isGiven())) {
      OfflinePlanning planning = new OfflinePlanning(models, settings);
      if (hardware.isGiven()) {
        return compare(planning, models);
      }
      List<WorkloadTask> workloads =
          workloads(workload -> models.of(workload.cluster().hardware()));
      int feasible =
          planning.plan(workloads, Optional.of(out), on.bar("Planning"), (of, found) -> {});
      planning.report(on, workloads.size(), out);
      return feasible > 0 ? 0 : 1;
    }
  }

  private int compare(OfflinePlanning planning, PlanModels models) throws IOException {
    hardware.check(models);
    List<WorkloadTask> workloads = workloads(hardware::on);
    HardwareComparison comparison = new HardwareComparison(hardware.mustFit());
    planning.plan(
        workloads.stream().flatMap(of -> hardware.on(of).stream()).toList(),
        Optional.ofNullable(out),
        on.bar("Planning"),
        (of, found) -> comparison.add(of, models.of(of.cluster().hardware()), found));
    planning.printWarnings(on);
    comparison.print(on);
    return comparison.reportMustFit(on) ? 0 : 1;
  }
}
