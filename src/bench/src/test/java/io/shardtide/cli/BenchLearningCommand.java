package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.learning.LearningBenchmark;
import io.shardtide.bench.learning.LearningBenchmark.Scenario;
import io.shardtide.bench.learning.LearningResult;
import io.shardtide.bench.learning.MachineChange;
import io.shardtide.bench.learning.Reporters;
import io.shardtide.bench.learning.WorkloadShape;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Benchmark of what learned models are worth on simulated machines. */
@Command(
    name = "learning",
    description = {
      "What learned models are worth, on a simulated machine that changes. A workload whose tables"
          + " change runs there; its trainer reports noisy costs, and models are retrained. Then"
          + " other workloads are planned with the model before, with the learned one and with one"
          + " that knows the machine. Takes minutes a row.",
      "All costs are simulated."
    },
    footer = {"", "Example:", "  shardtide bench learning"},
    mixinStandardHelpOptions = true)
final class BenchLearningCommand implements Callable<Integer> {
  private static final double SPACIOUS = 2.5;
  private static final double CACHED = 0.6;

  @Spec private CommandSpec spec;

  @Option(
      names = "--change",
      split = ",",
      paramLabel = "WHAT",
      defaultValue = "LOOKUPS,WIDE,CACHED,NODES,KERNEL",
      description = "What changes: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private List<MachineChange> changes;

  @Option(
      names = "--nodes",
      split = ",",
      paramLabel = "N",
      defaultValue = "1,2",
      description =
          "Nodes of 8 devices: 40 tables on one, 75 more on each further one. Default:"
              + " ${DEFAULT-VALUE}.")
  private List<Integer> nodes;

  @Option(
      names = "--reporters",
      paramLabel = "WHO",
      defaultValue = "RIGHT",
      description = "How right reports are: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private Reporters reporters;

  @Option(
      names = "--reports",
      paramLabel = "N",
      defaultValue = "240",
      description = "Reports after the change. Default: ${DEFAULT-VALUE}.")
  private int reports;

  @Option(
      names = "--others",
      paramLabel = "N",
      defaultValue = "24",
      description = "Other workloads that are planned. Default: ${DEFAULT-VALUE}.")
  private int others;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of tables, changes and noise. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(names = "--decisions", description = "Print each decision about a retrained model.")
  private boolean printsDecisions;

  @Option(
      names = "--risk",
      paramLabel = "N",
      description = "planning.risk. Default: that of the planner.")
  private Double risk;

  @Option(
      names = "--exploration",
      paramLabel = "N",
      description = "planning.exploration. Default: that of the planner.")
  private Double exploration;

  @Option(
      names = "--model",
      paramLabel = "FILE",
      defaultValue = "models/simulated-8xh100.avro",
      description = "The model before, which also simulates. Default: ${DEFAULT-VALUE}.")
  private Path model;

  /** A row of the report. */
  private record LearningRow(Scenario scenario, LearningResult result) {}

  @Override
  public Integer call() throws Exception {
    LearningBenchmark benchmark =
        new LearningBenchmark(
            ModelFiles.read(model),
            new RetrainingRun(
                Retraining::retrain,
                TensorFlowTowers::new,
                TrainingPolicy.DEFAULTS,
                InstantSource.system()),
            TensorFlowTowers::new,
            settings());
    List<LearningRow> rows = new ArrayList<>();
    try (ProgressBar bar = Progress.bar("Learning", (long) changes.size() * nodes.size())) {
      for (int count : nodes) {
        for (MachineChange change : changes) {
          if (change == MachineChange.NODES && count == 1) {
            bar.step();
            continue;
          }
          bar.setExtraMessage(change + " on " + count);
          Scenario scenario = scenario(change, count);
          rows.add(new LearningRow(scenario, benchmark.run(scenario)));
          bar.step();
        }
      }
    }
    print(rows);
    return 0;
  }

  private Scenario scenario(MachineChange change, int count) {
    return new Scenario(
        change,
        new WorkloadShape(
            count == 1 ? 40 : 75 * count,
            count,
            change == MachineChange.CACHED ? CACHED : SPACIOUS),
        reporters,
        change.isColdStart() ? 0 : 40,
        reports,
        4,
        others,
        seed);
  }

  private PlanningSettings settings() {
    PlanningSettings defaults = PlanningSettings.DEFAULTS;
    return new PlanningSettings(
        defaults.debounce(),
        defaults.longestWait(),
        withRisk(defaults.quick()),
        defaults.deep().map(this::withRisk),
        defaults.deepAfter(),
        defaults.deepGain(),
        Optional.ofNullable(exploration).orElse(defaults.exploration()));
  }

  private SearchSettings withRisk(SearchSettings search) {
    return SearchSettingsBuilder.builder(search)
        .risk(Optional.ofNullable(risk).orElse(search.risk()))
        .build();
  }

  private void print(List<LearningRow> rows) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(
        AsciiTable.getTable(
            rows,
            List.of(
                new Column()
                    .header("simulated change")
                    .dataAlign(HorizontalAlign.LEFT)
                    .with(row -> row.scenario().change().shown()),
                column(
                    "tables, devices",
                    row ->
                        "%d, %d"
                            .formatted(
                                row.scenario().shape().tables(),
                                8 * row.scenario().shape().nodes())),
                column(
                    "error before, after",
                    row ->
                        "%.1f, %.1f %%"
                            .formatted(
                                100 * row.result().errorBefore(), 100 * row.result().errorAfter())),
                column(
                    "step, learned (worst)",
                    row -> "%.3f (%.3f)".formatted(row.result().learned(), row.result().worst())),
                column("step, known", row -> "%.3f".formatted(row.result().known())),
                column(
                    "share of the gain",
                    row ->
                        row.result().known() > 0.999
                            ? ""
                            : "%.0f %%".formatted(100 * row.result().shareOfGain())),
                column("alarms", row -> Integer.toString(row.result().alarms())),
                column(
                    "models, took over",
                    row ->
                        "%d, %d"
                            .formatted(row.result().decisions().size(), row.result().takeovers())),
                column("reshards", row -> Integer.toString(row.result().reshards())))));
    if (printsDecisions) {
      rows.forEach(
          row ->
              row.result()
                  .decisions()
                  .forEach(
                      decision ->
                          out.printf(
                              "%s, %s: %s%n",
                              row.scenario().change().shown(),
                              decision.trigger(),
                              decision.reason())));
    }
    out.println(
        "Steps are true (simulated) ones beside those of the model before, on workloads that"
            + " nothing was learned of.");
    out.flush();
  }

  private static ColumnData<LearningRow> column(
      String header, Function<LearningRow, String> value) {
    return new Column().header(header).dataAlign(HorizontalAlign.RIGHT).with(value);
  }
}
