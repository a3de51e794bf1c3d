package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.PlanListener;
import io.shardtide.client.PlanSubscriber;
import io.shardtide.client.PlanUpdate;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.views.TableRow;
import io.shardtide.views.Views;
import io.shardtide.views.WorkloadRow;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A workload is deleted and created again: on the log, for its readers, and in a replay. */
class DeletedWorkloadIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final String CLUSTER =
      "devices=2,memoryGib=1,batchSize=65536,devicesPerNode=8,hardware=simulated";

  @TempDir private static Path folder;
  private static LocalPlanner planner;

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, "d.", 2);
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static String run(int status, String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(
        List.of(
            "--bootstrap",
            planner.bootstrapServers(),
            "--registry",
            planner.registryUrl(),
            "--prefix",
            "d."));
    StringWriter out = new StringWriter();
    PrintWriter both = new PrintWriter(out);
    assertThat(Shardtide.run(both, both, all.toArray(new String[0])))
        .as(out.toString())
        .isEqualTo(status);
    return out.toString();
  }

  private static String publish(int status, String workload, String... options) {
    List<String> args = new ArrayList<>(List.of("publish", "--workload", workload));
    args.addAll(List.of(options));
    return run(status, args.toArray(new String[0]));
  }

  private static String upsert(String name) {
    return "name=%s,rows=100000,columns=64,poolingFactor=5".formatted(name);
  }

  /** Receives plans and deletions, as text. */
  private static final class Received implements PlanListener {
    final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    @Override
    public void plan(PlanUpdate update) {
      ShardingPlan plan = update.plan();
      lines.add(
          "%s generation %d, previous %s"
              .formatted(
                  plan.workloadId(),
                  plan.generation(),
                  update.previous().map(before -> "" + before.generation()).orElse("none")));
    }

    @Override
    public void deleted(String workloadId) {
      lines.add(workloadId + " deleted");
    }

    String next() throws InterruptedException {
      return lines.poll(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }
  }

  @Test
  void a_workload_is_deleted_for_all_readers_and_in_a_replay() throws Exception {
    Received received = new Received();
    try (PlanSubscriber plans =
            PlanSubscriber.start(planner.endpoint(), Optional.of("old"), received);
        Views views = views();
        LogClient log = planner.log()) {
      assertThat(plans).isNotNull();
      publish(0, "stays", "--cluster", CLUSTER, "--upsert", upsert("a"));
      publish(0, "old", "--cluster", CLUSTER, "--upsert", upsert("a"), "--upsert", upsert("b"));
      assertThat(received.next()).isEqualTo("old generation 1, previous none");
      await().atMost(TIMEOUT).until(() -> workloads(views).equals(List.of("old", "stays")));

      assertThat(publish(1, "missing", "--delete", "retired")).contains("UNKNOWN_WORKLOAD");
      assertThat(publish(2, "old", "--delete", "retired", "--upsert", upsert("c")))
          .contains("there is no option --upsert");
      assertThat(publish(0, "old", "--delete", "retired")).contains("generation 2");
      assertThat(received.next()).isEqualTo("old deleted");
      await().atMost(TIMEOUT).until(() -> workloads(views).equals(List.of("stays")));
      assertThat(views.workload("old")).isEmpty();
      try (Views later = views()) {
        assertThat(workloads(later)).as("after a restart").containsExactly("stays");
      }
      assertThat(run(0, "watch", "--once")).contains("stays").doesNotContain("old");

      publish(0, "old", "--upsert", upsert("c"));
      assertThat(publish(0, "old", "--cluster", CLUSTER)).contains("generation 4");
      assertThat(received.next()).isEqualTo("old generation 4, previous none");
      await().atMost(TIMEOUT).until(() -> views.log().tables("old").isPresent());
      await()
          .atMost(TIMEOUT)
          .untilAsserted(
              () ->
                  assertThat(views.log().tables("old").orElseThrow())
                      .extracting(TableRow::name)
                      .containsExactly("c"));
      assertThat(log.plansOf("old"))
          .extracting(ShardingPlan::generation, plan -> plan.origin().firstGeneration())
          .containsExactly(
              org.assertj.core.groups.Tuple.tuple(1L, 1L),
              org.assertj.core.groups.Tuple.tuple(4L, 3L));
      assertThat(run(0, "replay", "--out", folder.resolve("replayed.jsonl").toString()))
          .contains("3 equal, 0 differ, 0 not recorded, 0 not reproduced");
      assertThat(run(0, "why", "--plan", log.plansOf("old").get(1).planId()))
          .contains("the workload is deleted, with 2 tables: retired");
    }
  }

  private static Views views() {
    Views views =
        Views.start(
            planner.endpoint(),
            Set.of(),
            error -> {
              throw new AssertionError(error);
            });
    await().atMost(TIMEOUT).until(() -> views.isCaughtUp() && views.statistics().tablesAreRead());
    return views;
  }

  private static List<String> workloads(Views views) {
    return views.log().rows().stream().map(WorkloadRow::workloadId).toList();
  }
}
