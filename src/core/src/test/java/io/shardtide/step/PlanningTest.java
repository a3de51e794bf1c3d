package io.shardtide.step;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.ShapeBasis;
import io.shardtide.option.Option;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.Effort;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.PlanningOutcome.Infeasible;
import io.shardtide.step.PlanningOutcome.Planned;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.ShuffledTables;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.UnknownHardware;
import io.shardtide.workload.WorkloadChange;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Both steps together, in memory: what a replay does. */
class PlanningTest {
  private static final long MEMORY = 8 * Fixtures.GIB;

  /** One run of the steps over events. */
  private static final class PlanningRun {
    final Workloads workloads = Workloads.inMemory();
    final PlanningTables plans;
    final PlainPredictors models = new PlainPredictors();
    final WorkloadStep first = new WorkloadStep(models);
    final PlanningStep second;
    final List<PlanningOutcome> outcomes = new ArrayList<>();
    long offset;

    PlanningRun(long seed, InstantSource clock, PlanningSettings settings) {
      plans = ShuffledTables.planning(seed);
      second = new PlanningStep(models, settings, new Planner(clock, new Random(seed)::nextLong));
    }

    PlanningRun(long seed, InstantSource clock) {
      this(seed, clock, PlanningSettings.eachGeneration(SearchSettings.DEFAULTS));
    }

    PlanningRun(PlanningSettings settings) {
      this(1, InstantSource.fixed(Fixtures.TIME), settings);
    }

    PlanningRun() {
      this(1, InstantSource.fixed(Fixtures.TIME));
    }

    List<CostPredictions> predict(WorkloadChange event) {
      return first.apply(workloads, Fixtures.at(offset++), event);
    }

    PlanningOutcome apply(WorkloadChange event) {
      onPredictions(predict(event));
      PlanningOutcome outcome = second.plan(plans, Fixtures.WORKLOAD).orElse(null);
      if (outcome != null) {
        outcomes.add(outcome);
      }
      return outcome;
    }

    void onPredictions(List<CostPredictions> parts) {
      parts.forEach(part -> second.onPredictions(plans, part));
    }

    ShardingPlan plan() {
      return ((Planned) second.plan(plans, Fixtures.WORKLOAD).orElseThrow()).plan();
    }

    void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step) {
      report(plan, kind, step, "");
    }

    void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step, String run) {
      second.report(
          plans,
          new PlanStatus(
              Fixtures.WORKLOAD,
              plan.planId(),
              kind,
              step,
              Optional.empty(),
              "trainer",
              run,
              Fixtures.TIME,
              1,
              1));
    }

    ShardingPlan plan(Change... changes) {
      return ((Planned) apply(event(changes))).plan();
    }
  }

  /** The groups of the first plan stay with the answers to changes, and are named in reasons. */
  @Test
  void plans_have_the_replica_groups_that_a_publisher_allows() {
    PlanningRun run = new PlanningRun();
    ModelBundle nodes = TestModels.nodes();
    run.models.takeOver(nodes);
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(new ClusterSpec(4, MEMORY, 65_536, 2, nodes.hardware()))
            .replicaGroups(List.of(2, 4))
            .synchronizationSteps(1_000)
            .build();
    ShardingPlan first = run.plan(new Change.ClusterSet(cluster), upsert("a", 1_000_000, 64, 5));
    assertThat(first.ranks()).isEqualTo(4);
    assertThat(first.groups().areSeveral()).isTrue();
    assertThat(first.reason())
        .isEqualTo("first plan: 1 tables on 4 devices in " + first.groups().describe());
    assertThat(first.replication().synchronizationSteps()).isEqualTo(1_000);
    assertThat(first.replication().synchronizationMs()).isPositive();
    ShardingPlan second = run.plan(upsert("b", 1_000_000, 64, 5));
    assertThat(second.groups()).isEqualTo(first.groups());
    assertThat(second.reason()).isEqualTo("1 table added (b)");
    assertThat(run.second.imbalanceMs(run.plans, Fixtures.WORKLOAD)).isGreaterThanOrEqualTo(0);
    ShardingPlan one =
        run.plan(
            new Change.ClusterSet(
                ClusterSpecBuilder.builder(cluster).replicaGroups(List.of(1)).build()));
    assertThat(one.groups()).isEqualTo(ReplicaGroups.ONE);
    assertThat(one.reason()).isEqualTo("from %s to one group".formatted(first.groups().describe()));
    assertThat(one.transition().moveOrder()).isEmpty();
  }

  /** Each plan chooses its codecs again; without any, ids and plans are what they were. */
  @Test
  void plans_have_the_codecs_that_a_publisher_allows() {
    PlanningRun run = new PlanningRun();
    ModelBundle nodes = TestModels.nodes();
    run.models.takeOver(nodes);
    ClusterSpec plain = new ClusterSpec(4, MEMORY, 65_536, 2, nodes.hardware());
    CommCodec half = new CommCodec("fp16", 2);
    ClusterSpec cluster = ClusterSpecBuilder.builder(plain).codecs(List.of(half)).build();
    ShardingPlan without = run.plan(new Change.ClusterSet(plain), upsert("a", 5_000_000, 64, 5));
    assertThat(without.codecs()).isEmpty();
    ShardingPlan with = run.plan(new Change.ClusterSet(cluster));
    assertThat(with.codecs()).isNotEmpty().allMatch(of -> of.codec().equals(half));
    assertThat(with.predictedMs()).isLessThan(without.predictedMs());
    assertThat(with.transition().moves()).as("no data moves for codecs").isEmpty();
    assertThat(with.planId()).isNotEqualTo(without.planId());
    assertThat(run.second.imbalanceMs(run.plans, Fixtures.WORKLOAD)).isGreaterThanOrEqualTo(0);
    ShardingPlan next = run.plan(upsert("b", 5_000_000, 64, 5));
    assertThat(next.codecs()).isNotEmpty();
    assertThat(run.plan(new Change.ClusterSet(plain), Fixtures.drop("b")).codecs()).isEmpty();
  }

  private static Change kernel(TableKernelBuilder kernel) {
    return new Change.TableUpserted(
        TableSpecBuilder.builder(Fixtures.table("a", 5_000_000, 64, 5))
            .kernel(kernel.build())
            .build());
  }

  private static TableKernelBuilder kernel() {
    return TableKernelBuilder.builder(TableKernel.NONE);
  }

  /** A change of a kernel alone is planned, even where no shard moves; without any, ids stay. */
  @Test
  void kernels_that_a_publisher_decides_are_in_plans() {
    PlanningRun run = new PlanningRun();
    ModelBundle nodes = TestModels.nodes();
    run.models.takeOver(nodes);
    ClusterSpec plain = new ClusterSpec(4, MEMORY, 65_536, 2, nodes.hardware());
    ClusterSpec host = ClusterSpecBuilder.builder(plain).hostMemoryBytesPerDevice(MEMORY).build();
    ShardingPlan any = run.plan(new Change.ClusterSet(host), upsert("a", 5_000_000, 64, 5));
    assertThat(any.kernels()).isEmpty();

    ShardingPlan half = run.plan(kernel(kernel().outputType(Optional.of(OutputType.FP16))));
    assertThat(half.reason()).isEqualTo("1 table changed (a)");
    assertThat(half.kernels())
        .extracting(of -> of.table() + " " + of.kernel().outputType().get())
        .containsExactly("a FP16");
    assertThat(half.predictedMs()).isLessThan(any.predictedMs());
    assertThat(half.transition().moves()).isEmpty();

    ShardingPlan cached =
        run.plan(
            kernel(
                kernel()
                    .computeKernel(Optional.of(ComputeKernel.FUSED_UVM_CACHING))
                    .cacheLoadFactor(OptionalDouble.of(0.2))
                    .cacheAlgorithm(Optional.of(CacheAlgorithm.LFU))));
    assertThat(cached.reason())
        .isEqualTo("1 table changed (a), 1 table running against new constraints (a)");
    assertThat(cached.shards()).allMatch(shard -> shard.cacheShare().orElse(1) == 0.2);
    assertThat(cached.kernels().get(0).kernel().cacheAlgorithm()).contains(CacheAlgorithm.LFU);

    ShardingPlan uncached =
        run.plan(kernel(kernel().computeKernel(Optional.of(ComputeKernel.FUSED_UVM))));
    assertThat(uncached.shards())
        .allMatch(shard -> shard.cacheShare().orElse(1) == TableKernel.NO_CACHE);
    assertThat(uncached.prediction().cacheMisses())
        .extracting(CacheMisses::lookupShare)
        .containsExactly(1.0);
    assertThat(uncached.prediction().deviceCosts()).allMatch(cost -> cost.memoryBytes() == 0);
    assertThat(uncached.predictedMs()).isGreaterThan(cached.predictedMs());

    ShardingPlan dense = run.plan(kernel(kernel().computeKernel(Optional.of(ComputeKernel.DENSE))));
    assertThat(dense.shards()).allMatch(shard -> shard.cacheShare().isEmpty());
    assertThat(dense.reason())
        .isEqualTo("1 table changed (a), 1 table running against new constraints (a)");

    ShardingPlan again = run.plan(upsert("a", 5_000_000, 64, 5));
    assertThat(again.kernels()).isEmpty();
    assertThat(again.predictedMs()).isEqualTo(any.predictedMs());
    PlanningOutcome none =
        run.apply(
            event(
                new Change.ClusterSet(plain),
                kernel(kernel().computeKernel(Optional.of(ComputeKernel.FUSED_UVM_CACHING)))));
    assertThat(((Infeasible) none).workload().shortfall().message())
        .startsWith(
            "No sharding that the constraints allow exists on 4 devices, 2 on a node, without host"
                + " memory, for a (all kinds, kernel fused_uvm_caching)");
  }

  @Test
  void several_groups_need_a_model_that_predicts_their_collectives() {
    PlanningRun run = new PlanningRun();
    ClusterSpec cluster = Fixtures.cluster(4, MEMORY);
    assertThatThrownBy(
            () ->
                run.plan(
                    new Change.ClusterSet(
                        ClusterSpecBuilder.builder(cluster).replicaGroups(List.of(2)).build())))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("must allow 1, since model")
        .hasMessageContaining("got [2]");
    ShardingPlan plan =
        run.plan(
            new Change.ClusterSet(
                ClusterSpecBuilder.builder(cluster).replicaGroups(List.of(1, 2)).build()),
            upsert("a", 1_000_000, 64, 5));
    assertThat(plan.groups()).isEqualTo(ReplicaGroups.ONE);
  }

  /** Another model can apply the event, which is not rejected. */
  @Test
  void a_model_that_cannot_predict_the_cluster_of_a_workload_is_no_fault_of_its_events() {
    PlanningRun run = new PlanningRun();
    ModelBundle nodes = TestModels.nodes();
    run.models.takeOver(nodes);
    ClusterSpec groups =
        ClusterSpecBuilder.builder(new ClusterSpec(4, MEMORY, 65_536, 2, nodes.hardware()))
            .replicaGroups(List.of(2))
            .build();
    run.plan(new Change.ClusterSet(groups), upsert("a", 1_000_000, 64, 5));
    ModelBundle lacksCollectives =
        ModelBundleBuilder.builder(TestModels.bundle())
            .hardware(nodes.hardware())
            .modelId("")
            .build()
            .identified();
    run.models.takeOver(lacksCollectives);
    WorkloadChange later = event(upsert("b", 1_000_000, 64, 5));
    assertModelIsAtFault(() -> run.apply(later), lacksCollectives);
    assertModelIsAtFault(
        () -> run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {}), lacksCollectives);
    run.models.takeOver(nodes);
    assertThat(((Planned) run.apply(later)).plan().generation()).isEqualTo(2);
  }

  private static void assertModelIsAtFault(ThrowingCallable call, ModelBundle model) {
    assertThatThrownBy(call)
        .isExactlyInstanceOf(IllegalStateException.class)
        .hasMessageContaining(model.shown());
  }

  @Test
  void a_plan_says_where_it_comes_from() {
    PlanningRun run = new PlanningRun();
    run.apply(event(upsert("a", 1_000_000, 64, 5)));
    assertThat(run.outcomes).as("there is no cluster yet").isEmpty();
    ShardingPlan first = run.plan(set(4, MEMORY));
    assertThat(first.generation()).isEqualTo(2);
    assertThat(first.workloadId()).isEqualTo(Fixtures.WORKLOAD);
    assertThat(first.origin().source()).isEqualTo(Fixtures.at(1));
    assertThat(first.origin().modelId()).isEqualTo(TestModels.bundle().modelId());
    assertThat(first.origin().settings()).isEqualTo(SearchSettings.DEFAULTS);
    assertThat(first.origin().previousPlanId()).isEmpty();
    assertThat(first.transition().moves()).isEmpty();
    assertThat(first.reason()).isEqualTo("first plan: 1 tables on 4 devices");
    assertThat(first.planId()).isEqualTo(first.contentId());
    assertThat(first.run().createdAt()).isEqualTo(Fixtures.TIME);

    ShardingPlan second = run.plan(upsert("b", 2_000_000, 32, 9), upsert("c", 10, 4, 1));
    assertThat(second.origin().previousPlanId()).contains(first.planId());
    assertThat(second.reason()).isEqualTo("2 tables added (b, c)");
    ShardingPlan third = run.plan(upsert("b", 3_000_000, 32, 9), drop("c"), set(5, MEMORY));
    assertThat(third.reason())
        .isEqualTo("1 table changed (b), 1 table dropped (c), devices from 4 to 5");
    assertThat(run.plan(set(5, 2 * MEMORY)).reason()).isEqualTo("cluster set");
  }

  @Test
  void a_plan_that_no_record_can_hold_is_not_made_and_the_next_change_is_planned() {
    PlanningRun run = new PlanningRun(PlanningSettings.eachGeneration(SearchSettings.QUICK));
    run.plan(set(4, MEMORY), upsert("a", 100_000, 64, 5));
    List<String> names =
        IntStream.range(0, 19_999).mapToObj(i -> "\u6f6e".repeat(250) + i).toList();
    for (List<String> half : List.of(names.subList(0, 10_000), names.subList(10_000, 19_999))) {
      run.apply(event(half.stream().map(name -> upsert(name, 100, 4, 1)).toArray(Change[]::new)));
    }
    assertThat(run.outcomes.get(1)).isInstanceOf(Planned.class);
    assertThat(((PlanningOutcome.Failed) run.outcomes.get(2)).error())
        .hasMessageContainingAll("20,000 tables", "must be at most 15,728,640 bytes");
    ShardingPlan after =
        run.plan(names.stream().limit(10_000).map(name -> drop(name)).toArray(Change[]::new));
    assertThat(after.generation()).isEqualTo(4);
    assertThat(after.shards().stream().map(Shard::table).distinct()).hasSize(10_000);
  }

  @Test
  void only_what_is_new_or_different_is_predicted() {
    PlanningRun run = new PlanningRun();
    assertThat(
            tables(
                run.predict(event(set(4, MEMORY), upsert("a", 10, 4, 1), upsert("b", 10, 4, 1)))))
        .containsExactly("a", "b");
    assertThat(tables(run.predict(event(upsert("b", 20, 4, 1), upsert("a", 10, 4, 1)))))
        .containsExactly("b");
    assertThat(tables(run.predict(event(drop("a"), upsert("c", 10, 4, 1)))))
        .containsExactly("-a", "c");
    assertThat(tables(run.predict(event(set(4, MEMORY / 2))))).containsExactly("nothing");
    assertThat(tables(run.predict(event(set(3, MEMORY)))))
        .as("other devices change what rows are split over")
        .containsExactly("b", "c");
    ClusterSpec batch = new ClusterSpec(3, MEMORY, 1024, 8, TestModels.bundle().hardware());
    assertThat(tables(run.predict(event(new Change.ClusterSet(batch)))))
        .as("another batch size changes every prediction")
        .containsExactly("b", "c");
  }

  private static List<String> tables(List<CostPredictions> parts) {
    for (int p = 0; p < parts.size(); p++) {
      assertThat(parts.get(p).part()).isEqualTo(p);
      assertThat(parts.get(p).parts()).isEqualTo(parts.size());
    }
    return parts.stream()
        .map(
            part -> {
              Update update = part.update().orElse(null);
              return update instanceof Update.Predicted predicted
                  ? predicted.prediction().table().name()
                  : update instanceof Update.Dropped forgotten ? "-" + forgotten.name() : "nothing";
            })
        .toList();
  }

  @Test
  void a_rejected_event_changes_nothing() {
    PlanningRun run = new PlanningRun();
    WorkloadChange applied = event(set(4, MEMORY), upsert("a", 10, 4, 1));
    run.apply(applied);
    assertRejected(
        run, applied, RejectionReason.DUPLICATE_EVENT, "event id must be new for workload");
    assertRejected(
        run,
        event(upsert("b", 10, 4, 1), drop("nope")),
        RejectionReason.UNKNOWN_TABLE,
        "dropped table must be one of workload \"feed-ranking\", got \"nope\"");
    assertRejected(
        run,
        event(new Change.ClusterSet(new ClusterSpec(4, 1, 1, 1, "tpu"))),
        RejectionReason.UNKNOWN_HARDWARE,
        "hardware must be one with a cost model, [simulated], got \"tpu\"; correct the name, or"
            + " train a model of this hardware: docs/MODELS.md. With"
            + " models.unknown.hardware=nearest the planner begins with the nearest model");
    assertThat(run.workloads.header(Fixtures.WORKLOAD).generation()).isEqualTo(1);
    assertThat(run.workloads.tables().range(Fixtures.WORKLOAD)).containsOnlyKeys("a");
  }

  @Test
  void plans_say_that_links_are_from_a_data_sheet() {
    PlanningRun run = new PlanningRun();
    ModelBundle bundle = TestModels.bundle();
    run.models.takeOver(
        TestModels.withCollectives(
            bundle.collectives().stream()
                .map(TestModels::fromDataSheet)
                .toArray(CollectiveNet[]::new)));
    ClusterSpec cluster = new ClusterSpec(4, MEMORY, 65_536, 4, bundle.hardware());
    run.onPredictions(
        run.predict(event(new Change.ClusterSet(cluster), upsert("a", 1_000_000, 64, 20))));
    assertThat(run.plan().reason())
        .isEqualTo("first plan: 1 tables on 4 devices, links of simulated from a data sheet");
  }

  @Test
  void
      a_new_optimizer_of_the_cluster_predicts_tables_again_and_plans_say_what_is_not_known_of_it() {
    PlanningRun run = new PlanningRun();
    ModelBundle bundle = TestModels.bundle();
    ClusterSpec plain = new ClusterSpec(4, MEMORY, 65_536, 4, bundle.hardware());
    TableSpec sgd =
        TableSpecBuilder.builder(Fixtures.table("b", 1_000_000, 64, 20))
            .optimizer(Optional.of(Optimizer.SGD))
            .build();
    run.onPredictions(
        run.predict(
            event(
                new Change.ClusterSet(plain),
                upsert("a", 1_000_000, 64, 20),
                new Change.TableUpserted(sgd))));
    assertThat(run.plan().reason())
        .isEqualTo("first plan: 2 tables on 4 devices, costs do not tell optimizers apart");
    ClusterSpec adam =
        ClusterSpecBuilder.builder(plain).optimizer(Optional.of(Optimizer.ADAM)).build();
    List<CostPredictions> again = run.predict(event(new Change.ClusterSet(adam)));
    assertThat(again).as("b has its own").hasSize(1);
    assertThat(again.get(0).update().orElseThrow())
        .isInstanceOfSatisfying(
            CostPredictions.Update.Predicted.class,
            of -> {
              assertThat(of.prediction().table().name()).isEqualTo("a");
              assertThat(of.prediction().table().optimizer()).contains(Optimizer.ADAM);
            });
    run.onPredictions(again);
    assertThat(run.workloads.tables().range(Fixtures.WORKLOAD).get("a").optimizer())
        .as("the table as published")
        .isEmpty();
    long bytes =
        run.plan().prediction().deviceCosts().stream().mapToLong(DeviceCost::memoryBytes).sum();
    assertThat(bytes).isEqualTo(1_000_000L * 64 * (4 + 8) + 1_000_000L * 64 * 4);
  }

  @Test
  void plans_with_cached_shards_say_whose_costs_of_caches_they_have() {
    PlanningRun run = new PlanningRun();
    ModelBundle bundle = TestModels.allCollectives();
    run.models.takeOver(
        ModelBundleBuilder.builder(bundle)
            .modelId("")
            .cachesFrom(Optional.of(new ModelOrigin("other", "1")))
            .build()
            .identified());
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                new ClusterSpec(1, 4 * Fixtures.GIB, 65_536, 1, bundle.hardware()))
            .hostMemoryBytesPerDevice(100 * Fixtures.GIB)
            .build();
    run.onPredictions(run.predict(event(new Change.ClusterSet(cluster), upsert("a", 1000, 64, 2))));
    assertThat(run.plan().reason()).isEqualTo("first plan: 1 tables on 1 devices");
    run.onPredictions(run.predict(event(upsert("b", 1L << 26, 64, 2))));
    assertThat(run.plan().reason()).isEqualTo("1 table added (b), caches from other, scaled");
  }

  /** A cluster's optimizer, whose state counts, makes a table large enough for caches. */
  @Test
  void a_table_with_its_clusters_optimizer_loses_caches_with_the_host_memory() {
    PlanningRun run = new PlanningRun();
    ModelBundle bundle = TestModels.allCollectives();
    run.models.takeOver(bundle);
    ClusterSpec none =
        ClusterSpecBuilder.builder(
                new ClusterSpec(1, 4 * Fixtures.GIB, 65_536, 1, bundle.hardware()))
            .optimizer(Optional.of(Optimizer.ADAM))
            .build();
    ClusterSpec host =
        ClusterSpecBuilder.builder(none).hostMemoryBytesPerDevice(Fixtures.GIB).build();
    // 2 MiB without the state, 6 with it; tables of less than 4 have no caches.
    List<CostPredictions> cached =
        run.predict(event(new Change.ClusterSet(host), upsert("a", 1 << 13, 64, 0.01)));
    assertThat(options(cached)).anyMatch(option -> option.part().cacheShare().isPresent());
    assertThat(options(run.predict(event(new Change.ClusterSet(none)))))
        .isNotEmpty()
        .noneMatch(option -> option.part().cacheShare().isPresent());
  }

  private static Set<Option> options(List<CostPredictions> of) {
    CostPredictions.Update only = of.get(0).update().orElseThrow();
    return ((CostPredictions.Update.Predicted) only).prediction().towers().keySet();
  }

  /** Nothing but the constraints changes: the table is predicted again, with blocks of its rows. */
  @Test
  void a_table_that_names_blocks_of_rows_gets_them_and_loses_them_again() {
    PlanningRun run = new PlanningRun();
    ModelBundle bundle = TestModels.allCollectives();
    run.models.takeOver(bundle);
    ClusterSpec cluster = new ClusterSpec(4, MEMORY, 65_536, 4, bundle.hardware());
    TableSpec table = Fixtures.table("a", 1_000_000, 16, 20);
    run.onPredictions(
        run.predict(event(new Change.ClusterSet(cluster), new Change.TableUpserted(table))));
    assertThat(run.plan().shards()).noneMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    TableSpec named =
        table.withConstraints(TableConstraints.NONE.withKinds(Set.of(ShardKind.PARTIAL_ROW_WISE)));
    run.onPredictions(run.predict(event(new Change.TableUpserted(named))));
    ShardingPlan plan = run.plan();
    assertThat(plan.shards()).hasSizeBetween(2, 4);
    assertThat(plan.shards()).allMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    assertThat(plan.reason()).contains("1 table running against new constraints (a)");
    run.onPredictions(run.predict(event(new Change.TableUpserted(table))));
    ShardingPlan after = run.plan();
    assertThat(after.shards()).noneMatch(shard -> shard.kind() == ShardKind.PARTIAL_ROW_WISE);
    assertThat(after.reason()).contains("1 table running against new constraints (a)");
  }

  @Test
  void hardware_without_a_model_begins_with_the_nearest_one_and_plans_say_so() {
    PlanningRun run = new PlanningRun();
    run.models.unknownHardware = UnknownHardware.NEAREST;
    ClusterSpec cluster = new ClusterSpec(4, MEMORY, 65_536, 4, "h100");
    assertThatThrownBy(() -> run.apply(event(new Change.ClusterSet(cluster), drop("nope"))))
        .isInstanceOf(RejectedException.class);
    assertThat(run.models.hardware())
        .as("a rejected event begins nothing")
        .containsExactly("simulated");

    List<CostPredictions> parts =
        run.predict(event(new Change.ClusterSet(cluster), upsert("a", 1_000_000, 64, 20)));
    assertThat(parts)
        .extracting(CostPredictions::proxyHardware)
        .containsOnly(Optional.of("simulated"));
    run.onPredictions(parts);
    ShardingPlan first = run.plan();
    assertThat(first.reason())
        .isEqualTo("first plan: 1 tables on 4 devices, costs of simulated until h100 is measured");
    ModelBundle begun = run.models.get(first.origin().modelId()).bundle();
    assertThat(begun.hardware()).isEqualTo("h100");

    ShardingPlan second = ((Planned) run.apply(event(upsert("b", 1_000_000, 64, 20)))).plan();
    assertThat(second.origin().modelId()).as("it begins once").isEqualTo(first.origin().modelId());
    assertThat(second.reason())
        .isEqualTo("1 table added (b), costs of simulated until h100 is measured");

    run.models.takeOver(TestModels.measured(begun, 32));
    run.onPredictions(run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {}));
    assertThat(run.plan().reason())
        .isEqualTo("new cost model that began as simulated, fine-tuned on 32 computations of h100");
  }

  private static void assertRejected(
      PlanningRun run, WorkloadChange event, RejectionReason reason, String message) {
    assertThatThrownBy(() -> run.apply(event))
        .isInstanceOfSatisfying(
            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(message);
  }

  @Test
  void what_does_not_fit_leaves_the_last_good_plan_in_place() {
    PlanningRun run = new PlanningRun();
    ShardingPlan good = run.plan(set(2, Fixtures.GIB), upsert("a", 1_000_000, 64, 5));
    Infeasible bad = (Infeasible) run.apply(event(upsert("b", 100_000_000, 64, 5)));
    assertThat(bad.workload().generation()).isEqualTo(2);
    assertThat(bad.workload().shortfall().tablesToBlame().get(0).table()).isEqualTo("b");
    assertThat(run.plans.latest(Fixtures.WORKLOAD)).contains(good);
    ShardingPlan next = run.plan(upsert("b", 100_000, 64, 5));
    assertThat(next.origin().previousPlanId()).contains(good.planId());
    assertThat(next.reason()).isEqualTo("1 table added (b)");
  }

  @Test
  void a_plan_that_changes_nothing_moves_nothing() {
    PlanningRun run = new PlanningRun();
    Change[] many = new Change[12];
    for (int i = 0; i < many.length; i++) {
      many[i] = upsert("t" + i, 100_000L * (i + 1), 64, i + 1);
    }
    run.apply(event(set(4, MEMORY)));
    run.plan(many);
    // Each generation is searched; the second search may still find a better plan than the first.
    ShardingPlan settled = run.plan(set(4, 2 * MEMORY));
    ShardingPlan next = run.plan(set(4, 3 * MEMORY));
    assertThat(next.shards()).isEqualTo(settled.shards());
    assertThat(next.transition().moves()).isEmpty();
  }

  @Test
  void a_burst_is_planned_once_and_the_plan_says_what_it_answers() {
    PlanningRun run = new PlanningRun();
    run.apply(event(upsert("a", 1_000_000, 64, 5)));
    ShardingPlan first = run.plan(set(4, MEMORY));
    assertThat(first.origin().firstGeneration()).as("nothing was planned before").isEqualTo(1);
    run.onPredictions(run.predict(event(upsert("b", 1_000, 64, 5))));
    run.onPredictions(run.predict(event(upsert("c", 1_000, 64, 5))));
    run.onPredictions(run.predict(event(drop("b"))));
    ShardingPlan burst = run.plan();
    assertThat(burst.origin().firstGeneration()).isEqualTo(3);
    assertThat(burst.generation()).isEqualTo(5);
    assertThat(burst.reason()).isEqualTo("1 table added (c)");
    assertThat(run.second.plan(run.plans, Fixtures.WORKLOAD)).as("nothing waits").isEmpty();
  }

  @Test
  void a_generation_that_is_read_in_part_is_not_planned() {
    PlanningRun run = new PlanningRun();
    run.plan(set(4, MEMORY), upsert("a", 1_000, 64, 5));
    run.onPredictions(run.predict(event(upsert("b", 1_000, 64, 5))));
    List<CostPredictions> next =
        run.predict(event(upsert("c", 1_000, 64, 5), upsert("d", 1_000, 64, 5)));
    run.onPredictions(next.subList(0, 1));
    assertThat(run.second.plan(run.plans, Fixtures.WORKLOAD)).isEmpty();
    run.onPredictions(next.subList(1, 2));
    ShardingPlan plan = run.plan();
    assertThat(plan.origin().firstGeneration()).isEqualTo(2);
    assertThat(plan.generation()).isEqualTo(3);
  }

  @Test
  void moves_are_counted_from_the_plan_that_the_trainer_adopted() {
    PlanningRun run = new PlanningRun();
    ShardingPlan first = run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    ShardingPlan second = run.plan(upsert("b", 1_000_000, 64, 5));
    assertThat(second.origin().previousPlanId()).as("nobody reports").contains(first.planId());
    run.report(first, PlanStatus.StatusKind.ADOPTED, 10);
    ShardingPlan third = run.plan(upsert("c", 1_000_000, 64, 5));
    assertThat(third.origin().previousPlanId())
        .as("nobody adopted the second: it is superseded")
        .contains(first.planId());
    assertThat(third.reason()).isEqualTo("2 tables added (b, c)");
    run.report(third, PlanStatus.StatusKind.FINISHED_MOVING, 11);
    ShardingPlan fourth = run.plan(drop("a"));
    assertThat(fourth.origin().previousPlanId()).contains(third.planId());
    run.report(fourth, PlanStatus.StatusKind.ADOPTED, 12);
    run.report(fourth, PlanStatus.StatusKind.REJECTED, 12);
    assertThat(run.plan(upsert("e", 1_000, 4, 1)).origin().previousPlanId())
        .as("a plan that was adopted and then rejected leads back to the one before it")
        .contains(third.planId());
  }

  @Test
  void a_trainer_whose_first_word_is_no_stays_where_it_was() {
    PlanningRun run = new PlanningRun();
    ShardingPlan first = run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    ShardingPlan second = run.plan(upsert("b", 1_000_000, 64, 5));
    run.report(second, PlanStatus.StatusKind.REJECTED, 5);
    assertThat(run.plan(upsert("c", 1_000, 64, 5)).origin().previousPlanId())
        .contains(first.planId());

    PlanningRun other = new PlanningRun();
    ShardingPlan only = other.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    other.report(only, PlanStatus.StatusKind.REJECTED, 5);
    ShardingPlan next = other.plan(upsert("c", 1_000, 64, 5));
    assertThat(next.origin().previousPlanId()).as("nothing runs").isEmpty();
    assertThat(next.transition().moves()).isEmpty();
  }

  @Test
  void a_status_that_is_late_or_of_an_unknown_plan_changes_nothing() {
    PlanningRun run = new PlanningRun();
    ShardingPlan first = run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    ShardingPlan second = run.plan(upsert("b", 1_000_000, 64, 5));
    run.report(second, PlanStatus.StatusKind.ADOPTED, 10);
    assertThatThrownBy(() -> run.report(first, PlanStatus.StatusKind.ADOPTED, 9))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.STALE_STATUS))
        .hasMessageContaining("got 9")
        .hasMessageContaining("must be at least 10");
    ShardingPlan foreign = new PlanningRun().plan(set(2, MEMORY), upsert("z", 10, 4, 1));
    assertThatThrownBy(() -> run.report(foreign, PlanStatus.StatusKind.ADOPTED, 11))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_PLAN));
    run.report(first, PlanStatus.StatusKind.ADOPTED, 4, "started again from a checkpoint");
    assertThatThrownBy(
            () ->
                run.report(
                    second, PlanStatus.StatusKind.ADOPTED, 3, "started again from a checkpoint"))
        .isInstanceOf(RejectedException.class);
    assertThat(run.plan(drop("a")).origin().previousPlanId())
        .as("a trainer that goes back to a checkpoint is heard")
        .contains(first.planId());
  }

  @Test
  void plans_are_forgotten_but_for_the_latest_and_the_one_that_runs() {
    PlanningRun run = new PlanningRun();
    ShardingPlan first = run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    run.report(first, PlanStatus.StatusKind.ADOPTED, 1);
    for (int i = 0; i < PlanHistory.MOST + 5; i++) {
      assertThat(run.plan(upsert("b", 1_000 + i, 64, 5)).origin().previousPlanId())
          .contains(first.planId());
    }
    assertThat(run.plans.plans().range(Fixtures.WORKLOAD)).hasSize(PlanHistory.MOST);
  }

  /** A reshard takes as long as 40 changes, and fails. */
  @Test
  void a_plan_that_shards_move_away_from_is_kept() {
    PlanningRun run = new PlanningRun();
    ShardingPlan first = run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 5));
    run.report(first, PlanStatus.StatusKind.ADOPTED, 1);
    ShardingPlan second = run.plan(upsert("b", 1_000_000, 64, 5));
    run.report(second, PlanStatus.StatusKind.ADOPTED, 2);
    for (int i = 0; i < 40; i++) {
      assertThat(run.plan(upsert("c", 1_000 + i, 64, 5)).origin().previousPlanId())
          .contains(second.planId());
    }
    run.report(second, PlanStatus.StatusKind.REJECTED, 2);
    ShardingPlan next = run.plan(upsert("c", 2_000, 64, 5));
    assertThat(next.origin().previousPlanId()).contains(first.planId());
    assertThat(next.transition().moves()).as("table a runs in the first plan").isEmpty();
    assertThat(next.shards().stream().filter(shard -> shard.table().equals("a")).toList())
        .isEqualTo(first.shards());
  }

  private static final PlanningSettings DEEPER =
      new PlanningSettings(
          Duration.ZERO,
          Duration.ZERO,
          Fixtures.settings(1, 0, 10, 0.1, 0, 1_000),
          Optional.of(Fixtures.settings(1, 100_000, 10, 0.1, 0, 100_000)),
          Duration.ZERO,
          0.005,
          0);

  private static Change[] manyTables() {
    Change[] many = new Change[24];
    for (int i = 0; i < many.length; i++) {
      many[i] = upsert("t" + i, 50_000L * (i + 1), 64, 1 + 7 * i % 40);
    }
    return many;
  }

  /** Drives a workload to a quick plan with much to gain, and returns the plan. */
  private static ShardingPlan quickly(PlanningRun run) {
    run.apply(event(manyTables()));
    run.apply(event(set(8, MEMORY)));
    return run.plan(set(5, MEMORY));
  }

  @Test
  void a_deeper_search_is_published_where_its_gain_pays_for_its_moves() {
    PlanningRun run = new PlanningRun(DEEPER);
    ShardingPlan quick = quickly(run);
    PlanningStep.SearchTask search =
        run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
    ShardingPlan deep =
        run.second.finish(run.plans, search, run.second.search(search)).orElseThrow().plan();
    assertThat(deep.origin().effort()).isEqualTo(Effort.DEEP);
    assertThat(deep.generation()).isEqualTo(quick.generation());
    assertThat(deep.origin().firstGeneration()).isEqualTo(quick.origin().firstGeneration());
    assertThat(deep.origin().previousPlanId()).contains(quick.planId());
    assertThat(deep.reason()).isEqualTo("background search: nothing changed");
    PlanningOutcome teaching =
        new Planner(() -> Fixtures.TIME, () -> 0).plan(search.request().teaching());
    assertThat(((PlanningOutcome.Planned) teaching).plan().reason())
        .isEqualTo("background search, to learn what shards cost: nothing changed");
    assertThat(deep.predictedMs() + deep.origin().settings().moveMs(deep.transition().moves()))
        .isLessThan(0.995 * quick.predictedMs());
    assertThat(run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD))
        .as("once is enough")
        .isEmpty();
    assertThat(run.plan(drop("t3")).origin().previousPlanId()).contains(deep.planId());
  }

  private static PlanningSettings exploring(double exploration) {
    return new PlanningSettings(
        DEEPER.debounce(),
        DEEPER.longestWait(),
        DEEPER.quick(),
        DEEPER.deep(),
        DEEPER.deepAfter(),
        DEEPER.deepGain(),
        exploration);
  }

  /** Returns a model that does not know what shards of less than 64 columns cost. */
  private static ModelBundle uncertain(double deviation) {
    double[] draw = new double[ShapeBasis.SIZE];
    double[] opposite = new double[ShapeBasis.SIZE];
    // Functions 5 to 20 are ramps over columns; ramp 7 rises from 2^5.5 to 2^6 columns.
    draw[0] = deviation;
    draw[5 + 7] = -deviation;
    Arrays.setAll(opposite, f -> -draw[f]);
    double[] none = new double[ShapeBasis.SIZE];
    return ModelBundleBuilder.builder(TestModels.bundle())
        .modelId("")
        .correction(
            Optional.of(
                new LogCorrection(
                    List.of(
                        new LogCorrection.Member(0, none, draw),
                        new LogCorrection.Member(0, none, opposite)))))
        .build()
        .identified();
  }

  private static ShardingPlan found(PlanningRun run, PlanningStep.SearchTask search) {
    return ((Planned) run.second.search(search)).plan();
  }

  @Test
  void a_background_search_prefers_a_plan_that_teaches_within_the_bound_of_its_cost() {
    int taught = 0;
    for (double exploration : new double[] {0.001, 0.02, 0.1}) {
      PlanningRun run = new PlanningRun(exploring(exploration));
      run.models.takeOver(uncertain(0.2));
      ShardingPlan quick = quickly(run);
      PlanningStep.SearchTask search =
          run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
      ShardingPlan cheapest =
          ((Planned) new Planner(() -> Fixtures.TIME, () -> 0).plan(search.request())).plan();
      assertThat(cheapest.predictedMs()).isLessThan(quick.predictedMs());
      ShardingPlan plan = found(run, search);
      if (!plan.isExploratory()) {
        assertThat(plan.planId()).isEqualTo(cheapest.planId());
        continue;
      }
      taught++;
      assertThat(plan.predictedMs())
          .isLessThanOrEqualTo((1 + exploration) * cheapest.predictedMs());
      assertThat(plan.prediction().insight().uncertaintyMs())
          .isGreaterThan(cheapest.prediction().insight().uncertaintyMs());
      assertThat(plan.reason()).startsWith("background search, to learn what shards cost");
      assertThat(run.second.finish(run.plans, search, run.second.search(search)))
          .as("its moves need not pay")
          .hasValueSatisfying(
              published -> assertThat(published.plan().planId()).isEqualTo(plan.planId()));
      assertThat(found(run, new PlanningStep.SearchTask(search.request(), plan)).isExploratory())
          .as("the plan that runs teaches already")
          .isFalse();
    }
    assertThat(taught).isPositive();
  }

  @Test
  void no_plan_teaches_without_exploration_or_without_a_correction() {
    PlanningRun cautious = new PlanningRun(exploring(0));
    cautious.models.takeOver(uncertain(0.5));
    PlanningRun trained = new PlanningRun(exploring(0.1));
    for (PlanningRun run : List.of(cautious, trained)) {
      quickly(run);
      PlanningStep.SearchTask search =
          run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
      ShardingPlan plan = found(run, search);
      assertThat(plan.isExploratory()).isFalse();
      assertThat(plan.reason()).isEqualTo("background search: nothing changed");
    }
  }

  @Test
  void a_deeper_search_whose_gain_is_too_small_is_not_published() {
    PlanningSettings greedy =
        new PlanningSettings(
            Duration.ZERO, Duration.ZERO, DEEPER.quick(), DEEPER.deep(), Duration.ZERO, 0.99, 0);
    PlanningRun run = new PlanningRun(greedy);
    ShardingPlan quick = quickly(run);
    PlanningStep.SearchTask search =
        run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
    assertThat(run.second.finish(run.plans, search, run.second.search(search))).isEmpty();
    assertThat(run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD)).isEmpty();
    assertThat(run.plans.latest(Fixtures.WORKLOAD)).contains(quick);
  }

  @Test
  void a_deeper_search_of_what_is_no_longer_current_is_for_nothing() {
    PlanningRun run = new PlanningRun(DEEPER);
    quickly(run);
    PlanningStep.SearchTask search =
        run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
    PlanningOutcome found = run.second.search(search);
    run.onPredictions(run.predict(event(drop("t3"))));
    assertThat(run.second.finish(run.plans, search, found)).as("before it is planned").isEmpty();
    ShardingPlan next = run.plan();
    assertThat(run.second.finish(run.plans, search, found)).as("and after").isEmpty();
    assertThat(run.plans.latest(Fixtures.WORKLOAD)).contains(next);

    PlanningStep.SearchTask again =
        run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD).orElseThrow();
    run.report(next, PlanStatus.StatusKind.REJECTED, 3);
    assertThat(run.second.finish(run.plans, again, run.second.search(again)))
        .as("the trainer runs another plan")
        .isEmpty();
    assertThat(run.second.backgroundSearch(run.plans, Fixtures.WORKLOAD))
        .as("so it is searched from there")
        .isPresent();
  }

  @Test
  void a_new_model_predicts_and_plans_the_same_generation_again() {
    PlanningRun run = new PlanningRun();
    ShardingPlan before = run.plan(set(4, MEMORY), upsert("a", 1_000, 64, 5));
    assertThat(run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {})).isEmpty();
    run.models.takeOver(TestModels.otherBundle());
    List<CostPredictions> repredicted =
        run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {});
    assertThat(repredicted).singleElement().satisfies(p -> assertThat(p.generation()).isEqualTo(1));
    assertThat(run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {}))
        .as("once")
        .isEmpty();
    run.onPredictions(repredicted);
    assertThat(run.plans.header(Fixtures.WORKLOAD).state()).isEqualTo(PendingWork.MODEL_PENDING);
    assertThat(run.second.imbalanceMs(run.plans, Fixtures.WORKLOAD)).isNotNegative();
    ShardingPlan after = run.plan();
    assertThat(after.origin().modelId()).isEqualTo(TestModels.otherBundle().modelId());
    assertThat(after.generation()).isEqualTo(1);
    assertThat(after.origin().firstGeneration()).isEqualTo(1);
    assertThat(after.origin().source()).isEqualTo(before.origin().source());
    assertThat(after.origin().previousPlanId()).contains(before.planId());
    assertThat(after.reason()).isEqualTo("new cost model");
  }

  @Test
  void a_change_that_waits_is_not_put_off_by_a_new_model() {
    PlanningRun run = new PlanningRun();
    run.plan(set(4, MEMORY), upsert("a", 1_000, 64, 5));
    run.onPredictions(run.predict(event(upsert("b", 1_000, 64, 5))));
    run.models.takeOver(TestModels.otherBundle());
    run.onPredictions(run.first.repredict(run.workloads, Fixtures.WORKLOAD, part -> {}));
    assertThat(run.plans.header(Fixtures.WORKLOAD).state()).isEqualTo(PendingWork.CHANGE_PENDING);
    assertThat(run.plan().reason()).isEqualTo("1 table added (b), new cost model");
  }

  @Test
  void a_workload_whose_tables_are_gone_can_come_back() {
    PlanningRun run = new PlanningRun();
    run.plan(set(4, MEMORY), upsert("a", 1_000, 64, 5));
    ShardingPlan empty = run.plan(drop("a"));
    assertThat(empty.shards()).isEmpty();
    assertThat(empty.predictedMs()).isZero();
    ShardingPlan back = run.plan(upsert("a", 2_000, 64, 5));
    assertThat(back.shards()).isNotEmpty();
    assertThat(back.origin().previousPlanId()).contains(empty.planId());
    assertThat(back.transition().moves()).as("a new table is filled, not moved").isEmpty();
  }

  /**
   * The same events give the same plans, whatever the clocks say and in whatever order stores give
   * tables back; and each plan is whole, fits, and its moves lead from the plan before it.
   */
  @Property(tries = 20)
  void the_same_events_give_the_same_plans(@ForAll long seed) {
    List<WorkloadChange> events = randomEvents(new Random(seed));
    PlanningRun one = new PlanningRun(1, InstantSource.fixed(Fixtures.TIME));
    PlanningRun two = new PlanningRun(2, InstantSource.fixed(Fixtures.TIME.plusSeconds(86_400)));
    Map<String, TableSpec> tables = new TreeMap<>();
    ShardingPlan before = null;
    for (WorkloadChange event : events) {
      PlanningOutcome a = one.apply(event);
      PlanningOutcome b = two.apply(event);
      apply(tables, event);
      if (a instanceof Planned planned && b instanceof Planned again) {
        assertThat(again.plan().planId()).isEqualTo(planned.plan().planId());
        checkWhole(planned.plan(), tables, MEMORY);
        checkMoves(planned.plan(), before);
        before = planned.plan();
      } else {
        assertThat(b).isEqualTo(a);
      }
    }
  }

  private static List<WorkloadChange> randomEvents(Random random) {
    List<WorkloadChange> events = new ArrayList<>();
    List<String> names = new ArrayList<>();
    events.add(event(set(1 + random.nextInt(6), MEMORY)));
    for (int i = 0; i < 8; i++) {
      List<Change> changes = new ArrayList<>();
      int kind = random.nextInt(5);
      if (kind == 0 && names.size() > 1) {
        changes.add(drop(names.remove(random.nextInt(names.size()))));
      } else if (kind == 1) {
        changes.add(set(1 + random.nextInt(6), MEMORY));
      } else {
        for (String name :
            random.ints(1 + random.nextInt(4), 0, 20).distinct().mapToObj(t -> "t" + t).toList()) {
          if (!names.contains(name)) {
            names.add(name);
          }
          long rows = (long) Math.pow(10, 2 + 5.5 * random.nextDouble());
          changes.add(upsert(name, rows, 4 * (1 + random.nextInt(40)), 1 + random.nextInt(60)));
        }
      }
      events.add(event(changes.toArray(new Change[0])));
    }
    return events;
  }

  private static void apply(Map<String, TableSpec> tables, WorkloadChange event) {
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        tables.put(upserted.table().name(), upserted.table());
      } else if (change instanceof Change.TableDropped dropped) {
        tables.remove(dropped.name());
      }
    }
  }

  private static void checkWhole(
      ShardingPlan plan, Map<String, TableSpec> tables, long memoryBytes) {
    long[] bytes = new long[plan.prediction().deviceCosts().size()];
    for (TableSpec table : tables.values()) {
      int[] covered = new int[table.columns()];
      plan.shards().stream()
          .filter(s -> s.table().equals(table.name()))
          .forEach(
              s -> {
                for (int c = s.columnOffset(); c < s.region().columnEnd(); c++) {
                  covered[c]++;
                }
                bytes[s.device()] += table.bytes(s.columns());
              });
      assertThat(covered).containsOnly(1);
    }
    assertThat(plan.shards().stream().map(s -> s.table()).distinct())
        .containsExactlyElementsOf(tables.keySet());
    for (int d = 0; d < bytes.length; d++) {
      assertThat(bytes[d]).isLessThanOrEqualTo(memoryBytes);
      assertThat(plan.prediction().deviceCosts().get(d).memoryBytes()).isEqualTo(bytes[d]);
    }
    assertThat(plan.predictedMs())
        .isCloseTo(
            plan.prediction().deviceCosts().stream()
                .mapToDouble(DeviceCost::totalMs)
                .max()
                .orElse(0),
            org.assertj.core.data.Offset.offset(1e-12 * plan.predictedMs()));
  }

  private static void checkMoves(ShardingPlan plan, ShardingPlan before) {
    if (before == null) {
      assertThat(plan.transition().moves()).isEmpty();
      return;
    }
    assertThat(plan.origin().previousPlanId()).contains(before.planId());
    for (Transfer move : plan.transition().moves()) {
      assertThat(before.shards())
          .anyMatch(
              s ->
                  s.table().equals(move.table())
                      && s.device() == move.fromDevice()
                      && s.columnOffset() <= move.region().columnOffset()
                      && s.region().columnEnd() >= move.region().columnEnd());
      assertThat(plan.shards())
          .anyMatch(
              s ->
                  s.table().equals(move.table())
                      && s.device() == move.toDevice()
                      && s.columnOffset() <= move.region().columnOffset()
                      && s.region().columnEnd() >= move.region().columnEnd());
    }
  }

  private static DeviceSpeeds slow(int device) {
    return new DeviceSpeeds(
        Fixtures.WORKLOAD,
        "p",
        Fixtures.TIME,
        List.of(new DeviceSpeed(device, CostPart.COMPUTATION, 1.5, 0.02, Fixtures.TIME)));
  }

  @Test
  void other_speeds_replan_a_generation_once() {
    PlanningRun run = new PlanningRun();
    ShardingPlan before = run.plan(set(2, MEMORY), upsert("a", 1_000_000, 64, 50));
    assertThat(run.second.onSpeeds(run.plans, slow(1)).isDue()).isTrue();
    ShardingPlan plan =
        ((Planned) run.second.plan(run.plans, Fixtures.WORKLOAD).orElseThrow()).plan();
    assertThat(plan.generation()).isEqualTo(before.generation());
    assertThat(plan.origin().slow()).isEqualTo(slow(1).slow());
    assertThat(plan.reason()).startsWith("device 1 computes 1.5 times slower since 10:15 UTC: ");
    assertThat(run.second.onSpeeds(run.plans, slow(1)).isDue()).as("nothing changed").isFalse();
    ShardingPlan next = run.plan(upsert("b", 1_000, 64, 5));
    assertThat(next.origin().slow()).as("of later plans").isEqualTo(slow(1).slow());
    assertThat(next.reason()).isEqualTo("1 table added (b)");
    DeviceSpeeds well = new DeviceSpeeds(Fixtures.WORKLOAD, "p", Fixtures.TIME, List.of());
    assertThat(run.second.onSpeeds(run.plans, well).isDue()).isTrue();
    ShardingPlan last =
        ((Planned) run.second.plan(run.plans, Fixtures.WORKLOAD).orElseThrow()).plan();
    assertThat(last.reason()).startsWith("device 1 computes at full speed again: ");
    assertThat(last.origin().slow()).isEmpty();
  }

  @Test
  void speeds_of_devices_that_are_gone_are_forgotten() {
    PlanningRun run = new PlanningRun();
    run.plan(set(4, MEMORY), upsert("a", 1_000_000, 64, 50));
    run.second.onSpeeds(run.plans, slow(3));
    assertThat(run.plan(set(4, 2 * MEMORY)).origin().slow()).hasSize(1);
    assertThat(run.plan(set(3, MEMORY)).origin().slow()).isEmpty();
  }

  @Test
  void speeds_of_unknown_devices_and_workloads_are_rejected() {
    PlanningRun run = new PlanningRun();
    assertThatThrownBy(() -> run.second.onSpeeds(run.plans, slow(0)))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_WORKLOAD));
    run.plan(set(2, MEMORY), upsert("a", 1_000_000, 64, 50));
    assertThatThrownBy(() -> run.second.onSpeeds(run.plans, slow(2)))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_SPEEDS))
        .hasMessageContaining("must be one of its 2 devices, from 0, got 2");
  }
}
