package io.shardtide.bench.growth;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.GrowthStep.Growth;
import io.shardtide.growth.GrowthTables;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.Predictors;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * The real steps of the service, one after another: reports of fill, the resizes that follow, their
 * predictions and plans. A trainer adopts a plan some time after it was made.
 */
final class GrowthLoop implements Predictors, CostModels {
  private static final String WORKLOAD = "growing";
  private static final String SOURCE = "bench";
  private static final String RUN = "run";
  private static final PlanningSettings SETTINGS =
      PlanningSettings.eachGeneration(SearchSettings.QUICK);

  private final ModelBundle bundle;
  private final TowerPredictor predictor;
  private final CostModel model;
  private final ClusterSpec cluster;
  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables planned = PlanningTables.inMemory();
  private final GrowthTables grown = GrowthTables.inMemory();
  private final WorkloadStep predicting = new WorkloadStep(this);
  private final PlanningStep planning =
      new PlanningStep(this, SETTINGS, new Planner(InstantSource.fixed(Instant.EPOCH), () -> 0));
  private final GrowthStep growing;
  private final List<ShardingPlan> plans = new ArrayList<>();
  private ShardingPlan running;
  private SortedMap<String, TableSpec> runningTables = new TreeMap<>();
  private long offset;
  private int resizes;
  private int notFound;
  private double fullestDevice;

  /**
   * Plans the tables as they are published; that plan runs at once.
   *
   * @param bundle a model
   * @param predictor its towers
   * @param policy when tables are resized
   * @throws IllegalStateException if they have no plan
   */
  GrowthLoop(
      ModelBundle bundle,
      TowerPredictor predictor,
      CapacityPolicy policy,
      GrowingWorkload workload) {
    this.bundle = bundle;
    this.predictor = predictor;
    model = new CostModel(bundle);
    cluster = workload.cluster();
    growing = new GrowthStep(policy);
    List<Change> changes = new ArrayList<>();
    changes.add(new Change.ClusterSet(cluster));
    workload.tables().forEach(table -> changes.add(new Change.TableUpserted(table)));
    change(event(Instant.EPOCH, changes));
    if (plans.isEmpty()) {
      throw new IllegalStateException("The workload must fit at first");
    }
    adopt(Instant.EPOCH);
  }

  private WorkloadChange event(Instant at, List<Change> changes) {
    return new WorkloadChange(
        UUID.nameUUIDFromBytes(Long.toString(offset).getBytes(StandardCharsets.UTF_8)),
        WORKLOAD,
        at,
        SOURCE,
        OptionalLong.empty(),
        changes);
  }

  private void change(WorkloadChange change) {
    SourcePosition source = new SourcePosition("changes", 0, offset++);
    for (CostPredictions part : predicting.apply(workloads, source, change)) {
      planning.onPredictions(planned, part);
      growing.onPredictions(grown, part);
    }
    PlanningOutcome outcome = planning.plan(planned, WORKLOAD).orElseThrow();
    if (outcome instanceof PlanningOutcome.Planned next) {
      plans.add(next.plan());
      fullestDevice = Math.max(fullestDevice, fullestDevice(next.plan()));
    } else if (outcome instanceof PlanningOutcome.Failed failed) {
      throw new IllegalStateException(failed.error());
    } else {
      notFound++;
    }
  }

  /** Returns the largest share of a device's memory, from the plan's shards. */
  private double fullestDevice(ShardingPlan plan) {
    Map<String, TableSpec> tables = workloads.tables().range(WORKLOAD);
    double[] bytes = new double[cluster.devices()];
    for (Shard shard : plan.shards()) {
      TableSpec table = tables.get(shard.table());
      shard
          .holders(bytes.length)
          .forEach(
              d ->
                  bytes[d] +=
                      table.bytes(shard.rows(), shard.columns(), shard.cacheShare(), false));
    }
    double most = 0;
    for (int device = 0; device < bytes.length; device++) {
      most = Math.max(most, bytes[device] / cluster.usableMemory().bytes(device));
    }
    return most;
  }

  /** The latest plan runs from now on. */
  void adopt(Instant at) {
    ShardingPlan latest = plans.get(plans.size() - 1);
    if (latest.equals(running)) {
      return;
    }
    planning.report(
        planned,
        new PlanStatus(
            WORKLOAD,
            latest.planId(),
            PlanStatus.StatusKind.ADOPTED,
            at.toEpochMilli(),
            Optional.empty(),
            SOURCE,
            RUN,
            at,
            1,
            1));
    running = latest;
    runningTables = new TreeMap<>();
    workloads.tables().range(WORKLOAD).values().stream()
        .filter(table -> table.storage().isPresent())
        .forEach(table -> runningTables.put(table.name(), table));
  }

  /** Returns the capacities of the hashed tables in the running plan, by table. */
  SortedMap<String, Long> capacities() {
    return runningTables.values().stream()
        .collect(Collectors.toMap(TableSpec::name, TableSpec::rows, (a, b) -> a, TreeMap::new));
  }

  /**
   * Reports how full the hashed tables are, and plans what follows.
   *
   * @param ids ids of each, by table
   */
  TableForecasts report(Instant at, SortedMap<String, Long> ids) {
    List<TableFill> fills = new ArrayList<>();
    ids.forEach((table, count) -> fills.add(fill(table, count)));
    Growth growth =
        growing.report(
            grown,
            new FillReport(
                "report-" + at.getEpochSecond(),
                WORKLOAD,
                running.planId(),
                RUN,
                SOURCE,
                at,
                fills),
            at.toEpochMilli());
    if (growth.change().isPresent()) {
      resizes++;
      change(growth.change().get());
    }
    return growth.forecasts();
  }

  /** Ids are spread evenly over slots: they are hashed. */
  private TableFill fill(String name, long ids) {
    double slots = runningTables.get(name).rows();
    return new TableFill(
        name,
        running.shards().stream()
            .filter(shard -> shard.table().equals(name))
            .map(
                shard -> {
                  long before = Math.round(ids * (shard.rowOffset() / slots));
                  long until = Math.round(ids * ((shard.rowOffset() + shard.rows()) / slots));
                  return new ShardFill(
                      shard.device(), shard.rowOffset(), shard.rows(), until - before, 0, 0, 0);
                })
            .toList());
  }

  /** Returns what was reported of a table. */
  FillHistory history(String table) {
    return grown.growths().get(WORKLOAD, table).orElseThrow().history();
  }

  /** Returns all plans, the first one included. */
  List<ShardingPlan> plans() {
    return plans;
  }

  /** Returns how often tables were resized. */
  int resizes() {
    return resizes;
  }

  /** Returns how many resizes have no plan. */
  int notFound() {
    return notFound;
  }

  /** Returns the largest share of a device's usable memory in any plan. */
  double fullestDevice() {
    return fullestDevice;
  }

  @Override
  public Optional<TowerPredictor> of(String hardware) {
    return Optional.of(predictor).filter(p -> hardware.equals(bundle.hardware()));
  }

  @Override
  public Optional<TowerPredictor> begin(ClusterSpec ofCluster) {
    return Optional.empty();
  }

  @Override
  public SortedSet<String> hardware() {
    return new TreeSet<>(List.of(bundle.hardware()));
  }

  @Override
  public CostModel get(String modelId) {
    return model;
  }
}
