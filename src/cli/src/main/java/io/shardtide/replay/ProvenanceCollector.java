package io.shardtide.replay;

import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Names;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;

/** Collects the records that led to a plan. */
public final class ProvenanceCollector {
  private static final int MAX_LISTED = 5;

  private final ShardingPlan plan;
  private final Optional<ShardingPlan> previous;
  private final List<PlanProvenance.ProvenanceEvent> events = new ArrayList<>();
  private final TreeSet<String> predictedTables = new TreeSet<>();
  private Map<String, VersionedPrediction> before = Map.of();
  private Map<String, VersionedPrediction> now = Map.of();
  private Optional<ClusterSpec> cluster = Optional.empty();

  /** The last event with which a pool set the workload's devices. */
  private Optional<WorkloadChange> poolEvent = Optional.empty();

  private boolean isComplete;

  private ProvenanceCollector(ShardingPlan plan, Optional<ShardingPlan> previous) {
    this.plan = plan;
    this.previous = previous;
  }

  /**
   * Collects the provenance of a plan.
   *
   * @param records the records
   * @param planId the plan's id, or a prefix of it
   * @throws IOException if the records cannot be read
   * @throws IllegalArgumentException if no plan or more than one has that prefix
   */
  public static PlanProvenance collect(LogRecords records, String planId) throws IOException {
    String wanted = checkedId(planId);
    if (!records.has(SHARDING_PLANS)) {
      throw new RefusedException("No plans are recorded. Maybe export the log first");
    }
    Map<String, ShardingPlan> found = new TreeMap<>();
    int[] count = {0};
    records.read(
        SHARDING_PLANS,
        plan -> {
          count[0]++;
          if (plan.planId().startsWith(wanted)) {
            found.putIfAbsent(plan.planId(), plan);
          }
        });
    if (found.isEmpty()) {
      throw new RefusedException(
          "No plan id begins with %s, found %,d recorded plans".formatted(wanted, count[0]));
    }
    if (found.size() > 1) {
      throw new RefusedException(
          "%,d plan ids begin with %s, expected one. Give more digits of one of: %s%s"
              .formatted(
                  found.size(),
                  wanted,
                  String.join(", ", found.keySet().stream().limit(MAX_LISTED).toList()),
                  found.size() > MAX_LISTED ? ", ..." : ""));
    }
    return collect(records, found.values().iterator().next());
  }

  /**
   * Collects the provenance of a workload's plan.
   *
   * @param records the records
   * @param workloadId the workload
   * @param generation a generation that the plan covers; empty for the latest plan. The last plan
   *     if several cover it
   * @throws IOException if the records cannot be read
   * @throws IllegalArgumentException if no such plan is recorded
   */
  public static PlanProvenance collect(
      LogRecords records, String workloadId, OptionalLong generation) throws IOException {
    ShardingPlan[] found = {null};
    int[] count = {0};
    records.read(
        SHARDING_PLANS,
        plan -> {
          if (plan.workloadId().equals(workloadId)) {
            count[0]++;
            if (generation.isEmpty()
                || (plan.origin().firstGeneration() <= generation.getAsLong()
                    && generation.getAsLong() <= plan.generation())) {
              found[0] = plan;
            }
          }
        });
    if (found[0] == null) {
      for (InfeasibleWorkload of : records.all(INFEASIBLE_WORKLOADS, of -> true)) {
        if (of.workloadId().equals(workloadId)
            && of.expected().isEmpty()
            && OptionalLong.of(of.generation()).equals(generation)) {
          throw new RefusedException(
              "Generation %d of workload %s %s. The plan before it stays"
                  .formatted(of.generation(), Names.quote(workloadId), of.shortfall().describe()));
        }
      }
      throw new RefusedException(
          "No plan of workload %s%s is recorded%s"
              .formatted(
                  Names.quote(workloadId),
                  generation.isPresent() ? " for generation " + generation.getAsLong() : "",
                  count[0] == 0 ? "" : ", found %,d plans of it".formatted(count[0])));
    }
    return collect(records, found[0]);
  }

  /**
   * Returns the beginning of a plan's id as ids are written.
   *
   * @throws IllegalArgumentException if no id begins so
   */
  public static String checkedId(String planId) {
    String wanted = planId.toLowerCase(Locale.ROOT);
    if (!wanted.matches("[0-9a-f]{1,64}")) {
      throw new IllegalArgumentException(
          "\"%s\" is not a plan id, expected up to 64 hexadecimal digits"
              .formatted(planId.replaceAll("\\p{Cntrl}", "\uFFFD")));
    }
    return wanted;
  }

  private static PlanProvenance collect(LogRecords records, ShardingPlan plan) throws IOException {
    Optional<String> id = plan.origin().previousPlanId();
    Optional<ShardingPlan> previous =
        records.all(SHARDING_PLANS, of -> id.equals(Optional.of(of.planId()))).stream()
            .reduce((before, last) -> last);
    return new ProvenanceCollector(plan, previous).collect(records);
  }

  private PlanProvenance collect(LogRecords records) throws IOException {
    String workload = plan.workloadId();
    boolean hasEvents = records.has(WORKLOAD_CHANGES);
    GenerationHistory history = GenerationHistory.read(records, workload::equals);
    GenerationPlanner planner = new GenerationPlanner(Map.of(), SearchSettings.DEFAULTS, List.of());
    PredictionGroups.read(
        records,
        workload::equals,
        group -> {
          if (!isComplete) {
            planner.apply(group);
            collect(
                group,
                hasEvents ? history.advance(group).applied() : List.of(),
                planner.tables(workload));
          }
        });
    Map<String, ModelBundle> models = records.models();
    return new PlanProvenance(
        plan,
        previous,
        cluster,
        pool(records),
        events,
        tables(models),
        shared(),
        records.all(
            INFEASIBLE_WORKLOADS, of -> of.workloadId().equals(workload) && isNew(of.generation())),
        records.all(PLAN_STATUS, of -> of.planId().equals(plan.planId())),
        Optional.ofNullable(models.get(plan.origin().modelId()))
            .map(model -> model.card().simulated()));
  }

  /** Returns the allocation of the devices, unless a publisher set others since. */
  private Optional<PoolClusterOrigin> pool(LogRecords records) throws IOException {
    return poolEvent.isPresent()
            && PoolClusterOrigin.cluster(poolEvent.get())
                .map(ClusterSpec::devices)
                .equals(cluster.map(ClusterSpec::devices))
        ? Optional.of(PoolClusterOrigin.find(records, poolEvent.get()))
        : Optional.empty();
  }

  /** Returns whether a generation is one since the previous plan, up to this one. */
  private boolean isNew(long generation) {
    return generation > previous.map(ShardingPlan::generation).orElse(0L)
        && generation <= plan.generation();
  }

  private void collect(
      List<CostPredictions> group,
      List<GenerationHistory.Applied> applied,
      Map<String, VersionedPrediction> tables) {
    CostPredictions first = group.get(0);
    boolean isNew = isNew(first.generation());
    if (isNew
        && applied.isEmpty()
        && events.stream().noneMatch(e -> e.eventId().equals(first.eventId()))) {
      events.add(
          new PlanProvenance.ProvenanceEvent(
              first.generation(), first.eventId(), Optional.empty(), Optional.empty(), List.of()));
    }
    for (GenerationHistory.Applied event : applied) {
      if (event.generation() <= plan.generation()
          && PoolClusterOrigin.cluster(event.event()).isPresent()) {
        poolEvent = Optional.of(event.event());
      }
      if (isNew(event.generation())) {
        events.add(
            new PlanProvenance.ProvenanceEvent(
                event.generation(),
                event.event().eventId(),
                Optional.of(event.event().source()),
                Optional.of(event.event().occurredAt()),
                ChangeTexts.describe(event.before(), event.event())));
      }
    }
    if (isNew) {
      for (CostPredictions part : group) {
        if (part.update().orElse(null) instanceof Update.Predicted predicted) {
          predictedTables.add(predicted.prediction().table().name());
        }
      }
    }
    if (previous.isPresent() && isOf(first, previous.get())) {
      before = tables;
    }
    if (isOf(first, plan)) {
      now = tables;
      cluster = Optional.of(first.cluster());
      isComplete = true;
    }
  }

  private static boolean isOf(CostPredictions part, ShardingPlan plan) {
    return part.generation() == plan.generation() && part.modelId().equals(plan.origin().modelId());
  }

  /** Returns what changed; with another number of devices, tables are predicted again. */
  private List<PlanProvenance.ProvenanceTable> tables(Map<String, ModelBundle> models) {
    List<PlanProvenance.ProvenanceTable> tables = new ArrayList<>();
    predictedTables.retainAll(now.keySet());
    for (String name : predictedTables) {
      TableSpec table = now.get(name).prediction().table();
      OptionalDouble aloneMs = aloneMs(models, plan, now.get(name));
      VersionedPrediction earlier = before.get(name);
      OptionalDouble beforeMs =
          earlier == null ? OptionalDouble.empty() : aloneMs(models, previous.get(), earlier);
      // Splits over devices are predicted again when the number of devices changes.
      boolean isSame = earlier != null && earlier.prediction().table().equals(table);
      if (!isSame || !aloneMs.equals(beforeMs)) {
        tables.add(new PlanProvenance.ProvenanceTable(table, aloneMs, beforeMs));
      }
    }
    return tables;
  }

  /** A constraint that refers to a table that is not there has no effect. */
  private List<PlanProvenance.SharedDevices> shared() {
    return now.values().stream()
        .map(of -> of.prediction().table())
        .filter(of -> of.constraints().sameDevicesAs().filter(now::containsKey).isPresent())
        .map(
            of ->
                new PlanProvenance.SharedDevices(
                    of.name(), of.constraints().sameDevicesAs().orElseThrow()))
        .toList();
  }

  private static OptionalDouble aloneMs(
      Map<String, ModelBundle> models, ShardingPlan of, VersionedPrediction table) {
    ModelBundle model = models.get(of.origin().modelId());
    if (model == null) {
      return OptionalDouble.empty();
    }
    TableSpec spec = table.prediction().table();
    return OptionalDouble.of(
        new CostModel(model).evaluator().aloneMs(spec, table.prediction().tower(spec.columns())));
  }
}
