package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The demo as a process of its own: what a user sees, what it leaves behind, and that it does the
 * same twice.
 */
class DemoIT {
  @TempDir private Path folder;

  /** What a run printed and wrote. */
  private record Run(
      int status, String out, String err, List<WorkloadChange> events, List<ShardingPlan> plans) {}

  private Process start(Path home, String... options) throws IOException {
    Files.createDirectories(home.resolve("tmp"));
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
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

  private static Run finished(Path home, Process process) throws Exception {
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
    return new Run(
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

  @Test
  void the_demo_ends_by_itself_and_does_the_same_twice() throws Exception {
    Path first = folder.resolve("first");
    Run one =
        finished(
            first, start(first, "--seconds", "25", "--out", first.resolve("files").toString()));
    assertThat(one.status()).as(one.err()).isZero();
    assertThat(one.err()).doesNotContain("Exception", "\tat ", "ERROR", "WARN ");
    assertThat(one.out())
        .contains("First plan", "does not fit", "UNDECODABLE", "STALE_GENERATION", "moves");
    assertThat(one.plans()).hasSizeGreaterThanOrEqualTo(8);
    for (int p = 0; p < one.plans().size(); p++) {
      ShardingPlan plan = one.plans().get(p);
      assertThat(plan.planId()).isEqualTo(plan.contentId());
      assertThat(one.out()).contains(plan.planId().substring(0, 12));
      Optional<ShardingPlan> before =
          one.plans().subList(0, p).stream()
              .filter(earlier -> earlier.workloadId().equals(plan.workloadId()))
              .reduce((earlier, later) -> later);
      assertThat(plan.previousPlanId()).isEqualTo(before.map(ShardingPlan::planId));
      assertThat(plan.generation()).isGreaterThan(before.map(ShardingPlan::generation).orElse(0L));
    }
    assertThat(one.out())
        .as("three plans are adopted and measured")
        .containsPattern("(?s)(trained: adopted with [0-9.]+ MiB moved; step .*){3}");
    assertThat(one.events()).hasSize(15);
    replays(first.resolve("files"), one.plans());
    assertThat(one.events().get(0).changes()).hasSize(27);
    try (var left = Files.list(first.resolve("tmp"))) {
      assertThat(left.filter(f -> f.getFileName().toString().startsWith("shardtide")))
          .as("temporary folders")
          .isEmpty();
    }

    Path second = folder.resolve("second");
    Run two =
        finished(
            second, start(second, "--seconds", "20", "--out", second.resolve("files").toString()));
    assertThat(two.status()).isZero();
    assertThat(two.plans())
        .extracting(ShardingPlan::planId)
        .containsExactlyElementsOf(one.plans().stream().map(ShardingPlan::planId).toList());
  }

  /** Ctrl-C in the middle: everything is closed, and the data that was asked for stays. */
  @Test
  void an_interrupted_demo_closes_what_it_opened_and_goes_on_where_it_was() throws Exception {
    Path home = folder.resolve("home");
    String data = home.resolve("data").toString();
    String files = home.resolve("files").toString();
    Process process = start(home, "--data", data, "--out", files);
    long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!Files.readString(home.resolve("out")).contains("First plan")
        && System.nanoTime() < patience) {
      Thread.sleep(200);
    }
    process.toHandle().destroy();
    Run interrupted = finished(home, process);
    assertThat(interrupted.status()).as("ended by SIGTERM").isEqualTo(143);
    assertThat(interrupted.err()).doesNotContain("Exception", "\tat ");
    long reached = interrupted.plans().get(interrupted.plans().size() - 1).generation();

    Run again = finished(home, start(home, "--data", data, "--out", files, "--seconds", "15"));
    assertThat(again.status()).as(again.err()).isZero();
    assertThat(again.plans())
        .as("the whole log is written, with what was before")
        .extracting(ShardingPlan::planId)
        .startsWith(interrupted.plans().stream().map(ShardingPlan::planId).toArray(String[]::new));
    ShardingPlan next = again.plans().get(interrupted.plans().size());
    assertThat(next.generation()).isGreaterThan(reached);
    assertThat(next.previousPlanId()).isPresent();
  }

  /** What a demo leaves behind is made again, with all that it left and of the events alone. */
  private static void replays(Path files, List<ShardingPlan> plans) throws IOException {
    Path alone = Files.createDirectories(files.resolveSibling("alone"));
    Files.copy(files.resolve("events.jsonl"), alone.resolve("events.jsonl"));
    for (Path from : List.of(files, alone)) {
      StringWriter out = new StringWriter();
      StringWriter err = new StringWriter();
      Path made = from.resolve("made.jsonl");
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
              made.toString());
      assertThat(status).as(out + "\n" + err).isZero();
      assertThat(lines(made, Codec.SHARDING_PLAN))
          .extracting(ShardingPlan::planId)
          .containsExactlyElementsOf(plans.stream().map(ShardingPlan::planId).toList());
    }
  }
}
