package io.shardtide.cli;

import io.shardtide.bench.service.LatencyBenchmark;
import io.shardtide.bench.service.LatencyBenchmark.ModelSize;
import java.io.PrintWriter;
import java.util.List;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What a planner takes on this machine. Other benchmarks are tests. */
@Command(
    name = "bench",
    description = "What a planner takes on this machine, on a broker and a registry of its own.",
    footer = {"", "Example:", "  shardtide bench latency"},
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND")
final class BenchCommand {
  @Spec private CommandSpec spec;

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
  int latency(
      @Option(
              names = "--models",
              paramLabel = "NAME",
              split = ",",
              defaultValue = "small,large",
              description =
                  "Workloads: small (26 tables, 16 devices), large (612 tables, 128 devices)."
                      + " Default: both.")
          List<ModelSize> models,
      @Option(
              names = "--changes",
              paramLabel = "N",
              defaultValue = "60",
              description = "Measured changes of each, after a warm-up. Default: ${DEFAULT-VALUE}.")
          int changes,
      @Option(
              names = "--per-second",
              paramLabel = "N",
              defaultValue = "1",
              description = "Changes a second. Default: ${DEFAULT-VALUE}.")
          double perSecond)
      throws Exception {
    PrintWriter out = spec.commandLine().getOut();
    try (ProgressBar bar = Progress.bar("Measuring", -1)) {
      out.print(LatencyBenchmark.run(models, changes, perSecond, Progress.steps(bar)));
    }
    out.flush();
    return 0;
  }
}
