package io.shardtide.replay;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.SearchSettings;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.Predictors;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Recomputes what is not recorded: predictions from events, and a plan for each generation by
 * itself, starting from the plan before it.
 */
final class ReplayedPredictions {
  private ReplayedPredictions() {}

  /**
   * Predicts events.
   *
   * @param records the events
   * @param models the models by id; the last one of a hardware predicts
   * @param predictors their predictors
   * @param each called with each applied event and its predictions
   * @return the rejected events with their reasons, for people
   */
  static List<String> predict(
      LogRecords records,
      Map<String, ModelBundle> models,
      ModelPredictors predictors,
      BiConsumer<WorkloadChange, List<CostPredictions>> each)
      throws IOException {
    Map<String, String> byHardware = new TreeMap<>();
    models.values().forEach(bundle -> byHardware.put(bundle.hardware(), bundle.modelId()));
    Predictors current =
        new Predictors() {
          @Override
          public Optional<TowerPredictor> of(String hardware) {
            return Optional.ofNullable(byHardware.get(hardware)).flatMap(predictors::of);
          }

          /** A log has the models that hardware began with; files of events alone have none. */
          @Override
          public Optional<TowerPredictor> begin(ClusterSpec cluster) {
            return Optional.empty();
          }

          @Override
          public SortedSet<String> hardware() {
            return new TreeSet<>(byHardware.keySet());
          }
        };
    WorkloadStep step = new WorkloadStep(current);
    Workloads store = Workloads.inMemory();
    String topic = Topics.withPrefix(Topics.DEFAULT_PREFIX).of(RecordKind.EVENTS.type()).name();
    List<String> rejected = new ArrayList<>();
    long[] offset = {0};
    records.read(
        RecordKind.EVENTS,
        event -> {
          try {
            SourcePosition source = new SourcePosition(topic, 0, offset[0]++);
            each.accept(event, step.apply(store, source, event));
          } catch (RejectedException e) {
            rejected.add(
                "event %s was rejected with %s: %s"
                    .formatted(event.eventId(), e.reason(), e.getMessage()));
          }
        });
    return rejected;
  }

  /**
   * Returns a planner of single generations.
   *
   * @param models the models that predictions name
   * @param settings settings of the search
   * @param slow slow devices of all workloads
   * @param each called with the outcome of each generation, in order
   */
  static GenerationPlanner planner(
      Map<String, ModelBundle> models,
      SearchSettings settings,
      List<DeviceSpeed> slow,
      Consumer<PlanningOutcome> each) {
    return new GenerationPlanner(models, settings, slow, each);
  }

  /** Plans each generation by itself. */
  static final class GenerationPlanner {
    private final PlanningTables store = PlanningTables.inMemory();
    private final PlanningStep step;
    private final Consumer<PlanningOutcome> each;
    private final List<DeviceSpeed> slow;
    private Instant now = Instant.EPOCH;

    private GenerationPlanner(
        Map<String, ModelBundle> bundles,
        SearchSettings settings,
        List<DeviceSpeed> slow,
        Consumer<PlanningOutcome> each) {
      this.each = each;
      this.slow = slow;
      InstantSource clock = () -> now;
      step =
          new PlanningStep(
              modelsOf(bundles),
              PlanningSettings.eachGeneration(settings),
              new Planner(clock, () -> 0L));
    }

    /**
     * Plans a generation.
     *
     * @param group its predictions
     * @param createdAt time to write into the plan
     */
    void plan(List<CostPredictions> group, Instant createdAt) {
      now = createdAt;
      group.forEach(part -> step.onPredictions(store, part));
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
      step.plan(store, group.get(0).workloadId()).ifPresent(each);
    }
  }

  /** Returns the models, each created when it is first used. */
  static CostModels modelsOf(Map<String, ModelBundle> bundles) {
    Map<String, CostModel> made = new HashMap<>();
    return id -> {
      ModelBundle bundle = bundles.get(id);
      if (bundle == null) {
        throw new IllegalStateException(
            "Model %s is missing, found %s".formatted(id, new TreeSet<>(bundles.keySet())));
      }
      return made.computeIfAbsent(id, key -> new CostModel(bundle));
    };
  }
}
