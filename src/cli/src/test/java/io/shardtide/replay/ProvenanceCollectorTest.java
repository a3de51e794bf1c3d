package io.shardtide.replay;

import static io.shardtide.replay.RecordedLogs.randomLog;
import static io.shardtide.replay.RecordedLogs.sixGenerations;
import static io.shardtide.replay.RecordedLogs.with;
import static io.shardtide.replay.RecordedLogs.withId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.TableConstraints;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** How a plan came about. */
class ProvenanceCollectorTest {
  /** The provenance has all events since the plan that was running. */
  @Property(tries = 8)
  void every_plan_has_a_provenance(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    List<ShardingPlan> plans = records.all(TopicType.SHARDING_PLANS);
    for (ShardingPlan plan : plans) {
      if (plans.stream().filter(p -> p.planId().equals(plan.planId())).count() > 1) {
        // A model that returns gives the same plan again, with another provenance.
        continue;
      }
      PlanProvenance provenance = ProvenanceCollector.collect(records, plan.planId());
      assertThat(provenance.plan()).isEqualTo(plan);
      assertThat(provenance.previous().map(ShardingPlan::planId))
          .isEqualTo(plan.origin().previousPlanId());
      long since = provenance.previous().map(ShardingPlan::generation).orElse(0L);
      assertThat(provenance.events())
          .extracting(PlanProvenance.ProvenanceEvent::generation)
          .containsExactlyElementsOf(
              Stream.iterate(since + 1, g -> g <= plan.generation(), g -> g + 1).toList());
      assertThat(provenance.events()).allSatisfy(e -> assertThat(e.changes()).isNotEmpty());
      assertThat(provenance.cluster()).isPresent();
      assertThat(provenance.tables()).allSatisfy(t -> assertThat(t.aloneMs()).isPresent());
    }
  }

  @Test
  void a_plan_is_found_by_a_prefix_of_its_id() throws IOException {
    MemoryRecords records = sixGenerations();
    ShardingPlan plan = records.all(TopicType.SHARDING_PLANS).get(1);
    assertThat(ProvenanceCollector.collect(records, plan.planId().substring(0, 16)).plan())
        .isEqualTo(plan);
    assertThatThrownBy(() -> ProvenanceCollector.collect(records, "\u001b[31m"))
        .hasMessageContaining("is not a plan id, expected")
        .hasMessageNotContaining("\u001b");
    assertThatThrownBy(() -> ProvenanceCollector.collect(records, "0123456789abcdef"))
        .hasMessage("No plan id begins with 0123456789abcdef, found 6 recorded plans");
    ShardingPlan twin = with(plan, plan.origin().previousPlanId(), "another");
    records.add(
        TopicType.SHARDING_PLANS, withId(twin, plan.planId().substring(0, 20) + "f".repeat(44)));
    assertThatThrownBy(() -> ProvenanceCollector.collect(records, plan.planId().substring(0, 8)))
        .hasMessageContaining("2 plan ids begin with")
        .hasMessageContaining(plan.planId());
  }

  private static Change onDevicesOf(String other, String name) {
    TableConstraints constraints = new TableConstraints(Set.of(), 0, Optional.of(other));
    return new Change.TableUpserted(
        Fixtures.table(name, 1_000, 64, 5).withConstraints(constraints));
  }

  @Test
  void tables_that_share_devices_are_named_while_both_exist() throws IOException {
    MemoryRecords records =
        RecordedLogs.log(
            List.of(
                new Change[] {
                  Fixtures.set(2, Fixtures.GIB),
                  Fixtures.upsert("a", 1_000, 64, 5),
                  onDevicesOf("a", "c"),
                  onDevicesOf("c", "b")
                },
                new Change[] {Fixtures.drop("a")}));
    List<ShardingPlan> plans = records.all(TopicType.SHARDING_PLANS);
    assertThat(ProvenanceCollector.collect(records, plans.get(0).planId()).shared())
        .containsExactly(
            new PlanProvenance.SharedDevices("b", "c"), new PlanProvenance.SharedDevices("c", "a"));
    assertThat(ProvenanceCollector.collect(records, plans.get(1).planId()).shared())
        .containsExactly(new PlanProvenance.SharedDevices("b", "c"));
  }

  @Test
  void changes_are_described() throws IOException {
    PlanProvenance provenance =
        ProvenanceCollector.collect(
            sixGenerations(), sixGenerations().all(TopicType.SHARDING_PLANS).get(2).planId());
    assertThat(provenance.events())
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.generation()).isEqualTo(3);
              assertThat(event.source()).contains("test");
              assertThat(event.changes())
                  .containsExactly(
                      "table a: rows 1,000,000 -> 2,000,000, lookups per sample 5 -> 9",
                      "cluster: devices 4 -> 5");
            });
    assertThat(provenance.tables())
        .singleElement()
        .satisfies(
            table -> {
              assertThat(table.table().name()).isEqualTo("a");
              assertThat(table.aloneMs().getAsDouble())
                  .isGreaterThan(table.beforeMs().getAsDouble());
            });
  }
}
