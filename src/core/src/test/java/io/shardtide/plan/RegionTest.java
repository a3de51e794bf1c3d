package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.util.Optional;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RegionTest {
  /** An element is in the intersection if, and only if, it is in both regions. */
  @Property
  void an_intersection_is_what_both_hold(@ForAll("regions") Region a, @ForAll("regions") Region b) {
    Optional<Region> both = a.intersection(b);
    int found = 0;
    for (int column = 0; column < 16; column++) {
      for (int row = 0; row < 16; row++) {
        boolean inBoth = holds(a, column, row) && holds(b, column, row);
        boolean expected = both.isPresent() && holds(both.get(), column, row);
        assertThat(inBoth).isEqualTo(expected);
        found += inBoth ? 1 : 0;
      }
    }
    assertThat(both.map(Fixtures::elements).orElse(0.0)).isEqualTo(found);
    assertThat(b.intersection(a)).isEqualTo(both);
    assertThat(a.intersection(a)).contains(a);
  }

  private static boolean holds(Region region, int column, int row) {
    return column >= region.columnOffset()
        && column < region.columnEnd()
        && row >= region.rowOffset()
        && row < region.rowEnd();
  }

  @Provide
  Arbitrary<Region> regions() {
    Arbitrary<Integer> offset = Arbitraries.integers().between(0, 7);
    Arbitrary<Integer> size = Arbitraries.integers().between(1, 8);
    return Combinators.combine(offset, size, offset, size)
        .as((column, columns, row, rows) -> new Region(column, columns, row, rows));
  }

  @Test
  void the_order_is_by_column_then_by_row() {
    assertThat(
            java.util.stream.Stream.of(
                    new Region(4, 4, 0, 1), new Region(0, 4, 5, 1), new Region(0, 8, 0, 5))
                .sorted(Region.ORDER))
        .containsExactly(new Region(0, 8, 0, 5), new Region(0, 4, 5, 1), new Region(4, 4, 0, 1));
  }

  @Test
  void a_region_of_a_table_has_its_bytes() {
    TableSpec table = new TableSpec("a", 3, 8, 1, ReuseHistogram.UNKNOWN, 0.3);
    assertThat(Region.of(table)).isEqualTo(new Region(0, 8, 0, 3));
    assertThat(Region.of(table).bytes(table)).isEqualTo(table.bytes()).isEqualTo(8);
    assertThat(Region.ofColumns(table, 4, 4)).isEqualTo(new Region(4, 4, 0, 3));
    assertThat(new Region(4, 4, 1, 2).bytes(Fixtures.table("a", 3, 8, 1))).isEqualTo(32);
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 4, 0, 1, 'columns must be at least 1 from an offset of at least 0, got -1+4'",
    "0, 0, 0, 1, 'columns must be at least 1 from an offset of at least 0, got 0+0'",
    "2147483647, 1, 0, 1, 'columns must be at least 1 from an offset of at least 0, got 2147483647+1'",
    "0, 4, -1, 1, 'rows must be at least 1 from an offset of at least 0, got -1+1'",
    "0, 4, 3, 0, 'rows must be at least 1 from an offset of at least 0, got 3+0'",
    "0, 4, 9223372036854775807, 1, 'rows must be at least 1 from an offset of at least 0, got 9223372036854775807+1'"
  })
  void an_empty_region_is_refused(int column, int columns, long row, long rows, String message) {
    assertThatThrownBy(() -> new Region(column, columns, row, rows)).hasMessage(message);
  }

  @Test
  void a_shard_and_a_move_check_their_devices() {
    Region region = new Region(0, 4, 0, 10);
    assertThatThrownBy(() -> new Shard("a", region, -1, ShardKind.TABLE_WISE))
        .hasMessage("device of a table_wise shard of table \"a\" must be at least 0, got -1");
    assertThatThrownBy(() -> new Shard("a", region, 0, ShardKind.DATA_PARALLEL))
        .hasMessage(
            "device of a data_parallel shard of table \"a\" must be -1, each device, got 0");
    assertThatThrownBy(() -> new Transfer(new Overlap("a", region, 2, 2), 160))
        .hasMessage("a move must be between two devices, got device 2 twice for table \"a\"");
    assertThatThrownBy(() -> new Transfer(new Overlap("a", region, 2, 3), -1))
        .hasMessage("bytes of a move must be at least 0, got -1");
  }
}
