package io.shardtide.cli;

import io.shardtide.bench.service.LogLimits;
import io.shardtide.bench.service.ResultTable;
import io.shardtide.bench.service.StepReporter;
import io.shardtide.bench.service.TableLimits;
import io.shardtide.bench.service.WorkloadLimits;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What breaks first as the work grows. */
@Command(
    name = "limits",
    description =
        "What breaks first as the work grows: more workloads, more tables, a longer log, more browsers.",
    subcommands = {
      BenchLimitsCommand.Workloads.class,
      BenchLimitsCommand.Tables.class,
      BenchLimitsCommand.Log.class
    },
    footer = {"", "Example:", "  shardtide bench limits tables --tables 1000,10000"},
    mixinStandardHelpOptions = true)
final class BenchLimitsCommand {
  private BenchLimitsCommand() {}

  /** Many workloads. */
  @Command(
      name = "workloads",
      description = {
        "Several planners, in processes of their own, with many workloads that change: latency, memory and disk of a"
            + " workload, a takeover after kill -9, restarts with the state kept and lost."
      },
      footer = {"", "Example:", "  shardtide bench limits workloads --workloads 1000 --seconds 30"},
      mixinStandardHelpOptions = true)
  static final class Workloads extends BenchServiceCommands.Measurement {
    @Option(
        names = "--workloads",
        paramLabel = "N",
        defaultValue = "5000",
        description = "Number of workloads. Default: ${DEFAULT-VALUE}.")
    private int workloads;

    @Option(
        names = "--tables",
        paramLabel = "N",
        defaultValue = "100",
        description = "Tables of each workload. Default: ${DEFAULT-VALUE}.")
    private int tables;

    @Option(
        names = "--planners",
        paramLabel = "N",
        defaultValue = "3",
        description = "Number of planners, at least 2. Default: ${DEFAULT-VALUE}.")
    private int planners;

    @Option(
        names = "--heap-mib",
        paramLabel = "N",
        defaultValue = "1024",
        description = "Largest heap of each planner, in MiB. Default: ${DEFAULT-VALUE}.")
    private int heapMiB;

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
        description =
            "Seconds of load, and again from when a planner is killed. Default: ${DEFAULT-VALUE}.")
    private int seconds;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      if (planners < 2) {
        throw usage("--planners must be at least 2, got " + planners);
      }
      return WorkloadLimits.run(
          new WorkloadLimits.WorkloadOptions(
              workloads, tables, planners, heapMiB, perSecond, seconds),
          steps);
    }
  }

  /** Many tables in one workload. */
  @Command(
      name = "tables",
      description =
          "One workload with more and more tables: time to its first plan and to the plan after a change of one table,"
              + " until there is no answer within two minutes.",
      footer = {"", "Example:", "  shardtide bench limits tables --tables 1000,10000"},
      mixinStandardHelpOptions = true)
  static final class Tables extends BenchServiceCommands.Measurement {
    @Option(
        names = "--tables",
        paramLabel = "N",
        split = ",",
        defaultValue = "1000,10000,20000,40000",
        description = "Numbers of tables, one after another. Default: ${DEFAULT-VALUE}.")
    private List<Integer> sizes;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      return TableLimits.run(sizes, steps);
    }
  }

  /** A long log. */
  @Command(
      name = "log",
      description = {
        "A dashboard on the log of years: its start, its memory, and what browsers that follow it cost.",
        "The log is written without a planner: real changes, and the records of one plan and its predictions with"
            + " other names and generations. Takes about 1 GB of disk for 3 million changes or 100,000 plans."
      },
      footer = {"", "Example:", "  shardtide bench limits log --changes 1000000 --plans 10000"},
      mixinStandardHelpOptions = true)
  static final class Log extends BenchServiceCommands.Measurement {
    @Option(
        names = "--changes",
        paramLabel = "N",
        defaultValue = "10000000",
        description = "Changes on the log. Default: ${DEFAULT-VALUE}.")
    private int changes;

    @Option(
        names = "--plans",
        paramLabel = "N",
        defaultValue = "100000",
        description = "Plans on the log. Default: ${DEFAULT-VALUE}.")
    private int plans;

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

    @Option(
        names = "--browsers",
        paramLabel = "N",
        split = ",",
        defaultValue = "1,100",
        description = "Browsers that follow, one number after another. Default: ${DEFAULT-VALUE}.")
    private List<Integer> browsers;

    @Option(
        names = "--per-second",
        paramLabel = "N",
        defaultValue = "50",
        description = "Changes a second that they follow. Default: ${DEFAULT-VALUE}.")
    private double perSecond;

    @Override
    ResultTable measure(StepReporter steps) throws Exception {
      if (plans < workloads) {
        throw usage("--plans must be at least --workloads, %d, got %d".formatted(workloads, plans));
      }
      return LogLimits.run(
          new LogLimits.LogOptions(workloads, tables, changes, plans, browsers, perSecond), steps);
    }
  }
}
