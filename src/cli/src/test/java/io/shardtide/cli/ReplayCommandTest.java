package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.Export;
import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.LogRecords;
import io.shardtide.testing.RandomEvents;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The commands replay and why, on exported files. */
class ReplayCommandTest {
  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @BeforeEach
  void export() throws IOException {
    Export.write(new RandomEvents(4, RandomEvents.BURSTS, "feed", "ads").go(20).records(), folder);
  }

  private int run(String command) {
    String[] args = command.replace("DIR", folder.toString()).strip().split(" +", -1);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private List<ShardingPlan> plans() throws IOException {
    List<ShardingPlan> plans = new ArrayList<>();
    ExportFolder.of(folder).read(TopicType.SHARDING_PLANS, plans::add);
    return plans;
  }

  @Test
  void equal_plans_are_printed_in_a_table() throws IOException {
    assertThat(run("replay --events DIR/events.jsonl --out DIR/new/made.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString())
        .contains("Recorded: plans, infeasible, statuses, speeds, predictions, events, models")
        .containsPattern("workload +generation +plan +effort +verdict")
        .contains("%d equal, 0 differ, 0 not recorded".formatted(plans().size()));
    assertThat(Files.readAllLines(folder.resolve("new/made.jsonl"))).hasSize(plans().size());
  }

  @Test
  void the_first_difference_is_printed_with_what_the_plan_was_made_from() throws IOException {
    Path file = folder.resolve("plans.jsonl");
    Files.writeString(
        file,
        Files.readString(file).replaceFirst("\"paybackSteps\":1000,", "\"paybackSteps\":77,"));
    assertThat(run("replay --events DIR/events.jsonl --out DIR/made.jsonl")).isEqualTo(1);
    assertThat(out.toString())
        .contains("1 differ", "First difference: plan ", "the record was changed after")
        .containsPattern("made from: the predictions of generation \\d+ by .*paybackSteps=77");
  }

  @Test
  void why_explains_every_plan() throws IOException {
    for (ShardingPlan plan : plans()) {
      assertThat(run("why --events DIR/events.jsonl --plan " + plan.planId()))
          .as(err.toString())
          .isZero();
    }
    assertThat(out.toString()).contains("events", "is added", "search:", "bottleneck", "moves: ");
  }

  @Test
  void a_what_if_compares_with_the_recorded_plans() {
    assertThat(
            run(
                "replay --what-if --events DIR/events.jsonl --set paybackSteps=9 --out"
                    + " DIR/w.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains("paybackSteps=9", "total", "what-if ms");
    assertThat(folder.resolve("w.jsonl")).isNotEmptyFile();
  }

  @Test
  void a_what_if_with_a_slow_device_places_less_on_it() throws IOException {
    assertThat(run("replay --what-if --events DIR/events.jsonl --speed 1=4 --out DIR/s.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains("total", "what-if ms");
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    List<ShardingPlan> slow =
        Files.readAllLines(folder.resolve("s.jsonl")).stream().map(lines::read).toList();
    assertThat(slow)
        .isNotEmpty()
        .allSatisfy(
            plan ->
                assertThat(plan.origin().slow())
                    .containsExactlyElementsOf(
                        plan.ranks() < 2
                            ? List.of()
                            : Stream.of(CostPart.values())
                                .map(part -> new DeviceSpeed(1, part, 4, 0, Instant.EPOCH))
                                .toList()));
    assertThat(shareOfDevice1(slow)).isLessThan(shareOfDevice1(plans()));
  }

  /** Returns the share of memory, over all plans, that device 1 holds. */
  private static double shareOfDevice1(List<ShardingPlan> plans) {
    long all = 0;
    long ofDevice1 = 0;
    for (ShardingPlan plan : plans) {
      for (int d = 0; d < plan.prediction().deviceCosts().size(); d++) {
        long bytes = plan.prediction().deviceCosts().get(d).memoryBytes();
        all += bytes;
        ofDevice1 += d == 1 ? bytes : 0;
      }
    }
    return (double) ofDevice1 / all;
  }

  @Test
  void a_what_if_on_clusters_predicts_and_plans_again() throws IOException {
    assertThat(
            run(
                "replay --what-if --events DIR/events.jsonl --cluster devices=3,memoryGib=900 --out"
                    + " DIR/c.jsonl"))
        .as(err.toString())
        .isZero();
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    assertThat(Files.readAllLines(folder.resolve("c.jsonl")))
        .isNotEmpty()
        .allMatch(line -> lines.read(line).ranks() == 3);
    assertThat(run("replay --what-if --events DIR/events.jsonl --cluster replicaGroups=1+7"))
        .isEqualTo(1);
    assertThat(err.toString()).contains("replica groups of a cluster must be divisors of its");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          replay --out x                                               | 2 | give --bootstrap-server and --registry
          replay --events DIR --bootstrap y --out z                    | 2 | give either an exported log or --bootstrap-server with --registry
          replay --bootstrap y --out x                                 | 2 | give --bootstrap-server and --registry
          replay --events DIR/events.jsonl --out x --set a=b           | 2 | --set, --cluster, --speed and --original need --what-if
          replay --events DIR/events.jsonl --what-if --cluster hosts=1 | 2 | unknown field "hosts": 1; expected devices
          replay --events DIR/events.jsonl --what-if --cluster replicaGroups=1+x | 2 | replicaGroups[1] must be a whole number below 2^31, got "x"
          replay --events DIR/events.jsonl --what-if --set speed=1     | 2 | unknown field "speed": 1; expected evaluationsPerTable
          replay --events DIR/events.jsonl --what-if --set paybackSteps=x | 2 | paybackSteps must be a whole number below 2^63, got "x"
          replay --events DIR/events.jsonl --what-if --set paybackSteps=0 | 2 | paybackSteps must be 1 to 1000000000000, got 0
          replay --events DIR/events.jsonl --what-if --speed 1=0.5     | 2 | slowdown of device 1 must be between 1 and 100, got 0.5
          replay --events DIR/events.jsonl --what-if --speed 1         | 2 | Value for option option '--speed' (DEVICE=FACTOR) should be in KEY=VALUE format but was 1
          replay --events DIR/events.jsonl --out x --speed 1=2         | 2 | --set, --cluster, --speed and --original need --what-if
          replay --events DIR/events.jsonl --what-if --repredict       | 2 | --repredict cannot be combined with --what-if
          replay --events DIR/events.jsonl --out x --from 5 --to 4     | 2 | --from must be at least 0 and at most --to, got --from 5 and --to 4
          replay --events DIR/nowhere.jsonl --out x                    | 2 | nowhere.jsonl does not exist
          replay --events DIR/statuses.jsonl --out x                   | 1 | statuses.jsonl, line 1: Not a WorkloadChange in Avro's JSON encoding
          why --plan 00                                                | 2 | give --bootstrap-server and --registry
          why --plan 0123456789 --events DIR/events.jsonl              | 1 | No plan id begins with 0123456789, found
          why --plan x-ray --events DIR/events.jsonl                   | 2 | is not a plan id, expected up to 64 hexadecimal digits
          export --out x                                               | 2 | give --bootstrap-server and --registry
          """)
  void errors_name_what_is_wrong(String command, int status, String message) {
    assertThat(run(command)).as(out.toString()).isEqualTo(status);
    assertThat(err.toString()).contains(message.strip()).doesNotContain("\tat ");
  }

  /** Also those of kinds of records that it does not have: the next replay would read them. */
  @Test
  void plans_are_not_written_over_the_export() throws IOException {
    List<String> names =
        new ArrayList<>(LogRecords.NAMES.keySet().stream().map(LogRecords::file).toList());
    names.add("models/new.avro");
    for (String name : names) {
      Path file = folder.resolve(name);
      String before = Files.exists(file) ? Files.readString(file) : null;
      for (String command : List.of("replay", "replay --what-if")) {
        assertThat(run(command + " --events DIR/events.jsonl --out DIR/./" + name)).isEqualTo(2);
      }
      assertThat(Files.exists(file) ? Files.readString(file) : null).as(name).isEqualTo(before);
    }
    assertThat(err.toString())
        .contains("--out must be another file than those of the export, got ")
        .contains("--out must be outside of those of the export, got ");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void an_empty_events_file_is_named() throws IOException {
    Files.writeString(folder.resolve("events.jsonl"), "");
    assertThat(run("replay --events DIR/events.jsonl --out x")).isEqualTo(2);
    assertThat(err.toString())
        .contains("events.jsonl holds no events, expected one WorkloadChange");
  }
}
