package io.shardtide.search.bound;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.StepCollectives;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.search.bound.CommunicationFloor.AllToAll;
import io.shardtide.search.bound.CommunicationFloor.Line;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Collective;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/**
 * What the lower bound takes for granted of collectives, with the shipped models: they are nets, so
 * that nothing of it is certain.
 */
class CommunicationFloorTest {
  private static final List<CostModel> MODELS =
      List.of(new CostModel(TestModels.nodes()), new CostModel(TestModels.h200()));

  private static final CommCodec CODEC = new CommCodec("half", 2, 300, 1, true, List.of());

  private static CostModel model(Random random) {
    return MODELS.get(random.nextInt(MODELS.size()));
  }

  private static ClusterSpec cluster(Random random, CostModel model, boolean areNodesEqual) {
    int perNode = 1 << random.nextInt(4);
    int nodes = 1 + random.nextInt(16);
    int devices = perNode * nodes;
    if (!areNodesEqual && random.nextBoolean() && devices > perNode) {
      devices -= random.nextInt(perNode);
    }
    return ClusterSpecBuilder.builder(
            new ClusterSpec(
                Math.max(2, devices), 80 * Fixtures.GIB, 65_536, perNode, model.hardware()))
        .codecs(random.nextInt(3) == 0 ? List.of(CODEC) : List.of())
        .build();
  }

  /** Returns collectives with or without a codec, if the cluster allows one. */
  private static StepCollectives collectives(Random random, ClusterSpec cluster) {
    List<CollectiveCodec> codecs = new ArrayList<>();
    for (ShardScope scope : List.of(ShardScope.DEVICE, ShardScope.NODE, ShardScope.CLUSTER)) {
      for (Direction direction : Direction.values()) {
        if (!cluster.codecs().isEmpty() && random.nextBoolean()) {
          codecs.add(new CollectiveCodec(scope, direction, CODEC, 0));
        }
      }
    }
    return new StepCollectives(cluster, codecs);
  }

  /** Elements of devices: alike, different, or only some devices', over six orders of magnitude. */
  private static double[] loads(Random random, int count) {
    double scale = Math.pow(10, 3 + 6 * random.nextDouble());
    double spread = random.nextInt(3) == 0 ? 0 : 2 * random.nextDouble();
    boolean isSparse = random.nextInt(4) == 0;
    double[] loads = new double[count];
    for (int d = 0; d < count; d++) {
      loads[d] =
          isSparse && random.nextBoolean()
              ? 0
              : Math.rint(scale * Math.exp(spread * (random.nextDouble() - 0.5)));
    }
    loads[random.nextInt(count)] = Math.rint(scale);
    return loads;
  }

  private static double mean(double[] values) {
    return Arrays.stream(values).average().orElseThrow();
  }

  private static double max(double[] values) {
    return Arrays.stream(values).max().orElseThrow();
  }

  @Property(tries = 1_000)
  void all_to_alls_of_any_loads_take_no_less(@ForAll long seed) {
    Random random = new Random(seed);
    CostModel model = model(random);
    ClusterSpec cluster = cluster(random, model, false);
    double[] loads = loads(random, cluster.devices());
    CostEvaluator evaluator = model.evaluator();
    CommunicationCost cost = collectives(random, cluster).allToAll(evaluator, loads);
    CommunicationFloor floor = new CommunicationFloor(cluster, evaluator);
    double slope = floor.meanSlope(max(loads) * Math.pow(4, random.nextDouble() - 0.2));
    AllToAll least = floor.allToAll(max(loads) / (1 + 0.1 * random.nextDouble()), slope);
    double ms = least.baseMs() + slope * mean(loads);
    double forwardMs = mean(cost.forwardMs());
    assertThat(forwardMs + mean(cost.backwardMs())).isGreaterThanOrEqualTo(ms);
    double shortest = Arrays.stream(cost.backwardMs()).min().orElseThrow();
    assertThat(forwardMs + shortest).isGreaterThanOrEqualTo(ms - least.ownMs());
  }

  /** One was not, whose time is more than proportional to its load. */
  @Test
  void a_collective_is_above_a_line_through_nothing() {
    collectives_of_rows_and_copies_are_above_their_lines(1616521923016L);
  }

  @Property(tries = 1_000)
  void collectives_of_rows_and_copies_are_above_their_lines(@ForAll long seed) {
    Random random = new Random(seed);
    CostModel model = model(random);
    ClusterSpec cluster = cluster(random, model, false);
    CostEvaluator evaluator = model.evaluator();
    CommunicationFloor floor = new CommunicationFloor(cluster, evaluator);
    StepCollectives collectives = collectives(random, cluster);
    DeviceGroup all = DeviceGroup.of(cluster);
    double fewest = Math.pow(10, 2 + 4 * random.nextDouble());
    double most = fewest * Math.pow(10, 4 * random.nextDouble());
    double mostMs = Math.pow(10, 3 * random.nextDouble() - 1);
    Line rows = floor.line(ShardScope.CLUSTER, fewest, most, mostMs);
    Line copies = floor.line(ShardScope.COPIES, fewest, most, mostMs);
    for (int i = 0; i < 50; i++) {
      double elements = fewest * Math.pow(most / fewest, random.nextDouble());
      double rowsMs =
          collectives.get(ShardScope.CLUSTER, Direction.FORWARD).bufferMs(evaluator, all, elements)
              + collectives
                  .get(ShardScope.CLUSTER, Direction.BACKWARD)
                  .bufferMs(evaluator, all, elements);
      assertThat(rowsMs).isGreaterThanOrEqualTo(Math.min(mostMs, ms(rows, elements)));
      double copiesMs =
          evaluator.bufferMs(
              new BufferCollective(Collective.ALL_REDUCE, Direction.BACKWARD, 4 * elements), all);
      assertThat(copiesMs).isGreaterThanOrEqualTo(Math.min(mostMs, ms(copies, elements)));
    }
  }

  private static double ms(Line line, double elements) {
    return line.ms() + line.msPerElement() * elements;
  }

  @Property(tries = 1_000)
  void collectives_of_nodes_are_above_their_lines(@ForAll long seed) {
    Random random = new Random(seed);
    CostModel model = model(random);
    ClusterSpec cluster = cluster(random, model, true);
    int perNode = cluster.devicesPerNode();
    if (cluster.nodes() == 1 || perNode == 1) {
      return;
    }
    CostEvaluator evaluator = model.evaluator();
    double[] ofNodes = loads(random, cluster.nodes());
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      DeviceLoad load = new DeviceLoad(evaluator.sumSize(), 0);
      double elements = ofNodes[cluster.node(d)];
      if (elements > 0) {
        load.add(
            new ShapeLoad(
                new double[evaluator.sumSize()], Map.of(ShardScope.NODE, elements), new long[3]));
      }
      loads.add(load);
    }
    CommunicationCost cost = collectives(random, cluster).ms(evaluator, loads);
    double mean = mean(ofNodes);
    double fewest = mean / (1 + 9 * random.nextDouble());
    double most = mean * (1 + 9 * random.nextDouble());
    double mostMs = 1e6;
    CommunicationFloor floor = new CommunicationFloor(cluster, evaluator);
    Line forward = floor.nodes(Direction.FORWARD, fewest, most, mostMs);
    Line backward = floor.nodes(Direction.BACKWARD, fewest, most, mostMs);
    assertThat(mean(cost.forwardMs())).isGreaterThanOrEqualTo(ms(forward, mean));
    assertThat(mean(cost.backwardMs())).isGreaterThanOrEqualTo(ms(backward, mean));
    Line both = floor.line(ShardScope.NODE, fewest, most, mostMs);
    assertThat(both.ms()).isEqualTo(forward.ms() + backward.ms());
  }
}
