package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.Option;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** The collectives of each sharding type, composed from single ones. */
class StepCollectivesTest {
  private static final int BATCH = 20_000;
  private static final TableSpec TABLE = Fixtures.table("a", 1_003, 64, 2);
  private static final Offset<Double> CLOSE = within(1e-9);

  /** Nodes of 4, 4 and 2 devices, which send outputs in half and gradients in single precision. */
  private static final ClusterSpec TEN =
      ClusterSpecBuilder.builder(new ClusterSpec(10, Fixtures.GIB, BATCH, 4, "test"))
          .forwardBytesPerElement(2)
          .build();

  private static final List<Sharding> KINDS =
      List.of(
          new Sharding.TableWise(3),
          new Sharding.ColumnWise(List.of(new ColumnPart(40, 3), new ColumnPart(24, 8))),
          new Sharding.TableColumnWise(List.of(new ColumnPart(40, 4), new ColumnPart(24, 7))),
          new Sharding.TableRowWise(2),
          new Sharding.GridShard(List.of(new NodePart(40, 0), new NodePart(24, 2))),
          new Sharding.RowWise(),
          new Sharding.DataParallel());

  private final CostModel model = new CostModel(TestModels.allCollectives());
  private final CostEvaluator evaluator = model.evaluator();

  private static List<DeviceLoad> loads(ClusterSpec cluster, Sharding... shardings) {
    CostEvaluator evaluator = new CostModel(TestModels.bundle()).evaluator();
    int towerSize = TestModels.bundle().towerSize();
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      loads.add(new DeviceLoad(evaluator.sumSize(), 0));
    }
    TableShapes shapes = new TableShapes(TABLE, cluster.batchSize());
    for (Sharding sharding : shardings) {
      for (Shard shard : sharding.shards(TABLE, cluster)) {
        ShapeLoad load =
            ShapeLoad.of(
                evaluator,
                new float[towerSize],
                TABLE,
                shapes.of(Option.of(List.of(shard)).get(0).part(), shard.device(), cluster),
                sharding.kind().scope(),
                cluster);
        shard.holders(cluster.devices()).forEach(d -> loads.get(d).add(load));
      }
    }
    return loads;
  }

  private CommunicationCost communication(ClusterSpec cluster, Sharding... shardings) {
    return StepCollectives.of(cluster).ms(evaluator, loads(cluster, shardings));
  }

  private CommunicationCost communication(Sharding sharding) {
    return communication(TEN, sharding);
  }

  /** Returns the forward or backward all-to-all of devices that hold columns with all rows. */
  private double[] allToAll(Direction direction, int... columns) {
    double toPeer = BATCH / 10.0 * (direction == Direction.FORWARD ? 2 : 4);
    double[] bytes = Arrays.stream(columns).mapToDouble(c -> c * toPeer).toArray();
    AllToAllLoad load = AllToAllLoad.of(new DeviceGroup(10, 4), bytes);
    return Arrays.stream(bytes).map(b -> evaluator.allToAllMs(direction, b, load)).toArray();
  }

  private void assertColumns(Sharding sharding, int... columns) {
    CommunicationCost cost = communication(sharding);
    assertThat(cost.forwardMs()).containsExactly(allToAll(Direction.FORWARD, columns), CLOSE);
    assertThat(cost.backwardMs()).containsExactly(allToAll(Direction.BACKWARD, columns), CLOSE);
    assertThat(cost.forwardMs()[0]).isPositive().isLessThan(cost.backwardMs()[0]);
  }

  @Test
  void table_wise_shards_take_part_in_an_all_to_all() {
    assertColumns(KINDS.get(0), 0, 0, 0, 64, 0, 0, 0, 0, 0, 0);
  }

  @Test
  void column_wise_shards_take_part_in_an_all_to_all() {
    assertColumns(KINDS.get(1), 0, 0, 0, 40, 0, 0, 0, 0, 24, 0);
  }

  @Test
  void table_column_wise_shards_take_part_in_an_all_to_all() {
    assertColumns(KINDS.get(2), 0, 0, 0, 0, 40, 0, 0, 24, 0, 0);
  }

  private double bufferMs(
      Collective collective, Direction direction, double bytes, DeviceGroup group) {
    return evaluator.bufferMs(new BufferCollective(collective, direction, bytes), group);
  }

  /** A node's reduce-scatter or all-gather, and its part of the all-to-all between three nodes. */
  private double node(Direction direction, int node, int... columnsOfNodes) {
    boolean isForward = direction == Direction.FORWARD;
    double bytes = isForward ? 2 : 4;
    int devices = node == 2 ? 2 : 4;
    double inside =
        bufferMs(
            isForward ? Collective.REDUCE_SCATTER : Collective.ALL_GATHER,
            direction,
            columnsOfNodes[node] * BATCH * bytes,
            new DeviceGroup(devices, devices));
    double[] toPeers =
        Arrays.stream(columnsOfNodes).mapToDouble(c -> c * BATCH / 10.0 * bytes).toArray();
    return inside
        + evaluator.allToAllMs(
            direction, toPeers[node], AllToAllLoad.of(new DeviceGroup(3, 1), toPeers));
  }

  private void assertNodes(Sharding sharding, int... columnsOfNodes) {
    CommunicationCost cost = communication(sharding);
    for (int d = 0; d < 10; d++) {
      assertThat(cost.forwardMs()[d])
          .as("forward on device %d", d)
          .isCloseTo(node(Direction.FORWARD, d / 4, columnsOfNodes), CLOSE);
      assertThat(cost.backwardMs()[d])
          .as("backward on device %d", d)
          .isCloseTo(node(Direction.BACKWARD, d / 4, columnsOfNodes), CLOSE);
    }
  }

  /** On the last node, which has two devices. */
  @Test
  void table_row_wise_shards_are_summed_in_the_node_and_sent_between_nodes() {
    assertNodes(KINDS.get(3), 0, 0, 64);
  }

  @Test
  void grid_shards_are_summed_in_their_nodes_and_sent_between_nodes() {
    assertNodes(KINDS.get(4), 40, 0, 24);
  }

  /** On one node, nothing is sent between nodes. */
  @Test
  void in_a_single_node_table_row_wise_is_row_wise() {
    ClusterSpec four = new ClusterSpec(4, Fixtures.GIB, BATCH, 4, "test");
    assertThat(communication(four, new Sharding.TableRowWise(0)))
        .usingRecursiveComparison()
        .isEqualTo(communication(four, new Sharding.RowWise()));
  }

  @Test
  void row_wise_shards_are_summed_over_all_devices() {
    CommunicationCost cost = communication(KINDS.get(5));
    DeviceGroup all = new DeviceGroup(10, 4);
    double elements = 64.0 * BATCH;
    assertThat(cost.forwardMs())
        .hasSize(10)
        .containsOnly(bufferMs(Collective.REDUCE_SCATTER, Direction.FORWARD, elements * 2, all));
    assertThat(cost.backwardMs())
        .containsOnly(bufferMs(Collective.ALL_GATHER, Direction.BACKWARD, elements * 4, all));
  }

  @Test
  void the_gradients_of_copies_are_summed_over_all_devices() {
    CommunicationCost cost = communication(KINDS.get(6));
    assertThat(cost.forwardMs()).hasSize(10).containsOnly(0);
    assertThat(cost.backwardMs())
        .containsOnly(
            bufferMs(
                Collective.ALL_REDUCE, Direction.BACKWARD, 1_003 * 64 * 4, new DeviceGroup(10, 4)));
  }

  /** All copies together have one all-reduce, and all row-wise tables one reduce-scatter. */
  @Test
  void collectives_of_a_scope_are_one_and_those_of_scopes_follow_one_another() {
    double[] expected = new double[10];
    for (Sharding sharding : KINDS) {
      if (sharding.kind().scope() != KINDS.get(0).kind().scope()
          && sharding.kind().scope() != KINDS.get(4).kind().scope()) {
        add(expected, communication(sharding).forwardMs());
      }
    }
    add(expected, communication(TEN, KINDS.get(0), KINDS.get(1), KINDS.get(2)).forwardMs());
    add(expected, communication(TEN, KINDS.get(3), KINDS.get(4)).forwardMs());
    CommunicationCost all = communication(TEN, KINDS.toArray(Sharding[]::new));
    assertThat(all.forwardMs()).containsExactly(expected, CLOSE);
    assertThat(communication(TEN, KINDS.get(6), KINDS.get(6)).backwardMs()[0])
        .isEqualTo(
            bufferMs(
                Collective.ALL_REDUCE,
                Direction.BACKWARD,
                2 * 1_003 * 64 * 4,
                new DeviceGroup(10, 4)));
  }

  private static void add(double[] sum, double[] addend) {
    Arrays.setAll(sum, i -> sum[i] + addend[i]);
  }

  @ParameterizedTest
  @FieldSource("KINDS")
  void one_device_communicates_nothing(Sharding sharding) {
    ClusterSpec one = new ClusterSpec(1, Fixtures.GIB, BATCH, 4, "test");
    Sharding onDevice =
        switch (sharding.kind().scope()) {
          case DEVICE -> new Sharding.TableWise(0);
          case NODE -> new Sharding.TableRowWise(0);
          case CLUSTER, COPIES -> sharding;
        };
    CommunicationCost cost = communication(one, onDevice);
    assertThat(cost.forwardMs()).containsExactly(0);
    assertThat(cost.backwardMs()).containsExactly(0);
  }

  /** Half the bytes cost what half the samples cost; gradients of copies are sent as they are. */
  @ParameterizedTest
  @FieldSource("KINDS")
  void bytes_per_element_scale_what_is_sent(Sharding sharding) {
    ClusterSpec half = ClusterSpecBuilder.builder(TEN).batchSize(BATCH / 2).build();
    CommunicationCost whole = communication(TEN, sharding);
    assertThat(
            communication(
                    ClusterSpecBuilder.builder(half).forwardBytesPerElement(4).build(), sharding)
                .forwardMs())
        .containsExactly(whole.forwardMs(), CLOSE);
    assertThat(
            communication(
                    ClusterSpecBuilder.builder(half).backwardBytesPerElement(8).build(), sharding)
                .backwardMs())
        .containsExactly(whole.backwardMs(), CLOSE);
    if (!(sharding instanceof Sharding.DataParallel)) {
      assertThat(communication(half, sharding).backwardMs()[9]).isLessThan(whole.backwardMs()[9]);
    }
  }

  @Test
  void a_collective_that_was_not_measured_is_named() {
    ModelBundle bundle =
        TestModels.withCollectives(
            TestModels.collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1),
            TestModels.collective(Collective.ALL_TO_ALL, Direction.BACKWARD, 2),
            TestModels.collective(Collective.REDUCE_SCATTER, Direction.BACKWARD, 3),
            TestModels.collective(Collective.ALL_GATHER, Direction.BACKWARD, 3));
    CostEvaluator some = new CostModel(bundle).evaluator();
    for (int kind : new int[] {3, 4, 5}) {
      assertThatThrownBy(() -> StepCollectives.of(TEN).ms(some, loads(TEN, KINDS.get(kind))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "model %s of %s must predict the reduce_scatter of a forward step, which was not"
                  + " measured",
              bundle.shown(), bundle.hardware());
    }
    assertThatThrownBy(() -> StepCollectives.of(TEN).ms(some, loads(TEN, KINDS.get(6))))
        .hasMessageContaining("must predict the all_reduce of a backward step");
    assertThat(StepCollectives.of(TEN).ms(some, loads(TEN, KINDS.get(1))).forwardMs())
        .containsExactly(communication(KINDS.get(1)).forwardMs());
  }

  /** A plan of all seven kinds, one table each, from its shards, and from loads by hand. */
  @Test
  void a_step_with_all_kinds_is_predicted_from_its_shards() {
    List<TableSpec> tables = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (int k = 0; k < KINDS.size(); k++) {
      TableSpec table = Fixtures.table("t" + k, 1_003, 64, 2);
      tables.add(table);
      shards.addAll(KINDS.get(k).shards(table, TEN));
    }
    try (PlainTowers towers = new PlainTowers(model.bundle())) {
      StepCost cost = StepCosts.of(tables, shards, TEN, model, towers);
      double[] computeMs = new double[10];
      TableShapes shapes = new TableShapes(TABLE, BATCH);
      for (int d = 0; d < 10; d++) {
        double[] sum = new double[model.sumSize()];
        for (Shard shard : shards) {
          if (shard.isCopied() || shard.device() == d) {
            ShardShape shape =
                shapes.of(Option.of(List.of(shard)).get(0).part(), shard.device(), TEN);
            float[] tower = towers.towers(List.of(shape)).get(0);
            TowerSums.add(
                sum,
                evaluator.addend(tower, shape.replicated(), shape.weightBytes(), AddedMs.NONE));
          }
        }
        computeMs[d] = evaluator.computeMs(sum);
      }
      assertThat(cost)
          .usingRecursiveComparison()
          .isEqualTo(StepCost.of(computeMs, communication(TEN, KINDS.toArray(Sharding[]::new))));
    }
  }

  /** Nodes of equal size, and the devices of each, may have any numbers. */
  @Property(tries = 100)
  void costs_do_not_depend_on_the_numbers_of_nodes(
      @ForAll Random random,
      @ForAll @IntRange(min = 1, max = 5) int nodes,
      @ForAll @IntRange(min = 1, max = 4) int last) {
    ClusterSpec cluster = new ClusterSpec(4 * nodes + last, Fixtures.GIB, BATCH, 4, "test");
    int[] columns = new int[cluster.nodes()];
    Arrays.setAll(columns, node -> 4 * random.nextInt(40));
    List<Integer> order = new ArrayList<>();
    for (int node = 0; node < cluster.nodes(); node++) {
      order.add(node);
    }
    Collections.shuffle(order.subList(0, nodes), random);
    CommunicationCost cost = StepCollectives.of(cluster).ms(evaluator, ofNodes(cluster, columns));
    int[] renumbered = new int[columns.length];
    for (int node = 0; node < columns.length; node++) {
      renumbered[order.get(node)] = columns[node];
    }
    CommunicationCost other =
        StepCollectives.of(cluster).ms(evaluator, ofNodes(cluster, renumbered));
    for (int node = 0; node < columns.length; node++) {
      int device = cluster.devicesOfNode(node).get(0);
      int otherDevice = cluster.devicesOfNode(order.get(node)).get(0);
      assertThat(other.forwardMs()[otherDevice]).isEqualTo(cost.forwardMs()[device]);
      assertThat(other.backwardMs()[otherDevice]).isEqualTo(cost.backwardMs()[device]);
    }
  }

  /** Returns the loads of column parts, each with its rows split over the devices of a node. */
  private static List<DeviceLoad> ofNodes(ClusterSpec cluster, int[] columns) {
    double[] tower = new double[TestModels.bundle().sumSize()];
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      DeviceLoad load = new DeviceLoad(tower.length, 0);
      double elements = (double) columns[cluster.node(d)] * cluster.batchSize();
      load.add(new ShapeLoad(tower, Map.of(ShardScope.NODE, elements), new long[3]));
      loads.add(load);
    }
    return loads;
  }
}
