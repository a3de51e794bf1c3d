package io.shardtide.cli;

import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.torchrec.TorchRecPlans;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints plans as they are published. */
@Command(
    name = "watch",
    description =
        "Prints each workload's latest plan, then each new one as it is published, until Ctrl-C.",
    footer = {
      "",
      "Example:",
      "  shardtide watch --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --workload ads"
    },
    mixinStandardHelpOptions = true)
final class WatchCommand implements Callable<Integer> {
  /** Formats of a plan. */
  enum WatchFormat {
    /** For people. */
    TEXT,
    /** A ShardingPlan a line, in Avro's JSON encoding. */
    JSON,
    /**
     * TorchRec's plan a line, with the arguments of its reshard where a plan was printed before.
     */
    TORCHREC
  }

  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(names = "--workload", paramLabel = "ID", description = "Only the plans of this workload.")
  private Optional<String> workload;

  @Option(
      names = "--format",
      paramLabel = "NAME",
      defaultValue = "TEXT",
      description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private WatchFormat format;

  @Mixin private TorchRecOption torchRec;

  @Option(
      names = "--once",
      description =
          "Ends after the latest plans. If there is none within the time-out: ends with status 1.")
  private boolean once;

  @Override
  public Integer call() throws Exception {
    cluster.check(spec);
    PlanPrinter printer = new PlanPrinter(shape());
    KafkaLogSummary quietLog = cluster.quietLog();
    try {
      PlanSubscriber plans = PlanSubscriber.start(cluster.endpoint(), workload, printer);
      try {
        printer.awaitEnd(
            cluster.timeout(),
            "No plan%s".formatted(workload.map(" of workload "::concat).orElse("")));
      } finally {
        plans.close();
      }
    } finally {
      quietLog.close();
    }
    return 0;
  }

  private Function<PlanUpdate, String> shape() throws IOException {
    TorchRecPlans torchRecPlans =
        new TorchRecPlans(torchRec.target(format == WatchFormat.TORCHREC));
    return switch (format) {
      case TEXT -> {
        SimulatedModels models =
            new SimulatedModels(
                cluster.endpoint(), line -> spec.commandLine().getErr().println(line));
        yield update -> text(update, models);
      }
      case JSON -> {
        JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
        yield update -> lines.write(update.plan()) + '\n';
      }
      case TORCHREC ->
          update ->
              update
                      .previous()
                      .map(running -> torchRecPlans.describe(update.plan(), running))
                      .orElseGet(() -> torchRecPlans.describe(update.plan()))
                      .toString()
                  + '\n';
    };
  }

  private String text(PlanUpdate update, SimulatedModels models) {
    return new PlanView(Ansi.AUTO, models::contains)
            .show(
                update.plan(),
                update.previous(),
                Optional.empty(),
                "%s  %s".formatted(update.plan().workloadId(), update.plan().run().createdAt()),
                OptionalDouble.empty())
        + '\n';
  }

  /** Prints plans, on the subscriber's thread. */
  private final class PlanPrinter extends WatchPrinter implements PlanListener {
    private final Function<PlanUpdate, String> shape;

    PlanPrinter(Function<PlanUpdate, String> shape) {
      super(spec.commandLine().getOut(), spec.commandLine().getErr(), once);
      this.shape = shape;
    }

    @Override
    public void plan(PlanUpdate update) {
      print(shape.apply(update));
    }

    /** A line on standard output in text; the other formats have lines of plans only. */
    @Override
    public void deleted(String workloadId) {
      String line = "%s was deleted".formatted(workloadId);
      if (format == WatchFormat.TEXT) {
        note(line);
      } else {
        report(line);
      }
    }
  }
}
