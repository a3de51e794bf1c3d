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
import picocli.CommandLine.Spec;

/** Measures the whole service, on a broker and a registry in this process. */
final class BenchServiceCommands {
  private BenchServiceCommands() {}

  /** What the measurements have in common. */
  private abstract static class Measurement implements Callable<Integer> {
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

  /** From a change to its plan. */
  @Command(
      name = "latency",
      description = {
        "How long it takes from a change being published until a read_committed client can read the plan that answers"
            + " it, and where that time goes.",
        "The shares follow one another: until the model is called; TensorFlow; until the predictions can be read; the"
            + " quiet period; what is left until the search begins; the search; until the plan can be read."
      },
      mixinStandardHelpOptions = true)
  static final class Latency extends Measurement {
    @Option(
        names = "--models",
        paramLabel = "NAME",
        split = ",",
        defaultValue = "small,large",
        description =
            "What is planned: small (26 tables, 8 devices), large (612 tables, 128 devices). Default: both.")
    private List<LatencyBenchmark.ModelSize> models;

    @Option(
        names = "--changes",
        paramLabel = "N",
        defaultValue = "60",
        description = "Changes of each, after some that warm up. Default: ${DEFAULT-VALUE}.")
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

  /** Many workloads. */
  @Command(
      name = "load",
      description =
          "Many workloads of 26 to 300 tables that change all the time: how long answers take, whether any is lost, and"
              + " what becomes of memory.",
      mixinStandardHelpOptions = true)
  static final class Load extends Measurement {
    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "200",
        description = "How many workloads. Default: ${DEFAULT-VALUE}.")
    private int workloads;

    @Option(
        names = "--per-second",
        paramLabel = "N",
        defaultValue = "50",
        description = "Changes a second, altogether. Default: ${DEFAULT-VALUE}.")
    private double perSecond;

    @Option(
        names = "--seconds",
        paramLabel = "N",
        defaultValue = "60",
        description = "For how long. Default: ${DEFAULT-VALUE}.")
    private int seconds;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      return LoadBenchmark.run(workloads, perSecond, seconds, steps);
    }
  }

  /** Folding alone. */
  @Command(
      name = "fold",
      description =
          "How many changes a second are folded into workloads on one partition, exactly once: without predictions, and"
              + " with them.",
      mixinStandardHelpOptions = true)
  static final class Fold extends Measurement {
    @Option(
        names = "--changes",
        paramLabel = "N",
        defaultValue = "500000",
        description =
            "Changes that lie in the log; a tenth of them with predictions. Default: ${DEFAULT-VALUE}.")
    private int changes;

    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "100",
        description = "How many workloads they concern. Default: ${DEFAULT-VALUE}.")
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

  /** Serving again. */
  @Command(
      name = "restart",
      description =
          "How long a planner with many workloads takes from the start of its process until it has answered a new"
              + " change: with its state kept, and with its state deleted, which is then read from the changelog.",
      mixinStandardHelpOptions = true)
  static final class Restart extends Measurement {
    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "1000",
        description = "How many workloads. Default: ${DEFAULT-VALUE}.")
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
