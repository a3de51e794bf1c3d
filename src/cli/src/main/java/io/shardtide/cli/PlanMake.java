package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.files.MalformedFileException;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.torchrec.Target;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** Offline planning: files in, files out, no Kafka. */
@Command(
    name = "plan",
    description = "Plans workloads of a file, without Kafka.",
    footer = {
      "",
      "Examples:",
      "  shardtide plan --workloads workloads.jsonl --out plans.jsonl",
      "  shardtide plan --workloads workloads.jsonl \\",
      "    --hardware h200=141,simulated-8xh100=80 --must-fit all"
    },
    mixinStandardHelpOptions = true)
final class PlanCommand implements Callable<Integer> {
  private static final String EVALUATIONS = "--evaluations-per-table";

  @Spec private CommandSpec spec;

  @Option(
      names = "--workloads",
      required = true,
      paramLabel = "FILE",
      description =
          "Workloads, one JSON object a line: task, cluster, tables. Their plans have shards of all"
              + " kinds.")
  private Path workloads;

  @Option(
      names = "--column-cuts",
      paramLabel = "NAME",
      hidden = true,
      description = "Must be equal: column parts of a table are of equal width.")
  private String columnCuts;

  @Option(
      names = "--predict",
      paramLabel = "FILE",
      description =
          "Predicts the steps of these plans of TorchRec instead of searching:"
              + " for each workload a JSON object, one a line, as --format torchrec writes them.")
  private Path predicted;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      description =
          "Where to write the plans, one JSON object a line; with --hardware it may be left out.")
  private Path out;

  @Option(
      names = EVALUATIONS,
      paramLabel = "N",
      converter = SearchBudget.class,
      description =
          "How long to search: evaluations (predictions of a device's cost) for each table, 1 to"
              + " 10000000; of up to 1,000 tables, and at least as many as 160 would have. More take"
              + " longer, for plans with shorter steps. Default: ${DEFAULT-VALUE}.")
  private long evaluationsPerTable = SearchSettings.DEFAULTS.evaluationsPerTable();

  @Option(
      names = "--json",
      description =
          "Print the summary as JSON; with --hardware a JSON object a line for each workload and"
              + " hardware.")
  private boolean json;

  @Mixin private HardwareOption hardware;

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

  @Override
  public Integer call() throws Exception {
    checkOptions();
    return hardware.isGiven() ? compareHardware() : planWorkloads();
  }

  private void checkOptions() {
    ParseResult given = spec.commandLine().getParseResult();
    hardware.check();
    if (hardware.isGiven() && predicted != null) {
      throw wrong("--hardware must be given without --predict, which does not search");
    }
    if (out == null && !hardware.isGiven()) {
      throw wrong("Missing required options: --out");
    }
    if (columnCuts != null && !columnCuts.equals(ColumnCuts.EQUAL.label())) {
      throw wrong(
          "--column-cuts must be equal, got \"%s\": 0.2.0 was the last version with other widths"
              .formatted(columnCuts));
    }
    if (predicted != null && given.hasMatchedOption(EVALUATIONS)) {
      throw wrong(EVALUATIONS + " must be given without --predict, which does not search");
    }
    if (given.hasMatchedOption("--devices-per-node")) {
      throw wrong("--devices-per-node must be left out: the workload's cluster says it");
    }
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private SearchSettings settings() {
    return SearchSettingsBuilder.builder(SearchSettings.DEFAULTS)
        .evaluationsPerTable(evaluationsPerTable)
        .build();
  }

  private PlanLayout layout() {
    Target target = torchRec.target(format == Format.TORCHREC);
    return format == Format.TORCHREC ? new PlanLayout.TorchRec(target) : new PlanLayout.ByTable();
  }

  private WorkloadTask prepared(PlanLayout layout, WorkloadTask task) {
    return layout.prepare(
        task,
        why ->
            spec.commandLine()
                .getErr()
                .printf("shardtide: warning: %s: %s%n", Printable.of(task.name()), why));
  }

  /** All workloads are read and checked, and have a model, before the first one is planned. */
  private int planWorkloads() throws IOException {
    PlanLayout layout = layout();
    List<WorkloadTask> list = new ArrayList<>(WorkloadTask.read(workloads));
    Optional<ModelBundle> given = model.given();
    try (PlanModels models = given.map(PlanModels::of).orElseGet(PlanModels::shipped)) {
      for (int i = 0; i < list.size(); i++) {
        try {
          models.of(list.get(i).cluster().hardware());
          list.set(i, prepared(layout, list.get(i)));
        } catch (IllegalArgumentException e) {
          throw new MalformedFileException(workloads, i + 1, e.getMessage());
        }
      }
      if (predicted != null) {
        OfflinePrediction prediction = new OfflinePrediction(models, layout);
        prediction.predict(list, predicted, out);
        prediction.report(
            spec.commandLine().getOut(), spec.commandLine().getErr(), list.size(), out, json);
        return ExitCode.OK;
      }
      return plan(new OfflinePlanning(models, layout, settings()), list);
    }
  }

  /** All workloads are read and checked on all hardware before the first one is planned. */
  private int compareHardware() throws IOException {
    PlanLayout layout = layout();
    List<WorkloadTask> list = new ArrayList<>(WorkloadTask.read(workloads));
    HardwareComparison comparison = new HardwareComparison(hardware.mustFit());
    try (PlanModels models = PlanModels.withShipped(model.allGiven())) {
      List<NamedHardware> all = hardware.with(models);
      for (int i = 0; i < list.size(); i++) {
        try {
          list.set(i, prepared(layout, list.get(i)));
        } catch (IllegalArgumentException e) {
          throw new MalformedFileException(workloads, i + 1, e.getMessage());
        }
        for (NamedHardware one : all) {
          try {
            one.on(list.get(i));
          } catch (IllegalArgumentException e) {
            throw new MalformedFileException(
                workloads, i + 1, "on %s: %s".formatted(one.name(), e.getMessage()));
          }
        }
      }
      OfflinePlanning planning = new OfflinePlanning(models, layout, settings());
      planning.compare(list, all, Optional.ofNullable(out), comparison);
      planning.printWarnings(spec.commandLine().getErr());
    }
    PrintWriter printed = spec.commandLine().getOut();
    printed.print(json ? comparison.json() : comparison.table());
    printed.flush();
    return comparison.reportMustFit(spec.commandLine().getErr()) ? ExitCode.OK : ExitCode.SOFTWARE;
  }

  private int plan(OfflinePlanning planning, List<WorkloadTask> list) throws IOException {
    int feasible = planning.plan(list, out);
    planning.report(
        spec.commandLine().getOut(), spec.commandLine().getErr(), list.size(), out, json);
    return feasible > 0 ? ExitCode.OK : ExitCode.SOFTWARE;
  }
}
