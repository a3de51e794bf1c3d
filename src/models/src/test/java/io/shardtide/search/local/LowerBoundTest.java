package io.shardtide.search.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.BufferCollective;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.StepComm;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the lower bound assumes, and what it is worth; that plans are above it is in KindsTest. */
class LowerBoundTest {
  private final CostEvaluator evaluator = KindsTest.MODEL.evaluator();

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ALL_TO_ALL")
  void between_two_loads_a_byte_takes_about_as_long(Collective collective) {
    Direction direction =
        collective == Collective.REDUCE_SCATTER ? Direction.FORWARD : Direction.BACKWARD;
    for (DeviceGroup group :
        List.of(new DeviceGroup(4, 4), new DeviceGroup(8, 8), new DeviceGroup(16, 8))) {
      for (double bytes = 4; bytes < 1e12; bytes *= 1.1) {
        double atBoth =
            Math.min(
                msPerByte(collective, direction, bytes, group),
                msPerByte(collective, direction, 1.1 * bytes, group));
        for (double between = 1.01; between < 1.1; between += 0.02) {
          assertThat(1.1 * msPerByte(collective, direction, between * bytes, group))
              .as("%.0f bytes, %s", between * bytes, group)
              .isGreaterThan(atBoth);
        }
      }
    }
  }

  private double msPerByte(
      Collective collective, Direction direction, double bytes, DeviceGroup group) {
    return evaluator.bufferMs(new BufferCollective(collective, direction, bytes), group) / bytes;
  }

  @Test
  void all_to_alls_take_longer_with_more_to_send() {
    ClusterSpec cluster = KindsTest.cluster(16, 8, Fixtures.GIB);
    AllToAllCosts forward = allToAll(cluster, Direction.FORWARD);
    AllToAllCosts backward = allToAll(cluster, Direction.BACKWARD);
    double before = 0;
    for (int total = 1; total < 5_000; total += 16) {
      int max = (total + 15) / 16;
      double ms =
          forward.ms(max, max, total, AllToAllLoad.LEVELS)
              + backward.ms(0, max, total, AllToAllLoad.LEVELS);
      assertThat(ms).as("%d units", total).isGreaterThan(before);
      before = ms;
    }
  }

  private AllToAllCosts allToAll(ClusterSpec cluster, Direction direction) {
    return new AllToAllCosts(
        evaluator, StepComm.of(cluster), ShardScope.DEVICE, direction, 4.0 * cluster.batchSize());
  }

  /** Without the collectives of split and copied parts it was below a tenth of the cost. */
  @Test
  void tables_that_could_be_split_count_with_their_collectives() {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 40; t++) {
      tables.add(Fixtures.table("t" + t, 1_000_000L * (1 + t), 128, 10));
    }
    SearchProblem problem =
        KindsTest.problem(tables, KindsTest.cluster(16, 8, 40 * Fixtures.GIB), PlanShards.NONE);
    SearchResult.Found found =
        (SearchResult.Found) LocalSearch.search(problem, SearchSettings.DEFAULTS);
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isBetween(0.5 * found.predictedMs(), found.predictedMs());
  }
}
