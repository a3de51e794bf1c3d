package io.shardtide.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.Change;
import io.shardtide.domain.Effort;
import io.shardtide.domain.PlanOrigin;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.replay.Difference.DifferenceCause;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RandomEvents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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

/** Lives of workloads are made again from what they left on the log. */
class ReplayTest {
  private static ReplayResult replay(LogRecords records) throws IOException {
    return replay(records, ReplayScope.ALL);
  }

  private static ReplayResult replay(LogRecords records, ReplayScope scope) throws IOException {
    return new Replay(records, scope, records.models(), PlainTowers::new, (made, of) -> {})
        .run(false);
  }

  private static List<String> ids(List<ShardingPlan> plans) {
    return plans.stream().map(ShardingPlan::planId).toList();
  }

  /** Two workloads in a life with everything; their plans and one life's length are enough. */
  private static MemoryRecords life(long seed) {
    return new RandomEvents(seed, RandomEvents.BURSTS, "feed", "ads").go(16).records();
  }

  /** Bursts, statuses, deeper searches, models that come and go: exported, read, made again. */
  @Property(tries = 60)
  void a_life_is_made_again_from_its_export(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    Path folder = Files.createTempDirectory("replay-test");
    try {
      Map<String, Integer> counts = Export.write(records, folder);
      assertThat(counts.get("plans")).isEqualTo(records.all(RecordKind.PLANS).size());
      ReplayResult result =
          new Replay(
                  ExportFolder.of(folder),
                  ReplayScope.ALL,
                  ExportFolder.of(folder).models(),
                  PlainTowers::new,
                  (made, of) -> {})
              .run(true);
      assertThat(result.problems()).isEmpty();
      assertThat(result.first()).isEmpty();
      assertThat(result.isEqual()).isTrue();
      assertThat(ids(result.plans())).isEqualTo(ids(records.all(RecordKind.PLANS)));
      assertThat(result.plans())
          .extracting(ShardingPlan::createdAt)
          .isEqualTo(records.all(RecordKind.PLANS).stream().map(ShardingPlan::createdAt).toList());
      assertThat(result.deviation().orElseThrow()).contains("largest relative difference is 0");
    } finally {
      delete(folder);
    }
  }

  /** What these tests are about does happen in the lives that they look at. */
  @Test
  void lives_have_everything() {
    int bursts = 0;
    int deep = 0;
    int anew = 0;
    int infeasible = 0;
    int sidesteps = 0;
    int adopted = 0;
    for (long seed = 0; seed < 20; seed++) {
      MemoryRecords records = life(seed);
      infeasible += records.all(RecordKind.INFEASIBLE).size();
      adopted += records.all(RecordKind.STATUSES).size();
      Map<String, ShardingPlan> latest = new HashMap<>();
      for (ShardingPlan plan : records.all(RecordKind.PLANS)) {
        ShardingPlan before = latest.put(plan.workloadId(), plan);
        bursts += before != null && plan.firstGeneration() < plan.generation() ? 1 : 0;
        deep += plan.effort() == Effort.DEEP ? 1 : 0;
        if (before != null) {
          anew +=
              before.generation() == plan.generation() && !before.modelId().equals(plan.modelId())
                  ? 1
                  : 0;
          sidesteps += plan.previousPlanId().equals(Optional.of(before.planId())) ? 0 : 1;
        }
      }
    }
    assertThat(List.of(bursts, deep, anew, infeasible, sidesteps, adopted))
        .allSatisfy(count -> assertThat(count).isGreaterThan(5));
  }

  /** How workloads alternate on the log means nothing. */
  @Property(tries = 20)
  void workloads_do_not_depend_on_one_another(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    ReplayResult together = replay(records);
    ReplayResult otherwise = replay(records.interleaved(new Random(seed)));
    assertThat(otherwise.rows()).isEqualTo(together.rows());
    assertThat(otherwise.isEqual()).isTrue();
    ReplayResult one = replay(records, new ReplayScope(Optional.of("ads"), 0, Long.MAX_VALUE));
    assertThat(one.rows())
        .isEqualTo(together.rows().stream().filter(r -> r.workloadId().equals("ads")).toList());
  }

  @Property(tries = 20)
  void a_part_of_a_life_is_made_again(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    ReplayScope scope = new ReplayScope(Optional.of("feed"), 3, 6);
    ReplayResult result = replay(records, scope);
    assertThat(result.isEqual()).as(result.toString()).isTrue();
    assertThat(ids(result.plans()))
        .isEqualTo(
            ids(
                records.all(RecordKind.PLANS).stream()
                    .filter(p -> p.workloadId().equals("feed"))
                    .filter(p -> p.generation() >= 3 && p.generation() <= 6)
                    .toList()));
  }

  /** Of the events alone, each generation is planned by itself. */
  @Property(tries = 20)
  void the_events_alone_are_enough_where_each_generation_was_planned(@ForAll long seed)
      throws IOException {
    MemoryRecords records =
        new RandomEvents(
                seed, PlanningSettings.eachGeneration(SearchSettings.DEFAULTS), "feed", "ads")
            .calmly(8)
            .records();
    List<String> made = ids(records.all(RecordKind.PLANS));
    assertThat(replay(records).isEqual()).isTrue();
    List.of(RecordKind.PREDICTIONS, RecordKind.STATUSES, RecordKind.INFEASIBLE)
        .forEach(records::forget);
    ReplayResult compared = replay(records);
    assertThat(compared.count(Verdict.EQUAL)).isEqualTo(made.size());
    records.forget(RecordKind.PLANS);
    ReplayResult alone = replay(records);
    assertThat(alone.rows())
        .extracting(ReplayRow::verdict)
        .containsOnly(Verdict.NOT_RECORDED)
        .hasSize(made.size());
    assertThat(alone.isEqual()).as("nothing differs").isTrue();
    assertThat(ids(alone.plans())).isEqualTo(made);
  }

  @Property(tries = 30)
  void settings_that_were_changed_are_found(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    ShardingPlan victim = quick(records, seed);
    SearchSettings other = new SearchSettings(7, 11, 3, 0.2, 13);
    records.change(RecordKind.PLANS, plan -> plan.equals(victim) ? with(plan, other) : plan);
    ReplayResult result = replay(records);
    assertThat(result.isEqual()).isFalse();
    Difference first = result.first().orElseThrow();
    assertThat(first.row().planId()).contains(victim.planId());
    assertThat(first.cause()).isEqualTo(DifferenceCause.SETTINGS);
    assertThat(first.explanation()).contains("paybackSteps=13", victim.settings().toString());
    assertThat(result.count(Verdict.DIFFERS)).as("nothing else").isEqualTo(1);
  }

  @Property(tries = 30)
  void a_plan_that_was_changed_is_found(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    List<ShardingPlan> planned =
        records.all(RecordKind.PLANS).stream().filter(p -> !p.shards().isEmpty()).toList();
    ShardingPlan victim = planned.get(Math.floorMod(seed, planned.size()));
    records.change(RecordKind.PLANS, plan -> plan.equals(victim) ? moved(plan) : plan);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(first.row().planId()).contains(victim.planId());
    assertThat(first.cause()).isEqualTo(DifferenceCause.RECORD);
    assertThat(first.fields()).singleElement().asString().startsWith("shards: ");
    assertThat(result.count(Verdict.DIFFERS)).as("plans after it begin at the right one").isOne();
  }

  @Property(tries = 30)
  void predictions_that_were_changed_are_found(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    CostPredictions victim =
        records.all(RecordKind.PREDICTIONS).stream()
            .filter(p -> p.update().orElse(null) instanceof Update.Predicted)
            .filter(p -> records.all(RecordKind.PLANS).stream().anyMatch(plan -> isOf(plan, p)))
            .filter(p -> isOnce(records.all(RecordKind.PREDICTIONS), p))
            .findFirst()
            .orElseThrow();
    records.change(RecordKind.PREDICTIONS, part -> part.equals(victim) ? dearer(part) : part);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(first.cause()).as(first.toString()).isEqualTo(DifferenceCause.PREDICTIONS);
    assertThat(first.explanation()).contains("off by");
    assertThat(first.fields()).isNotEmpty();
    ReplayResult anew =
        new Replay(records, ReplayScope.ALL, records.models(), PlainTowers::new, (made, of) -> {})
            .run(true);
    assertThat(anew.problems()).anyMatch(p -> p.contains("off by up to 0.3"));
  }

  /**
   * Returns whether a plan was made of what was predicted last then: later in a burst it was not.
   */
  private static boolean isOf(ShardingPlan plan, CostPredictions part) {
    return plan.workloadId().equals(part.workloadId())
        && plan.generation() == part.generation()
        && plan.modelId().equals(part.modelId());
  }

  /** Returns whether a prediction was made once: a model that comes back says the same again. */
  private static boolean isOnce(List<CostPredictions> all, CostPredictions part) {
    return all.stream()
            .filter(
                p ->
                    p.workloadId().equals(part.workloadId())
                        && p.generation() == part.generation()
                        && p.modelId().equals(part.modelId())
                        && p.part() == part.part())
            .count()
        == 1;
  }

  private static ShardingPlan quick(MemoryRecords records, long seed) {
    List<ShardingPlan> quick =
        records.all(RecordKind.PLANS).stream().filter(p -> p.effort() == Effort.QUICK).toList();
    return quick.get(Math.floorMod(seed, quick.size()));
  }

  @Test
  void another_previous_plan_is_found() throws IOException {
    MemoryRecords records = calm();
    List<ShardingPlan> plans = List.copyOf(records.all(RecordKind.PLANS));
    ShardingPlan victim = plans.get(4);
    records.change(
        RecordKind.PLANS,
        plan ->
            plan.equals(victim)
                ? with(plan, Optional.of(plans.get(1).planId()), plan.reason())
                : plan);
    Difference first = replay(records).first().orElseThrow();
    assertThat(first.row().planId()).contains(victim.planId());
    assertThat(first.cause()).isEqualTo(DifferenceCause.PREVIOUS_PLAN);
    assertThat(first.explanation()).contains(plans.get(3).planId());
  }

  @Test
  void a_previous_plan_that_is_missing_is_named() throws IOException {
    MemoryRecords records = calm();
    ShardingPlan gone = records.all(RecordKind.PLANS).get(2);
    records.change(RecordKind.PLANS, plan -> plan.equals(gone) ? null : plan);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(first.cause()).isEqualTo(DifferenceCause.PREVIOUS_PLAN);
    assertThat(first.row().verdict()).isEqualTo(Verdict.NOT_REPRODUCED);
    assertThat(first.explanation()).contains(gone.planId());
    assertThat(result.problems())
        .contains(
            "generation %d of feed is answered by no plan on record, and by no report that it does not fit"
                .formatted(gone.generation()));
    assertThat(result.rows())
        .anyMatch(r -> r.verdict() == Verdict.NOT_RECORDED && r.generation() == gone.generation());
  }

  @Test
  void a_model_that_is_missing_is_named() throws IOException {
    MemoryRecords records = calm();
    records.removeModel(Fixtures.bundle().modelId());
    ReplayResult result = replay(records);
    assertThat(result.count(Verdict.NOT_REPRODUCED))
        .isEqualTo(records.all(RecordKind.PLANS).size());
    assertThat(result.isEqual()).isFalse();
    assertThat(result.first().orElseThrow().cause()).isEqualTo(DifferenceCause.MODEL);
    assertThat(result.first().orElseThrow().explanation())
        .contains(Fixtures.bundle().modelId())
        .contains("--model");
  }

  @Test
  void another_model_is_named() throws IOException {
    MemoryRecords records = calm();
    ShardingPlan victim = records.all(RecordKind.PLANS).get(2);
    String other = Fixtures.otherBundle().modelId();
    records.change(RecordKind.PLANS, plan -> plan.equals(victim) ? withModel(plan, other) : plan);
    Difference changed = replay(records).first().orElseThrow();
    assertThat(changed.cause()).isEqualTo(DifferenceCause.MODEL);
    assertThat(changed.explanation()).contains(other, Fixtures.bundle().modelId());
    records.change(
        RecordKind.PLANS, plan -> plan.modelId().equals(other) ? plan.identified() : plan);
    Difference forged = replay(records).first().orElseThrow();
    assertThat(forged.cause()).isEqualTo(DifferenceCause.MODEL);
    assertThat(forged.explanation()).contains("was predicted by model");
  }

  /** A plan that this code would never make of what it names, and that is whole. */
  @Test
  void another_code_version_is_what_is_left() throws IOException {
    MemoryRecords records = calm();
    ShardingPlan last = records.all(RecordKind.PLANS).get(records.all(RecordKind.PLANS).size() - 1);
    records.change(
        RecordKind.PLANS,
        plan ->
            plan.equals(last)
                ? with(plan, plan.previousPlanId(), "as an older version put it").identified()
                : plan);
    Difference first = replay(records).first().orElseThrow();
    assertThat(first.cause()).isEqualTo(DifferenceCause.CODE_VERSION);
    assertThat(first.fields())
        .singleElement()
        .asString()
        .startsWith("reason: as an older version put it on record");
  }

  @Test
  void an_event_that_was_changed_is_found() throws IOException {
    MemoryRecords records = calm();
    WorkloadChange second = records.all(RecordKind.EVENTS).get(1);
    records.change(
        RecordKind.EVENTS,
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
        .anyMatch(p -> p.startsWith("the prediction of generation 2 of feed does not follow"));
    assertThat(result.isEqual()).isFalse();
    assertThat(WhatIf.isPredicted(records)).isFalse();
  }

  @Test
  void an_event_that_is_missing_is_found() throws IOException {
    MemoryRecords records = calm();
    WorkloadChange second = records.all(RecordKind.EVENTS).get(1);
    records.change(RecordKind.EVENTS, event -> event.equals(second) ? null : event);
    assertThat(replay(records).problems())
        .anyMatch(p -> p.contains(second.eventId() + " is not among the events"));
  }

  @Test
  void parts_that_are_missing_are_found() throws IOException {
    MemoryRecords records = calm();
    records.all(RecordKind.PREDICTIONS).remove(0);
    assertThatThrownBy(() -> replay(records))
        .isInstanceOf(MalformedRecordException.class)
        .hasMessageContaining("Part 1 of 2 of generation 1")
        .hasMessageContaining("Maybe lines are missing");
    MemoryRecords cut = calm();
    List<CostPredictions> all = cut.all(RecordKind.PREDICTIONS);
    all.subList(1, all.size()).clear();
    ReplayResult result = replay(cut);
    assertThat(result.problems()).anyMatch(p -> p.contains("Maybe the file was cut off"));
    assertThat(result.first().orElseThrow().cause()).isEqualTo(DifferenceCause.PREDICTIONS);
  }

  @Test
  void what_waits_at_the_end_is_no_difference() throws IOException {
    MemoryRecords records = calm();
    List<ShardingPlan> plans = records.all(RecordKind.PLANS);
    ShardingPlan last = plans.remove(plans.size() - 1);
    ReplayResult result = replay(records);
    assertThat(result.isEqual()).isTrue();
    assertThat(result.notes()).anyMatch(n -> n.contains("not planned yet"));
    ReplayRow waits = result.rows().get(result.rows().size() - 1);
    assertThat(waits.verdict()).isEqualTo(Verdict.NOT_RECORDED);
    assertThat(waits.generation()).isEqualTo(last.generation());
  }

  @Test
  void a_generation_that_is_answered_twice_is_found() throws IOException {
    MemoryRecords records = calm();
    records.add(RecordKind.PLANS, records.all(RecordKind.PLANS).get(3));
    ReplayResult result = replay(records);
    assertThat(result.problems()).contains("generation 4 of feed is answered more than once");
  }

  @Test
  void a_what_if_of_nothing_else_is_what_happened() throws IOException {
    MemoryRecords records = calm();
    WhatIf.WhatIfPlan same = ask(records, records, settings -> settings);
    assertThat(ids(same.plans())).isEqualTo(ids(records.all(RecordKind.PLANS)));
    assertThat(same.lines()).allSatisfy(line -> assertThat(line.anew()).isEqualTo(line.real()));
    WhatIf.WhatIfPlan still =
        ask(
            records,
            records,
            s -> new SearchSettings(s.evaluationsPerTable(), 0, 10, 0.1, s.paybackSteps()));
    assertThat(still.settings().repairEvaluations()).isZero();
    assertThat(ids(still.plans())).isNotEqualTo(ids(records.all(RecordKind.PLANS)));
    MemoryRecords edited = new MemoryRecords();
    records.all(RecordKind.EVENTS).stream().limit(3).forEach(e -> edited.add(RecordKind.EVENTS, e));
    WhatIf.WhatIfPlan shorter =
        WhatIf.ask(
            new WhatIf.WhatIfSettings(
                records, edited, false, ReplayScope.ALL, records.models(), settings -> settings),
            PlainTowers::new,
            (made, of) -> {});
    assertThat(shorter.lines()).hasSize(records.all(RecordKind.PLANS).size());
    assertThat(shorter.lines().get(2).anew()).isEqualTo(shorter.lines().get(2).real());
    assertThat(shorter.lines().get(3).anew().note()).isEqualTo("-");
  }

  private static WhatIf.WhatIfPlan ask(
      LogRecords real, LogRecords events, java.util.function.UnaryOperator<SearchSettings> change)
      throws IOException {
    return WhatIf.ask(
        new WhatIf.WhatIfSettings(
            real, events, WhatIf.isPredicted(events), ReplayScope.ALL, real.models(), change),
        PlainTowers::new,
        (made, of) -> {});
  }

  /** Every plan of a life has a story, and the story names all events since the one that ran. */
  @Property(tries = 20)
  void every_plan_has_a_story(@ForAll long seed) throws IOException {
    MemoryRecords records = life(seed);
    List<ShardingPlan> plans = records.all(RecordKind.PLANS);
    for (ShardingPlan plan : plans) {
      if (plans.stream().filter(p -> p.planId().equals(plan.planId())).count() > 1) {
        // A model that comes back makes the same plan at another time: its story is one of them.
        continue;
      }
      PlanProvenance story = ProvenanceCollector.tell(records, plan.planId());
      assertThat(story.plan()).isEqualTo(plan);
      assertThat(story.previous().map(ShardingPlan::planId)).isEqualTo(plan.previousPlanId());
      long since = story.previous().map(ShardingPlan::generation).orElse(0L);
      assertThat(story.events())
          .extracting(PlanProvenance.ProvenanceEvent::generation)
          .containsExactlyElementsOf(
              Stream.iterate(since + 1, g -> g <= plan.generation(), g -> g + 1).toList());
      assertThat(story.events()).allSatisfy(e -> assertThat(e.changes()).isNotEmpty());
      assertThat(story.cluster()).isPresent();
      assertThat(story.tables()).allSatisfy(t -> assertThat(t.aloneMs()).isPresent());
    }
  }

  @Test
  void a_plan_is_found_by_how_its_id_begins() throws IOException {
    MemoryRecords records = calm();
    ShardingPlan plan = records.all(RecordKind.PLANS).get(1);
    assertThat(ProvenanceCollector.tell(records, plan.planId().substring(0, 16)).plan())
        .isEqualTo(plan);
    assertThatThrownBy(() -> ProvenanceCollector.tell(records, "\u001b[31m"))
        .hasMessageContaining("is no plan id; legal are")
        .hasMessageNotContaining("\u001b");
    assertThatThrownBy(() -> ProvenanceCollector.tell(records, "0123456789abcdef"))
        .hasMessage("No plan begins with 0123456789abcdef; legal are the 6 plans on record");
    ShardingPlan twin = with(plan, plan.previousPlanId(), "another");
    records.add(RecordKind.PLANS, withId(twin, plan.planId().substring(0, 20) + "f".repeat(44)));
    assertThatThrownBy(() -> ProvenanceCollector.tell(records, plan.planId().substring(0, 8)))
        .hasMessageContaining("2 plans begin with")
        .hasMessageContaining(plan.planId());
  }

  @Test
  void changes_are_told_in_words() throws IOException {
    PlanProvenance story =
        ProvenanceCollector.tell(calm(), calm().all(RecordKind.PLANS).get(2).planId());
    assertThat(story.events())
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.generation()).isEqualTo(3);
              assertThat(event.source()).contains("test");
              assertThat(event.changes())
                  .containsExactly(
                      "table a: rows 1,000,000 -> 2,000,000, lookups a sample 5 -> 9",
                      "cluster: devices 4 -> 5");
            });
    assertThat(story.tables())
        .singleElement()
        .satisfies(
            table -> {
              assertThat(table.table().name()).isEqualTo("a");
              assertThat(table.aloneMs().getAsDouble())
                  .isGreaterThan(table.beforeMs().getAsDouble());
            });
  }

  /** Six generations of one workload, each with its plan. */
  private static MemoryRecords calm() throws IOException {
    MemoryRecords events = new MemoryRecords();
    List<Change[]> changes =
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
            new Change[] {Fixtures.set(3, Fixtures.GIB)});
    int number = 0;
    for (Change[] each : changes) {
      WorkloadChange event = Fixtures.numbered(number++, each);
      events.add(
          RecordKind.EVENTS,
          new WorkloadChange(
              event.eventId(),
              "feed",
              event.occurredAt(),
              "test",
              event.expectedGeneration(),
              event.changes()));
    }
    events.add(Fixtures.bundle());
    MemoryRecords records = new MemoryRecords();
    records.add(Fixtures.bundle());
    records.all(RecordKind.EVENTS).addAll(events.all(RecordKind.EVENTS));
    try (ModelPredictors towers = new ModelPredictors(events.models(), PlainTowers::new)) {
      ReplayedPredictions.predict(
          events,
          events.models(),
          towers,
          (event, group) -> group.forEach(part -> records.add(RecordKind.PREDICTIONS, part)));
    }
    events.forget(RecordKind.PREDICTIONS);
    events.forget(RecordKind.PLANS);
    replay(events).plans().forEach(plan -> records.add(RecordKind.PLANS, plan));
    assertThat(records.all(RecordKind.PLANS)).hasSize(6);
    return records;
  }

  private static CostPredictions dearer(CostPredictions part) {
    TablePrediction old = ((Update.Predicted) part.update().orElseThrow()).prediction();
    List<float[]> towers = new ArrayList<>();
    for (float[] tower : old.towers()) {
      float[] more = tower.clone();
      for (int i = 0; i < more.length; i++) {
        more[i] *= 1.5f;
      }
      towers.add(more);
    }
    return CostPredictionsBuilder.builder(part)
        .update(
            Optional.of(
                new Update.Predicted(new TablePrediction(old.table(), towers, old.outOfRange()))))
        .build();
  }

  private static ShardingPlan moved(ShardingPlan plan) {
    List<Shard> shards = new ArrayList<>(plan.shards());
    Shard first = shards.get(0);
    shards.set(0, new Shard(first.table(), first.region(), first.device() + 1, first.kind()));
    return copy(
        plan,
        plan.planId(),
        plan.modelId(),
        plan.settings(),
        plan.previousPlanId(),
        plan.reason(),
        shards);
  }

  private static ShardingPlan with(ShardingPlan plan, SearchSettings settings) {
    return copy(
        plan,
        plan.planId(),
        plan.modelId(),
        settings,
        plan.previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  private static ShardingPlan with(ShardingPlan plan, Optional<String> previous, String reason) {
    return copy(
        plan, plan.planId(), plan.modelId(), plan.settings(), previous, reason, plan.shards());
  }

  private static ShardingPlan withModel(ShardingPlan plan, String modelId) {
    return copy(
        plan,
        plan.planId(),
        modelId,
        plan.settings(),
        plan.previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  private static ShardingPlan withId(ShardingPlan plan, String id) {
    return copy(
        plan,
        id,
        plan.modelId(),
        plan.settings(),
        plan.previousPlanId(),
        plan.reason(),
        plan.shards());
  }

  private static ShardingPlan copy(
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
            plan.firstGeneration(),
            plan.effort(),
            plan.source(),
            modelId,
            settings,
            previous),
        reason,
        shards,
        plan.prediction(),
        plan.transition(),
        plan.run());
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
