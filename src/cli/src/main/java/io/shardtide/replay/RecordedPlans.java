package io.shardtide.replay;

import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The recorded plans of a scope, and what recomputing each of them gave. */
final class RecordedPlans {
  private static final JsonLines<ShardingPlan, ?> JSON = new JsonLines<>(Codec.SHARDING_PLAN);

  /** Fields of a plan that its id does not cover. */
  private static final Set<String> IGNORED =
      Set.of("planId", "source", "searchMillis", "createdAt");

  private final List<RecordedPlan> entries = new ArrayList<>();
  private final Map<String, Map<Long, List<RecordedPlan>>> byGeneration = new HashMap<>();
  private final Map<String, Map<String, RecordedPlan>> byId = new HashMap<>();

  /** Plans outside the scope that were running when plans inside were made. */
  private final Map<String, Map<String, ShardingPlan>> earlier = new HashMap<>();

  private final Map<String, AnsweredGenerations> answers = new HashMap<>();

  /** A recorded plan. */
  static final class RecordedPlan {
    private final ShardingPlan plan;
    private final boolean hasValidId;
    private RecomputedPlan different;
    private ShardingPlan recomputed;
    private String missing;

    RecordedPlan(ShardingPlan plan) {
      this.plan = plan;
      hasValidId = plan.hasValidId();
      missing =
          "predictions of generation %d by model %s are not recorded"
              .formatted(plan.generation(), plan.origin().modelId());
    }

    ShardingPlan plan() {
      return plan;
    }

    /** Returns whether the plan's id is the hash of its content. */
    boolean hasValidId() {
      return hasValidId;
    }

    /** Returns the recomputed plan. */
    Optional<ShardingPlan> recomputed() {
      return Optional.ofNullable(recomputed);
    }

    void recomputed(RecomputedPlan result) {
      recomputed = result.plan().orElse(null);
      different = isEqual() && hasValidId ? null : result;
    }

    void predictedByOtherModel(String modelId) {
      notReproducible(
          "the plan names model %s, but model %s predicted generation %d"
              .formatted(plan.origin().modelId(), modelId, plan.generation()));
    }

    void notReproducible(String explanation) {
      missing = explanation;
    }

    boolean isEqual() {
      return recomputed != null && recomputed.planId().equals(plan.planId());
    }

    Verdict verdict() {
      return isEqual() && hasValidId
          ? Verdict.EQUAL
          : different == null ? Verdict.NOT_REPRODUCED : Verdict.DIFFERS;
    }

    /** Returns in what the recomputed plan differs, or which input is missing. */
    Difference difference() {
      List<String> causes = new ArrayList<>();
      if (!hasValidId) {
        causes.add(
            "the record was changed after the plan was made: its id is %s, but its content hashes to %s"
                .formatted(plan.planId(), plan.contentId()));
      }
      if (different == null) {
        causes.add(missing);
        return Difference.of(plan, String.join("; ", causes), List.of());
      }
      if (hasValidId) {
        causes.add(
            "the record is intact: its predictions were changed, or this version plans differently. Maybe run replay with --repredict, which names predictions that are not their model's");
      }
      return Difference.of(
          plan,
          String.join("; ", causes),
          different
              .plan()
              .map(result -> JsonDiff.lines(JSON, plan, result, IGNORED))
              .orElse(List.of("recomputing gives no plan: " + different.failure())));
    }
  }

  private RecordedPlans() {}

  /** Reads the plans of a scope, and the plans that were running when they were made. */
  static RecordedPlans read(LogRecords records, ReplayScope scope) throws IOException {
    RecordedPlans recorded = new RecordedPlans();
    Set<String> previousIds = new HashSet<>();
    records.read(
        RecordKind.PLANS,
        plan -> {
          if (scope.has(plan.workloadId())) {
            recorded.answers(plan.workloadId()).add(plan);
          }
          if (scope.has(plan)) {
            recorded.add(new RecordedPlan(plan));
            plan.origin().previousPlanId().ifPresent(previousIds::add);
          }
        });
    previousIds.removeIf(
        id -> recorded.byId.values().stream().anyMatch(ids -> ids.containsKey(id)));
    if (!previousIds.isEmpty()) {
      records.read(
          RecordKind.PLANS,
          plan -> {
            if (previousIds.contains(plan.planId())) {
              recorded
                  .earlier
                  .computeIfAbsent(plan.workloadId(), id -> new HashMap<>())
                  .put(plan.planId(), plan);
            }
          });
    }
    if (records.has(RecordKind.INFEASIBLE)) {
      records.read(
          RecordKind.INFEASIBLE,
          infeasible -> {
            if (infeasible.expected().isEmpty() && scope.has(infeasible.workloadId())) {
              recorded.answers(infeasible.workloadId()).add(infeasible);
            }
          });
    }
    return recorded;
  }

  private void add(RecordedPlan entry) {
    ShardingPlan plan = entry.plan();
    entries.add(entry);
    byGeneration
        .computeIfAbsent(plan.workloadId(), id -> new HashMap<>())
        .computeIfAbsent(plan.generation(), g -> new ArrayList<>())
        .add(entry);
    byId.computeIfAbsent(plan.workloadId(), id -> new HashMap<>())
        .putIfAbsent(plan.planId(), entry);
  }

  int size() {
    return entries.size();
  }

  List<RecordedPlan> entries() {
    return entries;
  }

  Map<String, AnsweredGenerations> answers() {
    return answers;
  }

  AnsweredGenerations answers(String workloadId) {
    return answers.computeIfAbsent(workloadId, id -> new AnsweredGenerations());
  }

  /** Returns the plans of a generation that are not reproduced yet, in the order of the log. */
  List<RecordedPlan> pending(String workloadId, long generation) {
    return byGeneration
        .getOrDefault(workloadId, Map.of())
        .getOrDefault(generation, List.of())
        .stream()
        .filter(entry -> !entry.isEqual())
        .toList();
  }

  /** Returns a plan by its id: the recomputed plan if it is equal, otherwise the recorded one. */
  Optional<ShardingPlan> find(String workloadId, String planId) {
    RecordedPlan entry = byId.getOrDefault(workloadId, Map.of()).get(planId);
    if (entry == null) {
      return Optional.ofNullable(earlier.getOrDefault(workloadId, Map.of()).get(planId));
    }
    return entry.recomputed().filter(plan -> entry.isEqual()).or(() -> Optional.of(entry.plan()));
  }
}
