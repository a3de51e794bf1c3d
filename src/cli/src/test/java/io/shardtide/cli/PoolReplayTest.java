package io.shardtide.cli;

import static io.shardtide.testing.PoolSamples.POOL;
import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.allocation.PoolStep;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate.PoolNodeAdded;
import io.shardtide.pool.PoolUpdate.PoolNodeLost;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.replay.AllocationCollector;
import io.shardtide.replay.AllocationReplay;
import io.shardtide.replay.Export;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.Verdict;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.RandomEvents;
import io.shardtide.topology.PoolLog;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.CanonicalHash;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands replay and why, and exports, of a log with a pool. */
class PoolReplayTest {
  @TempDir private static Path state;
  private static MemoryRecords log;

  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private MemoryRecords records;

  /** Four generations; one event in between is rejected. */
  @BeforeAll
  static void makeLog() {
    try (PoolLog made = new PoolLog(state)) {
      made.workload("ads", 12);
      made.workload("search", 6);
      made.publish(
          event(new PoolSet(PoolLog.NODES), claim("ads", 2, 8, 1), claim("search", 2, 8, 1)));
      made.publish(event(new PoolNodeLost("n9")));
      made.change("ads", Fixtures.upsert("more", 2_000_000, 64, 80));
      made.publish(event(new PoolNodeLost("n1")));
      made.publish(event(new PoolNodeAdded(new PoolNode("n5", "rack"))));
      made.publish(event(claim("nobody", 2, 8, 1)));
      made.pass(Duration.ofSeconds(10));
      made.change("search", Fixtures.drop("t0"));
      log = made.records();
    }
  }

  @BeforeEach
  void export() throws IOException {
    records = log.interleaved(new Random(1));
    Export.write(records, folder);
  }

  private int run(String command) {
    String[] args = command.replace("DIR", folder.toString()).strip().split(" +", -1);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private static List<Allocation> allocations() {
    return log.all(TopicType.ALLOCATIONS);
  }

  private static Allocation allocation(long generation) {
    return allocations().stream().filter(a -> a.generation() == generation).findFirst().get();
  }

  @Test
  void the_log_has_what_is_tested() {
    assertThat(allocations()).hasSizeGreaterThanOrEqualTo(5);
    assertThat(allocations()).extracting(Allocation::generation).contains(1L, 2L, 3L, 4L);
    assertThat(allocations()).anyMatch(a -> !a.transfers().isEmpty());
    assertThat(log.all(TopicType.WORKLOAD_CHANGES))
        .anyMatch(e -> e.source().equals(PoolStep.SOURCE_PREFIX + POOL));
  }

  @Test
  void an_exported_log_replays_with_equal_plans_and_allocations() throws IOException {
    assertThat(run("replay --events DIR/events.jsonl --out DIR/made.jsonl"))
        .as("%s%s", out, err)
        .isZero();
    assertThat(out.toString())
        .contains(", events, allocations, throughput-curves, pool-changes, models, in ")
        .contains("%d equal, 0 differ".formatted(log.all(TopicType.SHARDING_PLANS).size()))
        .contains("%d allocations equal, 0 differ, 0 not".formatted(allocations().size()));
    for (TopicType<?> kind :
        LogRecords.NAMES.keySet().stream().filter(LogRecords::isOfPools).toList()) {
      assertThat(Files.readAllLines(folder.resolve(LogRecords.file(kind))))
          .hasSameSizeAs(log.all(kind));
    }
  }

  @Test
  void a_log_without_pools_has_no_files_of_them() throws IOException {
    Map<String, Integer> counts =
        Export.write(new RandomEvents(7, RandomEvents.BURSTS, "feed").go(3).records(), folder);
    for (TopicType<?> kind :
        LogRecords.NAMES.keySet().stream().filter(LogRecords::isOfPools).toList()) {
      assertThat(folder.resolve(LogRecords.file(kind))).as("an earlier export's").doesNotExist();
      assertThat(counts).doesNotContainKey(LogRecords.NAMES.get(kind));
    }
    records.forget(TopicType.ALLOCATIONS);
    records.forget(TopicType.THROUGHPUT_CURVES);
    records.forget(TopicType.POOL_CHANGES);
    assertThat(Export.write(records, folder)).containsKey("events");
    assertThat(run("replay --events DIR/events.jsonl --out DIR/made.jsonl")).isZero();
    assertThat(out.toString()).doesNotContain("allocations");
  }

  @Test
  void an_events_file_alone_recomputes_no_allocations() throws IOException {
    Path alone = Files.createDirectories(folder.resolve("alone"));
    Files.copy(folder.resolve("events.jsonl"), alone.resolve("events.jsonl"));
    Files.move(folder.resolve("models"), alone.resolve("models"));
    assertThat(run("replay --events DIR/alone/events.jsonl --out DIR/made.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString())
        .contains("note: allocations of pools are not recorded, and not recomputed");
  }

  @Test
  void a_changed_record_is_found_and_later_allocations_stay_equal() throws IOException {
    Path file = folder.resolve("allocations.jsonl");
    String text = Files.readString(file);
    Files.writeString(file, text.replaceFirst("\"devices\":(\\d+)", "\"devices\":77"));
    assertThat(run("replay --events DIR/events.jsonl --out DIR/made.jsonl")).isEqualTo(1);
    assertThat(out.toString())
        .contains("%d allocations equal, 1 differ, 0 not".formatted(allocations().size() - 1))
        .contains(
            "First difference: allocation %s, generation 1 of pool gpus"
                .formatted(CanonicalHash.shown(allocations().get(0).allocationId())))
        .contains("the record was changed after the allocation was made")
        .contains("workloads[0 ads].devices: recorded 77, recomputed ")
        .contains("made from: the pool's events up to generation 1, curves {ads=")
        .doesNotContain("workloads[1");
  }

  /** A terminal's writer keeps what is printed until it is flushed, unlike a StringWriter. */
  @Test
  void the_result_for_allocations_reaches_the_terminal_also_if_one_differs() throws IOException {
    assertThat(printed())
        .contains("%d allocations equal, 0 differ".formatted(allocations().size()));
    Path file = folder.resolve("allocations.jsonl");
    String text = Files.readString(file);
    Files.writeString(file, text.replaceFirst("\"devices\":(\\d+)", "\"devices\":77"));
    assertThat(printed())
        .contains("%d allocations equal, 1 differ".formatted(allocations().size() - 1))
        .contains("workloads[0 ads].devices: recorded 77, recomputed ");
  }

  private String printed() {
    ByteArrayOutputStream terminal = new ByteArrayOutputStream();
    Shardtide.run(
        new PrintWriter(terminal, true, StandardCharsets.UTF_8),
        new PrintWriter(err),
        "replay",
        "--events",
        folder.resolve("events.jsonl").toString(),
        "--out",
        folder.resolve("made.jsonl").toString());
    return terminal.toString(StandardCharsets.UTF_8);
  }

  private ReplayResult replay() throws IOException {
    return AllocationReplay.run(records);
  }

  @Test
  void a_changed_event_of_the_pool_is_found() throws IOException {
    records.change(
        TopicType.POOL_CHANGES,
        e ->
            e.updates().get(0) instanceof PoolNodeLost lost && lost.node().equals("n1")
                ? new PoolChange(
                    e.eventId(), POOL, e.occurredAt(), "test", List.of(new PoolNodeLost("n2")))
                : e);
    ReplayResult result = replay();
    assertThat(result.isEqual()).isFalse();
    assertThat(result.first()).get().extracting(d -> d.generation()).isEqualTo(2L);
    assertThat(result.first().get().explanation()).contains("the pool's events were changed");
    assertThat(result.first().get().fields()).anyMatch(f -> f.startsWith("transfers[0 n"));
  }

  @Test
  void inputs_that_are_missing_are_named() throws IOException {
    String curve = allocations().get(1).curveIds().get("ads");
    records.change(
        TopicType.THROUGHPUT_CURVES,
        r -> r.curve().filter(c -> c.id().equals(curve)).isPresent() ? null : r);
    ReplayResult result = replay();
    assertThat(result.count(Verdict.NOT_REPRODUCED)).isPositive();
    assertThat(result.first().get().explanation())
        .isEqualTo("curve %s of ads, which it names, is not recorded".formatted(curve));

    records = log.interleaved(new Random(2));
    export(records);
    records.change(TopicType.POOL_CHANGES, e -> null);
    assertThat(replay().count(Verdict.NOT_REPRODUCED)).isEqualTo(allocations().size());
    assertThat(replay().first().get().explanation())
        .isEqualTo("it is of generation 1, and the recorded events make 0 generations");

    records = log.interleaved(new Random(3));
    records.all(TopicType.ALLOCATIONS).remove(1);
    assertThat(replay().count(Verdict.NOT_REPRODUCED)).isEqualTo(1);
    assertThat(replay().first().get().explanation())
        .startsWith("it names %s as the".formatted(allocations().get(1).allocationId()))
        .endsWith("%s is recorded".formatted(allocations().get(0).allocationId()));
  }

  private void export(MemoryRecords of) throws IOException {
    Export.write(of, folder);
  }

  @Test
  void an_event_that_is_not_allocated_yet_is_a_note() throws IOException {
    records.add(TopicType.POOL_CHANGES, event(new PoolNodeLost("n5")));
    assertThat(replay().isEqual()).isTrue();
    assertThat(replay().notes())
        .containsExactly("generation 5 of pool gpus: not allocated yet when the records were read");
  }

  @Test
  void why_explains_an_allocation_after_a_lost_node() {
    Allocation allocation = allocation(2);
    assertThat(run("why --events DIR/events.jsonl --pool gpus --generation 2"))
        .as(err.toString())
        .isZero();
    String text = out.toString();
    // Sentences are broken into lines.
    String joined = text.replaceAll("\\s+", " ");
    assertThat(text)
        .startsWith("allocation %s\n".formatted(allocation.allocationId()))
        .contains(
            "  pool gpus, generation 2: 3 nodes of 2 devices, 8.0 GiB each, hardware simulated-8xh100; ")
        .contains("      node n1 is lost\n")
        .contains("  events since generation 1:\n    generation 2: event ")
        .containsPattern("    ads, generation \\d+, model [0-9a-f]+: 2: [0-9,.]+, .*simulated")
        .containsPattern("search +2 to 8 +1.0 +0 +\\d+ +[0-9,.]+ +\\d+");
    assertThat(joined)
        .containsPattern("Weighted throughput: [0-9,.]+ samples/s \\(simulated costs\\), ")
        .containsPattern("equal shares would give [0-9,.]+ samples/s, this is [0-9.]+ times");
    for (var workload : allocation.workloads()) {
      assertThat(joined).contains(workload.workloadId() + ": ", "; " + workload.reason());
    }
    for (NodeTransfer transfer : allocation.transfers()) {
      assertThat(text)
          .contains(
              "node %s from %s to %s: %s"
                  .formatted(
                      transfer.node(),
                      transfer.from(),
                      transfer.to().orElse("nobody"),
                      transfer.reason()));
    }
    assertThat(
            PoolSamples.transfer(allocation, "ads", "n1")
                .or(() -> PoolSamples.transfer(allocation, "search", "n1")))
        .isPresent();
  }

  @Test
  void why_names_changed_curves_and_claims_that_wait() throws IOException {
    records.add(TopicType.POOL_CHANGES, event(claim("late", 2, 4, 1)));
    export(records);
    assertThat(run("why --events DIR/events.jsonl --pool gpus")).as(err.toString()).isZero();
    assertThat(out.toString())
        .contains("none: curves of workloads changed", "      before, generation ")
        .contains(" allocations of this generation: the first follows from events, ")
        .contains("\nnobody: no devices; has no predicted throughput yet\n")
        .contains("  events that no allocation covers yet:\n    generation 5: event ")
        .contains("late claims least devices 2, most devices 4, weight 1, priority 0")
        .contains("    late waits: it has no predicted throughput yet");
  }

  @Test
  void why_of_a_generation_explains_all_its_allocations_and_without_one_the_latest() {
    List<Allocation> ofLast = allocations().stream().filter(a -> a.generation() == 4).toList();
    assertThat(ofLast).hasSizeGreaterThan(1);
    assertThat(run("why --events DIR/events.jsonl --pool gpus --generation 4")).isZero();
    assertThat(explained())
        .containsExactlyElementsOf(
            ofLast.stream().map(a -> "allocation " + a.allocationId()).toList());
    out.getBuffer().setLength(0);
    assertThat(run("why --events DIR/events.jsonl --pool gpus")).isZero();
    assertThat(explained())
        .containsExactly("allocation " + ofLast.get(ofLast.size() - 1).allocationId());
  }

  private List<String> explained() {
    return out.toString().lines().filter(line -> line.startsWith("allocation ")).toList();
  }

  @Test
  void why_prints_an_allocation_as_json() {
    assertThat(run("why --events DIR/events.jsonl --pool gpus --generation 1 --json"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString())
        .contains("\"allocationId\" : \"%s\"".formatted(allocations().get(0).allocationId()))
        .contains("\"simulated\" : true", "\"equalShares\" : ");
  }

  /** Each pool's ClusterSet is traced to the allocation that led to it. */
  @Test
  void why_of_a_workload_names_the_allocation_of_its_devices() throws IOException {
    assertThat(run("why --events DIR/events.jsonl --workload ads")).as(err.toString()).isZero();
    ShardingPlan latest =
        log.all(TopicType.SHARDING_PLANS).stream()
            .filter(p -> p.workloadId().equals("ads"))
            .reduce((a, b) -> b)
            .get();
    assertThat(out.toString())
        .startsWith("plan " + latest.planId())
        .containsPattern(
            "  %d devices of pool gpus, by allocation [0-9a-f]+ of its generation \\d: "
                .formatted(latest.prediction().deviceCosts().size()));
    out.getBuffer().setLength(0);
    assertThat(run("why --events DIR/events.jsonl --workload ads --generation 1")).isZero();
    assertThat(out.toString()).doesNotContain("devices of pool");

    records.forget(TopicType.ALLOCATIONS);
    Path other = folder.resolve("other");
    Export.write(records, other);
    assertThat(run("why --events DIR/other/events.jsonl --workload ads")).isZero();
    assertThat(out.toString()).contains(" devices of pool gpus, by an allocation that is not");
  }

  @Test
  void devices_that_a_publisher_sets_are_not_the_pools() throws IOException {
    try (PoolLog made = new PoolLog(Files.createDirectories(folder.resolve("state")))) {
      made.workload("ads", 2);
      Export.write(made.records(), folder.resolve("plain"));
    }
    assertThat(run("why --events DIR/plain/events.jsonl --workload ads")).isZero();
    assertThat(out.toString()).doesNotContain("of pool");
  }

  @Test
  void unknown_pools_and_generations_are_named() {
    assertThatThrownBy(() -> AllocationCollector.collect(log, "tpus", OptionalLong.empty()))
        .hasMessage("No allocation of pool \"tpus\" is recorded, found pools \"gpus\"");
    assertThatThrownBy(() -> AllocationCollector.collect(log, POOL, OptionalLong.of(9)))
        .hasMessageContaining("has no allocation of generation 9, found 4 generations with one")
        .hasMessageEndingWith("; the last one before it is 4");
    MemoryRecords waiting = new MemoryRecords();
    waiting.add(TopicType.POOL_CHANGES, event(new PoolSet(PoolLog.NODES), claim("ads", 2, 8, 1)));
    assertThatThrownBy(() -> AllocationCollector.collect(waiting, POOL, OptionalLong.empty()))
        .hasMessageStartingWith("Pool \"gpus\" has no allocation yet, found 1 claims on it");
    assertThat(run("why --events DIR/events.jsonl --workload nobody")).isEqualTo(1);
    assertThat(err.toString())
        .contains("No plan of workload \"nobody\" is recorded")
        .doesNotContain("found 0");
    assertThat(run("why --events DIR/events.jsonl")).isEqualTo(2);
    assertThat(err.toString()).contains("specify one of these): (WORKLOAD | --plan=ID)");
    assertThat(run("why --events DIR/events.jsonl --pool gpus --plan 12")).isEqualTo(2);
    assertThat(run("why --events DIR/events.jsonl --plan 12 --generation 3")).isEqualTo(2);
    assertThat(run("why --events DIR/events.jsonl --pool gpus --generation 0")).isEqualTo(2);
    assertThat(err.toString()).contains("--generation must be at least 1, got 0");
  }
}
