package io.shardtide.replay;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.SearchSettings;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeSet;

/** The tables of workloads as predicted, and plans of single generations. */
final class GenerationPlanner {
  private final PlanningTables store = PlanningTables.inMemory();
  private final Map<String, ModelBundle> bundles;
  private final Map<String, CostModel> models = new HashMap<>();
  private final List<DeviceSpeed> slow;
  private final PlanningStep step;
  private Instant now = Instant.EPOCH;

  /**
   * @param bundles the models that predictions name
   * @param settings settings of the search
   * @param slow slow devices of all workloads
   */
  GenerationPlanner(
      Map<String, ModelBundle> bundles, SearchSettings settings, List<DeviceSpeed> slow) {
    this.bundles = bundles;
    this.slow = slow;
    step =
        new PlanningStep(
            this::model,
            PlanningSettings.eachGeneration(settings),
            new Planner(() -> now, () -> 0L));
  }

  /** Applies the predictions of a generation. */
  void apply(List<CostPredictions> group) {
    group.forEach(part -> step.onPredictions(store, part));
  }

  /** Returns the tables of a workload, by name. */
  SortedMap<String, VersionedPrediction> tables(String workloadId) {
    return store.tables().range(workloadId);
  }

  /**
   * Plans a generation by itself, starting from the plan before it.
   *
   * @param group its predictions
   * @param createdAt time to write into the plan
   */
  Optional<PlanningOutcome> plan(List<CostPredictions> group, Instant createdAt) {
    now = createdAt;
    apply(group);
    CostPredictions last = group.get(group.size() - 1);
    if (!slow.isEmpty() && !last.isDeletion()) {
      step.onSpeeds(
          store,
          new DeviceSpeeds(
              last.workloadId(),
              "",
              createdAt,
              slow.stream().filter(s -> s.device() < last.cluster().devices()).toList()));
    }
    return step.plan(store, last.workloadId());
  }

  /** Returns a model, which is created when it is first used. */
  CostModel model(String id) {
    ModelBundle bundle = bundles.get(id);
    if (bundle == null) {
      throw new IllegalStateException(
          "Model %s is missing, found %s".formatted(id, new TreeSet<>(bundles.keySet())));
    }
    return models.computeIfAbsent(id, key -> new CostModel(bundle));
  }
}
