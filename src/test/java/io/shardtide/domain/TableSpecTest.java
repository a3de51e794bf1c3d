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
          0            | 64   | 1    | 4   | INVALID_ROWS              | Table "t" has 0 rows; legal are 1 to 68719476736
          -5           | 64   | 1    | 4   | INVALID_ROWS              | Table "t" has -5 rows; legal are 1 to 68719476736
          68719476737  | 64   | 1    | 4   | INVALID_ROWS              | Table "t" has 68719476737 rows; legal are 1 to 68719476736
          10           | 0    | 1    | 4   | INVALID_COLUMNS           | Table "t" has 0 columns; legal are multiples of 4 from 4 to 4096
          10           | -4   | 1    | 4   | INVALID_COLUMNS           | Table "t" has -4 columns; legal are multiples of 4 from 4 to 4096
          10           | 6    | 1    | 4   | INVALID_COLUMNS           | Table "t" has 6 columns; legal are multiples of 4 from 4 to 4096
          10           | 4100 | 1    | 4   | INVALID_COLUMNS           | Table "t" has 4100 columns; legal are multiples of 4 from 4 to 4096
          10           | 64   | NaN  | 4   | INVALID_POOLING_FACTOR    | Table "t" has a pooling factor of NaN; legal are 0 to 1000000 lookups per sample
          10           | 64   | -0.1 | 4   | INVALID_POOLING_FACTOR    | Table "t" has a pooling factor of -0.1; legal are 0 to 1000000 lookups per sample
          10           | 64   | 1e7  | 4   | INVALID_POOLING_FACTOR    | Table "t" has a pooling factor of 1.0E7; legal are 0 to 1000000 lookups per sample
          10           | 64   | 1    | 0   | INVALID_BYTES_PER_ELEMENT | Table "t" has 0.0 bytes per element; legal are more than 0, at most 64
          10           | 64   | 1    | NaN | INVALID_BYTES_PER_ELEMENT | Table "t" has NaN bytes per element; legal are more than 0, at most 64
          10           | 64   | 1    | 65  | INVALID_BYTES_PER_ELEMENT | Table "t" has 65.0 bytes per element; legal are more than 0, at most 64
          """)
  void an_illegal_value_is_named_with_what_is_legal(
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
        .hasMessageContaining("legal are 1 to 255 characters");
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
            "The reuse histogram has 16 shares; legal are 17 shares from 0 to 1 that sum to 1, or none when it is unknown");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, 0.1)))
        .hasMessageContaining("has shares that sum to 1.7");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, Double.NaN)))
        .hasMessageContaining("has the share NaN");
    assertThatThrownBy(() -> new ReuseHistogram(Collections.nCopies(17, -0.5)))
        .hasMessageContaining("has the share -0.5");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0     | 1  | 1  | 1  | The cluster has 0 devices; legal are 1 to 16384
          16385 | 1  | 1  | 1  | The cluster has 16385 devices; legal are 1 to 16384
          1     | 0  | 1  | 1  | The cluster has 0 bytes of memory per device; legal are 1 to 17592186044416
          1     | 1  | 0  | 1  | The cluster has 0 samples per batch; legal are 1 to 2147483647
          1     | 1  | 1  | -1 | The cluster has -1 devices per node; legal are 1 to 2147483647
          """)
  void an_illegal_cluster_is_named_with_what_is_legal(
      int devices, long memory, int batch, int perNode, String text) {
    assertThatThrownBy(() -> new ClusterSpec(devices, memory, batch, perNode, "h100"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(text);
  }
}
