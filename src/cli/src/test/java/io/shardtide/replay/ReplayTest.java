package io.shardtide.replay;

import static io.shardtide.replay.RecordedLogs.ids;
import static io.shardtide.replay.RecordedLogs.randomLog;
import static io.shardtide.replay.RecordedLogs.replay;
import static io.shardtide.replay.RecordedLogs.sixGenerations;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.Effort;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RandomEvents;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans are recomputed from recorded logs, and contradictions between records are reported. */
class ReplayTest {
  /** With bursts, statuses, background searches and models that are replaced. */
  @Property(tries = 20)
  void plans_are_recomputed_from_an_export(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    Path folder = Files.createTempDirectory("replay-test");
    try {
      Map<String, Integer> counts = Export.write(records, folder);
      assertThat(counts.get("plans")).isEqualTo(records.all(TopicType.SHARDING_PLANS).size());
      ReplayResult result =
          new Replay(
                  ExportFolder.of(folder),
                  ReplayScope.ALL,
                  ExportFolder.of(folder).models(),
                  PlainTowers::new,
                  (plans, of) -> {})
              .run(true);
      assertThat(result.problems()).isEmpty();
      assertThat(result.first()).isEmpty();
      assertThat(result.isEqual()).isTrue();
      assertThat(ids(result.plans())).isEqualTo(ids(records.all(TopicType.SHARDING_PLANS)));
      assertThat(result.plans())
          .extracting(plan -> plan.run().createdAt())
          .isEqualTo(
              records.all(TopicType.SHARDING_PLANS).stream()
                  .map(plan -> plan.run().createdAt())
                  .toList());
      assertThat(result.notes().get(0)).contains("largest relative difference is 0");
    } finally {
      delete(folder);
    }
  }

  /** Otherwise the tests here would prove less than they claim. */
  @Test
  void random_logs_have_every_kind_of_event() {
    int bursts = 0;
    int deep = 0;
    int repredicted = 0;
    int infeasible = 0;
    int sidesteps = 0;
    int adopted = 0;
    long deleted = 0;
    long cached = 0;
    long cutByUse = 0;
    int inGroups = 0;
    for (long seed = 0; seed < 50; seed++) {
      MemoryRecords records = randomLog(seed);
      infeasible += records.all(TopicType.INFEASIBLE_WORKLOADS).size();
      adopted += records.all(TopicType.PLAN_STATUS).size();
      deleted +=
          records.all(TopicType.COST_PREDICTIONS).stream()
              .filter(CostPredictions::isDeletion)
              .count();
      Map<String, ShardingPlan> latest = new HashMap<>();
      for (ShardingPlan plan : records.all(TopicType.SHARDING_PLANS)) {
        ShardingPlan before = latest.put(plan.workloadId(), plan);
        bursts += before != null && plan.origin().firstGeneration() < plan.generation() ? 1 : 0;
        deep += plan.origin().effort() == Effort.DEEP ? 1 : 0;
        cached += plan.prediction().cacheMisses().size();
        inGroups += plan.groups().areSeveral() ? 1 : 0;
        cutByUse += HotRows.byTable(plan.shards()).size();
        if (before != null) {
          repredicted +=
              before.generation() == plan.generation()
                      && !before.origin().modelId().equals(plan.origin().modelId())
                  ? 1
                  : 0;
          sidesteps += plan.origin().previousPlanId().equals(Optional.of(before.planId())) ? 0 : 1;
        }
      }
    }
    assertThat(
            List.<Number>of(
                bursts,
                deep,
                repredicted,
                infeasible,
                sidesteps,
                adopted,
                deleted,
                cached,
                cutByUse,
                inGroups))
        .allSatisfy(count -> assertThat(count.longValue()).isGreaterThan(5));
  }

  /** The order of records of different workloads does not matter. */
  @Property(tries = 8)
  void workloads_do_not_depend_on_one_another(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    ReplayResult together = replay(records);
    ReplayResult otherwise = replay(records.interleaved(new Random(seed)));
    assertThat(otherwise.rows()).isEqualTo(together.rows());
    assertThat(otherwise.isEqual()).isTrue();
    ReplayResult one = replay(records, new ReplayScope(Optional.of("ads"), 0, Long.MAX_VALUE));
    assertThat(one.rows())
        .isEqualTo(together.rows().stream().filter(r -> r.workloadId().equals("ads")).toList());
  }

  @Property(tries = 8)
  void some_generations_of_one_workload_are_recomputed(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    ReplayScope scope = new ReplayScope(Optional.of("feed"), 3, 6);
    ReplayResult result = replay(records, scope);
    assertThat(result.isEqual()).as(result.toString()).isTrue();
    assertThat(ids(result.plans()))
        .isEqualTo(
            ids(
                records.all(TopicType.SHARDING_PLANS).stream()
                    .filter(p -> p.workloadId().equals("feed"))
                    .filter(p -> p.generation() >= 3 && p.generation() <= 6)
                    .toList()));
  }

  @Property(tries = 8)
  void events_alone_give_the_plans_of_a_planner_that_planned_each_generation(@ForAll long seed)
      throws IOException {
    MemoryRecords records =
        new RandomEvents(
                seed, PlanningSettings.eachGeneration(SearchSettings.DEFAULTS), "feed", "ads")
            .calmly(8)
            .records();
    List<String> recorded = ids(records.all(TopicType.SHARDING_PLANS));
    assertThat(replay(records).isEqual()).isTrue();
    List.of(TopicType.COST_PREDICTIONS, TopicType.PLAN_STATUS, TopicType.INFEASIBLE_WORKLOADS)
        .forEach(records::forget);
    ReplayResult compared = replay(records);
    assertThat(compared.count(Verdict.EQUAL)).isEqualTo(recorded.size());
    records.forget(TopicType.SHARDING_PLANS);
    ReplayResult alone = replay(records);
    assertThat(alone.rows())
        .extracting(ReplayRow::verdict)
        .containsOnly(Verdict.NOT_RECORDED)
        .hasSize(recorded.size());
    assertThat(alone.isEqual()).as("nothing differs").isTrue();
    assertThat(ids(alone.plans())).isEqualTo(recorded);
  }

  @Test
  void a_changed_event_is_found() throws IOException {
    MemoryRecords records = sixGenerations();
    WorkloadChange second = records.all(TopicType.WORKLOAD_CHANGES).get(1);
    records.change(
        TopicType.WORKLOAD_CHANGES,
        event ->
            event.equals(second)
                ? new WorkloadChange(
                    event.eventId(),
                    event.workloadId(),
                    event.occurredAt(),
                    event.source(),
                    event.expectedGeneration(),
                    List.<Change>of(Fixtures.upsert("b", 999, 64, 5)))
                : event);
    ReplayResult result = replay(records);
    assertThat(result.problems())
        .anyMatch(
            p -> p.startsWith("the predictions of generation 2 of feed contradict the events"));
    assertThat(result.isEqual()).isFalse();
    assertThat(WhatIf.isPredicted(records)).isFalse();
  }

  /** Earlier planners applied such an event, later ones reject it. */
  @Test
  void an_event_that_changes_a_table_twice_is_replayed_as_its_planner_took_it() throws IOException {
    Change[] twice = {Fixtures.upsert("a", 1_000, 64, 5), Fixtures.upsert("a", 9_000, 64, 5)};
    Change[] cluster = {Fixtures.set(4, Fixtures.GIB), Fixtures.upsert("z", 9_000, 32, 50)};
    for (List<Change[]> changes : List.of(List.of(twice, cluster), List.of(cluster, twice))) {
      MemoryRecords rejected = RecordedLogs.planned(changes);
      MemoryRecords applied =
          RecordedLogs.planned(
              changes.stream().map(c -> c == twice ? new Change[] {twice[1]} : c).toList());
      Collections.copy(
          applied.all(TopicType.WORKLOAD_CHANGES), rejected.all(TopicType.WORKLOAD_CHANGES));
      assertThat(applied.all(TopicType.COST_PREDICTIONS))
          .as("differ, or the test proves nothing")
          .isNotEqualTo(rejected.all(TopicType.COST_PREDICTIONS));
      for (MemoryRecords log : List.of(rejected, applied)) {
        ReplayResult result = replay(log);
        assertThat(result.problems()).isEmpty();
        assertThat(result.rows()).isNotEmpty().allMatch(row -> row.verdict() == Verdict.EQUAL);
      }
    }
  }

  @Test
  void a_missing_event_is_found() throws IOException {
    MemoryRecords records = sixGenerations();
    WorkloadChange second = records.all(TopicType.WORKLOAD_CHANGES).get(1);
    records.change(TopicType.WORKLOAD_CHANGES, event -> event.equals(second) ? null : event);
    assertThat(replay(records).problems())
        .anyMatch(p -> p.contains(second.eventId() + " is not recorded"));
  }

  @Test
  void missing_parts_are_found() throws IOException {
    MemoryRecords records = sixGenerations();
    records.all(TopicType.COST_PREDICTIONS).remove(0);
    assertThatThrownBy(() -> replay(records))
        .isInstanceOf(MalformedRecordException.class)
        .hasMessageContaining("Part 1 of 2 of generation 1")
        .hasMessageContaining("Maybe lines are missing");
    MemoryRecords cut = sixGenerations();
    List<CostPredictions> all = cut.all(TopicType.COST_PREDICTIONS);
    all.subList(1, all.size()).clear();
    ReplayResult result = replay(cut);
    assertThat(result.problems()).anyMatch(p -> p.contains("Maybe the file was truncated"));
    assertThat(result.first().orElseThrow().explanation())
        .contains("predictions of generation 1 by model", "are not recorded");
  }

  @Test
  void a_pending_generation_is_no_difference() throws IOException {
    MemoryRecords records = sixGenerations();
    List<ShardingPlan> plans = records.all(TopicType.SHARDING_PLANS);
    ShardingPlan last = plans.remove(plans.size() - 1);
    ReplayResult result = replay(records);
    assertThat(result.isEqual()).isTrue();
    assertThat(result.notes()).anyMatch(n -> n.contains("not planned yet"));
    ReplayRow pending = result.rows().get(result.rows().size() - 1);
    assertThat(pending.verdict()).isEqualTo(Verdict.NOT_RECORDED);
    assertThat(pending.generation()).isEqualTo(last.generation());
  }

  @Test
  void a_second_plan_of_a_generation_is_found() throws IOException {
    MemoryRecords records = sixGenerations();
    records.add(TopicType.SHARDING_PLANS, records.all(TopicType.SHARDING_PLANS).get(3));
    ReplayResult result = replay(records);
    assertThat(result.problems())
        .contains("generation 4 of feed: more than one plan is recorded, expected one");
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
