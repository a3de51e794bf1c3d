package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.views.Views;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.workload.RejectedEvent;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random bytes, and records of another program's schema, on all topics: each reader of the log
 * skips and counts them, and goes on.
 */
@Tag("nightly")
class ForeignRecordsIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int PER_TOPIC = 250;

  @TempDir private Path folder;

  private final List<PlanUpdate> updates = new CopyOnWriteArrayList<>();
  private final List<RejectedEvent> undecodable = new CopyOnWriteArrayList<>();
  private final List<RuntimeException> failures = new CopyOnWriteArrayList<>();

  private final PlanListener listener =
      new PlanListener() {
        @Override
        public void plan(PlanUpdate update) {
          updates.add(update);
        }

        @Override
        public void undecodable(RejectedEvent record) {
          undecodable.add(record);
        }

        @Override
        public void failed(RuntimeException error) {
          failures.add(error);
        }
      };

  /** Writes to every topic, with the key of the workload; returns how many to each. */
  private static void flood(LogClient log, byte[] foreign) throws Exception {
    Random random = new Random(7);
    for (Topic<?> topic : log.topics().all()) {
      for (int r = 0; r < PER_TOPIC; r++) {
        byte[] bytes = new byte[random.nextInt(200)];
        random.nextBytes(bytes);
        if (r % 3 == 0 && bytes.length > 4) {
          // In the registry's framing, with a schema that it has or has not.
          bytes[0] = 0;
          ByteBuffer.wrap(bytes).putInt(1, random.nextInt(40));
        }
        log.publish(topic, DemoScript.WORKLOAD, r % 5 == 0 ? foreign : bytes);
      }
    }
  }

  @Test
  void every_reader_of_the_log_goes_on() throws Exception {
    try (LocalPlanner planner = LocalPlanner.start(folder, "f.", EnumSet.allOf(Extension.class));
        LogClient log = planner.log();
        Registry registry = planner.endpoint().connectRegistry();
        WorkloadPublisher publisher = WorkloadPublisher.connect(planner.endpoint(), "test")) {
      Endpoint endpoint = planner.endpoint();
      publisher
          .change(DemoScript.WORKLOAD)
          .cluster(Fixtures.cluster(2, Fixtures.GIB))
          .upsert(Fixtures.table("a", 1_000, 16, 1))
          .upsert(Fixtures.table("b", 1_000, 16, 1))
          .send()
          .get();
      ShardingPlan first = log.plans(1).get(0);
      StringWriter out = new StringWriter();
      StringWriter err = new StringWriter();
      try (DemoClient demo = DemoClient.connect(endpoint, registry);
          Views views = Views.start(endpoint, Set.of(), failures::add);
          PlanSubscriber plans =
              PlanSubscriber.start(endpoint, Optional.of(DemoScript.WORKLOAD), listener)) {
        assertThat(plans).isNotNull();
        await().atMost(PATIENCE).until(() -> updates.size() == 1);

        flood(log, foreignRecord(registry.url()));
        publisher.change(DemoScript.WORKLOAD).drop("b").send().get();
        // The subscriber's topic is written last of the planner's.
        await().atMost(PATIENCE).until(() -> updates.size() == 2);
        ShardingPlan second = updates.get(1).plan();
        assertThat(second.generation()).isEqualTo(2);
        assertThat(second.origin().previousPlanId()).isPresent();
        assertThat(undecodable).hasSize(PER_TOPIC);

        assertThat(updates).extracting(PlanUpdate::plan).containsExactly(first, second);
        await().atMost(PATIENCE).until(() -> demo.answers().contains(second));
        assertThat(demo.undecodableRecords())
            .as("on sharding-plans, infeasible-workloads, rejected-events, alarms and decisions")
            .isEqualTo(5 * PER_TOPIC);

        await().atMost(PATIENCE).until(() -> views.plan(second.planId()).isPresent());
        assertThat(views.plan(second.planId())).contains(second);
        assertThat(failures).isEmpty();

        CompletableFuture<Integer> watch =
            CompletableFuture.supplyAsync(
                () ->
                    Shardtide.run(
                        new PrintWriter(out),
                        new PrintWriter(err),
                        "watch",
                        "--once",
                        "--bootstrap",
                        endpoint.bootstrapServers(),
                        "--registry",
                        endpoint.registryUrl(),
                        "--prefix",
                        "f."));
        assertThat(watch.get(60, TimeUnit.SECONDS)).isZero();
        assertThat(out.toString()).startsWith("generation 2  " + DemoScript.WORKLOAD);
        assertThat(err.toString().lines())
            .hasSize(PER_TOPIC)
            .allMatch(line -> line.startsWith("skipped: f.current-plans"));
      }
    }
  }

  /** A record of a schema that the registry has and that is none of ours. */
  private static byte[] foreignRecord(String registryUrl) throws Exception {
    int id = LogClient.registerForeignSchema(registryUrl, "another-program-value");
    return ByteBuffer.allocate(11)
        .put((byte) 0)
        .putInt(id)
        .put(new byte[] {10, 'h', 'e', 'l', 'l', 'o'})
        .array();
  }
}
