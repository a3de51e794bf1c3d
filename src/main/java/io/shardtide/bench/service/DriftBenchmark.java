package io.shardtide.bench.service;

import io.shardtide.bench.FreshPlan;
import io.shardtide.bench.SyntheticTables;
import io.shardtide.bench.service.DriftResult.Phase;
import io.shardtide.bench.service.DriftResult.PlanComparison;
import io.shardtide.client.Endpoint;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.learning.RetrainingRun;
import io.shardtide.topology.PlannerService;
import io.shardtide.trainer.Measurements;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.trainer.Slowdown;
import io.shardtide.trainer.StepCosts;
import io.shardtide.trainer.live.LiveTrainer;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The feedback loop on this machine. The reference trainer runs plans of tables that change from
 * time to time; a slowdown is injected. Measures how soon the drift is detected, and what
 * retraining, and plans for slow devices, gain.
 */
public final class DriftBenchmark implements AutoCloseable {
  private static final String WORKLOAD = "drift";
  private static final int TABLES = 20;
  private static final int DEVICES = 3;

  /** Reports between two changes of tables. */
  private static final int CHANGE_EVERY = 4;

  /** Steps in each turn of the comparison of two plans. */
  private static final int STEPS_PER_TURN = 25;

  private static final Duration REPORT_TIMEOUT = Duration.ofSeconds(60);

  private final BenchmarkCluster cluster;
  private final PlannerService service;
  private final BenchmarkListener listener;
  private final LoadPublisher publisher;
  private final LiveTrainer trainer;
  private final MachineSpeed machineSpeed;
  private final Random random;
  private final int batchSize;
  private final ModelBundle model;
  private final StepReporter progress;
  private final Length length;
  private final BlockingQueue<DriftReport> reports = new LinkedBlockingQueue<>();
  private final Map<String, ShardingPlan> plans = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<DriftAlarm> alarms = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<ModelDecision> decisions = new ConcurrentLinkedQueue<>();
  private final List<TableSpec> original;
  private final List<TableSpec> tables;

  /** The tables of each generation, from the first. */
  private final List<List<TableSpec>> generations = new ArrayList<>();

  private int reportCount;

  /**
   * A report of the trainer.
   *
   * @param planId the plan that ran
   * @param stepMs cost of a step
   * @param machineMs cost of a step of {@link MachineSpeed} at that time
   */
  private record DriftReport(String planId, double stepMs, double machineMs) {}

  /**
   * The length of the benchmark.
   *
   * @param stepsPerReport steps per report, at least 1. With many, a slow phase of a shared machine
   *     (some seconds) affects few reports
   * @param before reports before the slowdown; detectors calibrate on the first 30
   * @param maxDrifted maximum reports from the slowdown to the last retraining
   * @param trainings retrainings until the model is evaluated: right after the alarm, with twice
   *     and with four times the samples
   * @param after reports after the last retraining
   */
  public record Length(int stepsPerReport, int before, int maxDrifted, int trainings, int after) {}

  /**
   * Starts broker, registry, planner and trainer.
   *
   * @param model a model of this machine
   * @param retraining fine-tunes the model
   * @param seed seed of tables, changes and lookups
   * @param length the length of the benchmark
   * @param progress receives the progress
   */
  public DriftBenchmark(
      ModelBundle model,
      RetrainingRun.RetrainingJob retraining,
      long seed,
      Length length,
      StepReporter progress)
      throws Exception {
    this.progress = progress;
    this.length = length;
    random = new Random(seed);
    batchSize = model.largestBatch();
    this.model = model;
    original =
        new RandomPlans(TABLES, seed)
            .tables().stream().map(t -> t.withColumns(32 << random.nextInt(3))).toList();
    tables = new ArrayList<>(original);
    cluster = BenchmarkCluster.open();
    service = cluster.startLearning(model, TensorFlowTowers::new, retraining);
    BenchmarkCluster.awaitRunning(service, progress);
    listener =
        new BenchmarkListener(
            cluster,
            List.of(
                BenchmarkCluster.TOPICS.shardingPlans(),
                BenchmarkCluster.TOPICS.driftAlarms(),
                BenchmarkCluster.TOPICS.modelDecisions()),
            (value, nanos) -> take(value));
    publisher = new LoadPublisher(cluster, 0);
    int cores = Runtime.getRuntime().availableProcessors();
    machineSpeed = new MachineSpeed(DEVICES, batchSize, cores);
    trainer =
        LiveTrainer.start(
            Endpoint.of(cluster.bootstrapServers(), cluster.registry().url()),
            new LiveTrainer.LiveTrainerSettings(
                WORKLOAD,
                "bench",
                Instant.now().toString(),
                seed,
                0.01f,
                cores,
                length.stepsPerReport()),
            new LiveTrainer.Watcher() {
              @Override
              public void measured(String planId, long step, StepCosts costs, double loss) {
                reports.add(new DriftReport(planId, costs.stepMs(), machineSpeed.stepMs()));
              }
            },
            InstantSource.system());
  }

  private void take(Object value) {
    if (value instanceof ShardingPlan plan) {
      plans.put(plan.planId(), plan);
    } else if (value instanceof DriftAlarm alarm) {
      alarms.add(alarm);
    } else if (value instanceof ModelDecision decision) {
      decisions.add(decision);
    }
  }

  /** Returns the broker's address, to read the log. */
  public String bootstrapServers() {
    return cluster.bootstrapServers();
  }

  /** Returns the registry, to read the log. */
  public Registry registry() {
    return cluster.registry();
  }

  /** Returns the topics, to read the log. */
  public Topics topics() {
    return BenchmarkCluster.TOPICS;
  }

  /** Runs with a slowdown. */
  public DriftResult run(Slowdown slowdown) throws InterruptedException {
    publish(LoadPublisher.workload(tables, 0), true);
    List<DriftReport> before = takeReports(length.before(), true);
    trainer.setSlowdown(slowdown);
    int slowedAt = reportCount;
    int alarmsBefore = alarms.size();
    List<DriftReport> drifted = new ArrayList<>();
    OptionalInt detected = OptionalInt.empty();
    while (!hasReacted() && reportCount - slowedAt < length.maxDrifted()) {
      drifted.addAll(takeReports(1, true));
      if (detected.isEmpty() && alarms.size() > alarmsBefore) {
        detected = OptionalInt.of(reportCount - slowedAt);
      }
    }
    Optional<String> challenger = challenger();
    List<DriftReport> adapted = new ArrayList<>();
    // The tables do not change until the new plan runs, so that the plans are comparable.
    while (hasReacted() && reportCount - slowedAt < length.maxDrifted() && adapted.isEmpty()) {
      for (DriftReport report : takeReports(1, false)) {
        (isAdapted(report, challenger) ? adapted : drifted).add(report);
      }
    }
    Optional<ShardingPlan> oldPlan = last(drifted);
    Optional<ShardingPlan> newPlan = last(adapted);
    OptionalInt adaptedAfter =
        adapted.isEmpty() ? OptionalInt.empty() : OptionalInt.of(reportCount - slowedAt);
    while (!adapted.isEmpty()
        && challenger.isPresent()
        && decisions.size() < length.trainings()
        && reportCount - slowedAt < length.maxDrifted()) {
      adapted.addAll(takeReports(1, true));
    }
    List<DriftReport> after = takeReports(length.after(), true);
    trainer.close();
    Optional<PlanComparison> comparison =
        oldPlan.flatMap(o -> newPlan.flatMap(n -> compare(o, n, slowdown)));
    double machineMs = machineMs(before);
    List<Phase> phases = new ArrayList<>();
    phases.add(phase("before the slowdown", before, machineMs));
    phases.add(phase("after the slowdown", drifted, machineMs));
    if (newPlan.isPresent()) {
      boolean isTrained = challenger.isPresent();
      phases.add(
          phase(
              isTrained ? "after the first retraining" : "first plan for slow devices",
              adapted,
              machineMs));
      phases.add(
          phase(
              isTrained ? "after the last retraining" : "after that, tables change",
              after,
              machineMs));
    }
    return new DriftResult(
        detected,
        List.copyOf(alarms),
        List.copyOf(decisions),
        phases,
        adaptedAfter,
        newPlan.map(ShardingPlan::slow).orElse(List.of()),
        comparison,
        reportCount);
  }

  /** Returns whether a challenger was published, or a device is known as a straggler. */
  private boolean hasReacted() {
    return challenger().isPresent()
        || alarms.stream().anyMatch(alarm -> alarm.kind() == DriftAlarm.AlarmKind.STRAGGLER);
  }

  private Optional<PlanComparison> compare(
      ShardingPlan oldPlan, ShardingPlan newPlan, Slowdown slowdown) {
    if (oldPlan.generation() != newPlan.generation()) {
      return Optional.empty();
    }
    List<TableSpec> planTables = generations.get((int) oldPlan.generation() - 1);
    Measurements machine =
        new Measurements(batchSize, STEPS_PER_TURN, Runtime.getRuntime().availableProcessors(), 1);
    List<List<Shard>> compared = new ArrayList<>(List.of(oldPlan.shards(), newPlan.shards()));
    if (!newPlan.slow().isEmpty()) {
      compared.add(FreshPlan.search(model, planTables, clusterSpec(), newPlan.slow()));
    }
    List<Double> stepsMs =
        machine
            .measure(
                compared.stream()
                    .map(s -> new Measurements.ShardedWorkload(DEVICES, planTables, s))
                    .toList(),
                slowdown)
            .stream()
            .map(measured -> measured.costs().stepMs())
            .toList();
    return Optional.of(
        new PlanComparison(
            stepsMs.get(0),
            stepsMs.get(1),
            stepsMs.size() > 2 ? OptionalDouble.of(stepsMs.get(2)) : OptionalDouble.empty()));
  }

  /** Runs without a slowdown for a number of reports; returns all alarms, which are false. */
  public List<DriftAlarm> runWithoutDrift(int count) throws InterruptedException {
    publish(LoadPublisher.workload(tables, 0), true);
    takeReports(count, true);
    return List.copyOf(alarms);
  }

  private Optional<String> challenger() {
    return decisions.stream()
        .filter(ModelDecision::published)
        .findFirst()
        .flatMap(ModelDecision::challengerId);
  }

  /** Returns whether the plan that ran is one of the challenger; without one, for slow devices. */
  private boolean isAdapted(DriftReport report, Optional<String> challenger) {
    ShardingPlan plan = plans.get(report.planId());
    return challenger.map(plan.modelId()::equals).orElse(!plan.slow().isEmpty());
  }

  private Optional<ShardingPlan> last(List<DriftReport> list) {
    return list.isEmpty()
        ? Optional.empty()
        : Optional.of(plans.get(list.get(list.size() - 1).planId()));
  }

  /**
   * Waits for the next reports.
   *
   * @param changing whether to change a table from time to time
   */
  private List<DriftReport> takeReports(int count, boolean changing) throws InterruptedException {
    List<DriftReport> list = new ArrayList<>();
    while (list.size() < count) {
      DriftReport report = reports.poll(REPORT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      trainer.check();
      listener.check();
      if (report == null) {
        throw new IllegalStateException(
            "The trainer sent no report for %d s".formatted(REPORT_TIMEOUT.toSeconds()));
      }
      list.add(report);
      reportCount++;
      progress.at(
          "%d alarms, %d retrainings".formatted(alarms.size(), decisions.size()), reportCount, -1);
      if (changing && reportCount % CHANGE_EVERY == 0) {
        int table = random.nextInt(tables.size());
        // Changes the original table, so that tables do not grow beyond the training range.
        tables.set(table, SyntheticTables.changed(original.get(table), random));
        publish(List.of(new Change.TableUpserted(tables.get(table))), false);
      }
    }
    return list;
  }

  private void publish(List<Change> changes, boolean first) {
    List<Change> all = new ArrayList<>(changes);
    if (first) {
      all.add(0, new Change.ClusterSet(clusterSpec()));
    }
    generations.add(List.copyOf(tables));
    publisher.publish(WORKLOAD, all);
    publisher.flush();
  }

  private ClusterSpec clusterSpec() {
    return new ClusterSpec(DEVICES, 1L << 31, batchSize, DEVICES, model.hardware());
  }

  private Phase phase(String name, List<DriftReport> list, double machineMsBefore) {
    List<Double> ratios =
        list.stream()
            .filter(report -> plans.containsKey(report.planId()))
            .map(report -> plans.get(report.planId()).predictedMs() / report.stepMs())
            .toList();
    return new Phase(
        name,
        list.size(),
        ratios.stream().mapToDouble(ratio -> Math.abs(ratio - 1)).average().orElse(Double.NaN),
        ratios.stream().mapToDouble(ratio -> ratio).average().orElse(Double.NaN),
        machineMs(list) / machineMsBefore);
  }

  private static double machineMs(List<DriftReport> list) {
    return list.stream().mapToDouble(DriftReport::machineMs).average().orElse(Double.NaN);
  }

  @Override
  public void close() throws IOException {
    trainer.close();
    machineSpeed.close();
    publisher.close();
    listener.close();
    service.close();
    cluster.close();
  }
}
