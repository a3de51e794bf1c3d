package io.shardtide.testing;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.StepCost;
import io.shardtide.learn.Feedback;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.KeyValues;
import io.shardtide.step.MemoryKeyValues;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntToDoubleFunction;

/** Plans a workload and reports its predicted costs, with computations times a factor. */
public final class SimulatedTrainer {
  private final Map<String, KeyValues<?>> stores = new TreeMap<>();
  private final Map<String, AcceptedStatus> accepted = new TreeMap<>();
  public final FeedbackTables store =
      new FeedbackTables(
          store("header"),
          store("table"),
          store("plan"),
          store("window"),
          id -> Optional.ofNullable(accepted.get(id)));
  public final FeedbackStep step;

  /** All predictions so far. */
  public final List<CostPredictions> predictions = new ArrayList<>();

  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables plans = ShuffledTables.planning(1);
  private final PlainPredictors models = new PlainPredictors();
  private final WorkloadStep predicting = new WorkloadStep(models);
  private final PlanningStep planning;
  private long offset;
  private long steps;

  public SimulatedTrainer() {
    step = new FeedbackStep(modelId -> false);
    planning =
        new PlanningStep(
            models,
            PlanningSettings.eachGeneration(SearchSettings.QUICK),
            new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
  }

  /** Applies changes; passes predictions and plan to the feedback step. */
  public ShardingPlan plan(Change... changes) {
    List<CostPredictions> parts =
        predicting.apply(workloads, Fixtures.at(offset++), Fixtures.event(changes));
    predictions.addAll(parts);
    parts.forEach(part -> planning.onPredictions(plans, part));
    ShardingPlan plan = ((Planned) planning.plan(plans, Fixtures.WORKLOAD).orElseThrow()).plan();
    parts.forEach(part -> step.onPredictions(store, part));
    step.onPlan(store, plan);
    return plan;
  }

  /**
   * Publishes a cluster and tables; passes a plan of them with given shards to the feedback step.
   *
   * @param cost the predicted cost of the shards
   */
  public ShardingPlan plan(
      ClusterSpec cluster, List<TableSpec> tables, List<Shard> shards, StepCost cost) {
    return plan(cluster, tables, shards, Replication.NONE, cost);
  }

  /** The same with replica groups, of one of which the shards and the cost are. */
  public ShardingPlan plan(
      ClusterSpec cluster,
      List<TableSpec> tables,
      List<Shard> shards,
      Replication replication,
      StepCost cost) {
    List<Change> changes = new ArrayList<>(List.of(new Change.ClusterSet(cluster)));
    tables.forEach(table -> changes.add(new Change.TableUpserted(table)));
    ShardingPlan planned = plan(changes.toArray(Change[]::new));
    List<DeviceCost> costs = new ArrayList<>();
    for (int d = 0; d < cost.computeMs().length; d++) {
      costs.add(
          new DeviceCost(
              cost.computeMs()[d], cost.forwardCommMs()[d], cost.backwardCommMs()[d], 1, 0));
    }
    PlanPrediction prediction =
        new PlanPrediction(
            costs,
            costs.stream().mapToDouble(DeviceCost::totalMs).max().orElseThrow(),
            planned.prediction().insight(),
            List.of(),
            0,
            List.of(),
            List.of());
    return onPlan(
        new ShardingPlan(
            "",
            planned.origin(),
            "given",
            shards,
            replication,
            List.of(),
            List.of(),
            prediction,
            planned.transition(),
            planned.run()));
  }

  /** Passes a plan to the feedback step. */
  public ShardingPlan onPlan(ShardingPlan plan) {
    ShardingPlan identified = plan.identified();
    step.onPlan(store, identified);
    return identified;
  }

  /** Reports a status to planning; passes what it accepts to the feedback step. */
  public void report(PlanStatus status) {
    accept(planning.report(plans, status));
  }

  /** Passes what planning accepts to the feedback step. */
  public void accept(AcceptedStatus status) {
    accepted.put(status.workloadId(), status);
  }

  private <V> KeyValues<V> store(String kind) {
    MemoryKeyValues<V> values = new MemoryKeyValues<>();
    stores.put(kind, values);
    return values;
  }

  /** Returns all that the feedback step stores, by its kind, workload and name. */
  public Map<String, Object> entries() {
    Map<String, Object> entries = new TreeMap<>();
    stores.forEach(
        (kind, store) ->
            store
                .workloads()
                .forEach(
                    id -> {
                      store.get(id, "").ifPresent(v -> entries.put(kind + "|" + id, v));
                      store
                          .range(id)
                          .forEach((name, v) -> entries.put(kind + "|" + id + "|" + name, v));
                    }));
    return entries;
  }

  /** Deletes the workload; passes the predictions to both steps. */
  public void delete() {
    for (CostPredictions part :
        predicting.apply(workloads, Fixtures.at(offset++), Fixtures.event(Fixtures.delete()))) {
      planning.onPredictions(plans, part);
      step.onPredictions(store, part);
    }
  }

  /** A plan of four devices with a dozen tables whose costs are long enough to be compared. */
  public ShardingPlan plan() {
    List<Change> changes = new ArrayList<>();
    changes.add(Fixtures.set(4, 8 * Fixtures.GIB));
    for (int t = 0; t < 12; t++) {
      changes.add(Fixtures.upsert("t" + t, 1_000_000 + 10_000 * t, 64, 20 + t));
    }
    return plan(changes.toArray(new Change[0]));
  }

  /** Returns, without processing it, a measurement: computations times a factor by device. */
  public MeasuredCosts measured(ShardingPlan plan, IntToDoubleFunction factors) {
    List<DeviceCost> predicted = plan.prediction().deviceCosts();
    double lastBefore = 0;
    double lastAfter = 0;
    for (int d = 0; d < predicted.size(); d++) {
      DeviceCost cost = predicted.get(d);
      lastBefore = Math.max(lastBefore, cost.computeMs() + cost.backwardCommMs());
      lastAfter =
          Math.max(lastAfter, cost.computeMs() * factors.applyAsDouble(d) + cost.backwardCommMs());
    }
    List<MeasuredDevice> devices = new ArrayList<>();
    for (int d = 0; d < predicted.size(); d++) {
      DeviceCost cost = predicted.get(d);
      double compute = cost.computeMs() * factors.applyAsDouble(d);
      double exchange =
          cost.forwardCommMs() - (lastBefore - cost.computeMs() - cost.backwardCommMs());
      devices.add(
          new MeasuredDevice(
              compute,
              exchange + lastAfter - compute - cost.backwardCommMs(),
              cost.backwardCommMs()));
    }
    return measured(plan, devices);
  }

  /** Returns, without processing it, a measurement. */
  public MeasuredCosts measured(ShardingPlan plan, List<MeasuredDevice> devices) {
    steps++;
    return MeasuredCostsBuilder.builder()
        .measurementId("m" + steps)
        .workloadId(plan.workloadId())
        .planId(plan.planId())
        .run("run")
        .step(steps)
        .steps(10)
        .devices(devices)
        .collectives(List.of())
        .source("trainer")
        .measuredAt(Fixtures.TIME)
        .build();
  }

  /** Measures a plan and processes the measurement. */
  public Feedback measure(ShardingPlan plan, IntToDoubleFunction factors) {
    return step.measure(store, measured(plan, factors));
  }
}
