package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.Option;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The codecs of placements with tables of every kind. */
class CodecChoiceTest {
  private static final int BATCH = 20_000;
  private static final TableSpec TABLE = Fixtures.table("a", 1_003, 64, 2);
  private static final ClusterSpec TEN = new ClusterSpec(10, Fixtures.GIB, BATCH, 4, "test");
  private static final List<ShardScope> SCOPES =
      List.of(ShardScope.DEVICE, ShardScope.NODE, ShardScope.CLUSTER);

  private final CostEvaluator evaluator = new CostModel(TestModels.allCollectives()).evaluator();

  private static ClusterSpec with(CommCodec... codecs) {
    return ClusterSpecBuilder.builder(TEN).codecs(List.of(codecs)).build();
  }

  private static List<DeviceLoad> loads(Sharding... shardings) {
    CostEvaluator evaluator = new CostModel(TestModels.bundle()).evaluator();
    int towerSize = TestModels.bundle().towerSize();
    List<DeviceLoad> loads = new ArrayList<>();
    for (int d = 0; d < TEN.devices(); d++) {
      loads.add(new DeviceLoad(evaluator.sumSize(), 0));
    }
    TableShapes shapes = new TableShapes(TABLE, BATCH);
    for (Sharding sharding : shardings) {
      for (Shard shard : sharding.shards(TABLE, TEN)) {
        ShapeLoad load =
            ShapeLoad.of(
                evaluator,
                new float[towerSize],
                TABLE,
                shapes.of(Option.of(List.of(shard)).get(0).part(), shard.device(), TEN),
                sharding.kind().scope(),
                TEN);
        shard.holders(TEN.devices()).forEach(d -> loads.get(d).add(load));
      }
    }
    return loads;
  }

  private static List<DeviceLoad> allKinds() {
    return loads(
        new Sharding.TableWise(3),
        new Sharding.TableWise(8),
        new Sharding.TableRowWise(1),
        new Sharding.GridShard(List.of(new NodePart(40, 0), new NodePart(24, 2))),
        new Sharding.RowWise(),
        new Sharding.DataParallel());
  }

  private List<CollectiveCodec> choice(ClusterSpec cluster, List<DeviceLoad> loads) {
    return CodecChoice.of(evaluator, cluster, loads, Slowdowns.none(loads.size())).codecs();
  }

  private double ms(ClusterSpec cluster, List<CollectiveCodec> codecs, List<DeviceLoad> loads) {
    return StepCost.of(
            evaluator, new StepCollectives(cluster, codecs), loads, Slowdowns.none(loads.size()))
        .predictedMs();
  }

  /** A codec of half the bytes that takes no time is a cluster that sends half the bytes. */
  @Test
  void a_free_codec_of_half_the_bytes_costs_what_half_the_bytes_cost() {
    ClusterSpec cluster = with(new CommCodec("fp16", 2));
    List<DeviceLoad> loads = allKinds();
    List<CollectiveCodec> codecs = choice(cluster, loads);
    assertThat(codecs).hasSize(6).isSortedAccordingTo(CollectiveCodec.ORDER);
    ClusterSpec half =
        ClusterSpecBuilder.builder(TEN)
            .forwardBytesPerElement(2)
            .backwardBytesPerElement(2)
            .build();
    CommunicationCost ofCodecs = new StepCollectives(cluster, codecs).ms(evaluator, loads);
    CommunicationCost ofHalf = StepCollectives.of(half).ms(evaluator, loads);
    assertThat(ofCodecs.forwardMs()).isEqualTo(ofHalf.forwardMs());
    assertThat(ofCodecs.backwardMs()).isEqualTo(ofHalf.backwardMs());
    assertThat(ofCodecs.forwardMs()[0])
        .isLessThan(StepCollectives.of(TEN).ms(evaluator, loads).forwardMs()[0]);
  }

  @Test
  void each_codec_says_how_much_longer_a_step_is_without_it() {
    ClusterSpec cluster = with(new CommCodec("fp16", 2), new CommCodec("fp12", 1.5));
    List<DeviceLoad> loads = allKinds();
    List<CollectiveCodec> codecs = choice(cluster, loads);
    for (CollectiveCodec codec : codecs) {
      List<CollectiveCodec> others = new ArrayList<>(codecs);
      others.remove(codec);
      assertThat(codec.codec().name()).isEqualTo("fp12");
      assertThat(codec.savedMs())
          .isPositive()
          .isEqualTo(ms(cluster, others, loads) - ms(cluster, codecs, loads), within(1e-9));
    }
  }

  /** Coding at 0.001 GB/s takes longer than all collectives. */
  @Test
  void a_codec_that_costs_more_than_it_saves_is_not_used() {
    List<DeviceLoad> loads = allKinds();
    CommCodec slow = new CommCodec("slow", 1, 0.001, 1, true, List.of());
    assertThat(choice(with(slow), loads)).isEmpty();
    assertThat(choice(with(slow, new CommCodec("fp16", 2)), loads))
        .hasSize(6)
        .allMatch(of -> of.codec().name().equals("fp16"));
  }

  /** Table-wise: device 3 encodes what it has, all decode a tenth of it. */
  @Test
  void coding_takes_time_on_both_sides() {
    CommCodec codec = new CommCodec("fp16", 2, 100, 1, true, List.of(Direction.FORWARD));
    ClusterSpec cluster = with(codec);
    List<CollectiveCodec> codecs =
        List.of(new CollectiveCodec(ShardScope.DEVICE, Direction.FORWARD, codec, 0));
    CommCodec free = new CommCodec("fp16", 2);
    List<CollectiveCodec> withoutCoding =
        List.of(new CollectiveCodec(ShardScope.DEVICE, Direction.FORWARD, free, 0));
    List<DeviceLoad> loads = loads(new Sharding.TableWise(3));
    CommunicationCost cost = new StepCollectives(cluster, codecs).ms(evaluator, loads);
    CommunicationCost other = new StepCollectives(cluster, withoutCoding).ms(evaluator, loads);
    double all = BATCH * 64 * 4 / 100e6;
    for (int d = 0; d < 10; d++) {
      assertThat(cost.forwardMs()[d] - other.forwardMs()[d])
          .isEqualTo(d == 3 ? 1.1 * all : 0.1 * all, within(1e-9));
    }
    assertThat(cost.backwardMs()).isEqualTo(other.backwardMs());
  }

  /** Row-wise: each device encodes all outputs, and decodes its tenth of the sums. */
  @Test
  void coding_of_row_shards_is_for_all_outputs() {
    CommCodec codec = new CommCodec("fp16", 2, 100, 1, true, List.of());
    StepCollectives coded =
        new StepCollectives(
            with(codec),
            List.of(new CollectiveCodec(ShardScope.CLUSTER, Direction.FORWARD, codec, 0)));
    DeviceGroup all = DeviceGroup.of(TEN);
    double elements = BATCH * 64;
    assertThat(codingMs(coded, Direction.FORWARD, all, elements))
        .isEqualTo(1.1 * elements * 4 / 100e6, within(1e-9));
    assertThat(codingMs(coded, Direction.BACKWARD, all, elements)).isZero();
    assertThat(codingMs(coded, Direction.FORWARD, new DeviceGroup(1, 1), elements)).isZero();
    assertThat(coded.takeCodingTime()).isTrue();
  }

  /** Returns what a buffer of rows takes beside its collective. */
  private double codingMs(
      StepCollectives coded, Direction direction, DeviceGroup group, double elements) {
    StepCollective of = coded.get(ShardScope.CLUSTER, direction);
    return of.bufferMs(evaluator, group, elements)
        - evaluator.bufferMs(of.buffer(elements).orElseThrow(), group);
  }

  @Test
  void a_codec_that_sends_no_less_is_not_used() {
    assertThat(
            choice(
                with(new CommCodec("fp32", 4), new CommCodec("top", 8, 0, 0.5, true, List.of())),
                allKinds()))
        .isEmpty();
    assertThat(choice(with(new CommCodec("top", 8, 0, 0.25, true, List.of())), allKinds()))
        .hasSize(6);
  }

  @Test
  void a_codec_is_used_where_it_may_be() {
    CommCodec forward = new CommCodec("fp8", 1, 0, 1, false, List.of(Direction.FORWARD));
    assertThat(choice(with(forward), allKinds()))
        .singleElement()
        .matches(of -> of.scope() == ShardScope.DEVICE && of.direction() == Direction.FORWARD);
  }

  /**
   * Row-wise tables have nothing to send between single devices, so that no codec is used there.
   */
  @Test
  void a_collective_that_sends_nothing_has_no_codec() {
    assertThat(choice(with(new CommCodec("fp16", 2)), loads(new Sharding.RowWise())))
        .hasSize(2)
        .allMatch(of -> of.scope() == ShardScope.CLUSTER);
    assertThat(choice(with(new CommCodec("fp16", 2)), loads(new Sharding.DataParallel())))
        .isEmpty();
  }

  /** Of two codecs that send and cost the same, the first by name is used. */
  @Test
  void ties_are_broken_by_the_least_compression_then_by_name() {
    List<DeviceLoad> loads = allKinds();
    assertThat(choice(with(new CommCodec("fp16", 2), new CommCodec("bf16", 2)), loads))
        .allMatch(of -> of.codec().name().equals("bf16"));
  }

  /** Any choice, one codec or none for each scope and direction, is no shorter than the chosen. */
  @Property(tries = 15)
  void no_choice_of_codecs_is_shorter(@ForAll long seed) {
    Random random = new Random(seed);
    List<CommCodec> codecs = new ArrayList<>();
    for (int c = 0; c < 1 + random.nextInt(3); c++) {
      List<Direction> directions =
          random.nextInt(3) > 0
              ? List.of()
              : List.of(random.nextBoolean() ? Direction.FORWARD : Direction.BACKWARD);
      codecs.add(
          new CommCodec(
              "c" + c,
              0.5 + 4 * random.nextDouble(),
              random.nextBoolean() ? 0 : Math.pow(10, 1 + 4 * random.nextDouble()),
              random.nextBoolean() ? 1 : 0.1 + 0.9 * random.nextDouble(),
              random.nextBoolean(),
              directions));
    }
    ClusterSpec cluster = with(codecs.toArray(CommCodec[]::new));
    List<DeviceLoad> loads = allKinds();
    List<CollectiveCodec> chosen = choice(cluster, loads);
    double bestMs = ms(cluster, chosen, loads);
    assertThat(bestMs).isLessThanOrEqualTo(ms(cluster, List.of(), loads));
    assertThat(chosen).as("which is the same each time").isEqualTo(choice(cluster, loads));
    for (int i = 0; i < 200; i++) {
      List<CollectiveCodec> other = new ArrayList<>();
      for (ShardScope scope : SCOPES) {
        for (Direction direction : Direction.values()) {
          List<StepCollective> some = StepCollective.candidates(cluster, scope, direction);
          some.get(random.nextInt(some.size())).coded(0).ifPresent(other::add);
        }
      }
      assertThat(ms(cluster, other, loads)).isGreaterThanOrEqualTo(bestMs);
    }
  }
}
