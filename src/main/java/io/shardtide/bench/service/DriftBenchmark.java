package io.shardtide.bench.service;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.client.Endpoint;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
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
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The whole loop on this machine: the reference trainer trains, its tables change now and then, and
 * in mid-stream the machine becomes slower, by real extra work. How soon is that noticed, and what
 * does training and planning anew make of it?
 */
public final class DriftBenchmark implements AutoCloseable {
  private static final String WORKLOAD = "drift";
  private static final int TABLES = 20;
  private static final int DEVICES = 3;

  /** Reports between two changes: so many are measured of each plan. */
  private static final int CHANGE_EVERY = 4;

  /** Reports after which a drift that nobody noticed, or trained for, is given up. */
  private static final int PATIENCE = 300;

  /** Steps in each turn of the two plans that are measured side by side. */
  private static final int STEPS_PER_TURN = 25;

  private static final Duration SILENCE = Duration.ofSeconds(60);

  private final BenchmarkCluster site;
  private final PlannerService service;
  private final BenchmarkListener listener;
  private final LoadPublisher publisher;
  private final LiveTrainer trainer;
  private final MachineSpeed yardstick;
  private final Random random;
  private final int batchSize;
  private final String hardware;
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

  private int seen;

  /**
   * A report of the trainer.
   *
   * @param yardstickMs a step of the {@link MachineSpeed} then
   */
  private record DriftReport(String planId, double stepMs, double yardstickMs) {}

  /**
   * How long it is.
   *
   * @param stepsPerReport steps that a report is taken from, at least 1: of many, a slow phase of a
   *     shared machine, some seconds long, is few reports
   * @param before reports before the machine changes: twice the 30 that a detector learns from
   * @param trainings trainings until the model is judged: right after the alarm, with twice as
   *     much, with four times as much
   * @param after reports after the last of them
   */
  public record Length(int stepsPerReport, int before, int trainings, int after) {}

  /**
   * Two plans of the same tables, measured in turns.
   *
   * @param oldMs a step of the old model's last plan, in milliseconds
   * @param newMs a step of the new model's first plan
   */
  public record Compared(double oldMs, double newMs) {}

  /**
   * A part of the time.
   *
   * @param name which part
   * @param reports reports in it
   * @param error mean absolute error of a plan's predicted cost, as a fraction of the measured one
   * @param ratio mean of predicted beside measured cost: below 1 where the model is hopeful
   * @param machine what a training that never changes costs, beside the first part: 1.2 if the
   *     machine itself is slower by a fifth
   */
  public record Phase(String name, int reports, double error, double ratio, double machine) {}

  /**
   * What was seen.
   *
   * @param detectedAfter reports from the change of the machine to the first alarm after it
   * @param alarms all alarms
   * @param decisions what trainings came to
   * @param phases before the machine changed; after it; from the new model's first plan to the last
   *     training; after that. The last two only if a model took over
   * @param steps the old and the new model's plan on the changed machine; empty if no model took
   *     over, or the tables changed between them
   * @param reports reports in all
   */
  public record DriftResult(
      OptionalInt detectedAfter,
      List<DriftAlarm> alarms,
      List<ModelDecision> decisions,
      List<Phase> phases,
      Optional<Compared> steps,
      int reports) {
    /** Copies what may change. */
    public DriftResult {
      alarms = List.copyOf(alarms);
      decisions = List.copyOf(decisions);
      phases = List.copyOf(phases);
    }
  }

  /**
   * Starts broker, registry, planner and trainer.
   *
   * @param model a model of this machine
   * @param retraining trains it on
   * @param seed seed of tables, changes and lookups
   * @param length how long it is
   * @param progress hears how far it is
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
    batchSize = model.batchSize();
    hardware = model.hardware();
    original =
        new RandomPlans(TABLES, seed)
            .tables().stream().map(t -> t.withColumns(32 << random.nextInt(3))).toList();
    tables = new ArrayList<>(original);
    site = BenchmarkCluster.open();
    service = site.startLearning(model, TensorFlowTowers::new, retraining);
    BenchmarkCluster.awaitRunning(service, progress);
    listener =
        new BenchmarkListener(
            site,
            List.of(
                BenchmarkCluster.TOPICS.shardingPlans(),
                BenchmarkCluster.TOPICS.driftAlarms(),
                BenchmarkCluster.TOPICS.modelDecisions()),
            (value, nanos) -> take(value));
    publisher = new LoadPublisher(site, 0);
    int cores = Runtime.getRuntime().availableProcessors();
    yardstick = new MachineSpeed(DEVICES, batchSize, cores);
    trainer =
        LiveTrainer.start(
            Endpoint.of(site.bootstrapServers(), site.registry().url()),
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
                reports.add(new DriftReport(planId, costs.stepMs(), yardstick.ms()));
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

  /** Returns the cluster's address, to read the log. */
  public String bootstrapServers() {
    return site.bootstrapServers();
  }

  /** Returns the registry, to read the log. */
  public Registry registry() {
    return site.registry();
  }

  /** Returns the topics, to read the log. */
  public Topics topics() {
    return BenchmarkCluster.TOPICS;
  }

  /** Runs with a machine that becomes slower. */
  public DriftResult run(Slowdown slowdown) throws InterruptedException {
    publish(LoadPublisher.workload(tables, 0), true);
    List<DriftReport> before = reports(length.before(), true);
    trainer.setSlowdown(slowdown);
    int changed = seen;
    int earlier = alarms.size();
    List<DriftReport> drifted = new ArrayList<>();
    OptionalInt detected = OptionalInt.empty();
    while (!isSettled() && seen - changed < PATIENCE) {
      drifted.addAll(reports(1, true));
      if (detected.isEmpty() && alarms.size() > earlier) {
        detected = OptionalInt.of(seen - changed);
      }
    }
    Optional<String> model = challenger();
    List<DriftReport> after = new ArrayList<>();
    // No change until the new model's plan runs, so that both plans are of the same tables.
    while (model.isPresent() && seen - changed < PATIENCE && after.isEmpty()) {
      for (DriftReport report : reports(1, false)) {
        (isOf(report, model.get()) ? after : drifted).add(report);
      }
    }
    Optional<ShardingPlan> old = last(drifted);
    Optional<ShardingPlan> made = last(after);
    while (!after.isEmpty() && decisions.size() < length.trainings() && seen - changed < PATIENCE) {
      after.addAll(reports(1, true));
    }
    List<DriftReport> settled = reports(length.after(), true);
    trainer.close();
    Optional<Compared> steps = old.flatMap(o -> made.flatMap(m -> compare(o, m, slowdown)));
    double usual = yardstick(before);
    List<Phase> phases = new ArrayList<>();
    phases.add(phase("before the machine changes", before, usual));
    phases.add(phase("after it changed", drifted, usual));
    if (made.isPresent()) {
      phases.add(phase("after the first training", after, usual));
      phases.add(phase("after the last training", settled, usual));
    }
    return new DriftResult(
        detected, List.copyOf(alarms), List.copyOf(decisions), phases, steps, seen);
  }

  /**
   * Returns whether a new model took over, or none is needed: a device is slow, not all of them.
   */
  private boolean isSettled() {
    return challenger().isPresent()
        || alarms.stream().anyMatch(alarm -> alarm.kind() == DriftAlarm.AlarmKind.STRAGGLER);
  }

  private Optional<Compared> compare(ShardingPlan old, ShardingPlan made, Slowdown slowdown) {
    if (old.generation() != made.generation()) {
      return Optional.empty();
    }
    List<TableSpec> same = generations.get((int) old.generation() - 1);
    Measurements machine =
        new Measurements(batchSize, STEPS_PER_TURN, Runtime.getRuntime().availableProcessors(), 1);
    List<Measurements.MeasuredSharding> measured =
        machine.measure(
            Stream.of(old, made)
                .map(plan -> new Measurements.ShardedWorkload(DEVICES, same, plan.shards()))
                .toList(),
            slowdown);
    return Optional.of(
        new Compared(measured.get(0).costs().stepMs(), measured.get(1).costs().stepMs()));
  }

  /** Runs as long with a machine that stays as it is; returns all alarms. */
  public List<DriftAlarm> rest(int count) throws InterruptedException {
    publish(LoadPublisher.workload(tables, 0), true);
    reports(count, true);
    return List.copyOf(alarms);
  }

  private Optional<String> challenger() {
    return decisions.stream()
        .filter(ModelDecision::published)
        .findFirst()
        .flatMap(ModelDecision::challengerId);
  }

  private boolean isOf(DriftReport report, String modelId) {
    return plans.get(report.planId()).modelId().equals(modelId);
  }

  private Optional<ShardingPlan> last(List<DriftReport> list) {
    return list.isEmpty()
        ? Optional.empty()
        : Optional.of(plans.get(list.get(list.size() - 1).planId()));
  }

  /** Returns the next reports; changes a table now and then. */
  private List<DriftReport> reports(int count, boolean changing) throws InterruptedException {
    List<DriftReport> list = new ArrayList<>();
    while (list.size() < count) {
      DriftReport report = reports.poll(SILENCE.toMillis(), TimeUnit.MILLISECONDS);
      trainer.check();
      listener.check();
      if (report == null) {
        throw new IllegalStateException(
            "The trainer reported nothing for %d s".formatted(SILENCE.toSeconds()));
      }
      list.add(report);
      seen++;
      progress.at("%d alarms, %d trainings".formatted(alarms.size(), decisions.size()), seen, -1);
      if (changing && seen % CHANGE_EVERY == 0) {
        int table = random.nextInt(tables.size());
        // Always of the table as it was first: a life that gets heavier leaves what the model
        // knows.
        tables.set(table, SyntheticTables.changed(original.get(table), random));
        publish(List.of(new Change.TableUpserted(tables.get(table))), false);
      }
    }
    return list;
  }

  private void publish(List<Change> changes, boolean first) {
    List<Change> all = new ArrayList<>(changes);
    if (first) {
      all.add(
          0,
          new Change.ClusterSet(new ClusterSpec(DEVICES, 1L << 31, batchSize, DEVICES, hardware)));
    }
    generations.add(List.copyOf(tables));
    publisher.publish(WORKLOAD, all);
    publisher.flush();
  }

  private Phase phase(String name, List<DriftReport> list, double usualMs) {
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
        yardstick(list) / usualMs);
  }

  private static double yardstick(List<DriftReport> list) {
    return list.stream().mapToDouble(DriftReport::yardstickMs).average().orElse(Double.NaN);
  }

  @Override
  public void close() throws IOException {
    trainer.close();
    yardstick.close();
    publisher.close();
    listener.close();
    service.close();
    site.close();
  }
}
