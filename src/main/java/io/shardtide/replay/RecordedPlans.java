package io.shardtide.replay;

import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.replay.Difference.DifferenceCause;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The recorded plans of a scope, and what recomputing each of them gave. */
final class RecordedPlans {
  /**
   * How many earlier plans a diagnosis tries: few trainers run older ones, and each takes a search.
   */
  private static final int PRECEDING = 32;

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
    private final List<RecomputedPlan> otherModels = new ArrayList<>();
    private RecomputedPlan different;
    private ShardingPlan recomputed;
    private DifferenceCause missingCause = DifferenceCause.PREDICTIONS;
    private String missing;

    RecordedPlan(ShardingPlan plan) {
      this.plan = plan;
      hasValidId = plan.format().isPresent();
      missing =
          "predictions of generation %d by model %s are not recorded"
              .formatted(plan.generation(), plan.modelId());
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
      // The input of a plan is only needed to diagnose a difference, and takes memory.
      different = isEqual() && hasValidId ? null : result;
    }

    void predictedByOtherModel(String modelId) {
      notReproducible(
          DifferenceCause.MODEL,
          "the plan names model %s, but model %s predicted generation %d"
              .formatted(plan.modelId(), modelId, plan.generation()));
    }

    void withOtherModel(RecomputedPlan other) {
      otherModels.add(other);
    }

    void notReproducible(DifferenceCause cause, String explanation) {
      missingCause = cause;
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

    Difference difference(RecordedPlans recorded, ModelPredictors predictors) {
      if (different != null) {
        return new Diagnosis(
                plan,
                different,
                recorded.settings(),
                recorded.preceding(plan),
                otherModels,
                predictors)
            .find();
      }
      Optional<RecomputedPlan> other =
          otherModels.stream().filter(a -> a.hasId(plan.planId())).findFirst();
      if (other.isPresent()) {
        notReproducible(
            DifferenceCause.MODEL,
            "the plan names model %s; recomputing gives the recorded plan with model %s"
                .formatted(plan.modelId(), other.get().request().predicted().modelId()));
      }
      return new Difference(
          ReplayRow.of(plan, Verdict.NOT_REPRODUCED), missingCause, missing, List.of());
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
            plan.previousPlanId().ifPresent(previousIds::add);
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
            if (scope.has(infeasible.workloadId())) {
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

  /** Returns the settings of all recorded plans, and the predefined ones. */
  Set<SearchSettings> settings() {
    Set<SearchSettings> settings = new LinkedHashSet<>();
    entries.forEach(entry -> settings.add(entry.plan().settings()));
    settings.add(SearchSettings.QUICK);
    settings.add(SearchSettings.DEFAULTS);
    settings.add(SearchSettings.DEEP);
    return settings;
  }

  /** Returns the plans of the workload before a plan, the latest first. */
  List<ShardingPlan> preceding(ShardingPlan plan) {
    List<ShardingPlan> before = new ArrayList<>();
    for (RecordedPlan entry : entries) {
      if (entry.plan().planId().equals(plan.planId())) {
        break;
      }
      if (entry.plan().workloadId().equals(plan.workloadId())) {
        before.add(0, find(plan.workloadId(), entry.plan().planId()).orElseThrow());
      }
    }
    return before.stream().limit(PRECEDING).toList();
  }
}
