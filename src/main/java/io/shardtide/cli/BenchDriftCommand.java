package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.service.DriftBenchmark;
import io.shardtide.bench.service.DriftResult;
import io.shardtide.bench.service.DriftResult.Phase;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import io.shardtide.replay.Export;
import io.shardtide.trainer.Slowdown;
import io.shardtide.wire.ModelFiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import org.apache.kafka.clients.CommonClientConfigs;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Benchmark of the learning loop on a machine that becomes slower in mid-stream. */
@Command(
    name = "drift",
    description = {
      "The learning loop on this machine. The reference trainer trains tables that change from time"
          + " to time; in mid-stream the machine becomes slower by real extra work. Prints how soon"
          + " that is detected, how well the retrained model predicts, and what its plan gains; of"
          + " a slow device or link, what the plan for it gains.",
      "Then runs as long without a change, with several seeds: no alarm is expected."
    },
    footer = {"", "Example:", "  shardtide bench drift"},
    mixinStandardHelpOptions = true)
final class BenchDriftCommand implements Callable<Integer> {
  /** What becomes slower. */
  enum SlowdownKind {
    /** Pooling and updates of wide shards. */
    WIDE,
    /** The first device's computation. */
    DEVICE,
    /** The first device's copies. */
    LINK
  }

  @Spec private CommandSpec spec;

  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "A cost model of this machine, from collect and pretrain. Default: the shipped CPU"
              + " model.")
  private Path model;

  @Option(
      names = "--slower",
      paramLabel = "WHAT",
      defaultValue = "WIDE",
      description = "What becomes slower: ${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private SlowdownKind kind;

  @Option(
      names = "--wide-columns",
      paramLabel = "N",
      defaultValue = "32",
      description = "Least number of columns of a wide shard. Default: ${DEFAULT-VALUE}.")
  private int wideColumns;

  @Option(
      names = "--factor",
      paramLabel = "N",
      defaultValue = "2",
      description = "How many times the work is repeated. Default: ${DEFAULT-VALUE}.")
  private int factor;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of tables and changes. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(
      names = "--rest-seeds",
      paramLabel = "N",
      defaultValue = "3",
      description = "Runs without a change. Default: ${DEFAULT-VALUE}.")
  private int restSeeds;

  @Option(
      names = "--steps",
      paramLabel = "N",
      defaultValue = "25",
      description = "Training steps per report. Default: ${DEFAULT-VALUE}.")
  private int steps;

  @Option(
      names = "--before",
      paramLabel = "N",
      defaultValue = "60",
      description =
          "Reports before the machine becomes slower; the detector learns its baseline from 30."
              + " Default: ${DEFAULT-VALUE}.")
  private int before;

  @Option(
      names = "--max-drifted",
      paramLabel = "N",
      defaultValue = "300",
      description =
          "Maximum reports from the slowdown to the last retraining. Default: ${DEFAULT-VALUE}.")
  private int maxDrifted;

  @Option(
      names = "--trainings",
      paramLabel = "N",
      defaultValue = "3",
      description = "Retraining jobs before the model is evaluated. Default: ${DEFAULT-VALUE}.")
  private int trainings;

  @Option(
      names = "--after",
      paramLabel = "N",
      defaultValue = "40",
      description = "Reports that it is evaluated on. Default: ${DEFAULT-VALUE}.")
  private int after;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Export the log of the run with the change, for replay.")
  private Path out;

  private final List<String> notes = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    ModelBundle bundle = model == null ? ModelFiles.shippedForCpu() : ModelFiles.read(model);
    Slowdown slowdown =
        switch (kind) {
          case WIDE -> Slowdown.ofWide(wideColumns, factor);
          case DEVICE -> Slowdown.ofDevice(0, factor);
          case LINK -> Slowdown.ofLink(0, factor);
        };
    DriftResult outcome;
    List<String> alarmCounts = new ArrayList<>();
    try (ProgressBar bar = Progress.bar("Measuring", -1)) {
      try (DriftBenchmark benchmark = start(bundle, seed, bar)) {
        outcome = benchmark.run(slowdown);
        if (out != null) {
          export(benchmark);
        }
      }
      for (int r = 0; r < restSeeds; r++) {
        try (DriftBenchmark benchmark = start(bundle, seed + r, bar)) {
          List<DriftAlarm> alarms = benchmark.runWithoutDrift(outcome.reports());
          alarmCounts.add(Integer.toString(alarms.size()));
          alarms.forEach(alarm -> notes.add("without a change, " + shown(alarm)));
        }
      }
    }
    print(spec.commandLine().getOut(), outcome, alarmCounts);
    return 0;
  }

  private DriftBenchmark start(ModelBundle bundle, long ofSeed, ProgressBar bar) throws Exception {
    return new DriftBenchmark(
        bundle,
        Retraining::retrain,
        ofSeed,
        new DriftBenchmark.Length(steps, before, maxDrifted, trainings, after),
        (what, done, of) -> {
          bar.setExtraMessage(what);
          bar.stepTo(done);
        });
  }

  private void export(DriftBenchmark benchmark) throws IOException {
    try (KafkaLogRecords records =
        new KafkaLogRecords(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, benchmark.bootstrapServers()),
            benchmark.registry(),
            benchmark.topics(),
            Optional.empty(),
            () -> {})) {
      Export.write(records, out);
    }
  }

  private void print(PrintWriter report, DriftResult outcome, List<String> alarmCounts) {
    List<String[]> rows = new ArrayList<>();
    rows.add(row("reports of the trainer", "%,d".formatted(outcome.reports())));
    rows.add(
        row(
            "reports from the change to the alarm",
            outcome.detectedAfter().isPresent()
                ? "%d".formatted(outcome.detectedAfter().getAsInt())
                : "none"));
    outcome
        .adaptedAfter()
        .ifPresent(
            count ->
                rows.add(
                    row("reports from the change to the plan for it", Integer.toString(count))));
    outcome
        .comparison()
        .ifPresent(
            steps -> {
              boolean isSlow = steps.bestMs().isPresent();
              String step = "measured step after the change, ";
              rows.add(
                  row(step + (isSlow ? "plan before" : "old model's plan"), ms(steps.oldMs())));
              rows.add(
                  row(
                      step + (isSlow ? "plan for slow devices" : "new model's plan"),
                      ms(steps.newMs())));
              steps
                  .bestMs()
                  .ifPresent(
                      best ->
                          rows.add(row(step + "best predicted plan for these speeds", ms(best))));
            });
    for (int r = 0; r < alarmCounts.size(); r++) {
      rows.add(row("alarms without a change, seed " + (seed + r), alarmCounts.get(r)));
    }
    report.println(
        AsciiTable.getTable(
            rows,
            List.of(
                new Column()
                    .header("%s %d times slower".formatted(name(), factor))
                    .maxWidth(80)
                    .dataAlign(HorizontalAlign.LEFT)
                    .with(r -> r[0]),
                new Column().header("value").dataAlign(HorizontalAlign.RIGHT).with(r -> r[1]))));
    report.println(
        AsciiTable.getTable(
            outcome.phases(),
            List.of(
                new Column().header("reports").dataAlign(HorizontalAlign.LEFT).with(Phase::name),
                new Column().header("number").with(phase -> Integer.toString(phase.reports())),
                new Column().header("error of plans").with(phase -> percent(phase.error())),
                new Column()
                    .header("predicted / measured")
                    .with(phase -> "%.3f".formatted(phase.ratio())),
                new Column()
                    .header("machine speed")
                    .with(phase -> "%.2f".formatted(phase.machine())))));
    report.println(
        "Machine speed: the time of a small, constant training relative to its time at the start;"
            + " above 1 the machine is slower.");
    outcome.alarms().forEach(alarm -> report.println(shown(alarm)));
    outcome.slow().forEach(speed -> report.println(speed.describe()));
    notes.forEach(report::println);
    for (ModelDecision decision : outcome.decisions()) {
      report.printf("retraining (%s): %s%n", decision.trigger(), decision.reason());
    }
    report.flush();
  }

  private static String shown(DriftAlarm alarm) {
    return "alarm: %s, %s%s, ratio %.2f, usually %.2f, from %d measurements"
        .formatted(
            alarm.kind(),
            alarm.quantity(),
            alarm.device().isPresent() ? " of device " + alarm.device().getAsInt() : "",
            alarm.recentRatio(),
            alarm.usualRatio(),
            alarm.samples());
  }

  private String name() {
    return switch (kind) {
      case WIDE -> "shards of %d columns and more".formatted(wideColumns);
      case DEVICE -> "device 0";
      case LINK -> "link of device 0";
    };
  }

  private static String[] row(String what, String value) {
    return new String[] {what, value};
  }

  private static String percent(double fraction) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * fraction);
  }

  private static String ms(double value) {
    return String.format(Locale.ROOT, "%.2f ms", value);
  }
}
