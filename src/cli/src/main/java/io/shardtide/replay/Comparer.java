package io.shardtide.replay;

import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.CanonicalHash;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Compares recorded plans, allocations or forecasts with those that their inputs give now.
 *
 * @param json writes them, to find the fields that differ
 * @param ignored fields that do not count
 * @param isEqual whether a recomputed one is as the recorded one, if that was not changed
 * @param described what a recorded one is and was made from
 * @param changed says so if a recorded one is known to have been changed after it was made
 * @param intact the cause of a difference otherwise, for people
 */
record Comparer<V>(
    JsonLines<V, ?> json,
    Set<String> ignored,
    BiPredicate<V, V> isEqual,
    Function<V, Difference> described,
    Function<V, Optional<String>> changed,
    String intact) {

  /** Compares ids, which cover everything but the source's position and the search's time. */
  static final Comparer<ShardingPlan> PLANS =
      new Comparer<>(
          new JsonLines<>(Codec.SHARDING_PLAN),
          Set.of("planId", "source", "searchMillis", "createdAt"),
          (recorded, recomputed) -> recomputed.planId().equals(recorded.planId()),
          plan ->
              new Difference(
                  plan.workloadId(),
                  plan.generation(),
                  plan.planId(),
                  "the predictions of generation %d by model %s, running plan %s, slow devices %s, %s, %s"
                      .formatted(
                          plan.generation(),
                          CanonicalHash.shown(plan.origin().modelId()),
                          plan.origin().previousPlanId().map(CanonicalHash::shown).orElse("none"),
                          plan.origin().slow().isEmpty() ? "none" : plan.origin().slow(),
                          plan.origin().effort(),
                          plan.origin().settings())),
          plan ->
              plan.hasValidId()
                  ? Optional.empty()
                  : Optional.of(
                      "the record was changed after the plan was made: its id is %s, but its content hashes to %s"
                          .formatted(plan.planId(), plan.contentId())),
          "the record is intact: its predictions were changed, or this version plans differently. Maybe run replay with --repredict, which names predictions that are not their model's");

  static final Comparer<Allocation> ALLOCATIONS =
      new Comparer<>(
          new JsonLines<>(Codec.ALLOCATION),
          Set.of(),
          Allocation::equals,
          allocation ->
              new Difference(
                  allocation.poolId(),
                  allocation.generation(),
                  allocation.allocationId(),
                  "the pool's events up to generation %d, curves %s, previous allocation %s, %s"
                      .formatted(
                          allocation.generation(),
                          allocation.curveIds(),
                          allocation.previousId().map(CanonicalHash::shown).orElse("none"),
                          allocation.policy())),
          allocation ->
              Optional.of(
                      "the record was changed after the allocation was made: its id is not that of its content")
                  .filter(text -> !allocation.hasValidId()),
          "its id is that of its content, and the curves are those that it names; either the pool's events were changed, or this version allocates differently");

  /** Of those that have inputs. */
  static final Comparer<TableForecasts> FORECASTS =
      new Comparer<>(
          new JsonLines<>(Codec.TABLE_FORECASTS),
          Set.of(),
          TableForecasts::equals,
          forecasts ->
              new Difference(
                  forecasts.workloadId(),
                  forecasts.generation(),
                  forecasts.reportId(),
                  "the report of %s, those before it, the tables of generation %d, %s"
                      .formatted(
                          forecasts.measuredAt(),
                          forecasts.generation(),
                          forecasts.inputs().map(GrowthInputs::policy).orElseThrow())),
          forecasts -> Optional.empty(),
          "the record, its report or one before it was changed, or this version forecasts differently");

  /**
   * What recomputing a record gave.
   *
   * @param recomputed what its inputs give now; empty if nothing
   * @param difference in what it differs, or which input is missing; empty if it is equal
   */
  record Comparison<V>(Verdict verdict, Optional<V> recomputed, Optional<Difference> difference) {}

  /**
   * Compares a record.
   *
   * @param missing the input that it misses, for people; empty if none
   * @param recompute makes it from its inputs; may fail
   */
  Comparison<V> compare(V recorded, Optional<String> missing, Supplier<V> recompute) {
    Optional<String> change = changed.apply(recorded);
    if (missing.isPresent()) {
      String explanation = change.map(text -> text + "; ").orElse("") + missing.get();
      return new Comparison<>(
          Verdict.NOT_REPRODUCED,
          Optional.empty(),
          Optional.of(described.apply(recorded).with(explanation, List.of())));
    }
    Optional<V> recomputed = Optional.empty();
    List<String> fields;
    try {
      V made = recompute.get();
      recomputed = Optional.of(made);
      if (change.isEmpty() && isEqual.test(recorded, made)) {
        return new Comparison<>(Verdict.EQUAL, recomputed, Optional.empty());
      }
      fields = JsonDiff.lines(json, recorded, made, ignored);
    } catch (IllegalArgumentException | IllegalStateException | ArithmeticException e) {
      fields = List.of("recomputing it fails: " + e.getMessage());
    }
    return new Comparison<>(
        Verdict.DIFFERS,
        recomputed,
        Optional.of(described.apply(recorded).with(change.orElse(intact), fields)));
  }
}
