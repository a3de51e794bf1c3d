package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Latency from publishing a change until a client can read its plan, and its components. */
public final class LatencyBenchmark {
  private static final String WORKLOAD = "bench";

  /** Maximum number of changes for the JVM's warm-up. */
  private static final int WARM_UP = 30;

  private static final double WARM_UP_SECONDS = 0.2;

  private final Map<LatencyStage, LatencySample> stages = new EnumMap<>(LatencyStage.class);
  private final LatencySample total = new LatencySample();
  private final Map<Long, Timeline> timelines = new ConcurrentHashMap<>();
  private final LatencyTimes timed = new LatencyTimes();
  private final AnsweredChanges answers = new AnsweredChanges();
  private final ModelSize model;
  private final StepReporter steps;
  private boolean measuring;

  /** Sizes of the planned model. */
  public enum ModelSize {
    /** 26 tables on 16 devices. */
    SMALL("26 tables, 16 devices", 16),
    /** NVIDIA's synthetic large model: 612 tables on 128 devices. */
    LARGE("612 tables, 128 devices", 128);

    private final String title;
    private final int devices;

    ModelSize(String title, int devices) {
      this.title = title;
      this.devices = devices;
    }

    private List<TableSpec> tables() {
      return this == SMALL
          ? SyntheticTables.of(26, 128, 1)
          : SyntheticTables.ofModel("nvidia_synthetic_large");
    }
  }

  /** Consecutive components of the latency. */
  private enum LatencyStage {
    CHANGE_READ("change to model: Kafka, decoding, stores"),
    TENSORFLOW("TensorFlow"),
    PREDICTIONS_WRITTEN("predictions to planner: Kafka, encoding, stores"),
    DEBOUNCE("debounce interval"),
    SEARCH_START("debounce to search: next tick, reading stores"),
    SEARCH("search"),
    PLAN_WRITTEN("search to readable plan: Kafka, encoding, stores");

    private final String title;

    LatencyStage(String title) {
      this.title = title;
    }
  }

  /** Times of a change by {@link System#nanoTime}. */
  private static final class Timeline {
    private long published;
    private volatile long predictBegan;
    private volatile long predictEnded;
    private volatile long predictionsReadable;
  }

  private LatencyBenchmark(ModelSize model, StepReporter steps) {
    this.model = model;
    this.steps = steps;
    for (LatencyStage stage : LatencyStage.values()) {
      stages.put(stage, new LatencySample());
    }
  }

  /**
   * Measures the latency.
   *
   * @param models sizes to measure
   * @param changes number of measured changes of each size, at least 1
   * @param perSecond changes per second
   * @param steps receives the progress
   */
  public static ResultTable run(
      List<ModelSize> models, int changes, double perSecond, StepReporter steps) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    for (ModelSize model : models) {
      LatencyBenchmark benchmark = new LatencyBenchmark(model, steps);
      benchmark.measure(changes, perSecond);
      rows.addAll(benchmark.rows());
    }
    return new ResultTable(
        List.of("change to plan", "median ms", "p99 ms", "mean ms", "share %"), rows);
  }

  private void measure(int changes, double perSecond) throws Exception {
    List<TableSpec> tables = model.tables();
    Random random = new Random(1);
    try (BenchmarkCluster cluster = BenchmarkCluster.open();
        PlannerService service = cluster.start(PlanningSettings.DEFAULTS, timed::of);
        LoadPublisher publisher = new LoadPublisher(cluster, 0);
        BenchmarkListener listener =
            new BenchmarkListener(
                cluster,
                List.of(
                    BenchmarkCluster.TOPICS.of(COST_PREDICTIONS),
                    BenchmarkCluster.TOPICS.of(SHARDING_PLANS),
                    BenchmarkCluster.TOPICS.of(INFEASIBLE_WORKLOADS),
                    BenchmarkCluster.TOPICS.of(REJECTED_EVENTS)),
                this::onRecord)) {
      BenchmarkCluster.awaitRunning(service, steps);
      publish(publisher, LoadPublisher.workload(tables, model.devices));
      answers.await(listener, model.title + ", first plan", steps);
      int warmUp = Math.min(WARM_UP, 2 * changes);
      for (int i = -warmUp; i < changes; i++) {
        long next =
            System.nanoTime()
                + (long) (i < 0 ? WARM_UP_SECONDS * 1e9 : TimeUnit.SECONDS.toNanos(1) / perSecond);
        if (i == 0) {
          answers.await(listener, model.title + ", warm-up", steps);
          synchronized (this) {
            measuring = true;
          }
          answers.measure(total);
        }
        steps.at(model.title, i + warmUp, changes + warmUp);
        TableSpec table = tables.get(random.nextInt(tables.size()));
        publish(
            publisher, List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
        TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
      }
      answers.await(listener, model.title, steps);
    }
  }

  private void publish(LoadPublisher publisher, List<Change> changes) {
    Timeline timeline = new Timeline();
    timeline.published = System.nanoTime();
    timelines.put((long) timelines.size() + 1, timeline);
    answers.published(WORKLOAD, timeline.published);
    publisher.publish(WORKLOAD, changes);
  }

  private void onRecord(Object value, long nanos) {
    if (value instanceof CostPredictions part && part.isLast()) {
      timelines.get(part.generation()).predictionsReadable = nanos;
    } else if (value instanceof ShardingPlan plan) {
      addStages(plan, nanos);
    }
    answers.onRecord(value, nanos);
  }

  private synchronized void addStages(ShardingPlan plan, long nanos) {
    if (!measuring || plan.origin().firstGeneration() != plan.generation()) {
      return;
    }
    Timeline timeline = timelines.get(plan.generation());
    // createdAt is a wall-clock time in whole milliseconds; half a millisecond is its mean error.
    double sincePlanned =
        Math.max(0, Duration.between(plan.run().createdAt(), Instant.now()).toNanos() / 1e6 - 0.5)
            - (System.nanoTime() - nanos) / 1e6;
    double debounce = PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6;
    add(LatencyStage.CHANGE_READ, timeline.predictBegan, timeline.published);
    add(LatencyStage.TENSORFLOW, timeline.predictEnded, timeline.predictBegan);
    add(LatencyStage.PREDICTIONS_WRITTEN, timeline.predictionsReadable, timeline.predictEnded);
    stages.get(LatencyStage.DEBOUNCE).add(debounce);
    stages
        .get(LatencyStage.SEARCH_START)
        .add(
            (nanos - timeline.predictionsReadable) / 1e6
                - sincePlanned
                - plan.run().searchMillis()
                - debounce);
    stages.get(LatencyStage.SEARCH).add(plan.run().searchMillis());
    stages.get(LatencyStage.PLAN_WRITTEN).add(sincePlanned);
  }

  private void add(LatencyStage stage, long end, long start) {
    stages.get(stage).add((end - start) / 1e6);
  }

  private List<List<String>> rows() {
    List<List<String>> rows = new ArrayList<>();
    rows.add(
        row(
            "%s: %,d changes in %,d plans, none lost"
                .formatted(model.title, total.count(), stages.get(LatencyStage.SEARCH).count()),
            total));
    stages.forEach((stage, sample) -> rows.add(row("  " + stage.title, sample)));
    return rows;
  }

  private List<String> row(String what, LatencySample sample) {
    return List.of(
        what,
        "%.1f".formatted(sample.quantile(0.5)),
        "%.1f".formatted(sample.quantile(0.99)),
        "%.1f".formatted(sample.mean()),
        "%.0f".formatted(100 * sample.mean() / total.mean()));
  }

  /** Records the time of each prediction. Events are predicted in order, one call each. */
  private final class LatencyTimes {
    private long generation;

    TowerPredictor of(ModelBundle bundle) {
      TowerPredictor towers = new TensorFlowTowers(bundle);
      return new TowerPredictor() {
        @Override
        public String modelId() {
          return towers.modelId();
        }

        @Override
        public Optional<String> proxyHardware() {
          return towers.proxyHardware();
        }

        @Override
        public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
          return towers.predict(tables, batchSize);
        }

        @Override
        public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
          long began = System.nanoTime();
          List<TablePrediction> predictions = towers.predict(tables, cluster);
          Timeline timeline = timelines.get(++generation);
          timeline.predictBegan = began;
          timeline.predictEnded = System.nanoTime();
          return predictions;
        }

        @Override
        public List<float[]> towers(List<ShardShape> shapes) {
          return towers.towers(shapes);
        }

        @Override
        public void close() {
          towers.close();
        }
      };
    }
  }
}
