package io.shardtide.step;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.Plans;
import io.shardtide.wire.Codec;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Which tables are predicted again when a workload changes. */
class PredictedAgainTest {
  private static final ModelBundle MODEL = ModelFiles.shippedForNodes();

  /** The first step, and the predictions that the second one has of it. */
  private static final class PredictingSteps {
    private final PlainPredictors models = new PlainPredictors();
    private final WorkloadStep step = new WorkloadStep(models);
    private final Workloads store = Workloads.inMemory();
    private final PlanningTables plans = PlanningTables.inMemory();
    private final PlanningStep planning =
        new PlanningStep(
            models,
            PlanningSettings.eachGeneration(SearchSettings.QUICK),
            new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
    private long offset;

    PredictingSteps() {
      models.takeOver(MODEL);
    }

    /** Returns the names of the tables that are predicted. */
    List<String> apply(Change... changes) {
      List<CostPredictions> parts =
          step.apply(store, Fixtures.at(offset++), Fixtures.event(changes));
      parts.forEach(part -> planning.onPredictions(plans, part));
      return parts.stream()
          .flatMap(part -> part.update().stream())
          .filter(Update.Predicted.class::isInstance)
          .flatMap(update -> update.table().stream())
          .toList();
    }

    PlanningOutcome plan() {
      return planning.plan(plans, Fixtures.WORKLOAD).orElseThrow();
    }

    /** Returns the predictions, as records that can be compared. */
    Map<String, Object> predictions() {
      Map<String, Object> byName = new TreeMap<>();
      plans
          .tables()
          .range(Fixtures.WORKLOAD)
          .values()
          .forEach(t -> byName.put(t.prediction().table().name(), avro(t.prediction())));
      return byName;
    }

    private static Object avro(TablePrediction prediction) {
      return Codec.COST_PREDICTIONS
          .toAvro()
          .apply(
              new CostPredictions(
                  Fixtures.WORKLOAD,
                  1,
                  new UUID(0, 0),
                  Fixtures.at(0),
                  MODEL.modelId(),
                  0,
                  1,
                  Fixtures.cluster(1, 1),
                  Optional.empty(),
                  Optional.of(new Update.Predicted(prediction))));
    }
  }

  private static ClusterSpec cluster(int devices, long memory, long hostMemory) {
    return ClusterSpecBuilder.builder(new ClusterSpec(devices, memory, 65_536, 4, MODEL.hardware()))
        .hostMemoryBytesPerDevice(hostMemory)
        .build();
  }

  /** Returns a cluster of which one or several fields differ, or none. */
  private static ClusterSpec changed(ClusterSpec before, Random random) {
    ClusterSpec next = before;
    for (int i = 0; i <= random.nextInt(3); i++) {
      ClusterSpecBuilder builder = ClusterSpecBuilder.builder(next);
      switch (random.nextInt(12)) {
        case 0 -> builder.devices(1 << random.nextInt(5));
        case 1 -> builder.devicesPerNode(1 << random.nextInt(4));
        case 2 -> builder.batchSize(1 << (10 + random.nextInt(4)));
        case 3 -> builder.memoryBytesPerDevice(Fixtures.GIB << random.nextInt(6));
        case 4 -> builder.reservedMemoryBytesPerDevice(Fixtures.GIB * random.nextInt(2) / 2);
        case 5, 6 -> builder.hostMemoryBytesPerDevice(Fixtures.GIB * random.nextInt(3));
        case 7 -> builder.countsStepMemory(random.nextBoolean());
        case 8 -> builder.forwardBytesPerElement(2 + 2 * random.nextInt(2));
        case 9 -> builder.synchronizationSteps(1 + random.nextInt(5));
        case 10 ->
            builder.codecs(random.nextBoolean() ? List.of(new CommCodec("fp16", 2)) : List.of());
        default -> builder.replicaGroups(random.nextBoolean() ? List.of(1, 2) : List.of(1));
      }
      try {
        next = builder.build();
      } catch (RejectedException e) {
        // These values do not go together.
      }
    }
    return next;
  }

  private static TableSpec table(Random random, String name) {
    TableSpecBuilder builder =
        TableSpecBuilder.builder(Plans.randomTable(random, name))
            .columns(4 << random.nextInt(4))
            .pooled(random.nextBoolean());
    long rows = 1L << (10 + random.nextInt(14));
    builder.rows(rows);
    if (random.nextBoolean()) {
      builder.accessCdf(Fixtures.cdf(rows));
    }
    TableConstraints constraints =
        TableConstraints.NONE
            .withMayBeCached(random.nextInt(4) > 0)
            .withMayHaveHotRows(random.nextInt(4) > 0);
    if (random.nextInt(4) == 0) {
      constraints =
          constraints.withKinds(EnumSet.of(ShardKind.TABLE_WISE, ShardKind.DATA_PARALLEL));
    }
    builder.constraints(constraints);
    try {
      return builder
          .kernel(
              new TableKernel(
                  random.nextInt(3) > 0
                      ? Optional.empty()
                      : Optional.of(List.of(ComputeKernel.values()).get(random.nextInt(4))),
                  random.nextInt(3) > 0 ? OptionalDouble.empty() : OptionalDouble.of(0.3),
                  Optional.empty(),
                  random.nextBoolean() ? Optional.empty() : Optional.of(OutputType.FP16),
                  Optional.empty()))
          .build();
    } catch (RejectedException e) {
      // The kernel and the constraints contradict each other.
      return builder.kernel(TableKernel.NONE).build();
    }
  }

  /** Whatever changes: clusters, tables, or both. */
  @Property(tries = 50)
  void predictions_after_changes_are_those_of_the_workload_from_scratch(@ForAll long seed) {
    Random random = new Random(seed);
    PredictingSteps run = new PredictingSteps();
    ClusterSpec cluster = cluster(8, 4 * Fixtures.GIB, 0);
    Map<String, TableSpec> tables = new TreeMap<>();
    for (int t = 0; t < 4; t++) {
      tables.put("t" + t, table(random, "t" + t));
    }
    List<Change> changes = new ArrayList<>(List.of(new Change.ClusterSet(cluster)));
    tables.values().forEach(table -> changes.add(new Change.TableUpserted(table)));
    run.apply(changes.toArray(Change[]::new));
    for (int i = 0; i < 4; i++) {
      changes.clear();
      if (random.nextInt(5) > 0) {
        cluster = changed(cluster, random);
        changes.add(new Change.ClusterSet(cluster));
      }
      if (changes.isEmpty() || random.nextBoolean()) {
        TableSpec table = table(random, "t" + random.nextInt(5));
        tables.put(table.name(), table);
        changes.add(new Change.TableUpserted(table));
      }
      run.apply(changes.toArray(Change[]::new));
      PredictingSteps scratch = new PredictingSteps();
      List<Change> all = new ArrayList<>(List.of(new Change.ClusterSet(cluster)));
      tables.values().forEach(table -> all.add(new Change.TableUpserted(table)));
      scratch.apply(all.toArray(Change[]::new));
      assertThat(run.predictions().equals(scratch.predictions()))
          .as("predictions after %s, for %s and %s", changes, cluster, tables)
          .isTrue();
    }
  }

  @Test
  void only_tables_whose_predictions_change_are_predicted_again() {
    PredictingSteps run = new PredictingSteps();
    Change[] tables = {
      new Change.TableUpserted(Fixtures.table("large", 10_000_000, 64, 5)),
      new Change.TableUpserted(Fixtures.table("small", 10_000, 64, 5)),
      new Change.TableUpserted(
          Fixtures.table("never cached", 10_000_000, 64, 5)
              .withConstraints(TableConstraints.NONE.withMayBeCached(false)))
    };
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 16 * Fixtures.GIB, 0))))
        .as("no tables yet")
        .isEmpty();
    assertThat(run.apply(tables)).hasSize(3);
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 32 * Fixtures.GIB, 0)))).isEmpty();
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 32 * Fixtures.GIB, Fixtures.GIB))))
        .as("tables that may have caches now")
        .containsExactly("large");
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 32 * Fixtures.GIB, 200 * Fixtures.GIB))))
        .as("how much host memory there is does not matter")
        .isEmpty();
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 2 * Fixtures.GIB, Fixtures.GIB))))
        .as("a cache of the small table now frees enough")
        .containsExactly("small");
    assertThat(run.apply(new Change.ClusterSet(cluster(4, 2 * Fixtures.GIB, 0)), tables[1]))
        .as("caches are gone")
        .containsExactly("large", "small");
    assertThat(run.apply(new Change.ClusterSet(cluster(8, 2 * Fixtures.GIB, 0)))).hasSize(3);
  }

  /** The operator does what the planner says. */
  @Test
  void a_workload_that_lacks_memory_is_planned_with_the_advised_host_memory() {
    PredictingSteps run = new PredictingSteps();
    run.apply(
        new Change.ClusterSet(cluster(4, 16 * Fixtures.GIB, 0)),
        new Change.TableUpserted(Fixtures.table("t", 400_000_000, 64, 2)));
    PlanningOutcome.Infeasible infeasible = (PlanningOutcome.Infeasible) run.plan();
    String message = infeasible.workload().shortfall().message();
    assertThat(message).containsPattern("[Ww]ith [0-9.]+ GiB of host memory a device");
    double gib =
        Double.parseDouble(
            message.replaceAll("(?s).*[Ww]ith ([0-9.]+) GiB of host memory a device.*", "$1"));
    run.apply(
        new Change.ClusterSet(cluster(4, 16 * Fixtures.GIB, (long) Math.ceil(gib * Fixtures.GIB))));
    PlanningOutcome outcome = run.plan();
    assertThat(outcome).as(message).isInstanceOf(PlanningOutcome.Planned.class);
    ShardingPlan plan = ((PlanningOutcome.Planned) outcome).plan();
    assertThat(plan.shards()).allMatch(shard -> shard.cacheShare().isPresent());
  }
}
