package io.shardtide.topology;

import io.shardtide.allocation.CurveStep;
import io.shardtide.allocation.PoolStep;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.GrowthStep;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.Predictors;
import io.shardtide.step.WorkloadStep;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Describes the topologies without running them. */
public final class Topologies {
  private static final Predictors NO_MODELS =
      new Predictors() {
        @Override
        public Optional<TowerPredictor> of(String hardware) {
          return Optional.empty();
        }

        @Override
        public Optional<TowerPredictor> begin(ClusterSpec cluster) {
          return Optional.empty();
        }

        @Override
        public SortedSet<String> hardware() {
          return new TreeSet<>();
        }
      };

  private static final Pattern SOURCE = Pattern.compile("Source: +\\S+ +\\(topics: \\[([^]]*)]\\)");

  private Topologies() {}

  /** Returns the names of the topics of which a topology commits offsets, sorted. */
  static SortedSet<String> sources(Topics topics, TopologyName topology) {
    SortedSet<String> sources = new TreeSet<>();
    for (String part : describe(topics).get(topology.toString()).split("Sub-topology: ", -1)) {
      if (!part.contains("for global store")) {
        Matcher source = SOURCE.matcher(part);
        while (source.find()) {
          sources.addAll(List.of(source.group(1).split(", ", -1)));
        }
      }
    }
    return sources;
  }

  /** Returns Kafka Streams' description of each topology, by its name, in the order of the flow. */
  public static Map<String, String> describe(Topics topics) {
    Map<String, String> descriptions = new LinkedHashMap<>();
    try (Registry registry = Registry.connect("mock://describe", Map.of())) {
      descriptions.put(
          TopologyName.WORKLOAD.toString(),
          WorkloadTopology.build(
                  topics,
                  registry,
                  new WorkloadStep(NO_MODELS),
                  ArrivingModels.allArrived(() -> 0),
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.PLANNING.toString(),
          PlanningTopology.build(
                  topics,
                  registry,
                  new PlanningStep(
                      id -> {
                        throw new IllegalStateException("Not called while a topology is described");
                      },
                      PlanningSettings.DEFAULTS,
                      new Planner(InstantSource.system(), System::nanoTime)),
                  ArrivingModels.allArrived(() -> 0),
                  Runnable::run,
                  Runnable::run,
                  System::nanoTime,
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.FEEDBACK.toString(),
          FeedbackTopology.build(
                  topics,
                  registry,
                  new FeedbackStep(modelId -> false),
                  ArrivingModels.allArrived(() -> 0),
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.TRAINING.toString(),
          TrainingTopology.build(
                  topics,
                  registry,
                  new RetrainingRun(
                      (champion, towers, recent, old, sources, seed) -> {
                        throw new IllegalStateException("Not called while a topology is described");
                      },
                      bundle -> {
                        throw new IllegalStateException("Not called while a topology is described");
                      },
                      TrainingPolicy.DEFAULTS,
                      InstantSource.system()),
                  hardware -> Optional.empty(),
                  Runnable::run,
                  System::nanoTime,
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.CURVES.toString(),
          CurvesTopology.build(
                  topics,
                  registry,
                  new CurveStep(
                      cluster -> Optional.empty(),
                      id -> {
                        throw new IllegalStateException("Not called while a topology is described");
                      },
                      SearchSettings.DEFAULTS),
                  ArrivingModels.allArrived(() -> 0),
                  Runnable::run,
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.POOL.toString(),
          PoolTopology.build(
                  topics,
                  registry,
                  new PoolStep(AllocationPolicy.DEFAULTS),
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
      descriptions.put(
          TopologyName.GROWTH.toString(),
          GrowthTopology.build(
                  topics,
                  registry,
                  new GrowthStep(CapacityPolicy.DEFAULTS),
                  PlannerMetrics.unread(),
                  RegistryRetry.none())
              .describe()
              .toString());
    }
    return descriptions;
  }
}
