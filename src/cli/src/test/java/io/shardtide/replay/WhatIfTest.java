package io.shardtide.replay;

import static io.shardtide.replay.RecordedLogs.ids;
import static io.shardtide.replay.RecordedLogs.sixGenerations;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.ModelBundle;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.SearchSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Samples;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Generations planned with other settings or events. */
class WhatIfTest {
  @Test
  void unchanged_settings_give_the_recorded_plans() throws IOException {
    MemoryRecords records = sixGenerations();
    WhatIf.WhatIfResult same = plan(records, records, List.of(), settings -> settings);
    assertThat(ids(same.plans())).isEqualTo(ids(records.all(TopicType.SHARDING_PLANS)));
    assertThat(same.rows())
        .allSatisfy(row -> assertThat(row.hypothetical()).isEqualTo(row.recorded()));
    WhatIf.WhatIfResult still =
        plan(
            records,
            records,
            List.of(),
            s -> Fixtures.settings(s.evaluationsPerTable(), 0, 10, 0.1, 0, s.paybackSteps()));
    assertThat(still.settings().repairEvaluations()).isZero();
    assertThat(ids(still.plans())).isNotEqualTo(ids(records.all(TopicType.SHARDING_PLANS)));
    MemoryRecords edited = new MemoryRecords();
    edited.forget(TopicType.COST_PREDICTIONS);
    records.all(TopicType.WORKLOAD_CHANGES).stream()
        .limit(3)
        .forEach(e -> edited.add(TopicType.WORKLOAD_CHANGES, e));
    WhatIf.WhatIfResult shorter = plan(records, edited, List.of(), settings -> settings);
    WhatIf.WhatIfResult slow =
        plan(records, records, Samples.speeds().slow(), settings -> settings);
    assertThat(slow.plans()).hasSameSizeAs(records.all(TopicType.SHARDING_PLANS));
    assertThat(slow.rows())
        .as("what the change is compared with is the search without it")
        .allSatisfy(row -> assertThat(row.unchanged()).isEqualTo(row.recorded()));
    assertThat(slow.plans().get(0).origin().slow()).contains(Samples.speeds().slow().get(0));
    assertThat(shorter.rows()).hasSize(records.all(TopicType.SHARDING_PLANS).size());
    assertThat(shorter.rows().get(2).hypothetical()).isEqualTo(shorter.rows().get(2).recorded());
    assertThat(shorter.rows().get(3).hypothetical().note()).isEqualTo("-");
  }

  private static WhatIf.WhatIfResult plan(
      LogRecords recorded,
      LogRecords events,
      List<DeviceSpeed> slow,
      UnaryOperator<SearchSettings> change)
      throws IOException {
    Map<String, ModelBundle> models = recorded.models();
    return WhatIf.run(
        recorded,
        new WhatIf.WhatIfSettings(recorded, ReplayScope.ALL, models, List.of(), used -> used),
        new WhatIf.WhatIfSettings(events, ReplayScope.ALL, models, slow, change),
        PlainTowers::new,
        (plans, of) -> {});
  }
}
