package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.service.FoldBenchmark;
import io.shardtide.bench.service.LatencyBenchmark;
import io.shardtide.bench.service.LoadBenchmark;
import io.shardtide.bench.service.RestartBenchmark;
import io.shardtide.bench.service.ResultTable;
import io.shardtide.bench.service.StepReporter;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Benchmarks of the whole service, on a broker and a registry in this process. */
final class BenchServiceCommands {
  private BenchServiceCommands() {}

  /** Runs a benchmark and prints its table. */
  abstract static class Measurement implements Callable<Integer> {
    @Spec private CommandSpec spec;

    @Override
    public Integer call() throws Exception {
      ResultTable table;
      try (ProgressBar bar = Progress.bar("Measuring", -1)) {
        table =
            measure(
                (what, done, of) -> {
                  bar.setExtraMessage(what);
                  bar.maxHint(of);
                  bar.stepTo(done);
                });
      }
      PrintWriter out = spec.commandLine().getOut();
      out.println(shown(table));
      out.flush();
      return 0;
    }

    abstract ResultTable measure(StepReporter steps) throws Exception;

    /** Returns an error of an option's value. */
    final ParameterException usage(String problem) {
      return new ParameterException(spec.commandLine(), problem);
    }

    private static String shown(ResultTable table) {
      List<ColumnData<List<String>>> columns = new ArrayList<>();
      for (int c = 0; c < table.header().size(); c++) {
        int column = c;
        columns.add(
            new Column()
                .header(table.header().get(c))
                .maxWidth(120)
                .dataAlign(c == 0 ? HorizontalAlign.LEFT : HorizontalAlign.RIGHT)
                .with(row -> row.get(column)));
      }
      return AsciiTable.getTable(table.rows(), columns);
    }
  }

  /** Latency from a change to its plan. */
  @Command(
      name = "latency",
      description = {
        "Latency from publishing a change until a read_committed client reads the plan that answers"
            + " it, by stage.",
        "The stages follow one another: until the model is called; TensorFlow; until the"
            + " predictions are readable; the debounce interval; until the search begins; the"
            + " search; until the plan is readable."
      },
      footer = {"", "Example:", "  shardtide bench latency"},
      mixinStandardHelpOptions = true)
  static final class Latency extends Measurement {
    @Option(
        names = "--models",
        paramLabel = "NAME",
        split = ",",
        defaultValue = "small,large",
        description =
            "Workloads: small (26 tables, 16 devices), large (612 tables, 128 devices). Default:"
                + " both.")
    private List<LatencyBenchmark.ModelSize> models;

    @Option(
        names = "--changes",
        paramLabel = "N",
        defaultValue = "60",
        description = "Measured changes of each, after a warm-up. Default: ${DEFAULT-VALUE}.")
    private int changes;

    @Option(
        names = "--per-second",
        paramLabel = "N",
        defaultValue = "1",
        description = "Changes a second. Default: ${DEFAULT-VALUE}.")
    private double perSecond;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      return LatencyBenchmark.run(models, changes, perSecond, steps);
    }
  }

  /** Many workloads at once. */
  @Command(
      name = "load",
      description =
          "Many workloads of 26 to 300 tables that change continuously: latency, lost changes, and"
              + " heap after collection.",
      footer = {"", "Example:", "  shardtide bench load --seconds 300"},
      mixinStandardHelpOptions = true)
  static final class Load extends Measurement {
    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "200",
        description = "Number of workloads. Default: ${DEFAULT-VALUE}.")
    private int workloads;

    @Option(
        names = "--per-second",
        paramLabel = "N",
        defaultValue = "50",
        description = "Changes a second, over all workloads. Default: ${DEFAULT-VALUE}.")
    private double perSecond;

    @Option(
        names = "--seconds",
        paramLabel = "N",
        defaultValue = "60",
        description = "Duration in seconds. Default: ${DEFAULT-VALUE}.")
    private int seconds;

    @Option(
        names = "--planners",
        paramLabel = "N",
        defaultValue = "1",
        description = "Number of planners that share the work. Default: ${DEFAULT-VALUE}.")
    private int planners;

    @Option(
        names = "--poison",
        description =
            "Also runs workloads that harm a planner: a search that does not end, a record of an"
                + " unknown schema on each partition, very large predictions, and a model that"
                + " cannot predict. Latencies are of the others.")
    private boolean poison;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      if (planners < 1) {
        throw usage("--planners must be at least 1, got " + planners);
      }
      return LoadBenchmark.run(workloads, perSecond, seconds, planners, poison, steps);
    }
  }

  /** Throughput of folding. */
  @Command(
      name = "fold",
      description =
          "Changes a second that are folded into workloads on one partition, exactly once, without"
              + " and with predictions.",
      footer = {"", "Example:", "  shardtide bench fold"},
      mixinStandardHelpOptions = true)
  static final class Fold extends Measurement {
    @Option(
        names = "--changes",
        paramLabel = "N",
        defaultValue = "500000",
        description =
            "Changes in the log; a tenth as many for the run with predictions. Default:"
                + " ${DEFAULT-VALUE}.")
    private int changes;

    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "100",
        description = "Number of workloads that they change. Default: ${DEFAULT-VALUE}.")
    private int workloads;

    @Option(
        names = "--tables",
        paramLabel = "N",
        defaultValue = "100",
        description = "Tables of each workload. Default: ${DEFAULT-VALUE}.")
    private int tables;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      return FoldBenchmark.run(changes, workloads, tables, steps);
    }
  }

  /** Restart of a planner. */
  @Command(
      name = "restart",
      description =
          "Time from the start of a planner's process, with many workloads, until it has answered a"
              + " new change: with its state kept, and with its state deleted and restored from the"
              + " changelogs.",
      footer = {"", "Example:", "  shardtide bench restart"},
      mixinStandardHelpOptions = true)
  static final class Restart extends Measurement {
    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "1000",
        description = "Number of workloads. Default: ${DEFAULT-VALUE}.")
    private int workloads;

    @Option(
        names = "--tables",
        paramLabel = "N",
        defaultValue = "100",
        description = "Tables of each workload. Default: ${DEFAULT-VALUE}.")
    private int tables;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      return RestartBenchmark.run(workloads, tables, steps);
    }
  }
}
