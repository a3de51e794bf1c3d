package io.shardtide.cli;

import io.shardtide.client.AllocationListener;
import io.shardtide.client.AllocationSubscriber;
import io.shardtide.client.AllocationUpdate;
import io.shardtide.client.PoolReader;
import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.Claim;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.replay.RefusedException;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.Function;
import java.util.function.Predicate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Sets pools of devices and the claims of workloads on them, and shows who has which nodes. */
@Command(
    name = "pools",
    description =
        "Sets pools of devices that workloads share, and shows which nodes each workload has. The"
            + " planner needs pools.enabled=true.",
    footer = {
      "",
      "Example:",
      "  shardtide pools show --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 gpus"
    },
    mixinStandardHelpOptions = true)
final class PoolsCommand implements Runnable {
  private static final String POOL = "Id of the pool.";
  private static final String AS_JSON = "Print a line with the Allocation in Avro's JSON encoding.";

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(),
        "Missing subcommand: set, claim, withdraw, lose, add, list, show or watch");
  }

  @Command(
      name = "set",
      description =
          "Sets a pool, or replaces it: nodes that it no longer has are lost, claims stay.",
      footer = {
        "",
        "Example:",
        "  shardtide pools set --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus \\",
        "    --devices-per-node 8 --memory-gib 80 --hardware a100 \\",
        "    --rack r1=n1,n2 --rack r2=n3,n4 --links links.json"
      },
      mixinStandardHelpOptions = true)
  int set(
      @Mixin ClusterOption cluster,
      @Mixin PoolEventOption event,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Mixin PoolSpecOption is)
      throws IOException, InterruptedException {
    cluster.check(spec);
    return event.publish(spec, cluster, pool, new PoolUpdate.PoolSet(is.pool()), Optional.empty());
  }

  @Command(
      name = "claim",
      description =
          "Claims devices of a pool for a workload, or replaces its claim. A claim may be above the"
              + " pool: the workload gets what there is, or waits if that is below its least.",
      footer = {
        "",
        "Example:",
        "  shardtide pools claim --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus search-ads --least 8 --most 64"
      },
      mixinStandardHelpOptions = true)
  int claim(
      @Mixin ClusterOption cluster,
      @Mixin PoolEventOption event,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String workload,
      @Option(
              names = "--least",
              required = true,
              paramLabel = "N",
              description = "Devices without which the workload does not train.")
          int least,
      @Option(
              names = "--most",
              required = true,
              paramLabel = "N",
              description = "Devices that the workload can use.")
          int most,
      @Option(
              names = "--weight",
              defaultValue = "1",
              paramLabel = "X",
              description =
                  "Value of one of its samples relative to those of others. Default: ${DEFAULT-VALUE}.")
          double weight,
      @Option(
              names = "--priority",
              defaultValue = "0",
              paramLabel = "N",
              description =
                  "Who keeps the least devices if the pool has too few: the greater number. Default: ${DEFAULT-VALUE}.")
          int priority)
      throws IOException, InterruptedException {
    cluster.check(spec);
    return event.publish(
        spec,
        cluster,
        pool,
        new PoolUpdate.ClaimSet(new Claim(workload, least, most, weight, priority)),
        Optional.of(workload));
  }

  @Command(
      name = "withdraw",
      description = "Withdraws the claim of a workload: its nodes are free.",
      footer = {
        "",
        "Example:",
        "  shardtide pools withdraw --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus search-ads"
      },
      mixinStandardHelpOptions = true)
  int withdraw(
      @Mixin ClusterOption cluster,
      @Mixin PoolEventOption event,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String workload)
      throws IOException, InterruptedException {
    cluster.check(spec);
    return event.publish(
        spec, cluster, pool, new PoolUpdate.ClaimWithdrawn(workload), Optional.of(workload));
  }

  @Command(
      name = "lose",
      description = "Takes a node from a pool.",
      footer = {
        "",
        "Example:",
        "  shardtide pools lose --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus n3"
      },
      mixinStandardHelpOptions = true)
  int lose(
      @Mixin ClusterOption cluster,
      @Mixin PoolEventOption event,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Parameters(paramLabel = "NODE", description = "Name of a node of the pool.") String node)
      throws IOException, InterruptedException {
    cluster.check(spec);
    return event.publish(spec, cluster, pool, new PoolUpdate.PoolNodeLost(node), Optional.empty());
  }

  @Command(
      name = "add",
      description = "Adds a node to a pool.",
      footer = {
        "",
        "Example:",
        "  shardtide pools add --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus n5 --rack r2"
      },
      mixinStandardHelpOptions = true)
  int add(
      @Mixin ClusterOption cluster,
      @Mixin PoolEventOption event,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Parameters(paramLabel = "NODE", description = "Name of the node.") String node,
      @Option(
              names = "--rack",
              defaultValue = "",
              paramLabel = "RACK",
              description = "Rack of the node. Default: not known.")
          String rack)
      throws IOException, InterruptedException {
    cluster.check(spec);
    return event.publish(
        spec,
        cluster,
        pool,
        new PoolUpdate.PoolNodeAdded(new PoolNode(node, rack)),
        Optional.empty());
  }

  @Command(
      name = "list",
      description = "Lists the pools: their nodes, how many are free, and their claims.",
      footer = {
        "",
        "Example:",
        "  shardtide pools list --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081"
      },
      mixinStandardHelpOptions = true)
  int list(
      @Mixin ClusterOption cluster,
      @Option(
              names = "--json",
              description = "Print a line of JSON for each pool instead of a table.")
          boolean asJson)
      throws IOException {
    cluster.check(spec);
    List<ListedPool> pools = read(cluster).values().stream().map(ListedPool::of).toList();
    print(asJson ? ListedPool.json(pools) : ListedPool.table(pools).toString());
    return 0;
  }

  @Command(
      name = "show",
      description =
          "Shows who has each node of a pool, what each workload has and why, and how good the"
              + " allocation is.",
      footer = {
        "",
        "Example:",
        "  shardtide pools show --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus"
      },
      mixinStandardHelpOptions = true)
  int show(
      @Mixin ClusterOption cluster,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Option(names = "--json", description = AS_JSON) boolean asJson)
      throws IOException {
    cluster.check(spec);
    check(pool);
    SortedMap<String, AllocatedPool> pools = read(cluster);
    AllocatedPool shown = pools.get(pool);
    if (shown == null) {
      throw new RefusedException(
          "There is no pool %s; expected one of %s. A pool is set with: shardtide pools set"
              .formatted(Names.quote(pool), pools.keySet()));
    }
    if (asJson) {
      Allocation allocation =
          shown
              .allocation()
              .orElseThrow(
                  () ->
                      new IllegalStateException(
                          "Pool %s is not allocated yet".formatted(Names.quote(pool))));
      print(new JsonLines<>(Codec.ALLOCATION).write(allocation) + '\n');
    } else {
      try (SimulatedCurves simulated = simulatedCurves(cluster)) {
        print(new AllocationView(shown, simulated::contains).show());
      }
    }
    return 0;
  }

  @Command(
      name = "watch",
      description =
          "Shows the latest allocation of a pool, then each new one as it is published, until"
              + " Ctrl-C.",
      footer = {
        "",
        "Example:",
        "  shardtide pools watch --bootstrap kafka:9092 \\",
        "    --registry http://registry:8081 gpus"
      },
      mixinStandardHelpOptions = true)
  int watch(
      @Mixin ClusterOption cluster,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Option(names = "--json", description = AS_JSON) boolean asJson,
      @Option(
              names = "--once",
              description =
                  "Ends after the latest allocation. If there is none within the time-out: ends with status 1.")
          boolean once)
      throws Exception {
    cluster.check(spec);
    check(pool);
    KafkaLogSummary quietLog = cluster.quietLog();
    try (PoolReader reader = PoolReader.connect(cluster.endpoint());
        SimulatedCurves simulated = simulatedCurves(cluster)) {
      JsonLines<Allocation, ?> lines = new JsonLines<>(Codec.ALLOCATION);
      AllocationPrinter printer =
          new AllocationPrinter(
              once,
              asJson
                  ? allocation -> lines.write(allocation) + '\n'
                  : allocation -> text(reader, allocation, simulated::contains));
      AllocationSubscriber allocations =
          AllocationSubscriber.start(cluster.endpoint(), Optional.of(pool), printer);
      try {
        printer.awaitEnd(
            cluster.timeout(), "No allocation of pool %s".formatted(Names.quote(pool)));
      } finally {
        allocations.close();
      }
    } finally {
      quietLog.close();
    }
    return 0;
  }

  /** Prints allocations, on the subscriber's thread. */
  private final class AllocationPrinter extends WatchPrinter implements AllocationListener {
    private final Function<Allocation, String> shape;

    AllocationPrinter(boolean once, Function<Allocation, String> shape) {
      super(spec.commandLine().getOut(), spec.commandLine().getErr(), once);
      this.shape = shape;
    }

    @Override
    public void allocation(AllocationUpdate update) {
      print(shape.apply(update.allocation()));
    }
  }

  /** An allocation names nodes and workloads; the pool and the claims come from its events. */
  private static String text(
      PoolReader reader, Allocation allocation, Predicate<String> isSimulated) {
    AllocatedPool pool = reader.read().get(allocation.poolId());
    return new AllocationView(new AllocatedPool(pool.state(), Optional.of(allocation)), isSimulated)
            .show()
        + '\n';
  }

  private static void check(String pool) {
    Names.check(pool, "pool id", RejectionReason.INVALID_POOL);
  }

  private SortedMap<String, AllocatedPool> read(ClusterOption cluster) throws IOException {
    KafkaLogSummary quietLog = cluster.quietLog();
    try (PoolReader reader = PoolReader.connect(cluster.endpoint())) {
      return reader.read();
    } finally {
      quietLog.close();
    }
  }

  private SimulatedCurves simulatedCurves(ClusterOption cluster) throws IOException {
    return new SimulatedCurves(
        cluster.endpoint(), line -> spec.commandLine().getErr().println(line));
  }

  private void print(String text) {
    spec.commandLine().getOut().print(text);
  }
}
