package io.shardtide.search.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.StepComm;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.SearchProblem;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllToAllCostsTest {
  private static final int UNITS = 500_000;

  private final ClusterSpec cluster = Fixtures.cluster(6, 64 * Fixtures.GIB);
  private final SearchProblem problem =
      Plans.problem(Plans.randomTables(new Random(1), 2), cluster);

  private AllToAllCosts costs() {
    return new AllToAllCosts(
        problem.model().evaluator(),
        StepComm.of(cluster),
        ShardScope.DEVICE,
        Direction.FORWARD,
        16);
  }

  /** 1,100 loads of half a million units are more than 4 GiB, whether their sum changes or not. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void what_is_remembered_is_bounded(int step) {
    AllToAllCosts used = costs();
    for (int i = 0; i < 1_100; i++) {
      used.row(UNITS + i, 6 * UNITS + step * i, 8);
    }
    for (int units : new int[] {1, UNITS / 2, UNITS}) {
      assertThat(used.ms(units, UNITS, 6 * UNITS, 8))
          .isEqualTo(costs().ms(units, UNITS, 6 * UNITS, 8));
    }
  }
}
