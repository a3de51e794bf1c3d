package io.shardtide.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.InvalidModelException;
import io.shardtide.domain.ShardingPlan;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A log that was exported by the last version with plan format 3. */
class EarlierFormatTest {
  private static final Path FOLDER = Path.of("src/test/resources/replay/format-3");

  private static List<ShardingPlan> recorded() throws IOException {
    List<ShardingPlan> plans = new ArrayList<>();
    ExportFolder.of(FOLDER).read(RecordKind.PLANS, plans::add);
    return plans;
  }

  /** Its model has bundle format 1: who wants its plans again runs the version that made them. */
  @Test
  void a_model_of_an_earlier_format_is_refused_by_name() {
    assertThatThrownBy(() -> ExportFolder.of(FOLDER).models())
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("fac4c4581f75")
        .hasMessageContaining(
            "it has bundle format 1, and this version reads 2. Train it again (pretrain), or use"
                + " the version that made it");
  }

  @Test
  void the_format_is_found_from_the_id() throws IOException {
    assertThat(recorded()).allMatch(plan -> plan.format().getAsInt() == 3);
    ShardingPlan plan = recorded().get(0);
    assertThat(plan.identified().format()).hasValue(8);
    assertThat(plan.identified().planId()).isNotEqualTo(plan.planId());
    assertThat(plan.inFormat(3, "other").format()).hasValue(3);
    assertThat(plan.inFormat(3, "other").planId()).isNotEqualTo(plan.planId());
  }
}
