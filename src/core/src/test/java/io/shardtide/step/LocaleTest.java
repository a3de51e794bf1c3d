package io.shardtide.step;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The texts of plans are part of their ids. */
class LocaleTest {
  /** Digits are others there. */
  private static final Locale EGYPT = Locale.forLanguageTag("ar-EG-u-nu-arab");

  private static List<ShardingPlan> plans() {
    Workloads workloads = Workloads.inMemory();
    PlanningTables plans = PlanningTables.inMemory();
    PlainPredictors models = new PlainPredictors();
    PlanningStep planning =
        new PlanningStep(
            models,
            PlanningSettings.eachGeneration(SearchSettings.QUICK),
            new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
    new WorkloadStep(models)
        .apply(
            workloads,
            Fixtures.at(0),
            Fixtures.event(
                Fixtures.set(12, Fixtures.GIB),
                Fixtures.upsert("a", 1_000_000, 64, 5),
                Fixtures.upsert("b", 2_000_000, 64, 50)))
        .forEach(part -> planning.onPredictions(plans, part));
    List<ShardingPlan> made = new ArrayList<>();
    made.add(plan(planning, plans));
    planning.onSpeeds(
        plans,
        new DeviceSpeeds(
            Fixtures.WORKLOAD,
            made.get(0).planId(),
            Fixtures.TIME,
            List.of(new DeviceSpeed(1, CostPart.COMPUTATION, 1.5, 0.1, Fixtures.TIME))));
    made.add(plan(planning, plans));
    return made;
  }

  private static ShardingPlan plan(PlanningStep planning, PlanningTables plans) {
    return ((PlanningOutcome.Planned) planning.plan(plans, Fixtures.WORKLOAD).orElseThrow()).plan();
  }

  @Test
  void ids_of_plans_do_not_depend_on_the_locale_of_the_program() {
    List<ShardingPlan> expected = plans();
    assertThat(expected.get(0).reason()).contains("2 tables on 12 devices");
    Locale before = Locale.getDefault();
    Locale.setDefault(EGYPT);
    try {
      assertThat("%d".formatted(12)).as("digits of the locale").isNotEqualTo("12");
      assertThat(plans())
          .extracting(ShardingPlan::planId)
          .isEqualTo(expected.stream().map(ShardingPlan::planId).toList());
    } finally {
      Locale.setDefault(before);
    }
  }
}
