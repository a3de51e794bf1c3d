package example;

import io.shardtide.client.Endpoint;
import io.shardtide.client.Outcome;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.torchrec.workload.ClusterSpec;
import io.shardtide.torchrec.workload.ReuseHistogram;
import io.shardtide.torchrec.workload.TableSpec;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Publishes two tables and a cluster, waits for their plan, and prints its shards. */
public final class FirstPlan {
  private static final String WORKLOAD = "java-example";

  private FirstPlan() {}

  /**
   * Runs the example.
   *
   * @param args bootstrap servers, such as 127.0.0.1:9092, and the address of the schema registry
   */
  public static void main(String[] args) throws Exception {
    if (args.length != 2) {
      System.err.println("usage: FirstPlan HOST:PORT REGISTRY_URL");
      System.exit(2);
    }
    Endpoint endpoint = Endpoint.of(args[0], args[1]);
    BlockingQueue<ShardingPlan> received = new LinkedBlockingQueue<>();
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "FirstPlan");
        PlanSubscriber plans =
            PlanSubscriber.start(
                endpoint, Optional.of(WORKLOAD), update -> received.add(update.plan()))) {
      Outcome outcome =
          publisher
              .change(WORKLOAD)
              .upsert(new TableSpec("user", 20_000_000, 128, 2.0, ReuseHistogram.UNKNOWN, 4))
              .upsert(new TableSpec("item", 3_000_000, 64, 30.0, ReuseHistogram.UNKNOWN, 4))
              .cluster(new ClusterSpec(4, 16L << 30, 65_536, 4, "h200"))
              .sendAndAwait()
              .get(30, TimeUnit.SECONDS);
      if (outcome instanceof Outcome.Accepted accepted) {
        print(await(received, accepted.generation().getAsLong()));
      } else if (outcome instanceof Outcome.Rejected rejected) {
        System.err.println(rejected.reason() + ": " + rejected.message());
        System.exit(1);
      }
    }
  }

  /** Waits for the plan of a generation; a plan of an earlier run may come first. */
  private static ShardingPlan await(BlockingQueue<ShardingPlan> received, long generation)
      throws InterruptedException {
    ShardingPlan plan;
    do {
      plan = received.poll(30, TimeUnit.SECONDS);
      if (plan == null) {
        throw new IllegalStateException("No plan of generation " + generation + " within 30 s");
      }
    } while (plan.generation() < generation);
    return plan;
  }

  private static void print(ShardingPlan plan) {
    System.out.printf("plan %s, predicted %.3f ms a step%n", plan.planId(), plan.predictedMs());
    for (Shard shard : plan.shards()) {
      System.out.printf(
          "%s %s: columns %d to %d, rows %d to %d on device %d%n",
          shard.table(),
          shard.kind().name().toLowerCase(Locale.ROOT),
          shard.columnOffset(),
          shard.columnOffset() + shard.columns() - 1,
          shard.rowOffset(),
          shard.rowOffset() + shard.rows() - 1,
          shard.device());
    }
  }
}
