package io.shardtide.domain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TableSpecTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0            | 64   | 1    | 4   | INVALID_ROWS              | rows of table "t" must be between 1 and 2^36, got 0
          -5           | 64   | 1    | 4   | INVALID_ROWS              | rows of table "t" must be between 1 and 2^36, got -5
          68719476737  | 64   | 1    | 4   | INVALID_ROWS              | rows of table "t" must be between 1 and 2^36, got 68719476737
          10           | 0    | 1    | 4   | INVALID_COLUMNS           | columns of table "t" must be a multiple of 4 between 4 and 4096, got 0
          10           | -4   | 1    | 4   | INVALID_COLUMNS           | columns of table "t" must be a multiple of 4 between 4 and 4096, got -4
          10           | 6    | 1    | 4   | INVALID_COLUMNS           | columns of table "t" must be a multiple of 4 between 4 and 4096, got 6
          10           | 4100 | 1    | 4   | INVALID_COLUMNS           | columns of table "t" must be a multiple of 4 between 4 and 4096, got 4100
          10           | 64   | NaN  | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got NaN
          10           | 64   | -0.1 | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got -0.1
          10           | 64   | 1e7  | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got 1.0E7
          10           | 64   | 1    | 0   | INVALID_BYTES_PER_ELEMENT | bytes per element of table "t" must be above 0 and at most 64, got 0.0
          10           | 64   | 1    | NaN | INVALID_BYTES_PER_ELEMENT | bytes per element of table "t" must be above 0 and at most 64, got NaN
          10           | 64   | 1    | 65  | INVALID_BYTES_PER_ELEMENT | bytes per element of table "t" must be above 0 and at most 64, got 65.0
          """)
  void an_invalid_value_is_named_with_what_is_expected(
      long rows, int columns, double pooling, double bytes, RejectionReason reason, String text) {
    assertThatThrownBy(
            () -> new TableSpec("t", rows, columns, pooling, ReuseHistogram.UNKNOWN, bytes))
        .isInstanceOfSatisfying(
            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessage(text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "  ", "a\u0000b", "tab\there", "\ud800"})
  void a_name_is_text_without_control_characters(String name) {
    assertThatThrownBy(() -> new TableSpec(name, 1, 4, 1, ReuseHistogram.UNKNOWN, 4))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_TABLE_NAME))
        .hasMessageContaining("must have 1 to 255 characters");
  }

  @Test
  void a_name_may_be_in_any_script_and_255_long() {
    assertThat(new TableSpec("表😀", 1, 4, 1, ReuseHistogram.UNKNOWN, 4).name()).isEqualTo("表😀");
    String longest = "x".repeat(255);
    assertThat(new TableSpec(longest, 1, 4, 1, ReuseHistogram.UNKNOWN, 4).name())
        .isEqualTo(longest);
    assertThatThrownBy(() -> new TableSpec(longest + "x", 1, 4, 1, ReuseHistogram.UNKNOWN, 4))
        .hasMessageContaining("has 256 characters");
  }

  @Test
  void bytes_are_rounded_up_and_the_largest_table_is_counted_right() {
    assertThat(new TableSpec("t", 3, 4, 1, ReuseHistogram.UNKNOWN, 0.3).bytes()).isEqualTo(4);
    TableSpec largest = new TableSpec("t", TableSpec.MAX_ROWS, 4096, 1, ReuseHistogram.UNKNOWN, 64);
    assertThat(largest.bytes()).isEqualTo((1L << 36) * 4096 * 64);
    assertThat(largest.bytes(4)).isEqualTo((1L << 36) * 4 * 64);
  }

  @Test
  void a_histogram_is_17_shares_that_sum_to_1_or_none() {
    assertThat(new ReuseHistogram(List.of()).isKnown()).isFalse();
    assertThat(new ReuseHistogram(Collections.nCopies(17, 1.0 / 17)).isKnown()).isTrue();
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(16, 1.0 / 16)))
        .hasMessage(
            "reuse histogram must have 17 shares between 0 and 1 that sum to 1, or none if unknown,"
                + " got 16 shares");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, 0.1)))
        .hasMessageContaining("got shares that sum to 1.7");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, Double.NaN)))
        .hasMessageContaining("got the share NaN");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, -0.5)))
        .hasMessageContaining("got the share -0.5");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0     | 1  | 1  | 1  | devices of a cluster must be between 1 and 16384, got 0
          16385 | 1  | 1  | 1  | devices of a cluster must be between 1 and 16384, got 16385
          1     | 0  | 1  | 1  | bytes of memory per device of a cluster must be between 1 and 17592186044416, got 0
          1     | 1  | 0  | 1  | samples per batch of a cluster must be between 1 and 2147483647, got 0
          1     | 1  | 1  | -1 | devices per node of a cluster must be between 1 and 2147483647, got -1
          """)
  void an_invalid_cluster_is_named_with_what_is_expected(
      int devices, long memory, int batch, int perNode, String text) {
    assertThatThrownBy(() -> new ClusterSpec(devices, memory, batch, perNode, "h100"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(text);
  }
}
