package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.LinkDataSheet;
import io.shardtide.cost.Links;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DataSheetCollectivesTest {
  private static final LinkDataSheet H100 =
      LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0), List.of());

  private static final int[][] GROUPS = {
    {2, 2}, {4, 4}, {8, 8}, {2, 1}, {4, 1}, {16, 1}, {16, 8}, {24, 8}, {32, 8}, {128, 8}
  };

  private static final TrainingProgress SILENT = (net, epoch, epochs, train, validation) -> {};

  private final DataSheetCollectives sheet =
      new DataSheetCollectives(new Links(H100, List.of()), TrainingSettings.defaults(1), SILENT);

  /** Sizes from latency to bandwidth, groups as plans of 1 to 16 nodes have. */
  @Test
  void nets_of_both_directions_follow_the_formula() {
    CollectiveNet forward = sheet.net(Collective.ALL_TO_ALL, Direction.FORWARD);
    CollectiveNet backward = sheet.net(Collective.ALL_TO_ALL, Direction.BACKWARD);
    CollectiveNet allReduce = sheet.net(Collective.ALL_REDUCE, Direction.BACKWARD);
    CostEvaluator evaluator =
        new CostModel(TestModels.withCollectives(forward, backward, allReduce)).evaluator();
    for (CollectiveNet net : List.of(forward, backward, allReduce)) {
      assertThat(net.source()).isEqualTo(CollectiveSource.DATA_SHEET);
      for (int[] size : GROUPS) {
        for (double bytes = 1e4; bytes <= 1e9; bytes *= 10) {
          CollectiveSample sample =
              sample(
                  H100,
                  net.collective(),
                  net.direction(),
                  new DeviceGroup(size[0], size[1]),
                  bytes);
          assertThat(evaluator.collectiveMs(sample)[0])
              .as("%s of %.0e bytes over %s", net.shown(), bytes, Arrays.toString(size))
              .isCloseTo(sample.ms()[0], withinPercentage(3));
        }
      }
    }
    // What the net has learned from is the training range.
    assertThat(sheet.samples()).extracting(CollectiveSample::devices).contains(2, 128);
  }

  /** LL up to some KiB, Simple from 256 KiB; nobody knew of it but the tables. */
  private static final LinkDataSheet TWO_REGIMES =
      new LinkDataSheet(360, 470, 45, 8, 6, 80, 24, OptionalDouble.empty());

  /** Tables of nccl-tests, -b 8 -e 8G -f 2, on one node and on four. */
  private static List<CollectiveSample> tables(Collective collective, double factor) {
    List<CollectiveSample> tables = new ArrayList<>();
    for (DeviceGroup group : List.of(new DeviceGroup(8, 8), new DeviceGroup(32, 8))) {
      for (double bytes = 8 * factor; bytes <= 1L << 33; bytes *= 2) {
        tables.add(sample(TWO_REGIMES, collective, Optional.empty(), group, bytes));
      }
    }
    return tables;
  }

  /** Sizes between those of the tables, in both regimes. */
  private static void assertFollows(CollectiveNet net, double mean, double most) {
    CostEvaluator evaluator =
        new CostModel(
                TestModels.withCollectives(
                    Stream.concat(
                            Stream.of(net),
                            TestModels.allCollectives().collectives().stream()
                                .filter(other -> other.collective() != net.collective()))
                        .toArray(CollectiveNet[]::new)))
            .evaluator();
    List<Double> errors = new ArrayList<>();
    for (CollectiveSample held : tables(net.collective(), StrictMath.sqrt(2))) {
      errors.add(Math.abs(evaluator.collectiveMs(held)[0] / held.ms()[0] - 1));
    }
    assertThat(errors).allSatisfy(error -> assertThat(error).isLessThan(most));
    assertThat(errors.stream().mapToDouble(e -> e).average().orElseThrow()).isLessThan(mean);
  }

  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"ALL_TO_ALL", "ALL_REDUCE"})
  void nets_follow_tables_of_two_regimes(Collective collective) {
    DataSheetCollectives measured =
        new DataSheetCollectives(
            new Links(H100, tables(collective, 1)), TrainingSettings.defaults(1), SILENT);
    CollectiveNet net = measured.net(collective, Direction.FORWARD);
    assertFollows(
        new CollectiveNet(
            collective, Optional.empty(), net.features(), net.coefficients(), net.layers()),
        0.02,
        0.08);
  }

  /** The same as samples of --samples, of which there must be 100. */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"ALL_TO_ALL", "ALL_REDUCE"})
  void measured_tables_of_two_regimes_are_learned(Collective collective) {
    List<CollectiveSample> tables = new ArrayList<>(tables(collective, 1));
    tables.addAll(tables(collective, 1.2));
    CollectiveNet net =
        new CollectiveTraining(tables, 1)
            .train(TrainingSettings.defaults(1), SILENT, new TreeMap<>());
    assertFollows(net, 0.02, 0.08);
  }

  private static CollectiveSample sample(
      LinkDataSheet machine,
      Collective collective,
      Optional<Direction> direction,
      DeviceGroup group,
      double bytes) {
    boolean isAllToAll = collective == Collective.ALL_TO_ALL;
    double[] sent = new double[isAllToAll ? group.devices() : 1];
    double[] ms = new double[sent.length];
    Arrays.fill(sent, isAllToAll ? bytes / group.devices() : bytes);
    Arrays.fill(ms, machine.ms(collective, sent[0], group));
    return new CollectiveSample(
        collective, direction, group.devices(), group.devicesPerNode(), sent, ms);
  }
}
