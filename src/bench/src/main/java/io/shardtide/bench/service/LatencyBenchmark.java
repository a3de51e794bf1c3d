package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;

import io.shardtide.bench.Figures;
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
import java.util.function.Consumer;

/** Latency from publishing a change until a client can read its plan, and its components. */
public final class LatencyBenchmark {
  /** Maximum number of changes for the JVM's warm-up. */
  private static final int WARM_UP = 30;

  private static final double WARM_UP_PER_SECOND = 5;
  private static final double DEBOUNCE_MS = PlanningSettings.DEFAULTS.debounce().toNanos() / 1e6;
  private static final String ROW = "%9.1f | %7.1f | %7.1f | %7.0f";

  private final Map<LatencyStage, List<Double>> stages = new EnumMap<>(LatencyStage.class);
  private final Map<Long, Timeline> timelines = new ConcurrentHashMap<>();
  private final ModelSize model;
  private final Consumer<String> progress;
  private boolean measuring;

  /** Sizes of the planned model. */
  public enum ModelSize {
    /** 26 tables on 16 devices. */
    SMALL(26, 16),
    /** NVIDIA's synthetic large model: 612 tables on 128 devices. */
    LARGE(612, 128);

    private final int tables;
    private final int devices;

    ModelSize(int tables, int devices) {
      this.tables = tables;
      this.devices = devices;
    }

    private List<TableSpec> tables() {
      return this == SMALL
          ? SyntheticTables.of(tables, 128, 1)
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
    private final long published = System.nanoTime();
    private volatile long predictBegan;
    private volatile long predictEnded;
    private volatile long predictionsReadable;
  }

  private LatencyBenchmark(ModelSize model, Consumer<String> progress) {
    this.model = model;
    this.progress = progress;
    for (LatencyStage stage : LatencyStage.values()) {
      stages.put(stage, new ArrayList<>());
    }
  }

  /**
   * Measures the latency.
   *
   * @param models sizes to measure
   * @param changes number of measured changes of each size, at least 1
   * @param perSecond changes per second
   * @param progress receives the size at each change
   */
  public static Figures run(
      List<ModelSize> models, int changes, double perSecond, Consumer<String> progress)
      throws Exception {
    Figures figures = new Figures("change to plan", "median ms |  p99 ms | mean ms | share %%");
    for (ModelSize model : models) {
      new LatencyBenchmark(model, progress).measure(changes, perSecond, figures);
    }
    return figures;
  }

  private void measure(int changes, double perSecond, Figures figures) throws Exception {
    List<TableSpec> tables = model.tables();
    Random random = new Random(1);
    LatencyTimes times = new LatencyTimes();
    try (BenchmarkCluster cluster = new BenchmarkCluster(1);
        PlannerService service =
            cluster.start(
                "state",
                PlanningSettings.DEFAULTS,
                parts -> parts.with().predictorOf(times::of).build());
        AnsweredChanges answers =
            new AnsweredChanges(
                cluster.endpoint(),
                cluster.registry(),
                List.of(COST_PREDICTIONS),
                this::onRecord)) {
      BenchmarkCluster.awaitRunning(service);
      publish(answers, BenchmarkCluster.workload(tables, model.devices));
      answers.await(0);
      int warmUp = Math.min(WARM_UP, 2 * changes);
      for (int i = -warmUp; i < changes; i++) {
        long next = System.nanoTime() + (long) (1e9 / (i < 0 ? WARM_UP_PER_SECOND : perSecond));
        if (i == 0) {
          answers.await(0);
          answers.takeMillis();
          synchronized (this) {
            measuring = true;
          }
        }
        progress.accept(model.tables + " tables");
        TableSpec table = tables.get(random.nextInt(tables.size()));
        publish(answers, List.of(new Change.TableUpserted(SyntheticTables.changed(table, random))));
        TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
      }
      answers.await(0);
      report(answers.takeMillis(), figures);
    }
  }

  private void publish(AnsweredChanges answers, List<Change> changes) {
    timelines.put((long) timelines.size() + 1, new Timeline());
    answers.publish("bench", changes);
  }

  private void onRecord(Object value, long nanos) {
    if (value instanceof CostPredictions part && part.isLast()) {
      timelines.get(part.generation()).predictionsReadable = nanos;
    } else if (value instanceof ShardingPlan plan) {
      addStages(plan, nanos);
    }
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
    double searchMs = plan.run().searchMillis();
    add(LatencyStage.CHANGE_READ, (timeline.predictBegan - timeline.published) / 1e6);
    add(LatencyStage.TENSORFLOW, (timeline.predictEnded - timeline.predictBegan) / 1e6);
    add(
        LatencyStage.PREDICTIONS_WRITTEN,
        (timeline.predictionsReadable - timeline.predictEnded) / 1e6);
    add(LatencyStage.DEBOUNCE, DEBOUNCE_MS);
    add(
        LatencyStage.SEARCH_START,
        (nanos - timeline.predictionsReadable) / 1e6 - sincePlanned - searchMs - DEBOUNCE_MS);
    add(LatencyStage.SEARCH, searchMs);
    add(LatencyStage.PLAN_WRITTEN, sincePlanned);
  }

  private void add(LatencyStage stage, double ms) {
    stages.get(stage).add(ms);
  }

  private void report(LatencySample total, Figures figures) {
    add(
        figures,
        "%d tables, %d devices: %,d changes in %,d plans, none lost"
            .formatted(
                model.tables, model.devices, total.count(), stages.get(LatencyStage.SEARCH).size()),
        total,
        total.mean());
    stages.forEach(
        (stage, millis) ->
            add(
                figures,
                "%d tables: %s".formatted(model.tables, stage.title),
                new LatencySample(millis),
                total.mean()));
  }

  private static void add(Figures figures, String name, LatencySample sample, double total) {
    figures.add(
        name,
        ROW,
        sample.quantile(0.5),
        sample.quantile(0.99),
        sample.mean(),
        100 * sample.mean() / total);
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
