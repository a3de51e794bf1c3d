package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class LargestThreeTest {
  /** Few values, so that many are equal: of equal ones the lower number comes first. */
  @Property(tries = 300)
  void the_largest_of_all_others_is_known(
      @ForAll @Size(min = 1, max = 9) List<@IntRange(min = 1, max = 4) Integer> list) {
    double[] values = list.stream().mapToDouble(Integer::doubleValue).toArray();
    LargestThree largest = new LargestThree(values);
    largest.rank();
    List<Integer> order =
        IntStream.range(0, values.length)
            .boxed()
            .sorted(
                Comparator.comparingDouble((Integer d) -> -values[d])
                    .thenComparing(Comparator.naturalOrder()))
            .toList();
    assertThat(largest.first()).isEqualTo(order.get(0));
    assertThat(largest.largestBut(-1, -1)).isEqualTo(values[order.get(0)]);
    for (int d = 0; d < values.length; d++) {
      for (int e = 0; e < values.length; e++) {
        int first = d;
        int second = e;
        double expected =
            IntStream.range(0, values.length)
                .filter(other -> other != first && other != second)
                .mapToDouble(other -> values[other])
                .max()
                .orElse(0);
        assertThat(largest.largestBut(d, e)).isEqualTo(expected);
      }
    }
  }
}
