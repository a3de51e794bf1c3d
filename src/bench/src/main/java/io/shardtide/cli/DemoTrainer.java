package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;

import io.shardtide.bench.learning.MachineChange;
import io.shardtide.bench.learning.SimulatedMachine;
import io.shardtide.bench.learning.SimulatedMachine.SimulatedStep;
import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/**
 * The demo's trainer, which is simulated: it runs each plan at once, and reports what a step takes
 * on a machine that costs what the cost model predicts, but for small differences and noise. The
 * machine can change. It computes only when it is told to.
 */
final class DemoTrainer implements AutoCloseable {
  /** What becomes slower when the machine changes. */
  static final MachineChange CHANGE = MachineChange.LOOKUPS;

  private static final int STEPS_PER_REPORT = 10;
  private static final double NOISE = 0.02;
  private static final long SEED = 1;

  private final Endpoint endpoint;
  private final Registry registry;
  private final TopicReader reader;
  private final TowerPredictor towers;
  private final Random random = new Random(SEED);
  private final Map<String, TableSpec> tables = new TreeMap<>();
  private SimulatedMachine machine;
  private final SimulatedMachine changed;
  private TrainerReports reports;
  private ClusterSpec cluster;
  private long completeGeneration;
  private String runningPlanId = "";
  private long step;

  private DemoTrainer(Endpoint endpoint, Registry registry, ModelBundle model) {
    this.endpoint = endpoint;
    this.registry = registry;
    towers = new TensorFlowTowers(model);
    machine = SimulatedMachine.of(model, towers, MachineChange.NONE, SEED);
    changed = SimulatedMachine.of(model, towers, CHANGE, SEED);
    reader =
        endpoint
            .reader(registry)
            .onlyKey(Optional.of(DemoScript.WORKLOAD))
            .handle(
                endpoint.topics().of(COST_PREDICTIONS),
                StartPosition.BEGINNING,
                (position, writtenAt, part) -> onPredictions(part));
  }

  /**
   * Connects.
   *
   * @param registry the endpoint's registry; not closed with this trainer
   * @param model what the machine costs before it changes
   */
  static DemoTrainer connect(Endpoint endpoint, Registry registry, ModelBundle model) {
    DemoTrainer trainer = new DemoTrainer(endpoint, registry, model);
    try {
      trainer.reader.open();
    } catch (RuntimeException e) {
      trainer.close();
      throw e;
    }
    trainer.reader.start("demo-trainer");
    return trainer;
  }

  /** The tables of a workload are those that the planner predicted. */
  private synchronized void onPredictions(CostPredictions part) {
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      TableSpec table = predicted.prediction().table();
      tables.put(table.name(), table);
    } else if (part.update().orElse(null) instanceof Update.Dropped dropped) {
      tables.remove(dropped.name());
    }
    cluster = part.cluster();
    completeGeneration = part.isLast() ? part.generation() : 0;
    notifyAll();
  }

  /** The machine becomes slower, from the next step on. */
  void change() {
    machine = changed;
  }

  /**
   * Runs steps of a plan, adopts it before if it does not run yet, and reports what they took.
   *
   * @return what a step took, in milliseconds
   * @throws IllegalStateException if the tables of the plan do not arrive within a time
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The reporter counts and logs failures.
  synchronized double run(ShardingPlan plan, Duration patience) throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    while (completeGeneration != plan.generation()) {
      long left = (end - System.nanoTime()) / 1_000_000;
      if (left <= 0) {
        throw new IllegalStateException(
            "the trainer must know the tables of generation %d, got those of %d"
                .formatted(plan.generation(), completeGeneration));
      }
      wait(left);
    }
    if (reports == null) {
      // Another run after each start with the same data, and the same in another demo.
      String run = "from generation " + plan.generation();
      reports = TrainerReports.connect(endpoint, registry, "demo-trainer", run);
    }
    if (!plan.planId().equals(runningPlanId)) {
      reports.adopted(plan, step);
      reports.finishedMoving(plan, step);
      runningPlanId = plan.planId();
    }
    SimulatedStep measured =
        machine.measure(List.copyOf(tables.values()), plan.shards(), cluster, NOISE, random);
    step += STEPS_PER_REPORT;
    reports.measured(plan, step - 1, STEPS_PER_REPORT, measured.devices(), measured.collectives());
    return measured.ms();
  }

  @Override
  public void close() {
    reader.close();
    if (reports != null) {
      reports.close();
    }
    towers.close();
  }
}
