package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.delete;
import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.GroupSearch;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;

/** Changes become plans, at the right time and in the right order. */
class PlanningTopologyTest extends TopologyFixture {
  @Test
  void a_change_becomes_a_plan() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 200_000, 64, 5)));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.generation()).isEqualTo(1);
    assertThat(plan.origin().source().topic()).isEqualTo("t.workload-changes");
    assertThat(plan.origin().source().offset()).isZero();
    assertThat(plan.planId()).isEqualTo(plan.contentId());
    assertThat(current.readValue()).isEqualTo(plan);
    publish(event(upsert("c", 100, 4, 1)));
    assertThat(plans.readValue().origin().previousPlanId()).contains(plan.planId());
    assertThat(plans.isEmpty()).as("a generation is planned once").isTrue();
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void an_infeasible_workload_is_reported_and_its_last_plan_stays() {
    publish(event(set(2, Fixtures.MIB), upsert("a", 1_000, 64, 5)));
    ShardingPlan good = current.readValue();
    publish(event(upsert("b", 1_000_000, 64, 5)));
    InfeasibleWorkload bad = infeasible.readValue();
    assertThat(bad.generation()).isEqualTo(2);
    assertThat(bad.shortfall().proven()).isTrue();
    assertThat(current.isEmpty()).isTrue();
    publish(event(drop("b")));
    assertThat(current.readValue().origin().previousPlanId()).contains(good.planId());
  }

  @Test
  void a_deleted_workload_gets_a_tombstone_and_its_pending_changes_no_plan() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofMillis(25));
    String deleted = plans.readValue().planId();
    assertThat(current.readValue().planId()).isEqualTo(deleted);
    pass(Duration.ofSeconds(6));
    assertThat(deep).as("a background search runs").hasSize(1);
    publish(event(upsert("b", 100_000, 64, 5)));
    publish(event(delete()));
    TestRecord<String, ShardingPlan> tombstone = current.readRecord();
    assertThat(tombstone.key()).isEqualTo(Fixtures.WORKLOAD);
    assertThat(tombstone.value()).isNull();
    deep.remove(0).run();
    pass(Duration.ofSeconds(6));
    assertThat(plans.isEmpty()).isTrue();
    assertThat(deep).isEmpty();

    publish(event(set(2, Fixtures.GIB), upsert("c", 100_000, 64, 5)));
    pass(Duration.ofMillis(25));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.origin().firstGeneration()).isEqualTo(4);
    assertThat(plan.origin().previousPlanId()).isEmpty();
    assertThat(plan.shards()).extracting(Shard::table).containsOnly("c");
    assertThat(current.readValue()).isEqualTo(plan);
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void which_plan_runs_is_told_and_told_again_after_a_takeover() {
    planning.advanceWallClockTime(Duration.ofSeconds(1));
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    ShardingPlan first = plans.readValue();
    assertThat(accepted.isEmpty()).as("nobody reported").isTrue();
    report(first, PlanStatus.StatusKind.ADOPTED, 7);
    AcceptedStatus told = accepted.readValue();
    assertThat(told.status()).map(PlanStatus::step).contains(7L);
    assertThat(told.runningPlanId()).contains(first.planId());
    report(first, PlanStatus.StatusKind.REJECTED, 6);
    assertThat(rejectedStatuses.readValue().reason()).isEqualTo(RejectionReason.STALE_STATUS);
    assertThat(accepted.isEmpty()).as("a rejected status").isTrue();

    takeOver();
    AcceptedStatus again =
        new AcceptedStatus(
            Fixtures.WORKLOAD,
            Optional.empty(),
            Optional.of(first.planId()),
            Optional.empty(),
            OptionalLong.of(7),
            told.reportedRun());
    assertThat(accepted.readValue()).isEqualTo(again);
    planning.advanceWallClockTime(Duration.ofSeconds(1));
    assertThat(accepted.isEmpty()).as("told once").isTrue();
    publish(event(delete()));
    assertThat(accepted.readValue())
        .isEqualTo(AcceptedStatus.of(Fixtures.WORKLOAD, Optional.empty(), PlanHistory.NONE));
    takeOver();
    assertThat(accepted.isEmpty()).as("of a deleted workload").isTrue();
  }

  /** A plan may be searched before the trainer's last report is read. */
  @Test
  void the_plan_that_ran_before_runs_again_after_a_takeover_too() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    ShardingPlan first = plans.readValue();
    report(first, PlanStatus.StatusKind.ADOPTED, 1);
    publish(event(upsert("b", 9_000, 64, 9)));
    ShardingPlan second = plans.readValue();
    publish(event(upsert("c", 9_000, 64, 9)));
    ShardingPlan third = plans.readValue();
    assertThat(third.origin().previousPlanId()).contains(first.planId());
    report(second, PlanStatus.StatusKind.ADOPTED, 2);
    report(third, PlanStatus.StatusKind.ADOPTED, 3);
    takeOver();
    report(third, PlanStatus.StatusKind.REJECTED, 3);
    List<AcceptedStatus> told = accepted.readValuesToList();
    assertThat(told.get(told.size() - 1).runningPlanId()).contains(second.planId());
    publish(event(delete()));
    assertThat(planning.<String, String>getKeyValueStore(StoreName.MOVED_FROM.toString()).all())
        .toIterable()
        .isEmpty();
  }

  /** Another instance gets the stores. */
  private void takeOver() {
    Map<String, Map<String, Object>> stores = new HashMap<>();
    for (String store : planning.getAllStateStores().keySet()) {
      Map<String, Object> entries = stores.computeIfAbsent(store, name -> new HashMap<>());
      try (KeyValueIterator<String, Object> all =
          planning.<String, Object>getKeyValueStore(store).all()) {
        all.forEachRemaining(entry -> entries.put(entry.key, entry.value));
      }
    }
    planning.close();
    startPlanning();
    stores.forEach(
        (store, entries) -> entries.forEach(planning.<String, Object>getKeyValueStore(store)::put));
    planning.advanceWallClockTime(Duration.ofSeconds(1));
  }

  @Test
  void changes_within_the_debounce_interval_are_planned_once() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofMillis(4));
    publish(event(upsert("b", 100_000, 64, 5)));
    pass(Duration.ofMillis(4));
    publish(event(upsert("c", 100_000, 64, 5)));
    assertThat(plans.isEmpty()).as("it is not quiet yet").isTrue();
    pass(Duration.ofMillis(25));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.origin().firstGeneration()).isEqualTo(1);
    assertThat(plan.generation()).isEqualTo(3);
    assertThat(plan.origin().effort()).isEqualTo(Effort.QUICK);
    assertThat(plan.origin().settings()).isEqualTo(SearchSettings.QUICK);
    assertThat(plans.isEmpty()).isTrue();
  }

  @Test
  void changes_without_a_pause_are_planned_after_the_longest_wait() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    for (int i = 0; i < 124; i++) {
      pass(Duration.ofMillis(4));
      publish(event(upsert("b" + i, 100, 4, 1)));
    }
    assertThat(plans.isEmpty()).isTrue();
    pass(Duration.ofMillis(5));
    assertThat(plans.readValue().generation()).isEqualTo(125);
  }

  @Test
  void a_background_search_begins_when_a_workload_is_idle() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 9_000, 64, 9)));
    pass(Duration.ofMillis(25));
    ShardingPlan quick = plans.readValue();
    pass(Duration.ofMillis(4_900));
    assertThat(deep).as("five seconds of rest are not over").isEmpty();
    pass(Duration.ofMillis(200));
    assertThat(deep).hasSize(1);
    publish(event(upsert("c", 1_000, 64, 5)));
    pass(Duration.ofMillis(25));
    assertThat(plans.readValue().origin().previousPlanId())
        .as("a change does not wait for it")
        .contains(quick.planId());
    deep.remove(0).run();
    pass(Duration.ofMillis(25));
    assertThat(plans.isEmpty()).as("what it found is of yesterday").isTrue();
    pass(Duration.ofMillis(5_100));
    assertThat(deep).as("the next generation is searched").hasSize(1);
  }

  @Test
  void a_background_search_that_fails_is_reported() {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    metrics = new PlannerMetrics(meters);
    restart(PlanningSettings.DEFAULTS);
    search =
        (problem, budget) -> {
          if (budget.equals(SearchSettings.DEEP)) {
            throw new StackOverflowError("on purpose");
          }
          return GroupSearch.search(problem, budget);
        };
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofMillis(25));
    plans.readValue();
    pass(Duration.ofSeconds(6));
    deep.remove(0).run();
    pass(Duration.ofMillis(25));
    RejectedEvent failure = rejectedStatuses.readValue();
    assertThat(failure.reason()).isEqualTo(RejectionReason.PLANNING_FAILED);
    assertThat(failure.workloadId()).contains(Fixtures.WORKLOAD);
    assertThat(failure.message()).contains("on purpose");
    assertThat(meters.get("shardtide.searches.failed").tag("effort", "deep").counter().count())
        .isEqualTo(1);
    assertThat(meters.get("shardtide.searches.discarded").counter().count()).isZero();
    pass(Duration.ofSeconds(6));
    assertThat(deep).as("it is not tried again before a change").isEmpty();
    publish(event(upsert("b", 100_000, 64, 5)));
    pass(Duration.ofMillis(25));
    assertThat(plans.readValue().generation()).isEqualTo(2);
  }

  /**
   * As under a steady load, where there is always a workload that has come to rest. A search waits
   * for its thread for a second, which does not count, and runs for another one.
   */
  @Test
  void background_searches_take_an_eighth_of_the_time_under_load() {
    search =
        (problem, budget) -> {
          nanos += budget.equals(SearchSettings.DEEP) ? Duration.ofSeconds(1).toNanos() : 0;
          return GroupSearch.search(problem, budget);
        };
    restart(PlanningSettings.DEFAULTS);
    for (String id : List.of("quiet-1", "quiet-2", "quiet-3")) {
      publish(of(id, set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    }
    pass(Duration.ofMillis(25));
    pass(Duration.ofSeconds(6));
    assertThat(deep).as("one at a time").hasSize(1);
    publish(of("busy", set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofSeconds(1));
    deep.remove(0).run();
    pass(Duration.ofMillis(5));
    assertThat(deep).as("it rests").isEmpty();
    pass(Duration.ofMillis(7 * 1_000 - 10));
    assertThat(deep).isEmpty();
    pass(Duration.ofMillis(10));
    assertThat(deep).hasSize(1);
    deep.remove(0).run();
    pass(Duration.ofMillis(5));
    assertThat(deep).as("nobody waited for the processor").hasSize(1);
  }

  private void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step) {
    PlanStatus status =
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            Optional.empty(),
            "trainer",
            "",
            Fixtures.TIME,
            1,
            1);
    statuses.pipeInput(
        KEY,
        registry
            .serde(topics.of(PLAN_STATUS))
            .serializer()
            .serialize(topics.of(PLAN_STATUS).name(), status));
  }

  @Test
  void moves_are_counted_from_the_plan_that_the_trainer_adopted() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    ShardingPlan first = plans.readValue();
    report(first, PlanStatus.StatusKind.ADOPTED, 7);
    publish(event(upsert("b", 1_000, 64, 5)));
    ShardingPlan second = plans.readValue();
    publish(event(upsert("c", 1_000, 64, 5)));
    assertThat(plans.readValue().origin().previousPlanId()).contains(first.planId());
    report(second, PlanStatus.StatusKind.ADOPTED, 6);
    assertThat(rejectedStatuses.readValue().reason()).isEqualTo(RejectionReason.STALE_STATUS);
    statuses.pipeInput(KEY, "noise".getBytes(StandardCharsets.UTF_8));
    RejectedEvent noise = rejectedStatuses.readValue();
    assertThat(noise.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(noise.source().topic()).isEqualTo(topics.of(PLAN_STATUS).name());
    report(second, PlanStatus.StatusKind.ADOPTED, 7);
    publish(event(upsert("d", 1_000, 64, 5)));
    assertThat(plans.readValue().origin().previousPlanId()).contains(second.planId());
  }

  @Test
  void an_unreadable_prediction_is_rejected() {
    TestInputTopic<byte[], byte[]> raw =
        planning.createInputTopic(
            topics.of(COST_PREDICTIONS).name(),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    raw.pipeInput(KEY, "noise".getBytes(StandardCharsets.UTF_8));
    assertThat(rejectedStatuses.readValue().source().topic())
        .isEqualTo(topics.of(COST_PREDICTIONS).name());
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    assertThat(plans.readValue().generation()).isEqualTo(1);
  }

  /** Live changes come first; then what a new model concerns, the most promising first. */
  @Test
  void a_new_model_replans_all_workloads_after_the_pending_changes() {
    restart(PlanningSettings.DEFAULTS);
    String[] ids = {"calm", "uneven", "live"};
    for (String id : ids) {
      publish(
          Fixtures.eventOf(
              id,
              set(2, Fixtures.GIB),
              upsert("big", id.equals("uneven") ? 2_000_000 : 10_000, 4, 90),
              upsert("small", 10_000, 4, 90)));
    }
    pass(Duration.ofMillis(25));
    assertThat(plans.readValuesToList()).hasSize(3);
    predictors.takeOver(TestModels.otherBundle());
    publish(Fixtures.eventOf("live", upsert("new", 1_000, 4, 5)));
    for (int i = 0; i < 12; i++) {
      pass(Duration.ofMillis(10));
    }
    List<ShardingPlan> after = plans.readValuesToList();
    assertThat(after)
        .extracting(plan -> plan.origin().modelId())
        .containsOnly(TestModels.otherBundle().modelId());
    assertThat(after)
        .extracting(ShardingPlan::workloadId)
        .containsExactlyInAnyOrder("calm", "uneven", "live");
  }

  @Test
  void workloads_are_independent() {
    WorkloadChange here = event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    WorkloadChange there =
        new WorkloadChange(
            here.eventId(),
            Fixtures.WORKLOAD + "-2",
            Fixtures.TIME,
            "test",
            OptionalLong.of(0),
            List.of(set(3, Fixtures.GIB), upsert("z", 1_000, 64, 5)));
    publish(here);
    publish(there);
    assertThat(plans.readValue().shards()).allMatch(s -> s.table().equals("a"));
    ShardingPlan other = plans.readValue();
    assertThat(other.shards()).allMatch(s -> s.table().equals("z"));
    assertThat(other.prediction().deviceCosts()).hasSize(3);
    assertThat(other.origin().previousPlanId()).isEmpty();
  }
}
