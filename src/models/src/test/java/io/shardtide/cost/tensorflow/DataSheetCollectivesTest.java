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
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DataSheetCollectivesTest {
  private static final LinkDataSheet H100 =
      LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0));

  private static final int[][] GROUPS = {
    {2, 2}, {4, 4}, {8, 8}, {2, 1}, {4, 1}, {16, 1}, {16, 8}, {24, 8}, {32, 8}, {128, 8}
  };

  private final DataSheetCollectives sheet =
      new DataSheetCollectives(
          H100, TrainingSettings.defaults(1), (net, epoch, epochs, train, validation) -> {});

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
          CollectiveSample sample = sample(net, new DeviceGroup(size[0], size[1]), bytes);
          assertThat(evaluator.collectiveMs(sample)[0])
              .as("%s of %.0e bytes over %s", net.shown(), bytes, Arrays.toString(size))
              .isCloseTo(sample.ms()[0], withinPercentage(3));
        }
      }
    }
    // What the net has learned from is the training range.
    assertThat(sheet.samples()).extracting(CollectiveSample::devices).contains(2, 128);
  }

  private static CollectiveSample sample(CollectiveNet net, DeviceGroup group, double bytes) {
    boolean isAllToAll = net.collective() == Collective.ALL_TO_ALL;
    double[] sent = new double[isAllToAll ? group.devices() : 1];
    double[] ms = new double[sent.length];
    Arrays.fill(sent, isAllToAll ? bytes / group.devices() : bytes);
    Arrays.fill(
        ms,
        isAllToAll
            ? H100.allToAllMs(sent[0], group)
            : H100.bufferMs(net.collective(), bytes, group));
    return new CollectiveSample(
        net.collective(), net.direction(), group.devices(), group.devicesPerNode(), sent, ms);
  }
}
