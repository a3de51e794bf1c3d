package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.ChangesBenchmark;
import io.shardtide.bench.DetectorBenchmark;
import io.shardtide.bench.DetectorKind;
import io.shardtide.bench.MicroBenchmarks;
import io.shardtide.bench.PoolBenchmark;
import io.shardtide.bench.SearchBenchmark;
import io.shardtide.models.ModelFiles;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.workload.ByteSizes;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Benchmarks. */
@Command(
    name = "bench",
    description =
        "Benchmarks: predictions, search, allocation of pools, the whole service, the learning loop,"
            + " tables that grow.",
    subcommands = {
      BenchServiceCommands.Latency.class,
      BenchServiceCommands.Load.class,
      BenchServiceCommands.Fold.class,
      BenchServiceCommands.Restart.class,
      BenchLimitsCommand.class,
      BenchSoakCommand.class,
      BenchLearningCommand.class,
      BenchGrowthCommand.class
    },
    footer = {"", "Example:", "  shardtide bench search --growth"},
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND")
final class BenchCommand {
  @Spec private CommandSpec spec;

  @Command(
      name = "model",
      description =
          "The cost model: tower outputs, device costs in Java and in TensorFlow, loading; with"
              + " JMH.",
      footer = {"", "Example:", "  shardtide bench model --model models/h200.avro"},
      mixinStandardHelpOptions = true)
  int model(
      @Option(
              names = "--model",
              paramLabel = "FILE",
              defaultValue = "models/simulated.avro",
              description =
                  "The model to measure. Of one with launch groups, the head in TensorFlow is left"
                      + " out. Default: ${DEFAULT-VALUE}.")
          Path model,
      @Option(names = "--brief", description = "One short run of each, to check that they run.")
          boolean brief)
      throws IOException {
    List<String> names = MicroBenchmarks.names(ModelFiles.read(model));
    List<MicroBenchmarks.BenchmarkScore> measured;
    try (ProgressBar bar = Progress.bar("Measuring", names.size())) {
      measured =
          MicroBenchmarks.run(
              model,
              brief,
              (name, done) -> {
                bar.setExtraMessage(name.substring(name.lastIndexOf('.') + 1));
                bar.stepTo(done);
              });
      bar.stepTo(names.size());
    }
    print(
        measured,
        List.of(
            left("operation", MicroBenchmarks.BenchmarkScore::name),
            right("mean", m -> time(m.nanos())),
            right("+- (99.9 %)", m -> Double.isNaN(m.error()) ? "" : time(m.error())),
            right("per second", m -> "%,.0f".formatted(1e9 / m.nanos()))));
    return 0;
  }

  @Command(
      name = "search",
      description = "The search on whole problems: seconds, predicted cost, bytes moved.",
      footer = {"", "Example:", "  shardtide bench search --growth"},
      mixinStandardHelpOptions = true)
  int search(
      @Option(
              names = "--reference",
              paramLabel = "DIR",
              defaultValue = "src/models/src/test/resources/reference",
              description =
                  "Folder with tables.jsonl and tasks/. Default: ${DEFAULT-VALUE}, in the"
                      + " source tree.")
          Path reference,
      @Option(
              names = "--growth",
              description = "Instead: how time and memory grow with tables and devices.")
          boolean growth,
      @Option(
              names = "--changes",
              description =
                  "Instead: 100 successive changes of 150 tables on 2 nodes of 8 devices, each"
                      + " answered at once and by a background search: shards moved, cost, time.")
          boolean changes,
      @Mixin BenchRegretOption regret)
      throws IOException {
    if (regret.isGiven()) {
      return regret.run();
    }
    if (changes) {
      return changes();
    }
    List<SearchBenchmark.SearchRow> rows;
    try (ProgressBar bar = Progress.bar("Measuring", -1);
        SearchBenchmark benchmark = new SearchBenchmark(Progress.steps(bar))) {
      rows = growth ? benchmark.growth() : benchmark.run(reference);
    }
    print(
        rows,
        List.of(
            left("problem", SearchBenchmark.SearchRow::problem),
            left("seconds", SearchBenchmark.SearchRow::seconds),
            left(growth ? "evaluations" : "predicted cost", SearchBenchmark.SearchRow::cost),
            left(growth ? "memory" : "bytes moved", SearchBenchmark.SearchRow::moved)));
    return 0;
  }

  private int changes() {
    List<ChangesBenchmark.ChangeRow> rows;
    try (ProgressBar bar = Progress.bar("Measuring", -1);
        ChangesBenchmark benchmark = new ChangesBenchmark(1, Progress.steps(bar))) {
      rows = benchmark.run();
    }
    print(
        rows,
        List.of(
            left("change", ChangesBenchmark.ChangeRow::change),
            left("moved at once", row -> Integer.toString(row.quickMoves())),
            left("by background search", row -> Integer.toString(row.deepMoves())),
            left("bytes", row -> ByteSizes.describe(row.movedBytes())),
            left("cost / from scratch", row -> "%.4f".formatted(row.ratio()))));
    PrintWriter out = spec.commandLine().getOut();
    ChangesBenchmark.summary(rows).forEach(out::println);
    out.flush();
    return 0;
  }

  @Command(
      name = "detectors",
      description =
          "Drift detectors on series with known drift: detection rate, delay, false alarms, cost.",
      footer = {"", "Example:", "  shardtide bench detectors"},
      mixinStandardHelpOptions = true)
  int detectors(
      @Option(
              names = "--seed",
              paramLabel = "N",
              defaultValue = "1",
              description = "Seed of the series. Default: ${DEFAULT-VALUE}.")
          long seed,
      @Option(
              names = "--series",
              paramLabel = "N",
              defaultValue = "100",
              description = "Series of each kind, at least 1. Default: ${DEFAULT-VALUE}.")
          int series) {
    List<DetectorBenchmark.DetectorRow> rows;
    try (ProgressBar bar = Progress.bar("Detecting", DetectorKind.values().length)) {
      rows = DetectorBenchmark.run(seed, series, Progress.steps(bar));
    }
    print(
        rows,
        List.of(
            left("detector", row -> row.detector().key()),
            left("series", row -> row.series().title()),
            number("detected %", row -> 100 * row.detected(), "%.0f"),
            number("median delay", DetectorBenchmark.DetectorRow::delay, "%.0f"),
            number("false alarms per 1,000", DetectorBenchmark.DetectorRow::falseAlarms, "%.2f"),
            number("ns per value", DetectorBenchmark.DetectorRow::nanos, "%.0f")));
    return 0;
  }

  @Command(
      name = "pool",
      description =
          "The allocation of random pools of simulated devices to random workloads: time from cold and after one change,"
              + " throughput relative to equal shares and to an upper bound.",
      footer = {"", "Example:", "  shardtide bench pool --pools 2"},
      mixinStandardHelpOptions = true)
  int pool(
      @Option(
              names = "--pools",
              paramLabel = "N",
              defaultValue = "50",
              description = "Number of pools, at least 1. Default: ${DEFAULT-VALUE}.")
          int pools,
      @Option(
              names = "--workloads",
              paramLabel = "N",
              defaultValue = "20",
              description = "Workloads of each, at least 1. Default: ${DEFAULT-VALUE}.")
          int workloads,
      @Option(
              names = "--devices",
              paramLabel = "N",
              defaultValue = "512",
              description = "Devices of each, a multiple of 8. Default: ${DEFAULT-VALUE}.")
          int devices) {
    List<PoolBenchmark.PoolFigure> figures;
    try (ProgressBar bar = Progress.bar("Allocating", pools);
        PoolBenchmark benchmark = new PoolBenchmark(Progress.steps(bar))) {
      figures = benchmark.run(pools, workloads, devices, AllocationPolicy.DEFAULTS);
    }
    print(
        figures,
        List.of(
            left("figure", PoolBenchmark.PoolFigure::name),
            right("median", PoolBenchmark.PoolFigure::median),
            right("worst", PoolBenchmark.PoolFigure::worst)));
    return 0;
  }

  private <R> void print(List<R> rows, List<ColumnData<R>> columns) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(AsciiTable.getTable(rows, columns));
    out.flush();
  }

  private static <R> ColumnData<R> left(String header, Function<R, String> value) {
    return new Column().header(header).dataAlign(HorizontalAlign.LEFT).with(value);
  }

  private static <R> ColumnData<R> right(String header, Function<R, String> value) {
    return new Column().header(header).dataAlign(HorizontalAlign.RIGHT).with(value);
  }

  private static ColumnData<DetectorBenchmark.DetectorRow> number(
      String header, ToDoubleFunction<DetectorBenchmark.DetectorRow> value, String format) {
    return right(
        header,
        row ->
            Double.isNaN(value.applyAsDouble(row))
                ? ""
                : String.format(Locale.ROOT, format, value.applyAsDouble(row)));
  }

  private static String time(double nanos) {
    String[] units = {"ns", "us", "ms", "s"};
    int unit = 0;
    double value = nanos;
    while (value >= 1000 && unit < units.length - 1) {
      value /= 1000;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %s", value, units[unit]);
  }
}
