package io.shardtide.cli;

import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows and explains plans, and makes them from files. */
@Command(
    name = "plan",
    description = "Shows and explains the plans of workloads, and makes plans without Kafka.",
    subcommands = {PlanWhy.class, PlanMake.class, PlanEvaluate.class},
    footer = {"", "Example:", "  shardtide plan get ads"})
final class PlanCommand {
  @Command(
      name = "get",
      description =
          "Prints the latest plan of a workload. If there is none within the time-out: ends with"
              + " status 1.",
      footer = {"", "Example:", "  shardtide plan get ads"})
  int get(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String workload)
      throws Exception {
    return watch(on, workload, true);
  }

  @Command(
      name = "watch",
      description =
          "Prints each workload's latest plan, then each new one as it is published, until Ctrl-C.",
      footer = {"", "Example:", "  shardtide plan watch ads"})
  int watch(
      @Mixin ClusterOption on,
      @Parameters(
              paramLabel = "WORKLOAD",
              arity = "0..1",
              description = "Only the plans of this workload.")
          String workload,
      @Option(
              names = "--once",
              description =
                  "Ends after the latest plans. If there is none within the time-out: ends with"
                      + " status 1.")
          boolean once)
      throws Exception {
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    try (SimulatedCosts costs = new SimulatedCosts(on.endpoint(), on::note)) {
      PlanPrinter printer =
          new PlanPrinter(
              on,
              once,
              on.isText() ? update -> text(update, costs) : update -> lines.write(update.plan()));
      PlanSubscriber plans =
          PlanSubscriber.start(on.endpoint(), Optional.ofNullable(workload), printer);
      try {
        printer.awaitEnd(
            on.timeout(),
            "No plan%s".formatted(workload == null ? "" : " of workload " + workload));
      } finally {
        plans.close();
      }
    }
    return 0;
  }

  private static String text(PlanUpdate update, SimulatedCosts costs) {
    return new PlanText(Ansi.AUTO, costs::ofModel)
        .summary(
            update.plan(),
            update.previous(),
            Optional.empty(),
            "%s  %s".formatted(update.plan().workloadId(), update.plan().run().createdAt()),
            OptionalDouble.empty());
  }

  /** Prints plans, on the subscriber's thread. */
  private static final class PlanPrinter extends WatchPrinter implements PlanListener {
    private final boolean isText;
    private final Function<PlanUpdate, String> shape;

    PlanPrinter(PrintOption on, boolean once, Function<PlanUpdate, String> shape) {
      super(on.out(), on.err(), once);
      isText = on.isText();
      this.shape = shape;
    }

    @Override
    public void plan(PlanUpdate update) {
      print(shape.apply(update) + '\n');
    }

    /** A line on standard output in text; the other formats have lines of plans only. */
    @Override
    public void deleted(String workloadId) {
      String line = "%s was deleted".formatted(workloadId);
      if (isText) {
        note(line);
      } else {
        report(line);
      }
    }
  }
}
