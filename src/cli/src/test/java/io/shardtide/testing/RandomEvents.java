package io.shardtide.testing;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningOutcome;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.PlanningTables;
import io.shardtide.step.WorkloadStep;
import io.shardtide.step.Workloads;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.WorkloadChange;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;

/**
 * Random lives of workloads, driven through the steps in memory, and what they leave on the log.
 */
public final class RandomEvents {
  /** Small budgets: what is tested is that the same comes out again. */
  public static final PlanningSettings BURSTS =
      new PlanningSettings(
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          Fixtures.settings(40, 300, 10, 0.1, 0, 1_000),
          Optional.of(Fixtures.settings(40, 3_000, 10, 0.1, 0, 100_000)),
          Duration.ZERO,
          0,
          0);

  /** Predicts all kinds of shards, caches and hot rows. */
  private static final ModelBundle NODES = ModelFiles.shippedForNodes();

  private static final long MEMORY = 4 * Fixtures.GIB;

  private final MemoryRecords records = new MemoryRecords();
  private final List<RejectedEvent> rejected = new ArrayList<>();
  private final PlainPredictors models = new PlainPredictors();
  private final Workloads workloads = Workloads.inMemory();
  private final PlanningTables plans;
  private final WorkloadStep first = new WorkloadStep(models);
  private final PlanningStep second;
  private final Random random;
  private final List<String> ids;
  private long time;
  private long training;
  private boolean isOther;

  public RandomEvents(long seed, PlanningSettings settings, String... ids) {
    random = new Random(seed);
    this.ids = List.of(ids);
    plans = ShuffledTables.planning(seed);
    InstantSource clock = () -> Fixtures.TIME.plusMillis(time++);
    second = new PlanningStep(models, settings, new Planner(clock, new Random(seed)::nextLong));
    records.add(TestModels.bundle());
    records.add(NODES);
    models.takeOver(NODES);
    for (String id : ids) {
      if (random.nextBoolean()) {
        apply(id, table(), table());
      }
      apply(id, table(), cluster(2 + random.nextInt(3)));
      plan(id);
    }
  }

  public MemoryRecords records() {
    return records;
  }

  /** Returns the rejected events and statuses, in order; positions count from 1 on each topic. */
  public List<RejectedEvent> rejected() {
    return rejected;
  }

  private void reject(SourcePosition source, String id, RejectedException why) {
    rejected.add(
        new RejectedEvent(
            source,
            Optional.of(id),
            why.reason(),
            why.getMessage(),
            Optional.empty(),
            Optional.empty()));
  }

  /** Something happens, most often a change, which may be planned later, with others. */
  public RandomEvents go(int steps) {
    for (int i = 0; i < steps; i++) {
      String id = ids.get(random.nextInt(ids.size()));
      switch (random.nextInt(10)) {
        case 0 -> report(id);
        case 1 -> deepen(id);
        case 2 -> takeOver();
        case 3 -> reject(id);
        case 4, 5 -> plan(id);
        default -> {
          change(id);
          if (random.nextBoolean()) {
            plan(id);
          }
        }
      }
    }
    ids.forEach(this::plan);
    return this;
  }

  /** Changes only, each planned by itself. */
  public RandomEvents calmly(int steps) {
    for (int i = 0; i < steps; i++) {
      String id = ids.get(random.nextInt(ids.size()));
      change(id);
      plan(id);
      if (random.nextInt(4) == 0) {
        reject(id);
      }
    }
    return this;
  }

  /** Every second table, about, has more than the least that a table has; some are unpooled. */
  private Change table() {
    TableSpec table =
        Fixtures.table(
            "t" + random.nextInt(8),
            (long) Math.pow(10, 2 + 5 * random.nextDouble()),
            4 * (1 + random.nextInt(20)),
            1 + random.nextInt(60));
    return new Change.TableUpserted(
        table.rows() % 2 == 0
            ? table
            : TableSpecBuilder.builder(table)
                .accessCdf(Fixtures.cdf(table.rows()))
                .optimizerBytesPerElement(4)
                .optimizerBytesPerRow(0.5)
                .pooled(table.rows() % 3 > 0)
                .build());
  }

  private Change cluster(int devices) {
    ClusterSpec cluster = Fixtures.cluster(devices, MEMORY);
    return new Change.ClusterSet(
        devices % 2 == 0
            ? cluster
            : ClusterSpecBuilder.builder(cluster)
                .hardware(NODES.hardware())
                .devicesPerNode(2)
                .reservedMemoryBytesPerDevice(MEMORY - Fixtures.GIB / 4)
                .hostMemoryBytesPerDevice(4 * Fixtures.GIB)
                .forwardBytesPerElement(2)
                .replicaGroups(devices == 3 ? List.of(1, 3) : ClusterSpec.ONE_GROUP)
                .synchronizationSteps(1_000)
                .codecs(devices == 4 ? List.of(new CommCodec("fp16", 1.9)) : List.of())
                .build());
  }

  private void change(String id) {
    switch (random.nextInt(8)) {
      case 0 -> apply(id, cluster(1 + random.nextInt(5)));
      case 1 -> apply(id, Fixtures.upsert("huge", 1L << 34, 64, 1));
      case 2 -> {
        if (workloads.tables().get(id, "huge").isPresent()) {
          apply(id, Fixtures.drop("huge"), table());
        }
      }
      case 3 -> {
        apply(id, Fixtures.delete());
        if (random.nextBoolean()) {
          apply(id, table());
        }
        apply(id, table(), cluster(1 + random.nextInt(5)));
      }
      default -> apply(id, table(), table());
    }
  }

  /** An event that is not applied, or was before. */
  private void reject(String id) {
    if (random.nextBoolean()) {
      apply(id, Fixtures.drop("nowhere"));
    } else {
      List<WorkloadChange> all = records.all(TopicType.WORKLOAD_CHANGES);
      apply(all.get(random.nextInt(all.size())));
    }
  }

  private void apply(String id, Change... changes) {
    apply(
        new WorkloadChange(
            new UUID(random.nextLong(), random.nextLong()),
            id,
            Fixtures.TIME.plusMillis(time++),
            "life",
            OptionalLong.empty(),
            distinct(changes)));
  }

  /** An event changes a table once: of two changes that were drawn, the last one is left. */
  private static List<Change> distinct(Change... changes) {
    Map<String, Change> distinct = new LinkedHashMap<>();
    for (Change change : changes) {
      String table =
          change instanceof Change.TableUpserted upserted
              ? upserted.table().name()
              : change.getClass().getName();
      distinct.put(table, change);
    }
    return List.copyOf(distinct.values());
  }

  private void apply(WorkloadChange event) {
    records.add(TopicType.WORKLOAD_CHANGES, event);
    SourcePosition source = Fixtures.at(records.all(TopicType.WORKLOAD_CHANGES).size());
    try {
      onPredictions(first.apply(workloads, source, event));
    } catch (RejectedException e) {
      reject(source, event.workloadId(), e);
    }
  }

  private void onPredictions(List<CostPredictions> parts) {
    for (CostPredictions part : parts) {
      records.add(TopicType.COST_PREDICTIONS, part);
      second.onPredictions(plans, part);
    }
  }

  private void plan(String id) {
    second.plan(plans, id).ifPresent(this::publish);
  }

  private void publish(PlanningOutcome outcome) {
    if (outcome instanceof PlanningOutcome.Planned planned) {
      records.add(TopicType.SHARDING_PLANS, planned.plan());
    } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
      records.add(TopicType.INFEASIBLE_WORKLOADS, infeasible.workload());
    } else if (outcome instanceof PlanningOutcome.Failed failed) {
      throw failed.error();
    }
  }

  private void deepen(String id) {
    second
        .backgroundSearch(plans, id)
        .ifPresent(
            search -> {
              PlanningOutcome outcome = second.search(search);
              if (random.nextInt(4) == 0) {
                change(id);
              }
              second.finish(plans, search, outcome).ifPresent(this::publish);
            });
  }

  private void report(String id) {
    List<ShardingPlan> known =
        new ArrayList<>(
            records.all(TopicType.SHARDING_PLANS).stream()
                .filter(p -> p.workloadId().equals(id))
                .toList());
    if (!known.isEmpty()) {
      PlanStatus.StatusKind[] kinds = PlanStatus.StatusKind.values();
      PlanStatus status =
          new PlanStatus(
              id,
              known.get(random.nextInt(known.size())).planId(),
              kinds[random.nextInt(kinds.length)],
              training++,
              Optional.of("because"),
              "trainer",
              "",
              Fixtures.TIME,
              1,
              1);
      records.add(TopicType.PLAN_STATUS, status);
      try {
        second.report(plans, status);
      } catch (RejectedException e) {
        int offset = records.all(TopicType.PLAN_STATUS).size();
        reject(new SourcePosition("plan-status", 0, offset), id, e);
      }
    }
  }

  /**
   * Another model, or the first one again; workloads follow one by one, or at their next change.
   */
  private void takeOver() {
    isOther = !isOther;
    var bundle = isOther ? TestModels.otherBundle() : TestModels.bundle();
    models.takeOver(bundle);
    records.add(bundle);
    for (String id : ids) {
      if (random.nextBoolean()) {
        onPredictions(first.repredict(workloads, id, part -> {}));
        if (random.nextBoolean()) {
          plan(id);
        }
      }
    }
  }
}
