package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person types to publish, and to see plans. */
class ClientCommandsIT {
  @TempDir private static Path folder;
  private static LocalPlanner planner;

  private record Run(int status, String out, String err) {}

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, "p.", 1);
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static Run run(String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(
        List.of(
            "--bootstrap",
            planner.bootstrapServers(),
            "--registry",
            planner.registryUrl(),
            "--prefix",
            "p."));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    return new Run(status, out.toString(), err.toString());
  }

  private static Run first(String workload) {
    return run(
        "publish",
        "--workload",
        workload,
        "--cluster",
        "devices=2,memoryGib=1,batchSize=65536,hardware=" + Fixtures.bundle().hardware(),
        "--upsert",
        "name=a,rows=1000000,columns=64,poolingFactor=5",
        "--upsert",
        "name=b,rows=500000,columns=32,poolingFactor=2.5,bytesPerElement=8");
  }

  private static Run watched(String workload, String format) {
    Run[] run = new Run[1];
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> {
              run[0] = run("watch", "--once", "--workload", workload, "--format", format);
              return !run[0].out().isEmpty();
            });
    return run[0];
  }

  @Test
  void a_person_publishes_and_sees_the_plan() {
    Run published = first("typed");
    assertThat(published.err()).isEmpty();
    assertThat(published.out()).contains("event", "workload", "outcome");
    assertThat(published.out().lines().toList().get(1)).matches("[0-9a-f]{8} +typed +generation 1");
    assertThat(published.status()).isZero();

    Run watched = watched("typed", "text");
    assertThat(watched.status()).isZero();
    assertThat(watched.out())
        .startsWith("generation 1  typed  ")
        .contains("device", "ms", "bottleneck")
        .doesNotContain(" of 0 B");

    ShardingPlan plan =
        new JsonLines<>(Codec.SHARDING_PLAN).read(watched("typed", "json").out().strip());
    assertThat(plan.workloadId()).isEqualTo("typed");
    assertThat(watched("typed", "torchrec").out())
        .contains("\"a\"", "\"b\"", "\"sharding_type\"", "\"rank:0/cuda:0\"");
    assertThat(run("watch", "--once", "--module", "m").err()).contains("--format torchrec");
  }

  @Test
  void what_is_rejected_is_said_with_the_reason_and_the_status() {
    first("wrong");
    Run stale = run("publish", "--workload", "wrong", "--drop", "a", "--expecting", "7");
    assertThat(stale.status()).isEqualTo(1);
    assertThat(stale.out()).contains("STALE_GENERATION");
    Run illegal =
        run(
            "publish",
            "--workload",
            "wrong",
            "--upsert",
            "name=a,rows=10,columns=63,poolingFactor=1");
    assertThat(illegal.status()).isEqualTo(1);
    assertThat(illegal.err()).contains("must be a multiple of 4 between 4 and 4096, got 63");
    assertThat(illegal.out()).isEmpty();
  }

  @Test
  void options_that_are_not_legal_are_named() {
    assertThat(run("publish", "--workload", "w", "--upsert", "name=a,rows=x").err())
        .contains("\"name=a,rows=x\" has rows=x; legal is a number");
    assertThat(run("publish", "--workload", "w", "--upsert", "name=a,name=b").err())
        .contains("has \"name=b\"; legal are key=value, separated by commas, each key once");
    assertThat(
            run(
                    "publish",
                    "--workload",
                    "w",
                    "--upsert",
                    "name=a,rows=1,columns=4,poolingFactor=1,colour=red")
                .err())
        .contains("has \"colour\"; legal are");
    assertThat(run("publish", "--workload", "w", "--cluster", "devices=2").err())
        .contains("has no memoryGib");
    assertThat(run("publish").status()).isEqualTo(2);
  }

  @Test
  void a_file_of_events_is_published_whole_or_not_at_all() throws Exception {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    List<String> text = new ArrayList<>();
    text.add(
        lines.write(
            Fixtures.event(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 1_000, 16, 1))));
    for (int e = 0; e < 30; e++) {
      text.add(lines.write(Fixtures.event(Fixtures.upsert("t" + e, 1_000, 16, 1))));
    }
    Path good = Files.write(folder.resolve("good.jsonl"), text);
    text.add("{\"eventId\":");
    Path bad = Files.write(folder.resolve("bad.jsonl"), text);

    Run refused = run("publish", "--events", bad.toString());
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains("bad.jsonl, line 32: Not a WorkloadChange");

    Run published = run("publish", "--events", good.toString());
    assertThat(published.err()).isEmpty();
    assertThat(published.status()).isZero();
    assertThat(published.out()).contains("generation 1", "generation 31");
    Run again = run("publish", "--events", good.toString());
    assertThat(again.status()).isEqualTo(1);
    assertThat(again.out().lines().filter(line -> line.contains("DUPLICATE_EVENT"))).hasSize(31);
  }
}
