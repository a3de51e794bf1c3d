package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.StepCollectives;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllToAllCostsTest {
  private static final int UNITS = 500_000;

  private final ClusterSpec cluster = Fixtures.cluster(6, 64 * Fixtures.GIB);
  private final SearchProblem problem =
      Plans.problem(Plans.randomTables(new Random(1), 2), cluster);

  private AllToAllCosts costs(int choices) {
    return new AllToAllCosts(
        problem.model().evaluator(),
        StepCollectives.of(cluster).get(ShardScope.DEVICE, Direction.FORWARD),
        16,
        choices);
  }

  /** 1,100 loads of half a million units are more than 4 GiB, whether their sum changes or not. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void what_is_remembered_is_bounded(int step) {
    AllToAllCosts used = costs(1);
    for (int i = 0; i < 1_100; i++) {
      used.row(UNITS + i, 6 * UNITS + step * i, 8);
    }
    for (int units : new int[] {1, UNITS / 2, UNITS}) {
      assertThat(used.ms(units, UNITS, 6 * UNITS, 8))
          .isEqualTo(costs(1).ms(units, UNITS, 6 * UNITS, 8));
    }
  }

  /** With eight codecs, 36 of them may be full at once. */
  @Test
  void codecs_share_memory() {
    AllToAllCosts used = costs(9);
    AllToAllCosts alone = costs(1);
    long most = 0;
    for (int max = 1; max <= 2_000; max++) {
      used.row(1_000 + max, 6_000 + max, 8);
      alone.row(1_000 + max, 6_000 + max, 8);
      most = Math.max(most, used.costs);
    }
    assertThat(most).isLessThan((1 << 22) / 9 + 10_000);
    assertThat(alone.costs).isGreaterThan(1 << 21);
    assertThat(used.ms(500, 1_001, 6_001, 8)).isEqualTo(alone.ms(500, 1_001, 6_001, 8));
  }
}
