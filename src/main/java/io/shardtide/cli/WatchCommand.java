package io.shardtide.cli;

import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.torchrec.TorchRecPlans;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows plans as they are published. */
@Command(
    name = "watch",
    description =
        "Shows each workload's latest plan, then each new one as it is published, until Ctrl-C.",
    mixinStandardHelpOptions = true)
final class WatchCommand implements Callable<Integer> {
  /** How a plan is shown. */
  enum WatchFormat {
    /** For people. */
    TEXT,
    /** A ShardingPlan a line, in Avro's JSON encoding. */
    JSON,
    /** TorchRec's plan a line, with the arguments of its reshard where a plan was shown before. */
    TORCHREC
  }

  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(names = "--workload", paramLabel = "ID", description = "Only this workload's.")
  private Optional<String> workload;

  @Option(
      names = "--format",
      paramLabel = "NAME",
      defaultValue = "TEXT",
      description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
  private WatchFormat format;

  @Mixin private TorchRecOption torchRec;

  @Option(names = "--once", description = "Ends after the latest plans.")
  private boolean once;

  /** Completed when nothing follows. */
  private final CompletableFuture<Void> over = new CompletableFuture<>();

  @Override
  public Integer call() throws Exception {
    cluster.check(spec);
    PlanSubscriber plans =
        PlanSubscriber.start(cluster.endpoint(), workload, new ShownPlan(shape()));
    try {
      over.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    } finally {
      plans.close();
    }
    return 0;
  }

  private Function<PlanUpdate, String> shape() {
    TorchRecPlans torchRecPlans = torchRec.plans(format == WatchFormat.TORCHREC);
    return switch (format) {
      case TEXT -> this::text;
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

  private String text(PlanUpdate update) {
    return new PlanView(Ansi.AUTO)
            .show(
                update.plan(),
                update.previous(),
                OptionalLong.empty(),
                "%s  %s".formatted(update.plan().workloadId(), update.plan().createdAt()),
                OptionalDouble.empty())
        + '\n';
  }

  /** Prints what it hears. */
  private final class ShownPlan implements PlanListener {
    private final PrintWriter out = spec.commandLine().getOut();
    private final PrintWriter err = spec.commandLine().getErr();
    private final Function<PlanUpdate, String> shape;

    ShownPlan(Function<PlanUpdate, String> shape) {
      this.shape = shape;
    }

    @Override
    public void plan(PlanUpdate update) {
      out.print(shape.apply(update));
      out.flush();
    }

    @Override
    public void caughtUp() {
      if (once) {
        over.complete(null);
      }
    }

    @Override
    public void unreadable(RejectedEvent record) {
      err.printf("left out: %s: %s%n", record.source(), record.message());
      err.flush();
    }

    @Override
    public void failed(RuntimeException error) {
      over.completeExceptionally(error);
    }
  }
}
