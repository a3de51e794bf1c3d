package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.StepCost;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.state.DriftAlarm;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Samples;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Samples of measured plans have the shapes, groups and bytes that plans are predicted from. */
class MeasuredPlanTest {
  private static final int BATCH = 65_536;
  private static final Offset<Double> CLOSE = within(1e-9);

  /** Two nodes of four devices, which send outputs in half precision. */
  private static final ClusterSpec CLUSTER =
      ClusterSpecBuilder.builder(
              new ClusterSpec(8, 8 * Fixtures.GIB, BATCH, 4, TestModels.bundle().hardware()))
          .forwardBytesPerElement(2)
          .build();

  private final CostModel model = new CostModel(TestModels.allCollectives());
  private final PlainTowers towers = new PlainTowers(model.bundle());
  private final SimulatedTrainer trainer = new SimulatedTrainer();
  private final List<TableSpec> tables = new ArrayList<>();

  private static Sharding sharding(ShardKind kind) {
    return switch (kind) {
      case TABLE_WISE -> new Sharding.TableWise(3);
      case COLUMN_WISE ->
          new Sharding.ColumnWise(List.of(new ColumnPart(32, 3), new ColumnPart(32, 6)));
      case TABLE_COLUMN_WISE ->
          new Sharding.TableColumnWise(List.of(new ColumnPart(32, 4), new ColumnPart(32, 7)));
      case TABLE_ROW_WISE -> new Sharding.TableRowWise(1);
      case GRID_SHARD -> new Sharding.GridShard(List.of(new NodePart(32, 0), new NodePart(32, 1)));
      case ROW_WISE -> new Sharding.RowWise();
      case DATA_PARALLEL -> new Sharding.DataParallel();
      case PARTIAL_ROW_WISE -> new Sharding.PartialRowWise(List.of(5, 1, 2));
    };
  }

  /** Publishes tables of kinds, one table each, and returns their plan as a planner predicts it. */
  private ShardingPlan plan(long rows, ShardKind... kinds) {
    List<TableSpec> planned = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (ShardKind kind : kinds) {
      TableSpec table =
          Fixtures.table(kind.label(), rows, 64, 20 + tables.size())
              .withConstraints(
                  !kind.isOfTorchRec()
                      ? TableConstraints.NONE.withKinds(EnumSet.allOf(ShardKind.class))
                      : TableConstraints.NONE);
      tables.add(table);
      planned.add(table);
      shards.addAll(sharding(kind).shards(table, CLUSTER));
    }
    shards.sort(Shard.ORDER);
    StepCost cost = StepCosts.of(towers.predict(tables, CLUSTER), shards, CLUSTER, model);
    return trainer.plan(CLUSTER, planned, shards, cost);
  }

  /** Returns the communication of each device without idle time. */
  private static double[] commMs(ShardingPlan plan, Direction direction) {
    List<DeviceCost> costs = plan.prediction().deviceCosts();
    double last =
        costs.stream().mapToDouble(c -> c.computeMs() + c.backwardCommMs()).max().orElse(0);
    return costs.stream()
        .mapToDouble(
            c ->
                direction == Direction.BACKWARD
                    ? c.backwardCommMs()
                    : c.forwardCommMs() - (last - c.computeMs() - c.backwardCommMs()))
        .toArray();
  }

  /** Returns a report of the predicted costs, collectives of a direction with equal parts of it. */
  private MeasuredCosts measured(ShardingPlan plan, ShardScope scope) {
    List<MeasuredCollective> collectives = new ArrayList<>();
    for (Direction direction : Direction.values()) {
      var ofScope = scope.collectives(direction);
      double[] ms = commMs(plan, direction);
      List<Double> part =
          IntStream.range(0, ms.length).mapToObj(d -> ms[d] / ofScope.size()).toList();
      ofScope.forEach(c -> collectives.add(new MeasuredCollective(scope, c, direction, part)));
    }
    return MeasuredCostsBuilder.builder(trainer.measured(plan, d -> 1))
        .collectives(collectives)
        .build();
  }

  private static List<CostSample.StepCommunication> communications(Feedback feedback) {
    return feedback.samples().stream()
        .map(CostSample::cost)
        .filter(CostSample.StepCommunication.class::isInstance)
        .map(CostSample.StepCommunication.class::cast)
        .toList();
  }

  private void assertPredictedAsPlanned(Feedback feedback, ShardingPlan plan) {
    SampleSet set = SampleSet.of(feedback.samples());
    List<Double> predicted =
        Evaluation.of(model, towers, set).computations().stream()
            .map(Evaluation.ComputePrediction::predictedMs)
            .toList();
    assertThat(predicted)
        .isNotEmpty()
        .isEqualTo(
            plan.prediction().deviceCosts().stream()
                .map(DeviceCost::computeMs)
                .filter(ms -> ms > 0)
                .toList());
  }

  /** Its hot rows and its others are tables of their own; its all-to-all sends no columns. */
  @Test
  void samples_of_an_unpooled_table_with_hot_rows_are_predicted_as_the_plan_was() {
    TableSpec table =
        TableSpecBuilder.builder(Fixtures.table("used", 1 << 20, 64, 20))
            .accessCdf(Fixtures.cdf(1 << 20))
            .pooled(false)
            .build();
    tables.add(table);
    List<Shard> shards =
        new Sharding.HotColdSplit(4_096, new Sharding.RowWise()).shards(table, CLUSTER);
    StepCost cost = StepCosts.of(towers.predict(tables, CLUSTER), shards, CLUSTER, model);
    ShardingPlan plan = trainer.plan(CLUSTER, tables, shards, cost);
    Feedback feedback = trainer.step.measure(trainer.store, measured(plan, ShardScope.DEVICE));
    assertPredictedAsPlanned(feedback, plan);
    assertThat(communications(feedback)).isEmpty();
  }

  /** Its all-to-all sends other outputs than one a sample, which columns do not tell. */
  @Test
  void samples_of_a_table_with_features_are_predicted_as_the_plan_was() {
    TableSpec table =
        Fixtures.table("shared", 1 << 20, 64, 1)
            .withFeatures(List.of(new TableFeature("a", 20), new TableFeature("b", 6, 0.25, 1.5)));
    tables.add(table);
    List<Shard> shards = sharding(ShardKind.GRID_SHARD).shards(table, CLUSTER);
    StepCost cost = StepCosts.of(towers.predict(tables, CLUSTER), shards, CLUSTER, model);
    ShardingPlan plan = trainer.plan(CLUSTER, tables, shards, cost);
    Feedback feedback = trainer.step.measure(trainer.store, measured(plan, ShardScope.NODE));
    assertPredictedAsPlanned(feedback, plan);
    assertThat(communications(feedback)).isEmpty();
  }

  /** The devices of one group are measured; each has its part of the group's batch. */
  @Test
  void samples_of_a_replica_group_are_predicted_as_the_plan_was() {
    ReplicaGroups groups = new ReplicaGroups(2, GroupLayout.STRIDED);
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(CLUSTER)
            .replicaGroups(List.of(1, 2))
            .synchronizationSteps(1_000_000)
            .build();
    TableSpec table = Fixtures.table("replicated", 1 << 20, 64, 20);
    tables.add(table);
    ClusterSpec group = cluster.group(groups);
    List<Shard> shards = new Sharding.RowWise().shards(table, group);
    StepCost cost = StepCosts.of(towers.predict(tables, group), shards, group, model);
    ShardingPlan plan =
        trainer.plan(cluster, tables, shards, new Replication(groups, 1_000_000, 1), cost);
    assertThat(plan.ranks()).isEqualTo(8);
    Feedback feedback = trainer.step.measure(trainer.store, measured(plan, ShardScope.CLUSTER));
    assertThat(feedback.samples()).allMatch(sample -> sample.batchSize() == BATCH / 2);
    SampleSet set = SampleSet.of(feedback.samples());
    assertThat(Evaluation.of(model, towers, set).computations())
        .hasSize(4)
        .allMatch(of -> of.predictedMs() == plan.prediction().deviceCosts().get(0).computeMs());
    assertThat(communications(feedback).get(0).samples(BATCH / 2))
        .isNotEmpty()
        .allMatch(sample -> sample.devices() == 4 && sample.devicesPerNode() == 2);
  }

  @ParameterizedTest
  @EnumSource(ShardKind.class)
  void samples_of_a_kind_are_predicted_as_the_plan_was(ShardKind kind) {
    ShardingPlan plan = plan(1_000_000, kind);
    Feedback feedback = trainer.step.measure(trainer.store, measured(plan, kind.scope()));
    assertPredictedAsPlanned(feedback, plan);
    CostSample.StepCommunication communication = communications(feedback).get(0);
    feedback.samples().forEach(SampleCheck::check);
    for (Direction direction : Direction.values()) {
      double predicted = 0;
      for (var sample : communication.samples(BATCH)) {
        if (sample.direction().equals(Optional.of(direction))) {
          // The group is of all devices, of a node's, or of one device of each node.
          boolean isBetweenNodes = sample.devices() == 2;
          double perDevice = isBetweenNodes ? 4 : sample.bytes().length == 1 ? sample.devices() : 1;
          for (double ms : model.evaluator().collectiveMs(sample)) {
            predicted += ms * perDevice;
          }
        }
      }
      double planned = 0;
      for (double ms : commMs(plan, direction)) {
        planned += ms;
      }
      assertThat(predicted).as("%s communication", direction).isCloseTo(planned, CLOSE);
    }
  }

  /** Of rows that cannot be split evenly, all shards were predicted as the first one. */
  @Test
  void samples_of_all_kinds_are_predicted_as_the_plan_was() {
    ShardingPlan plan = plan(1_000_003, ShardKind.values());
    MeasuredCosts plain = trainer.measured(plan, d -> 1);
    Feedback feedback = trainer.step.measure(trainer.store, plain);
    assertPredictedAsPlanned(feedback, plan);
    assertThat(communications(feedback).get(0).samples(BATCH))
        .as("the parts of the communication are not known")
        .isEmpty();
    assertThat(feedback.excluded()).doesNotContainKey(ExclusionReason.SLOW_DEVICE);
  }

  @Test
  void only_shards_of_single_devices_take_part_in_the_all_to_all() {
    ShardingPlan plan = plan(1_000_000, ShardKind.values());
    List<MeasuredCollective> collectives = new ArrayList<>();
    for (Direction direction : Direction.values()) {
      double[] ms = commMs(plan, direction);
      int count = direction == Direction.FORWARD ? 4 : 5;
      List<Double> part = IntStream.range(0, 8).mapToObj(d -> ms[d] / count).toList();
      for (ShardScope scope : ShardScope.values()) {
        for (var collective : scope.collectives(direction)) {
          collectives.add(new MeasuredCollective(scope, collective, direction, part));
        }
      }
    }
    MeasuredCosts measured =
        MeasuredCostsBuilder.builder(trainer.measured(plan, d -> 1))
            .collectives(collectives)
            .build();
    Feedback feedback = trainer.step.measure(trainer.store, measured);
    CostSample.StepCommunication communication = communications(feedback).get(0);
    assertThat(communication.columns()).containsExactly(0, 64, 64, 96, 32, 64, 32, 32);
    assertThat(communication.forwardMs()).isEqualTo(collectives.get(0).ms());
    assertThat(communication.collectives())
        .extracting(
            CostSample.GroupCollective::collective,
            CostSample.GroupCollective::devices,
            CostSample.GroupCollective::devicesPerNode,
            CostSample.GroupCollective::bytes)
        .extracting(Object::toString)
        .containsExactly(
            "(REDUCE_SCATTER, 4, 4, [%s])".formatted(32.0 * BATCH * 2),
            "(REDUCE_SCATTER, 4, 4, [%s])".formatted(96.0 * BATCH * 2),
            "(ALL_TO_ALL, 2, 1, [%s, %s])".formatted(32.0 * BATCH / 4, 96.0 * BATCH / 4),
            "(REDUCE_SCATTER, 8, 4, [%s])".formatted(64.0 * BATCH * 2),
            "(ALL_TO_ALL, 2, 1, [%s, %s])".formatted(32.0 * BATCH / 2, 96.0 * BATCH / 2),
            "(ALL_GATHER, 4, 4, [%s])".formatted(32.0 * BATCH * 4),
            "(ALL_GATHER, 4, 4, [%s])".formatted(96.0 * BATCH * 4),
            "(ALL_GATHER, 8, 4, [%s])".formatted(64.0 * BATCH * 4),
            "(ALL_REDUCE, 8, 4, [%s])".formatted(64.0 * 1_000_000 * 4));
  }

  /** A trainer may run a plan for a while after the number of devices changed. */
  @Test
  void samples_of_a_plan_for_more_devices_are_predicted_as_it_was() {
    ShardingPlan plan = plan(1_000_000, ShardKind.values());
    trainer.accept(Fixtures.accepted(plan));
    trainer.plan(new Change.ClusterSet(ClusterSpecBuilder.builder(CLUSTER).devices(4).build()));
    assertPredictedAsPlanned(trainer.measure(plan, d -> 1), plan);
  }

  /**
   * Blocks of two rows: three devices have none, but sum outputs all the same. No new plan has such
   * a table; this one is predicted like a table with rows for all.
   */
  @Test
  void a_device_without_rows_may_compute_and_is_no_sample() {
    Sharding sharding = sharding(ShardKind.ROW_WISE);
    TableSpec rowsForAll = Fixtures.table("few rows", 16, 64, 20);
    TableSpec table = Fixtures.table("few rows", 9, 64, 20);
    tables.add(table);
    StepCost cost =
        StepCosts.of(
            towers.predict(List.of(rowsForAll), CLUSTER),
            sharding.shards(rowsForAll, CLUSTER),
            CLUSTER,
            model);
    ShardingPlan plan = trainer.plan(CLUSTER, tables, sharding.shards(table, CLUSTER), cost);
    assertThat(plan.shards()).hasSize(5);
    assertThat(trainer.step.measure(trainer.store, trainer.measured(plan, d -> 1)).samples())
        .filteredOn(sample -> sample.cost() instanceof CostSample.Computation)
        .hasSize(5);
    List<MeasuredDevice> idle = new ArrayList<>(trainer.measured(plan, d -> 1).devices());
    Collections.fill(idle.subList(5, 8), new MeasuredDevice(0, 1, idle.get(0).backwardCommMs()));
    assertThat(trainer.step.measure(trainer.store, trainer.measured(plan, idle)).samples())
        .hasSize(6);
  }

  /** The cluster sends 2 bytes forward and 4 backward, unless a codec sends fewer. */
  @Test
  void samples_of_a_plan_with_codecs_have_the_bytes_that_were_sent() {
    ShardingPlan plan = plan(1_000_000, ShardKind.TABLE_WISE, ShardKind.ROW_WISE);
    CommCodec free = new CommCodec("fp8", 1);
    CostSample.StepCommunication with =
        communication(
            plan,
            new CollectiveCodec(ShardScope.DEVICE, Direction.FORWARD, free, 0),
            new CollectiveCodec(ShardScope.CLUSTER, Direction.BACKWARD, free, 0));
    CostSample.StepCommunication without = communication(plan);
    assertThat(without.forwardBytesPerElement()).isEqualTo(2);
    assertThat(with.forwardBytesPerElement()).isEqualTo(1);
    assertThat(with.backwardBytesPerElement()).isEqualTo(without.backwardBytesPerElement());
    assertThat(with.collectives()).hasSize(2);
    assertThat(with.collectives().get(0)).isEqualTo(without.collectives().get(0));
    assertThat(with.collectives().get(1).bytes())
        .isEqualTo(List.of(without.collectives().get(1).bytes().get(0) / 4));
  }

  private CostSample.StepCommunication communication(ShardingPlan plan, CollectiveCodec... codecs) {
    ShardingPlan coded = trainer.onPlan(Samples.with(plan, List.of(codecs)));
    return communications(trainer.step.measure(trainer.store, measured(coded, ShardScope.CLUSTER)))
        .get(0);
  }

  /** What coding takes is in the measurement, and not in what the cost model predicts. */
  @Test
  void a_plan_whose_codecs_take_time_gives_no_samples_of_collectives() {
    CommCodec codec = new CommCodec("fp8", 1, 500, 1, true, List.of());
    ShardingPlan plan =
        trainer.onPlan(
            Samples.with(
                plan(1_000_000, ShardKind.ROW_WISE),
                List.of(new CollectiveCodec(ShardScope.CLUSTER, Direction.BACKWARD, codec, 0))));
    Feedback feedback = trainer.step.measure(trainer.store, measured(plan, ShardScope.CLUSTER));
    assertThat(communications(feedback)).isEmpty();
    assertThat(feedback.samples()).hasSize(8);
    assertThat(feedback.ratios()).isNotEmpty();
  }

  /** Copies have no forward communication to compare. */
  @Test
  void copies_are_compared_without_forward_communication() {
    ShardingPlan plan = plan(1_000_000, ShardKind.DATA_PARALLEL);
    Feedback feedback = trainer.measure(plan, d -> d == 2 ? 1.2 : 1);
    assertThat(feedback.excluded()).isEmpty();
    assertThat(feedback.ratios()).containsOnlyKeys(CostQuantity.COMPUTE, CostQuantity.BACKWARD);
  }

  /** A table that is copied to every device moves to each of them. */
  @Test
  void an_excess_that_moves_with_a_copy_is_an_alarm_of_the_model() {
    ShardingPlan plan = plan(1_000_000, ShardKind.values());
    for (int i = 0; i < 60; i++) {
      assertThat(trainer.measure(plan, d -> 1).alarms()).isEmpty();
    }
    List<DriftAlarm> alarms = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      alarms.addAll(trainer.measure(plan, d -> d == 1 ? 1.8 : 1).alarms());
    }
    Region region = new Region(0, 64, 0, 1_000_000);
    Transfer copied = new Transfer(new Overlap("table_wise", region, 1, Shard.EVERY_DEVICE), 1);
    ShardingPlan next =
        trainer.onPlan(
            new ShardingPlan(
                "",
                plan.origin(),
                "copied",
                plan.shards(),
                Replication.NONE,
                List.of(),
                List.of(),
                plan.prediction(),
                new PlanMoves(List.of(copied), List.of()),
                plan.run()));
    for (int i = 0; i < 20; i++) {
      alarms.addAll(trainer.measure(next, d -> d == 3 ? 1.8 : 1).alarms());
    }
    assertThat(alarms)
        .extracting(DriftAlarm::kind)
        .containsExactly(DriftAlarm.AlarmKind.STRAGGLER, DriftAlarm.AlarmKind.MODEL);
  }
}
