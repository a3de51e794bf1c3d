package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class MediansTest {
  @Property
  void a_median_is_the_middle_of_the_sorted_values(
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 60) int count,
      @ForAll @IntRange(min = 1, max = 100) int distinct) {
    Random random = new Random(seed);
    double[] values = random.ints(count, 0, distinct).asDoubleStream().toArray();
    double[] given = values.clone();
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    double expected = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    assertThat(Medians.of(values)).isEqualTo(expected);
    assertThat(values).as("the values stay").isEqualTo(given);
  }
}
