package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.plan.Effort;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The demo as a process of its own: its output, its files, and that a second run gives the same
 * plans.
 */
class DemoIT {
  private static final String OTHER = "my-model";

  @TempDir private Path folder;

  /** Output and files of a run. */
  private record DemoRun(
      int status, String out, String err, List<WorkloadChange> events, List<ShardingPlan> plans) {}

  private Process start(Path home, String... options) throws IOException {
    Files.createDirectories(home.resolve("tmp"));
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-Djava.io.tmpdir=" + home.resolve("tmp"),
                "-cp",
                System.getProperty("java.class.path"),
                Shardtide.class.getName(),
                "demo"));
    command.addAll(List.of(options));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("TF_CPP_MIN_LOG_LEVEL", "2");
    return builder
        .redirectOutput(home.resolve("out").toFile())
        .redirectError(home.resolve("err").toFile())
        .start();
  }

  private static DemoRun finished(Path home, Process process) throws Exception {
    assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
    assertThat(home.resolve("files/events.jsonl"))
        .as(Files.readString(home.resolve("out")) + Files.readString(home.resolve("err")))
        .exists();
    return new DemoRun(
        process.exitValue(),
        Files.readString(home.resolve("out")),
        Files.readString(home.resolve("err")),
        lines(home.resolve("files/events.jsonl"), Codec.WORKLOAD_CHANGE),
        lines(home.resolve("files/plans.jsonl"), Codec.SHARDING_PLAN));
  }

  private static <V> List<V> lines(Path file, Codec<V, ?> codec) throws IOException {
    JsonLines<V, ?> lines = new JsonLines<>(codec);
    return Files.readAllLines(file).stream().map(lines::read).toList();
  }

  /**
   * One run to the end, and one that is interrupted by SIGTERM and started again with its data: its
   * first plans must be those of the other run.
   */
  @Test
  void the_demo_ends_by_itself_repeats_its_plans_and_continues_after_an_interruption()
      throws Exception {
    Path home = folder.resolve("whole");
    DemoRun whole =
        finished(home, start(home, "--seconds", "1", "--out", home.resolve("files").toString()));
    checkOutput(whole);
    checkPlans(whole);
    replays(home.resolve("files"), whole.plans());
    try (var left = Files.list(home.resolve("tmp"))) {
      assertThat(left.filter(f -> f.getFileName().toString().startsWith("shardtide")))
          .as("temporary folders")
          .isEmpty();
    }

    Path other = folder.resolve("interrupted");
    String data = other.resolve("data").toString();
    String files = other.resolve("files").toString();
    Process process = start(other, "--data", data, "--out", files);
    await()
        .atMost(Duration.ofSeconds(90))
        .failFast(() -> assertThat(process.isAlive()).isTrue())
        .until(() -> Files.readString(other.resolve("out")).contains("First plan"));
    process.toHandle().destroy();
    DemoRun interrupted = finished(other, process);
    assertThat(interrupted.status()).as("ended by SIGTERM").isEqualTo(143);
    assertThat(interrupted.err()).doesNotContain("Exception", "\tat ");
    assertThat(ids(interrupted))
        .isNotEmpty()
        .isEqualTo(ids(whole).subList(0, ids(interrupted).size()));

    Process again = start(other, "--data", data, "--out", files, "--seconds", "1");
    publishOther(other);
    DemoRun continued = finished(other, again);
    assertThat(continued.status()).as(continued.err()).isZero();
    assertThat(continued.plans())
        .filteredOn(plan -> plan.workloadId().equals(OTHER))
        .isNotEmpty()
        .as("a workload that somebody else publishes is none of the demo's")
        .noneMatch(plan -> continued.out().contains(plan.planId().substring(0, 12)));
    assertThat(ids(continued))
        .as("the whole log is written")
        .startsWith(ids(interrupted).toArray(String[]::new));
    ShardingPlan next =
        continued.plans().stream()
            .skip(interrupted.plans().size())
            // A background search may have found a better plan for the last generation before.
            .filter(
                plan -> !plan.workloadId().equals(OTHER) && plan.origin().effort() == Effort.QUICK)
            .findFirst()
            .orElseThrow();
    assertThat(next.generation())
        .isGreaterThan(interrupted.plans().get(interrupted.plans().size() - 1).generation());
    assertThat(next.origin().previousPlanId()).isPresent();
  }

  /** Publishes a workload to a demo whose script runs, as a reader of the README does. */
  private static void publishOther(Path home) throws Exception {
    await()
        .atMost(Duration.ofSeconds(90))
        .until(() -> Files.readString(home.resolve("out")).contains("First plan"));
    Matcher printed =
        Pattern.compile("(?s)Kafka +(\\S+)\n.* schema registry +(\\S+)\n")
            .matcher(Files.readString(home.resolve("out")));
    assertThat(printed.find()).isTrue();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(err),
            "publish",
            "--bootstrap",
            printed.group(1),
            "--registry",
            printed.group(2),
            "--workload",
            OTHER,
            "--cluster",
            "devices=2,memoryGib=8,batchSize=65536,hardware=h200",
            "--upsert",
            "name=t,rows=1000,columns=64,poolingFactor=2");
    assertThat(status).as(err.toString()).isZero();
  }

  private static List<String> ids(DemoRun run) {
    return run.plans().stream().map(ShardingPlan::planId).toList();
  }

  private static void checkOutput(DemoRun run) {
    assertThat(run.status()).as(run.err()).isZero();
    assertThat(run.err()).doesNotContain("Exception", "\tat ", "ERROR", "WARN ");
    assertThat(run.out())
        .contains("First plan", "does not fit", "UNDECODABLE", "STALE_GENERATION", "moves");
    assertThat(run.out())
        .containsPattern("(?s)(the simulated trainer runs it: a step takes [0-9.]+ ms.*){10}")
        .containsSubsequence(
            "The simulated machine changes",
            "drift alarm",
            "Challenger published",
            "planned again with the retrained model");
    // Whether it gains depends on when the trainer's measurements arrive.
    assertThat(run.out().contains("the background search found a better plan"))
        .isEqualTo(run.plans().stream().anyMatch(plan -> plan.origin().effort() == Effort.DEEP));
    assertThat(run.events()).hasSize(12);
    assertThat(run.events().get(0).changes()).hasSize(27);
  }

  private static void checkPlans(DemoRun run) {
    assertThat(run.plans()).hasSizeGreaterThanOrEqualTo(8);
    for (int p = 0; p < run.plans().size(); p++) {
      ShardingPlan plan = run.plans().get(p);
      assertThat(plan.planId()).isEqualTo(plan.contentId());
      assertThat(run.out()).contains(plan.planId().substring(0, 12));
      Optional<ShardingPlan> before =
          run.plans().subList(0, p).stream()
              .filter(earlier -> earlier.workloadId().equals(plan.workloadId()))
              .reduce((earlier, later) -> later);
      assertThat(plan.origin().previousPlanId()).isEqualTo(before.map(ShardingPlan::planId));
      assertThat(plan.generation())
          .isGreaterThanOrEqualTo(before.map(ShardingPlan::generation).orElse(1L));
    }
  }

  /** Replays a demo's export: all of it, and its events alone, which give the first answers. */
  private static void replays(Path files, List<ShardingPlan> plans) throws IOException {
    Path alone = Files.createDirectories(files.resolveSibling("alone"));
    Files.copy(files.resolve("events.jsonl"), alone.resolve("events.jsonl"));
    for (Path from : List.of(files, alone)) {
      StringWriter out = new StringWriter();
      StringWriter err = new StringWriter();
      Path replayed = from.resolve("replayed.jsonl");
      int status =
          Shardtide.run(
              new PrintWriter(out),
              new PrintWriter(err),
              "replay",
              "--events",
              from.resolve("events.jsonl").toString(),
              "--model",
              "models/simulated.avro",
              "--out",
              replayed.toString());
      assertThat(status).as(out + "\n" + err).isZero();
      assertThat(lines(replayed, Codec.SHARDING_PLAN))
          .extracting(ShardingPlan::planId)
          .containsExactlyElementsOf(
              plans.stream()
                  .filter(plan -> from.equals(files) || isFirstAnswer(plan, plans.get(0)))
                  .map(ShardingPlan::planId)
                  .toList());
    }
  }

  private static boolean isFirstAnswer(ShardingPlan plan, ShardingPlan first) {
    return plan.origin().effort() == Effort.QUICK
        && plan.origin().modelId().equals(first.origin().modelId());
  }
}
