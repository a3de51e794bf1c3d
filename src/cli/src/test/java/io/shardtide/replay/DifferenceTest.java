package io.shardtide.replay;

import static io.shardtide.replay.RecordedLogs.copy;
import static io.shardtide.replay.RecordedLogs.randomLog;
import static io.shardtide.replay.RecordedLogs.replay;
import static io.shardtide.replay.RecordedLogs.sixGenerations;
import static io.shardtide.replay.RecordedLogs.with;
import static io.shardtide.replay.RecordedLogs.withModel;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.Effort;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ShardKind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** How a recorded plan differs from the recomputed one is shown by field. */
class DifferenceTest {
  private static final String CHANGED = "the record was changed after the plan was made";
  private static final String INTACT = "the record is intact";

  @Property(tries = 30)
  void changed_settings_are_found(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    // Another plan must tell the settings.
    Assume.that(
        records.all(TopicType.SHARDING_PLANS).stream()
                .filter(p -> p.origin().effort() == Effort.QUICK)
                .count()
            > 1);
    ShardingPlan victim = quick(records, seed);
    SearchSettings other = Fixtures.settings(7, 11, 3, 0.2, 0, 13);
    records.change(
        TopicType.SHARDING_PLANS, plan -> plan.equals(victim) ? with(plan, other) : plan);
    ReplayResult result = replay(records);
    assertThat(result.isEqual()).isFalse();
    Difference first = result.first().orElseThrow();
    assertThat(first.id()).isEqualTo(victim.planId());
    assertThat(first.explanation()).contains(CHANGED, victim.planId());
    assertThat(first.inputs()).contains(other.toString());
    assertThat(result.count(Verdict.DIFFERS)).as("only this plan").isEqualTo(1);
  }

  /** Which 0.2.0 was the last version to search. */
  @Test
  void a_plan_with_parts_of_any_width_is_named_as_not_recomputable() throws IOException {
    MemoryRecords records = randomLog(1);
    ShardingPlan victim = quick(records, 1);
    SearchSettings any =
        SearchSettingsBuilder.builder(victim.origin().settings())
            .columnCuts(ColumnCuts.ANY)
            .build();
    records.change(TopicType.SHARDING_PLANS, plan -> plan.equals(victim) ? with(plan, any) : plan);
    ReplayResult result = replay(records);
    assertThat(result.isEqual()).isFalse();
    assertThat(result.count(Verdict.NOT_REPRODUCED)).isOne();
    assertThat(result.first().orElseThrow().explanation()).contains("columnCuts ANY");
  }

  @Property(tries = 30)
  void a_changed_plan_is_found(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    List<ShardingPlan> planned =
        records.all(TopicType.SHARDING_PLANS).stream().filter(p -> !p.shards().isEmpty()).toList();
    ShardingPlan victim = planned.get(Math.floorMod(seed, planned.size()));
    records.change(TopicType.SHARDING_PLANS, plan -> plan.equals(victim) ? moved(plan) : plan);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(first.id()).isEqualTo(victim.planId());
    assertThat(first.explanation()).contains(CHANGED);
    int device = victim.shards().get(0).device();
    assertThat(first.fields())
        .contains(
            "shards[0 %s].device: recorded %d, recomputed %d"
                .formatted(victim.shards().get(0).table(), device + 1, device))
        .allMatch(field -> field.startsWith("shards[0 "));
    assertThat(result.count(Verdict.DIFFERS)).as("later plans are not affected").isOne();
  }

  @Property(tries = 30)
  void changed_predictions_are_found(@ForAll long seed) throws IOException {
    MemoryRecords records = randomLog(seed);
    CostPredictions victim =
        records.all(TopicType.COST_PREDICTIONS).stream()
            .filter(p -> p.update().orElse(null) instanceof Update.Predicted)
            .filter(
                p -> records.all(TopicType.SHARDING_PLANS).stream().anyMatch(plan -> isOf(plan, p)))
            .filter(p -> isOnce(records.all(TopicType.COST_PREDICTIONS), p))
            .findFirst()
            .orElseThrow();
    records.change(
        TopicType.COST_PREDICTIONS, part -> part.equals(victim) ? moreExpensive(part) : part);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(first.explanation()).contains(INTACT, "--repredict");
    assertThat(first.fields()).isNotEmpty();
    ReplayResult repredicted =
        new Replay(records, ReplayScope.ALL, records.models(), PlainTowers::new, (plans, of) -> {})
            .run(true);
    assertThat(repredicted.problems()).anyMatch(p -> p.contains("deviate by up to 0.3"));
  }

  /** Returns whether a plan was made from these predictions, and not from later ones of a burst. */
  private static boolean isOf(ShardingPlan plan, CostPredictions part) {
    return plan.workloadId().equals(part.workloadId())
        && plan.generation() == part.generation()
        && plan.origin().modelId().equals(part.modelId());
  }

  /** Returns whether a table was predicted once: a model that returns predicts it again. */
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
        records.all(TopicType.SHARDING_PLANS).stream()
            .filter(p -> p.origin().effort() == Effort.QUICK)
            .toList();
    return quick.get(Math.floorMod(seed, quick.size()));
  }

  @Test
  void a_changed_previous_plan_is_found() throws IOException {
    MemoryRecords records = sixGenerations();
    List<ShardingPlan> plans = List.copyOf(records.all(TopicType.SHARDING_PLANS));
    ShardingPlan victim = plans.get(4);
    records.change(
        TopicType.SHARDING_PLANS,
        plan ->
            plan.equals(victim)
                ? with(plan, Optional.of(plans.get(1).planId()), plan.reason())
                : plan);
    Difference first = replay(records).first().orElseThrow();
    assertThat(first.id()).isEqualTo(victim.planId());
    assertThat(first.explanation()).contains(CHANGED);
    assertThat(first.inputs()).contains(CanonicalHash.shown(plans.get(1).planId()));
  }

  @Test
  void a_missing_previous_plan_is_named() throws IOException {
    MemoryRecords records = sixGenerations();
    ShardingPlan gone = records.all(TopicType.SHARDING_PLANS).get(2);
    records.change(TopicType.SHARDING_PLANS, plan -> plan.equals(gone) ? null : plan);
    ReplayResult result = replay(records);
    Difference first = result.first().orElseThrow();
    assertThat(result.count(Verdict.NOT_REPRODUCED)).isEqualTo(1);
    assertThat(first.explanation()).contains(gone.planId());
    assertThat(result.problems())
        .contains(
            "generation %d of feed: neither a plan nor an infeasible workload is recorded"
                .formatted(gone.generation()));
    assertThat(result.rows())
        .anyMatch(r -> r.verdict() == Verdict.NOT_RECORDED && r.generation() == gone.generation());
  }

  @Test
  void a_missing_model_is_named() throws IOException {
    MemoryRecords records = sixGenerations();
    records.removeModel(TestModels.bundle().modelId());
    ReplayResult result = replay(records);
    assertThat(result.count(Verdict.NOT_REPRODUCED))
        .isEqualTo(records.all(TopicType.SHARDING_PLANS).size());
    assertThat(result.isEqual()).isFalse();
    assertThat(result.first().orElseThrow().explanation())
        .contains(TestModels.bundle().modelId())
        .contains("--model");
  }

  @Test
  void a_changed_model_is_named() throws IOException {
    MemoryRecords records = sixGenerations();
    ShardingPlan victim = records.all(TopicType.SHARDING_PLANS).get(2);
    String other = TestModels.otherBundle().modelId();
    records.change(
        TopicType.SHARDING_PLANS, plan -> plan.equals(victim) ? withModel(plan, other) : plan);
    Difference changed = replay(records).first().orElseThrow();
    assertThat(changed.explanation()).contains(CHANGED, other, TestModels.bundle().modelId());
    records.change(
        TopicType.SHARDING_PLANS,
        plan -> plan.origin().modelId().equals(other) ? plan.identified() : plan);
    Difference forged = replay(records).first().orElseThrow();
    assertThat(forged.explanation()).contains("predicted generation").doesNotContain(CHANGED);
  }

  /** A plan with a valid id that this code does not compute from its inputs. */
  @Test
  void a_plan_with_intact_inputs_is_of_another_code_version() throws IOException {
    MemoryRecords records = sixGenerations();
    ShardingPlan last =
        records.all(TopicType.SHARDING_PLANS).get(records.all(TopicType.SHARDING_PLANS).size() - 1);
    records.change(
        TopicType.SHARDING_PLANS,
        plan ->
            plan.equals(last)
                ? with(plan, plan.origin().previousPlanId(), "as an older version put it")
                    .identified()
                : plan);
    Difference first = replay(records).first().orElseThrow();
    assertThat(first.explanation()).contains(INTACT);
    assertThat(first.fields())
        .singleElement()
        .asString()
        .startsWith("reason: recorded as an older version put it, recomputed ");
  }

  @Test
  void of_a_list_the_number_of_entries_and_the_first_that_differs_are_shown() throws IOException {
    List<ShardingPlan> plans = sixGenerations().all(TopicType.SHARDING_PLANS);
    List<String> fields =
        JsonDiff.lines(
            new JsonLines<>(Codec.SHARDING_PLAN), plans.get(0), plans.get(1), Set.of("planId"));
    int recorded = plans.get(0).shards().size();
    int recomputed = plans.get(1).shards().size();
    assertThat(recorded).isLessThan(recomputed);
    assertThat(fields)
        .contains(
            "generation: recorded 1, recomputed 2",
            "previousPlanId: recorded null, recomputed " + plans.get(0).planId(),
            "shards: %d recorded, %d recomputed".formatted(recorded, recomputed))
        .anyMatch(
            field -> field.matches("shards\\[\\d+ [az]\\]\\.table: recorded [az], recomputed b"))
        .noneMatch(field -> field.startsWith("planId") || field.startsWith("workloadId"));
    assertThat(
            JsonDiff.lines(
                new JsonLines<>(Codec.SHARDING_PLAN), plans.get(1), plans.get(1), Set.of()))
        .isEmpty();
  }

  private static CostPredictions moreExpensive(CostPredictions part) {
    TablePrediction old = ((Update.Predicted) part.update().orElseThrow()).prediction();
    List<float[]> towers = new ArrayList<>();
    for (int columns = 4; columns <= old.table().columns(); columns += 4) {
      float[] more = old.tower(columns).clone();
      for (int i = 0; i < more.length; i++) {
        more[i] *= 1.5f;
      }
      towers.add(more);
    }
    return new CostPredictions(
        part.workloadId(),
        part.generation(),
        part.eventId(),
        part.source(),
        part.modelId(),
        part.part(),
        part.parts(),
        part.cluster(),
        part.proxyHardware(),
        Optional.of(
            new Update.Predicted(new TablePrediction(old.table(), towers, old.outOfRange()))));
  }

  private static ShardingPlan moved(ShardingPlan plan) {
    List<Shard> shards = new ArrayList<>(plan.shards());
    Shard first = shards.get(0);
    ShardKind kind = first.isCopied() ? ShardKind.TABLE_WISE : first.kind();
    shards.set(0, new Shard(first.table(), first.region(), first.device() + 1, kind));
    return copy(
        plan,
        plan.planId(),
        plan.origin().modelId(),
        plan.origin().settings(),
        plan.origin().previousPlanId(),
        plan.reason(),
        shards);
  }
}
