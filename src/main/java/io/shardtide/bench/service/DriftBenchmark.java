package io.shardtide.bench.service;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.TableSpec;
import io.shardtide.learning.Training;
import io.shardtide.topology.PlannerService;
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
import org.apache.kafka.clients.CommonClientConfigs;

/**
 * The whole loop on this machine: the reference trainer trains, its tables change now and then, and
 * in mid-stream the machine becomes slower, by real extra work. How soon is that noticed, and what
 * does training and planning anew make of it?
 */
public final class DriftBenchmark implements AutoCloseable {
  private static final String WORKLOAD = "drift";
  private static final int TABLES = 20;
  private static final int DEVICES = 3;
  private static final int STEPS_PER_REPORT = 7;

  /** Reports between two changes: so many are measured of each plan. */
  private static final int CHANGE_EVERY = 4;

  /** Reports before the machine changes: what a detector learns from, and as many again. */
  private static final int BEFORE = 60;

  /** Reports after the new model's first plan runs. */
  private static final int AFTER = 40;

  /** Reports after which a drift that nobody noticed, or trained for, is given up. */
  private static final int PATIENCE = 400;

  private static final Duration SILENCE = Duration.ofSeconds(60);

  private final Site site;
  private final PlannerService service;
  private final Listener listener;
  private final Publisher publisher;
  private final LiveTrainer trainer;
  private final Random random;
  private final int batchSize;
  private final String hardware;
  private final Steps steps;
  private final BlockingQueue<Report> reports = new LinkedBlockingQueue<>();
  private final Map<String, ShardingPlan> plans = new ConcurrentHashMap<>();
  private final ConcurrentLinkedQueue<DriftAlarm> alarms = new ConcurrentLinkedQueue<>();
  private final ConcurrentLinkedQueue<ModelDecision> decisions = new ConcurrentLinkedQueue<>();
  private final List<TableSpec> tables;
  private int seen;

  private record Report(String planId, double stepMs) {}

  /**
   * What was seen.
   *
   * @param detectedAfter reports from the change of the machine to the alarm that blames the model
   * @param alarms all alarms
   * @param decisions what trainings came to
   * @param errorBefore mean absolute error of a plan's predicted cost before, as a fraction of the
   *     measured one
   * @param errorDrifted after the machine changed, until the new model's first plan
   * @param errorAfter from the new model's first plan on
   * @param stepBeforeMs median measured step of the last plan of the old model, on the changed
   *     machine
   * @param stepAfterMs the same of the new model's first plan, of the same tables
   * @param reports reports in all
   */
  public record Outcome(
      OptionalInt detectedAfter,
      List<DriftAlarm> alarms,
      List<ModelDecision> decisions,
      double errorBefore,
      double errorDrifted,
      double errorAfter,
      double stepBeforeMs,
      double stepAfterMs,
      int reports) {
    /** Copies what may change. */
    public Outcome {
      alarms = List.copyOf(alarms);
      decisions = List.copyOf(decisions);
    }
  }

  /**
   * Starts broker, registry, planner and trainer.
   *
   * @param model a model of this machine
   * @param retraining trains it on
   * @param seed seed of tables, changes and lookups
   * @param steps hears how far it is
   */
  public DriftBenchmark(ModelBundle model, Training.Trainer retraining, long seed, Steps steps)
      throws Exception {
    this.steps = steps;
    random = new Random(seed);
    batchSize = model.batchSize();
    hardware = model.hardware();
    tables =
        new ArrayList<>(
            new RandomPlans(TABLES, seed)
                .tables().stream().map(t -> t.withColumns(16 << random.nextInt(4))).toList());
    site = Site.open();
    service = site.startLearning(model, TensorFlowTowers::new, retraining);
    Site.awaitRunning(service, steps);
    listener =
        new Listener(
            site,
            List.of(
                Site.TOPICS.shardingPlans(),
                Site.TOPICS.driftAlarms(),
                Site.TOPICS.modelDecisions()),
            (value, nanos) -> take(value));
    publisher = new Publisher(site, 0);
    trainer =
        LiveTrainer.start(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, site.bootstrapServers()),
            site.registry(),
            Site.TOPICS,
            new LiveTrainer.Settings(
                WORKLOAD,
                "bench",
                Instant.now().toString(),
                seed,
                0.01f,
                Runtime.getRuntime().availableProcessors(),
                STEPS_PER_REPORT),
            new LiveTrainer.Watcher() {
              @Override
              public void measured(String planId, long step, StepCosts costs, double loss) {
                reports.add(new Report(planId, costs.stepMs()));
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
    return Site.TOPICS;
  }

  /** Runs with a machine that becomes slower. */
  public Outcome run(Slowdown slowdown) throws InterruptedException {
    publish(Publisher.workload(tables, 0), true);
    double before = errors(reports(BEFORE, true));
    trainer.setSlowdown(slowdown);
    int changed = seen;
    List<Report> drifted = new ArrayList<>();
    OptionalInt detected = OptionalInt.empty();
    while (!published() && seen - changed < PATIENCE) {
      drifted.addAll(reports(1, true));
      if (detected.isEmpty() && alarms.stream().anyMatch(a -> a.kind() == DriftAlarm.Kind.MODEL)) {
        detected = OptionalInt.of(seen - changed);
      }
    }
    Optional<String> model = challenger();
    List<Report> after = new ArrayList<>();
    // No change until the new model's plan runs: both plans are of the same tables.
    while (model.isPresent() && seen - changed < PATIENCE && after.size() < CHANGE_EVERY) {
      for (Report report : reports(1, false)) {
        (isOf(report, model.get()) ? after : drifted).add(report);
      }
    }
    double stepBefore = median(last(drifted));
    double stepAfter = median(after);
    after.addAll(reports(AFTER, true));
    return new Outcome(
        detected,
        List.copyOf(alarms),
        List.copyOf(decisions),
        before,
        errors(drifted),
        errors(after),
        stepBefore,
        stepAfter,
        seen);
  }

  /** Runs as long with a machine that stays as it is; returns all alarms. */
  public List<DriftAlarm> rest(int count) throws InterruptedException {
    publish(Publisher.workload(tables, 0), true);
    reports(count, true);
    return List.copyOf(alarms);
  }

  private boolean published() {
    return challenger().isPresent();
  }

  private Optional<String> challenger() {
    return decisions.stream()
        .filter(ModelDecision::published)
        .findFirst()
        .flatMap(ModelDecision::challengerId);
  }

  private boolean isOf(Report report, String modelId) {
    return plans.get(report.planId()).modelId().equals(modelId);
  }

  private static List<Report> last(List<Report> list) {
    return list.subList(Math.max(0, list.size() - CHANGE_EVERY), list.size());
  }

  private static double median(List<Report> list) {
    double[] sorted = list.stream().mapToDouble(Report::stepMs).sorted().toArray();
    return sorted.length == 0 ? Double.NaN : sorted[sorted.length / 2];
  }

  /** Returns the next reports; changes a table now and then. */
  private List<Report> reports(int count, boolean changing) throws InterruptedException {
    List<Report> list = new ArrayList<>();
    while (list.size() < count) {
      Report report = reports.poll(SILENCE.toMillis(), TimeUnit.MILLISECONDS);
      trainer.check();
      listener.check();
      if (report == null) {
        throw new IllegalStateException(
            "The trainer reported nothing for %d s".formatted(SILENCE.toSeconds()));
      }
      list.add(report);
      seen++;
      steps.at("%d alarms, %d trainings".formatted(alarms.size(), decisions.size()), seen, -1);
      if (changing && seen % CHANGE_EVERY == 0) {
        int table = random.nextInt(tables.size());
        tables.set(table, SyntheticTables.changed(tables.get(table), random));
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
    publisher.publish(WORKLOAD, all);
    publisher.flush();
  }

  private double errors(List<Report> list) {
    return list.stream()
        .filter(report -> plans.containsKey(report.planId()))
        .mapToDouble(
            report ->
                Math.abs(plans.get(report.planId()).predictedMs() - report.stepMs())
                    / report.stepMs())
        .average()
        .orElse(Double.NaN);
  }

  @Override
  public void close() throws IOException {
    trainer.close();
    publisher.close();
    listener.close();
    service.close();
    site.close();
  }
}
