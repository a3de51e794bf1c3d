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

/** The plans on record that are to be made again, and how far that is. */
final class RecordedPlans {
  /** The plans that a difference is looked for in: no trainer knows older ones. */
  private static final int NEAREST = 32;

  private final List<RecordedPlan> entries = new ArrayList<>();
  private final Map<String, Map<Long, List<RecordedPlan>>> byGeneration = new HashMap<>();
  private final Map<String, Map<String, RecordedPlan>> byId = new HashMap<>();

  /** Plans outside the scope that plans inside begin at. */
  private final Map<String, Map<String, ShardingPlan>> earlier = new HashMap<>();

  private final Map<String, AnsweredGenerations> answers = new HashMap<>();

  /** A plan on record. */
  static final class RecordedPlan {
    private final ShardingPlan plan;
    private final boolean isWhole;
    private final List<RecomputedPlan> otherModels = new ArrayList<>();
    private RecomputedPlan attempt;
    private ShardingPlan made;
    private DifferenceCause missing = DifferenceCause.PREDICTIONS;
    private String whatIsMissing;

    RecordedPlan(ShardingPlan plan) {
      this.plan = plan;
      isWhole = plan.format().isPresent();
      whatIsMissing =
          "predictions of generation %d by model %s are not on record"
              .formatted(plan.generation(), plan.modelId());
    }

    ShardingPlan plan() {
      return plan;
    }

    /** Returns whether the plan's id is that of its content. */
    boolean isWhole() {
      return isWhole;
    }

    /** Returns the plan that was made. */
    Optional<ShardingPlan> made() {
      return Optional.ofNullable(made);
    }

    void attempted(RecomputedPlan next) {
      made = next.plan().orElse(null);
      // Of a plan that is equal, nobody asks what it was made from.
      attempt = isEqual() && isWhole ? null : next;
    }

    void predictedBy(String modelId) {
      missing(
          DifferenceCause.MODEL,
          "the plan names model %s, and generation %d was predicted by model %s"
              .formatted(plan.modelId(), plan.generation(), modelId));
    }

    void otherModel(RecomputedPlan other) {
      otherModels.add(other);
    }

    void missing(DifferenceCause cause, String what) {
      missing = cause;
      whatIsMissing = what;
    }

    boolean isEqual() {
      return made != null && made.planId().equals(plan.planId());
    }

    Verdict verdict() {
      return isEqual() && isWhole
          ? Verdict.EQUAL
          : attempt == null ? Verdict.NOT_REPRODUCED : Verdict.DIFFERS;
    }

    Difference difference(RecordedPlans recorded, ModelPredictors towers) {
      if (attempt != null) {
        return new Diagnosis(
                plan, attempt, recorded.settings(), recorded.nearest(plan), otherModels, towers)
            .find();
      }
      Optional<RecomputedPlan> other =
          otherModels.stream().filter(a -> a.hasId(plan.planId())).findFirst();
      if (other.isPresent()) {
        missing(
            DifferenceCause.MODEL,
            "on record is model %s; the plan comes out with %s"
                .formatted(plan.modelId(), other.get().request().predicted().modelId()));
      }
      return new Difference(
          ReplayRow.of(plan, Verdict.NOT_REPRODUCED), missing, whatIsMissing, List.of());
    }
  }

  private RecordedPlans() {}

  /** Reads the plans of a scope, and the plans that they begin at. */
  static RecordedPlans read(LogRecords records, ReplayScope scope) throws IOException {
    RecordedPlans recorded = new RecordedPlans();
    Set<String> wanted = new HashSet<>();
    records.read(
        RecordKind.PLANS,
        plan -> {
          if (scope.has(plan.workloadId())) {
            recorded.answers(plan.workloadId()).add(plan);
          }
          if (scope.has(plan)) {
            recorded.add(new RecordedPlan(plan));
            plan.previousPlanId().ifPresent(wanted::add);
          }
        });
    wanted.removeIf(id -> recorded.byId.values().stream().anyMatch(ids -> ids.containsKey(id)));
    if (!wanted.isEmpty()) {
      records.read(
          RecordKind.PLANS,
          plan -> {
            if (wanted.contains(plan.planId())) {
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

  /** Returns the plans of a generation that were not made again yet, as they were recorded. */
  List<RecordedPlan> waiting(String workloadId, long generation) {
    return byGeneration
        .getOrDefault(workloadId, Map.of())
        .getOrDefault(generation, List.of())
        .stream()
        .filter(entry -> !entry.isEqual())
        .toList();
  }

  /**
   * Returns a plan by its id: as it was made again or, where that is another, as it is on record.
   */
  Optional<ShardingPlan> made(String workloadId, String planId) {
    RecordedPlan entry = byId.getOrDefault(workloadId, Map.of()).get(planId);
    if (entry == null) {
      return Optional.ofNullable(earlier.getOrDefault(workloadId, Map.of()).get(planId));
    }
    return entry.made().filter(plan -> entry.isEqual()).or(() -> Optional.of(entry.plan()));
  }

  /** Returns settings that were ever used, and those that come with Shardtide. */
  Set<SearchSettings> settings() {
    Set<SearchSettings> settings = new LinkedHashSet<>();
    entries.forEach(entry -> settings.add(entry.plan().settings()));
    settings.add(SearchSettings.QUICK);
    settings.add(SearchSettings.DEFAULTS);
    settings.add(SearchSettings.DEEP);
    return settings;
  }

  /** Returns the plans of the workload before a plan, the nearest first. */
  List<ShardingPlan> nearest(ShardingPlan plan) {
    List<ShardingPlan> before = new ArrayList<>();
    for (RecordedPlan entry : entries) {
      if (entry.plan().planId().equals(plan.planId())) {
        break;
      }
      if (entry.plan().workloadId().equals(plan.workloadId())) {
        before.add(0, made(plan.workloadId(), entry.plan().planId()).orElseThrow());
      }
    }
    return before.stream().limit(NEAREST).toList();
  }
}
