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
import io.shardtide.replay.AllocationCollector;
import io.shardtide.replay.AllocationProvenance;
import io.shardtide.replay.RefusedException;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Sets pools of devices and the claims of workloads on them, and shows who has which nodes. */
@Command(
    name = "pool",
    description =
        "Sets pools of devices that workloads share, and shows which nodes each workload has. The"
            + " planner needs pools.enabled=true.",
    subcommands = PoolCommand.NodeCommand.class,
    footer = {"", "Example:", "  shardtide pool get gpus"})
final class PoolCommand {
  private static final String POOL = "Id of the pool.";
  private static final String WORKLOAD = "Id of the workload.";

  @Command(
      name = "apply",
      description =
          "Sets a pool, or replaces it: nodes that it no longer has are lost, claims stay.",
      footer = {
        "",
        "Example:",
        "  shardtide pool apply gpus --set devicesPerNode=8 --set memoryGib=80 \\",
        "    --set hardware=a100 --rack r1=n1,n2 --rack r2=n3,n4 --links links.json"
      })
  int apply(@Mixin PoolEventOption on, @Mixin PoolSpecOption is) throws Exception {
    return on.publish(new PoolUpdate.PoolSet(is.pool()), Optional.empty());
  }

  @Command(
      name = "claim",
      description =
          "Claims devices of a pool for a workload, or replaces its claim. A claim may be above the"
              + " pool: the workload gets what there is, or waits if that is below its least.",
      footer = {
        "",
        "Example:",
        "  shardtide pool claim gpus search-ads --min-devices 8 --max-devices 64"
      })
  int claim(
      @Mixin PoolEventOption on,
      @Parameters(paramLabel = "WORKLOAD", index = "1", description = WORKLOAD) String workload,
      @Option(
              names = "--min-devices",
              required = true,
              paramLabel = "N",
              description = "Devices without which the workload does not train.")
          int least,
      @Option(
              names = "--max-devices",
              required = true,
              paramLabel = "N",
              description = "Devices that the workload can use.")
          int most,
      @Option(
              names = "--weight",
              defaultValue = "1",
              paramLabel = "X",
              description =
                  "Value of one of its samples relative to those of others. Default:"
                      + " ${DEFAULT-VALUE}.")
          double weight,
      @Option(
              names = "--priority",
              defaultValue = "0",
              paramLabel = "N",
              description =
                  "Who keeps the least devices if the pool has too few: the greater number. Default:"
                      + " ${DEFAULT-VALUE}.")
          int priority)
      throws Exception {
    return on.publish(
        new PoolUpdate.ClaimSet(new Claim(workload, least, most, weight, priority)),
        Optional.of(workload));
  }

  @Command(
      name = "delete",
      description = "Deletes the claim of a workload on a pool: its nodes are free.",
      footer = {"", "Example:", "  shardtide pool delete gpus search-ads"})
  int delete(
      @Mixin PoolEventOption on,
      @Parameters(paramLabel = "WORKLOAD", index = "1", description = WORKLOAD) String workload)
      throws Exception {
    return on.publish(new PoolUpdate.ClaimWithdrawn(workload), Optional.of(workload));
  }

  /** Changes which nodes a pool has. */
  @Command(
      name = "node",
      description = "Adds nodes to a pool, and takes them from it.",
      footer = {"", "Example:", "  shardtide pool node add gpus n5 --rack r2"})
  static final class NodeCommand {
    private static final String NODE = "Name of the node.";

    @Command(
        name = "add",
        description = "Adds a node to a pool.",
        footer = {"", "Example:", "  shardtide pool node add gpus n5 --rack r2"})
    int add(
        @Mixin PoolEventOption on,
        @Parameters(paramLabel = "NODE", index = "1", description = NODE) String node,
        @Option(
                names = "--rack",
                defaultValue = "",
                paramLabel = "RACK",
                description = "Rack of the node. Default: not known.")
            String rack)
        throws Exception {
      return on.publish(new PoolUpdate.PoolNodeAdded(new PoolNode(node, rack)), Optional.empty());
    }

    @Command(
        name = "rm",
        description = "Takes a node from a pool.",
        footer = {"", "Example:", "  shardtide pool node rm gpus n3"})
    int remove(
        @Mixin PoolEventOption on,
        @Parameters(paramLabel = "NODE", index = "1", description = NODE) String node)
        throws Exception {
      return on.publish(new PoolUpdate.PoolNodeLost(node), Optional.empty());
    }
  }

  @Command(
      name = "list",
      description = "Lists the pools: their nodes, how many are free, and their claims.",
      footer = {"", "Example:", "  shardtide pool list"})
  int list(@Mixin ClusterOption on) throws Exception {
    on.print(ListedPool.table(read(on).values().stream().map(ListedPool::of).toList()));
    return 0;
  }

  @Command(
      name = "get",
      description =
          "Shows who has each node of a pool, what each workload has and why, and how good the"
              + " allocation is.",
      footer = {"", "Example:", "  shardtide pool get gpus"})
  int get(@Mixin ClusterOption on, @Parameters(paramLabel = "POOL", description = POOL) String pool)
      throws Exception {
    check(pool);
    SortedMap<String, AllocatedPool> pools = read(on);
    AllocatedPool shown = pools.get(pool);
    if (shown == null) {
      throw new RefusedException(
          "There is no pool %s; expected one of %s. A pool is set with: shardtide pool apply"
              .formatted(Names.quote(pool), pools.keySet()));
    }
    if (on.isText()) {
      try (SimulatedCosts simulated = new SimulatedCosts(on.endpoint(), on::note)) {
        on.print(new AllocationText(shown, simulated::ofCurve).show());
      }
    } else {
      Allocation allocation =
          shown
              .allocation()
              .orElseThrow(
                  () ->
                      new IllegalStateException(
                          "Pool %s is not allocated yet".formatted(Names.quote(pool))));
      on.print(JsonText.tree(Codec.ALLOCATION, allocation), () -> "");
    }
    return 0;
  }

  @Command(
      name = "watch",
      description =
          "Shows the latest allocation of a pool, then each new one as it is published, until"
              + " Ctrl-C.",
      footer = {"", "Example:", "  shardtide pool watch gpus"})
  int watch(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Option(
              names = "--once",
              description =
                  "Ends after the latest allocation. If there is none within the time-out: ends with"
                      + " status 1.")
          boolean once)
      throws Exception {
    check(pool);
    try (PoolReader reader = PoolReader.connect(on.endpoint());
        SimulatedCosts simulated = new SimulatedCosts(on.endpoint(), on::note)) {
      JsonLines<Allocation, ?> lines = new JsonLines<>(Codec.ALLOCATION);
      AllocationPrinter printer =
          new AllocationPrinter(
              on,
              once,
              on.isText() ? allocation -> text(reader, allocation, simulated) : lines::write);
      AllocationSubscriber allocations =
          AllocationSubscriber.start(on.endpoint(), Optional.of(pool), printer);
      try {
        printer.awaitEnd(on.timeout(), "No allocation of pool %s".formatted(Names.quote(pool)));
      } finally {
        allocations.close();
      }
    }
    return 0;
  }

  @Command(
      name = "why",
      description =
          "Explains an allocation of a pool: the events and the curves of throughput that led to it,"
              + " what each workload has and why, nodes that changed hands, and claims that wait.",
      footer = {
        "",
        "Examples:",
        "  shardtide pool why gpus",
        "  shardtide pool why gpus --log backup --generation 7"
      })
  int why(
      @Mixin LogOption log,
      @Parameters(paramLabel = "POOL", description = POOL) String pool,
      @Option(names = "--log", paramLabel = "DIR", description = LogOption.EXPORTED) Path folder,
      @Option(
              names = "--generation",
              paramLabel = "G",
              description = "All allocations of this generation, instead of the latest one.")
          Long generation)
      throws IOException {
    if (generation != null && generation < 1) {
      throw log.wrong("--generation must be at least 1, got " + generation);
    }
    List<AllocationProvenance> all =
        log.read(
            folder,
            Optional.empty(),
            log.bar("Reading"),
            records ->
                AllocationCollector.collect(
                    records,
                    pool,
                    generation == null ? OptionalLong.empty() : OptionalLong.of(generation)));
    List<AllocationProvenance> shown =
        generation == null ? all.subList(all.size() - 1, all.size()) : all;
    log.printAll(
        shown,
        () ->
            shown.stream()
                .map(AllocationText::why)
                .collect(Collectors.joining(System.lineSeparator())));
    return 0;
  }

  /** Prints allocations, on the subscriber's thread. */
  private static final class AllocationPrinter extends WatchPrinter implements AllocationListener {
    private final Function<Allocation, String> shape;

    AllocationPrinter(PrintOption on, boolean once, Function<Allocation, String> shape) {
      super(on.out(), on.err(), once);
      this.shape = shape;
    }

    @Override
    public void allocation(AllocationUpdate update) {
      print(shape.apply(update.allocation()) + '\n');
    }
  }

  /** An allocation names nodes and workloads; the pool and the claims come from its events. */
  private static String text(PoolReader reader, Allocation allocation, SimulatedCosts simulated) {
    AllocatedPool pool = reader.read().get(allocation.poolId());
    return new AllocationText(
            new AllocatedPool(pool.state(), Optional.of(allocation)), simulated::ofCurve)
        .show();
  }

  private static void check(String pool) {
    Names.check(pool, "pool id", RejectionReason.INVALID_POOL);
  }

  private static SortedMap<String, AllocatedPool> read(ClusterOption on) {
    try (PoolReader reader = PoolReader.connect(on.endpoint())) {
      return reader.read();
    }
  }
}
