package io.shardtide.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.ShardingPlan;
import io.shardtide.testing.PlainTowers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A log that was exported by the last version with plan format 3. */
class EarlierFormatTest {
  private static final Path FOLDER = Path.of("src/test/resources/replay/format-3");

  private static ReplayResult replay(Path folder) throws IOException {
    ExportFolder records = ExportFolder.of(folder);
    return new Replay(
            records, ReplayScope.ALL, records.models(), PlainTowers::new, (made, of) -> {})
        .run(false);
  }

  private static List<ShardingPlan> recorded() throws IOException {
    List<ShardingPlan> plans = new ArrayList<>();
    ExportFolder.of(FOLDER).read(RecordKind.PLANS, plans::add);
    return plans;
  }

  @Test
  void its_plans_come_out_again_but_for_their_texts() throws IOException {
    ReplayResult result = replay(FOLDER);
    assertThat(result.problems()).isEmpty();
    assertThat(result.isEqual()).isTrue();
    assertThat(result.rows()).hasSize(4).allMatch(row -> row.verdict() == Verdict.EQUAL);
    assertThat(result.plans())
        .usingRecursiveFieldByFieldElementComparatorIgnoringFields("run")
        .isEqualTo(recorded());
    assertThat(result.notes())
        .contains(
            "4 plans on record are made by plan format 3, this build makes format 4: compared in"
                + " everything but the text of the reason");
    assertThat(result.plans())
        .extracting(ShardingPlan::reason)
        .anyMatch(reason -> reason.startsWith("deeper search: "));
  }

  @Test
  void the_format_is_found_from_the_id() throws IOException {
    assertThat(recorded()).allMatch(plan -> plan.format().getAsInt() == 3);
    ShardingPlan plan = recorded().get(0);
    assertThat(plan.identified().format()).hasValue(4);
    assertThat(plan.identified().planId()).isNotEqualTo(plan.planId());
    assertThat(plan.inFormat(3, "other").format()).hasValue(3);
    assertThat(plan.inFormat(3, "other").planId()).isNotEqualTo(plan.planId());
  }

  /** A plan of an earlier format that was changed is still found out. */
  @Test
  void a_changed_plan_is_told_from_one_of_an_earlier_format(@TempDir Path folder)
      throws IOException {
    try (var files = Files.walk(FOLDER)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        Path copy = folder.resolve(FOLDER.relativize(file));
        Files.createDirectories(copy.getParent());
        Files.copy(file, copy);
      }
    }
    Path plans = folder.resolve("plans.jsonl");
    String text = Files.readString(plans, StandardCharsets.UTF_8);
    String changed = text.replaceFirst("first plan: 2 tables", "first plan: 3 tables");
    assertThat(changed).isNotEqualTo(text);
    Files.writeString(plans, changed, StandardCharsets.UTF_8);
    ReplayResult result = replay(folder);
    assertThat(result.isEqual()).isFalse();
    assertThat(result.first().orElseThrow().cause()).isEqualTo(Difference.DifferenceCause.RECORD);
  }
}
