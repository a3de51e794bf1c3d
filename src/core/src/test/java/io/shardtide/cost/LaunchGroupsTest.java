package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.Collections;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class LaunchGroupsTest {
  /** A shard of a table with 1,000 rows and 2,048 lookups. */
  private static ShardShape shape(int columns) {
    return new Shapes(Fixtures.table("t", 1_000, columns, 2), 1_024).ofColumns(columns);
  }

  private static double[] sum(List<Integer> widths) {
    double[] sum = new double[LaunchGroups.NUMBERS];
    for (int columns : widths) {
      float[] tower = new float[LaunchGroups.NUMBERS];
      LaunchGroups.write(shape(columns), tower, 0);
      TowerSums.add(sum, TowerSums.exact(tower));
    }
    return sum;
  }

  @Test
  void kinds_and_precisions_are_launched_apart() {
    assertThat(List.of(of(false, 4), of(false, 2), of(true, 4), of(true, 2)))
        .containsExactly(0, 1, 2, 3);
    assertThat(of(false, 8)).isEqualTo(of(false, 4));
    assertThat(of(true, 1)).isEqualTo(of(true, 2));
  }

  private static int of(boolean replicated, double weightBytes) {
    return LaunchGroups.of(replicated, weightBytes);
  }

  /** Whatever else a group has, and in whatever order: its widest shard is known. */
  @Property(tries = 200)
  void the_widest_shard_of_a_group_is_known(
      @ForAll @Size(min = 1, max = 3_000) List<@IntRange(min = 1, max = 128) Integer> quarters) {
    List<Integer> widths = quarters.stream().map(q -> 4 * q).toList();
    int widest = widths.stream().mapToInt(w -> w).max().orElseThrow();
    float expected =
        widest <= 32 ? 0 : widest <= 64 ? 0.25f : widest <= 128 ? 0.5f : widest <= 256 ? 0.75f : 1;
    assertThat(LaunchGroups.isLaunched(sum(widths), 0)).isTrue();
    assertThat(LaunchGroups.widest(sum(widths), 0)).isEqualTo(expected);
  }

  /** A workload may have 20,000 tables; 512 of one width counted as a wider one. */
  @Property(tries = 20)
  void many_shards_of_a_width_are_no_wider_one(
      @ForAll @IntRange(min = 1, max = 128) int quarters,
      @ForAll @IntRange(min = 500, max = 40_000) int shards) {
    List<Integer> one = List.of(4 * quarters);
    assertThat(LaunchGroups.widest(sum(Collections.nCopies(shards, one.get(0))), 0))
        .isEqualTo(LaunchGroups.widest(sum(one), 0));
  }

  @Test
  void a_group_that_lost_all_shards_is_not_launched() {
    double[] sum = sum(List.of(8, 300, 300));
    for (int columns : List.of(300, 8, 300)) {
      float[] tower = new float[LaunchGroups.NUMBERS];
      LaunchGroups.write(shape(columns), tower, 0);
      double[] removed = TowerSums.exact(tower);
      for (int k = 0; k < sum.length; k++) {
        sum[k] -= removed[k];
      }
    }
    assertThat(sum).containsOnly(0);
    assertThat(LaunchGroups.isLaunched(sum, 0)).isFalse();
  }

  @Test
  void a_launch_costs_more_for_shards_and_with_more_lookups() {
    double[] coefficients = {0.01, 0.1, 1.0};
    double[] sum = {1, 4, 0};
    assertThat(LaunchGroups.ms(coefficients, 0, sum, 0)).isEqualTo(0.01 + 0.1 + 2);
    assertThat(LaunchGroups.ms(coefficients, 2, sum, 0)).isEqualTo(0.01 + 2);
    assertThat(sum(List.of(8))[1] * (1 << 20)).isEqualTo(2_048);
  }

  @Test
  void costs_of_launches_are_checked() {
    assertThatThrownBy(() -> new LaunchCosts(List.of(0.0, 0.0, -1.0), List.of(0.0, 0.0, 0.0)))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(
            "forward launch coefficients of a model must be at least 0, one for each of"
                + " [launches, launches_of_shards, root_of_lookups], got [0.0, 0.0, -1.0]");
  }
}
