package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class AddedMsTest {
  private static final CostEvaluator H200 = new CostModel(TestModels.h200()).evaluator();

  private static float[] tower(Random random) {
    float[] tower = new float[TestModels.h200().towerSize()];
    for (int i = 0; i < TestModels.h200().headOutputs(); i++) {
      tower[i] = random.nextFloat();
    }
    LaunchGroups.write(
        new Shapes(Fixtures.table("t", 1_000, 64, 2), 1_024).ofColumns(64),
        tower,
        TestModels.h200().headOutputs());
    return tower;
  }

  /** Whatever nets say of the shard, and in each launch group. */
  @Property(tries = 50)
  void they_are_added_as_they_are(@ForAll long seed) {
    Random random = new Random(seed);
    float[] tower = tower(random);
    boolean copied = random.nextBoolean();
    int weightBytes = random.nextBoolean() ? 2 : 4;
    AddedMs added = new AddedMs(2_000 * random.nextDouble(), 0.01 * random.nextDouble());
    double[] without = H200.addend(tower, copied, weightBytes, AddedMs.NONE);
    double[] with = H200.addend(tower, copied, weightBytes, added);
    assertThat(H200.computeMs(with) - H200.computeMs(without))
        .isCloseTo(added.forward() + added.backward(), within(1e-6));
    assertThat(H200.forwardComputeMs(with) - H200.forwardComputeMs(without))
        .isCloseTo(added.forward(), within(1e-6));
  }

  /** What a device does beside its shards takes its time where it has none of the group. */
  @Test
  void a_group_without_shards_takes_what_is_added_to_it() {
    float[] nothing = new float[TestModels.h200().towerSize()];
    double[] sum = H200.addend(nothing, false, 4, new AddedMs(3, 0.5));
    assertThat(H200.computeMs(sum)).isEqualTo(3.5);
    assertThat(H200.forwardComputeMs(sum)).isEqualTo(3);
    assertThat(IntStream.range(0, 4).mapToDouble(g -> H200.groupMs(sum, 0, g)))
        .containsExactly(3.5, 0.0, 0.0, 0.0);
  }

  /** A search adds and takes away shards in any order. */
  @Property(tries = 50)
  void sums_are_exact(@ForAll long seed) {
    Random random = new Random(seed);
    double[] sum = new double[H200.sumSize()];
    for (int i = 0; i < 100; i++) {
      AddedMs added = new AddedMs(1e5 * random.nextDouble(), random.nextDouble());
      TowerSums.add(sum, H200.addend(tower(random), false, 4, added));
    }
    double[] before = sum.clone();
    double[] more = H200.addend(tower(random), false, 4, new AddedMs(1.0 / 3, 1e4 / 7));
    TowerSums.add(sum, more);
    for (int k = 0; k < sum.length; k++) {
      sum[k] -= more[k];
    }
    assertThat(sum).isEqualTo(before);
  }

  @Test
  void they_are_at_least_0() {
    assertThatThrownBy(() -> new AddedMs(-1, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("forward of added milliseconds must be at least 0, got -1.0");
    assertThatThrownBy(() -> new AddedMs(0, Double.NaN))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("backward of added milliseconds must be at least 0, got NaN");
  }
}
