package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.replay.Export;
import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.RecordKind;
import io.shardtide.testing.RandomEvents;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Replay and why as a person calls them, on files. */
class ReplayCommandTest {
  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @BeforeEach
  void export() throws IOException {
    Export.write(new RandomEvents(3, RandomEvents.BURSTS, "feed", "ads").go(20).records(), folder);
  }

  private int run(String command) {
    String[] args = command.replace("DIR", folder.toString()).strip().split(" +", -1);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  private List<ShardingPlan> plans() throws IOException {
    List<ShardingPlan> plans = new ArrayList<>();
    ExportFolder.of(folder).read(RecordKind.PLANS, plans::add);
    return plans;
  }

  @Test
  void what_is_equal_is_said_in_a_table() throws IOException {
    assertThat(run("replay --events DIR/events.jsonl --out DIR/new/made.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString())
        .contains("On record: plans, infeasible, statuses, predictions, events, models")
        .containsPattern("workload +generation +plan +effort +verdict")
        .contains("%d equal, 0 differ, 0 not recorded".formatted(plans().size()));
    assertThat(Files.readAllLines(folder.resolve("new/made.jsonl"))).hasSize(plans().size());
  }

  @Test
  void what_differs_is_said_with_its_cause() throws IOException {
    Path file = folder.resolve("plans.jsonl");
    Files.writeString(
        file,
        Files.readString(file).replaceFirst("\"paybackSteps\":1000,?", "\"paybackSteps\":77"));
    assertThat(run("replay --events DIR/events.jsonl --out DIR/made.jsonl")).isEqualTo(1);
    assertThat(out.toString())
        .contains("1 differ", "The first difference: plan ", "cause: settings", "paybackSteps=77");
  }

  @Test
  void why_tells_of_every_plan() throws IOException {
    for (ShardingPlan plan : plans()) {
      assertThat(run("why --events DIR/events.jsonl --plan " + plan.planId()))
          .as(err.toString())
          .isZero();
    }
    assertThat(out.toString())
        .contains("what happened", "is added", "what was considered", "bottleneck", "moves: ");
  }

  @Test
  void a_what_if_ends_well_whatever_it_finds() {
    assertThat(
            run(
                "replay --what-if --events DIR/events.jsonl --set paybackSteps=9 --out"
                    + " DIR/w.jsonl"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains("paybackSteps=9", "total", "what if ms");
    assertThat(folder.resolve("w.jsonl")).isNotEmptyFile();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          replay --out x                                               | 2 | Missing option: either --events, or --bootstrap with --registry
          replay --events x --bootstrap y --out x                      | 2 | Too many options: either
          replay --bootstrap y --out x                                 | 2 | --bootstrap and --registry name a cluster together
          replay --events DIR/events.jsonl                             | 2 | Missing required option: '--out=FILE'
          replay --events DIR/events.jsonl --out x --set a=b           | 2 | --set and --original need --what-if
          replay --events DIR/events.jsonl --what-if --set speed=1     | 2 | There is no setting speed; legal are evaluationsPerTable
          replay --events DIR/events.jsonl --what-if --set paybackSteps=x | 2 | Setting paybackSteps is x; legal are whole numbers
          replay --events DIR/events.jsonl --what-if --set paybackSteps=0 | 2 | search.paybackSteps must be between 1.0
          replay --events DIR/events.jsonl --what-if --repredict       | 2 | --repredict is of a replay
          replay --events DIR/events.jsonl --out x --from 5 --to 4     | 2 | Generations 5 to 4; legal are
          replay --events DIR/nowhere.jsonl --out x                    | 1 | nowhere.jsonl does not exist
          replay --events DIR/statuses.jsonl --out x                   | 1 | statuses.jsonl, line 1: Not a WorkloadChange in Avro's JSON encoding
          why --plan 00                                                | 2 | Missing option: either --events
          why --plan 0123456789 --events DIR/events.jsonl              | 1 | No plan begins with 0123456789; legal are the
          why --plan x-ray --events DIR/events.jsonl                   | 1 | is no plan id; legal are the 64 hexadecimal digits
          export --out x                                               | 2 | --bootstrap and --registry name a cluster together
          """)
  void errors_name_what_is_wrong(String command, int status, String message) {
    assertThat(run(command)).as(out.toString()).isEqualTo(status);
    assertThat(err.toString()).contains(message.strip()).doesNotContain("\tat ");
  }

  @Test
  void an_empty_events_file_is_named() throws IOException {
    Files.writeString(folder.resolve("events.jsonl"), "");
    assertThat(run("replay --events DIR/events.jsonl --out x")).isEqualTo(1);
    assertThat(err.toString())
        .contains("events.jsonl holds no events; legal is one WorkloadChange");
  }
}
