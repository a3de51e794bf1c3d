package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.WorkloadChange;
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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The commands publish and watch against a real broker and planner. */
class ClientCommandsIT {
  @TempDir private static Path folder;
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static LocalPlanner planner;

  private record ClientCommandResult(int status, String out, String err) {}

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, "p.", 1);
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static ClientCommandResult run(String... args) {
    return runWith(planner.registryUrl(), args);
  }

  private static ClientCommandResult runWith(String registryUrl, String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(
        List.of(
            "--bootstrap",
            planner.bootstrapServers(),
            "--registry",
            registryUrl,
            "--prefix",
            "p."));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    return new ClientCommandResult(status, out.toString(), err.toString());
  }

  private static ClientCommandResult first(String workload) {
    return run(
        "publish",
        "--workload",
        workload,
        "--cluster",
        "devices=2,memoryGib=1,batchSize=65536,hardware=" + TestModels.bundle().hardware(),
        "--upsert",
        "name=a,rows=1000000,columns=64,poolingFactor=5",
        "--upsert",
        "name=b,rows=500000,columns=32,poolingFactor=2.5,bytesPerElement=8");
  }

  private static ClientCommandResult watched(String workload, String format) {
    return run("watch", "--once", "--workload", workload, "--format", format);
  }

  @Test
  @Timeout(60)
  void watch_once_says_that_there_is_no_plan() {
    ClientCommandResult watched =
        run("watch", "--once", "--workload", "unheard-of", "--timeout", "1");
    assertThat(watched.err().strip())
        .isEqualTo("shardtide: No plan of workload unheard-of within 1 s on this cluster");
    assertThat(watched.out()).isEmpty();
    assertThat(watched.status()).isEqualTo(1);
  }

  @Test
  @Timeout(60)
  void a_registry_that_does_not_answer_is_named() {
    first("typed-before");
    assertThat(watched("typed-before", "json").status()).isZero();
    String dead = "http://127.0.0.1:1";
    ClientCommandResult watched = runWith(dead, "watch", "--once", "--timeout", "2");
    assertThat(watched.err().strip().lines())
        .singleElement()
        .asString()
        .startsWith(
            "shardtide: No plan within 2 s: The schema registry at " + dead + " does not answer");
    ClientCommandResult published =
        runWith(dead, "publish", "--workload", "typed-before", "--drop", "a", "--timeout", "2");
    assertThat(published.err().strip().lines())
        .singleElement()
        .asString()
        .contains(" was not sent", dead);
    assertThat(published.status()).isEqualTo(1);
  }

  @Test
  void a_person_publishes_and_sees_the_plan() {
    ClientCommandResult published = first("typed");
    assertThat(published.err()).isEmpty();
    assertThat(published.out()).contains("event", "workload", "outcome");
    assertThat(published.out().lines().toList().get(1)).matches("[0-9a-f]{8} +typed +generation 1");
    assertThat(published.status()).isZero();

    ClientCommandResult watched = watched("typed", "text");
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

  /** Returns the rows of a table in the latest plan; 0 if that is older than the table. */
  private static long plannedRows(String workload, String table) {
    return new JsonLines<>(Codec.SHARDING_PLAN)
        .read(watched(workload, "json").out().strip()).shards().stream()
            .filter(shard -> shard.table().equals(table))
            .mapToLong(shard -> shard.region().rowEnd())
            .max()
            .orElse(0);
  }

  @Test
  void a_person_resizes_a_hashed_table() {
    first("hashed");
    ClientCommandResult added =
        run(
            "publish",
            "--workload",
            "hashed",
            "--upsert",
            "name=ids,rows=1000,columns=64,poolingFactor=5,eviction=lru,ids=900");
    assertThat(added.status()).as(added.out() + added.err()).isZero();
    ClientCommandResult resized =
        run(
            "publish",
            "--workload",
            "hashed",
            "--resize",
            "ids=2000",
            "--resize-reason",
            "it is full in 3 days");
    assertThat(resized.status()).as(resized.out() + resized.err()).isZero();
    await().atMost(PATIENCE).until(() -> plannedRows("hashed", "ids") == 2_000);
    ClientCommandResult fixed = run("publish", "--workload", "hashed", "--resize", "a=2000");
    assertThat(fixed.status()).isEqualTo(1);
    assertThat(fixed.out()).contains("INVALID_STORAGE", "resized table must be hashed, got \"a\"");
  }

  @Test
  void a_rejected_event_is_printed_with_its_reason_and_the_status_is_1() {
    first("wrong");
    ClientCommandResult stale =
        run("publish", "--workload", "wrong", "--drop", "a", "--expecting", "7");
    assertThat(stale.status()).isEqualTo(1);
    assertThat(stale.out()).contains("STALE_GENERATION");
    ClientCommandResult illegal =
        run(
            "publish",
            "--workload",
            "wrong",
            "--upsert",
            "name=a,rows=10,columns=63,poolingFactor=1");
    assertThat(illegal.status()).isEqualTo(2);
    assertThat(illegal.err()).contains("must be a multiple of 4 between 4 and 4096, got 63");
    assertThat(illegal.out()).isEmpty();
  }

  @Test
  void wrong_options_are_named() {
    String table = "name=a,rows=1,columns=4,poolingFactor=1";
    assertThat(run("publish", "--workload", "w", "--upsert", "name=a,rows=1").err())
        .contains("tables[0]: columns must be a whole number below 2^31, got nothing");
    assertThat(run("publish", "--workload", "w", "--upsert", table + ",rows=2").err())
        .contains("has \"rows=2\"; expected key=value, separated by commas, each key once");
    assertThat(run("workload", "apply", "w", "--set", "tables[a].rows=x").err())
        .contains("tables[0]: rows must be a whole number below 2^63, got \"x\"");
    assertThat(run("workload", "apply", "w", "--set", "tables[a].colums=4").err())
        .contains("unknown field \"colums\": 4. Maybe columns; expected name, rows, columns");
    assertThat(run("workload", "apply", "w", "--set", "cluster.devices=2").err())
        .contains("cluster: memoryBytesPerDevice must be a whole number below 2^63, got nothing");
    assertThat(run("publish").status()).isEqualTo(2);
  }

  @Test
  void a_file_of_workloads_is_published_and_printed_again() throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("w.jsonl"),
            """
            {"task":"filed","cluster":{"devices":2,"memoryBytesPerDevice":1073741824,"batchSize":65536,"hardware":"%s"},"tables":[{"name":"a,b","rows":100,"columns":8,"poolingFactor":1}]}
            """
                .formatted(TestModels.bundle().hardware()));
    ClientCommandResult dry = run("workload", "apply", "-f", file.toString(), "--dry-run");
    assertThat(dry.out()).contains("\"workloadId\":\"filed\"");
    ClientCommandResult applied =
        run("workload", "apply", "-f", file.toString(), "--set", "tables[a,b].rows=200");
    assertThat(applied.status()).as(applied.out() + applied.err()).isZero();
    ClientCommandResult got = run("workload", "get", "filed", "-o", "jsonl");
    assertThat(got.out())
        .as(got.err())
        .contains("\"task\":\"filed\"", "\"name\":\"a,b\"", "\"rows\":200");
    Files.writeString(file, got.out());
    assertThat(run("workload", "apply", "-f", file.toString()).out()).contains("generation 2");
    assertThat(run("workload", "list").out()).containsPattern("filed +2 +2 +\\S+ +1\n");
    assertThat(run("workload", "get", "nobody").status()).isEqualTo(1);
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

    ClientCommandResult refused = run("publish", "--events", bad.toString());
    assertThat(refused.status()).isEqualTo(2);
    assertThat(refused.err()).contains("bad.jsonl line 32: invalid JSON");

    ClientCommandResult published = run("publish", "--events", good.toString());
    assertThat(published.err()).isEmpty();
    assertThat(published.status()).isZero();
    assertThat(published.out()).contains("generation 1", "generation 31");
    ClientCommandResult again = run("publish", "--events", good.toString());
    assertThat(again.status()).isEqualTo(1);
    assertThat(again.out().lines().filter(line -> line.contains("DUPLICATE_EVENT"))).hasSize(31);
  }
}
