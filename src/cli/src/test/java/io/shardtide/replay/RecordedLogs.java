package io.shardtide.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RandomEvents;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** Recorded logs for tests, and changes to their plans. */
final class RecordedLogs {
  private RecordedLogs() {}

  static ReplayResult replay(LogRecords records) throws IOException {
    return replay(records, ReplayScope.ALL);
  }

  static ReplayResult replay(LogRecords records, ReplayScope scope) throws IOException {
    return new Replay(records, scope, records.models(), PlainTowers::new, (plans, of) -> {})
        .run(false);
  }

  /** Returns a random log of two workloads. */
  static MemoryRecords randomLog(long seed) {
    return new RandomEvents(seed, RandomEvents.BURSTS, "feed", "ads").go(16).records();
  }

  /** Returns a log with six generations of one workload, each with its plan. */
  static MemoryRecords sixGenerations() throws IOException {
    return log(
        List.of(
            new Change[] {
              Fixtures.set(4, Fixtures.GIB),
              Fixtures.upsert("a", 1_000_000, 64, 5),
              Fixtures.upsert("z", 9_000, 32, 50)
            },
            new Change[] {Fixtures.upsert("b", 500_000, 128, 5)},
            new Change[] {Fixtures.upsert("a", 2_000_000, 64, 9), Fixtures.set(5, Fixtures.GIB)},
            new Change[] {Fixtures.upsert("c", 10_000, 32, 80)},
            new Change[] {Fixtures.drop("b"), Fixtures.upsert("d", 700_000, 64, 20)},
            new Change[] {Fixtures.set(3, Fixtures.GIB)}));
  }

  /** Returns a log of one workload, with a plan after each event. */
  static MemoryRecords log(List<Change[]> changes) throws IOException {
    MemoryRecords records = planned(changes);
    assertThat(records.all(TopicType.SHARDING_PLANS)).hasSameSizeAs(changes);
    return records;
  }

  /** Returns a log of one workload, with a plan after each event that has predictions. */
  static MemoryRecords planned(List<Change[]> changes) throws IOException {
    MemoryRecords events = new MemoryRecords();
    int number = 0;
    for (Change[] each : changes) {
      WorkloadChange event = Fixtures.numbered(number++, each);
      events.add(
          TopicType.WORKLOAD_CHANGES,
          new WorkloadChange(
              event.eventId(),
              "feed",
              event.occurredAt(),
              "test",
              event.expectedGeneration(),
              event.changes()));
    }
    events.add(TestModels.bundle());
    events.forget(TopicType.COST_PREDICTIONS);
    MemoryRecords records = new MemoryRecords();
    records.add(TestModels.bundle());
    records.all(TopicType.WORKLOAD_CHANGES).addAll(events.all(TopicType.WORKLOAD_CHANGES));
    try (ModelPredictors predictors = new ModelPredictors(events.models(), PlainTowers::new)) {
      new GenerationReader(
              events, ReplayScope.ALL, events.models(), predictors, new ReplayResult.Tally())
          .read(
              (group, at) -> group.forEach(part -> records.add(TopicType.COST_PREDICTIONS, part)));
    }
    events.forget(TopicType.SHARDING_PLANS);
    replay(events).plans().forEach(plan -> records.add(TopicType.SHARDING_PLANS, plan));
    return records;
  }

  static List<String> ids(List<ShardingPlan> plans) {
    return plans.stream().map(ShardingPlan::planId).toList();
  }

  static ShardingPlan with(ShardingPlan plan, SearchSettings settings) {
    return copy(
        plan,
        plan.planId(),
        plan.origin().modelId(),
        settings,
        plan.origin().previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  static ShardingPlan with(ShardingPlan plan, Optional<String> previous, String reason) {
    return copy(
        plan,
        plan.planId(),
        plan.origin().modelId(),
        plan.origin().settings(),
        previous,
        reason,
        plan.shards());
  }

  static ShardingPlan withModel(ShardingPlan plan, String modelId) {
    return copy(
        plan,
        plan.planId(),
        modelId,
        plan.origin().settings(),
        plan.origin().previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  static ShardingPlan withId(ShardingPlan plan, String id) {
    return copy(
        plan,
        id,
        plan.origin().modelId(),
        plan.origin().settings(),
        plan.origin().previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  static ShardingPlan copy(
      ShardingPlan plan,
      String planId,
      String modelId,
      SearchSettings settings,
      Optional<String> previous,
      String reason,
      List<Shard> shards) {
    return new ShardingPlan(
        planId,
        new PlanOrigin(
            plan.workloadId(),
            plan.generation(),
            plan.origin().firstGeneration(),
            plan.origin().effort(),
            plan.origin().source(),
            modelId,
            settings,
            previous,
            List.of()),
        reason,
        shards,
        plan.replication(),
        List.of(),
        List.of(),
        plan.prediction(),
        plan.transition(),
        plan.run());
  }
}
