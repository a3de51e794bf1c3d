package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Region;
import io.shardtide.testing.Fixtures;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
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
          10           | 64   | NaN  | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got NaN lookups per sample
          10           | 64   | -0.1 | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got -0.1 lookups per sample
          10           | 64   | 1e7  | 4   | INVALID_POOLING_FACTOR    | pooling factor of table "t" must be between 0 and 1000000 lookups per sample, got 1.0E7 lookups per sample
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

  /**
   * Plans on record have these bytes in their ids: 28 columns of row-wise Adagrad, as published.
   */
  @Test
  void bytes_without_optimizer_bytes_are_multiplied_in_the_order_of_recorded_plans() {
    double bytes = 4 + 4.0 / 28;
    assertThat(Math.ceil(5 * (28 * bytes))).as("another order").isEqualTo(581);
    assertThat(new TableSpec("t", 5, 28, 1, ReuseHistogram.UNKNOWN, bytes).bytes()).isEqualTo(580);
  }

  @Test
  void state_of_a_named_optimizer_follows_from_its_name_and_is_not_cached() {
    TableSpec adam = named(Optimizer.ADAM, optimized(0, 0));
    assertThat(adam.bytes()).isEqualTo(10 * 8 * (2 + 8));
    assertThat(named(Optimizer.ROWWISE_ADAGRAD, optimized(0, 0)).bytes()).isEqualTo(160 + 40);
    assertThat(named(Optimizer.PARTIAL_ROWWISE_ADAM, optimized(0, 0)).bytes())
        .isEqualTo(160 + 320 + 40);
    assertThat(named(Optimizer.SGD, optimized(0, 0)).bytes()).isEqualTo(160);
    assertThat(named(Optimizer.ADAM, optimized(2, 0)).bytes())
        .as("bytes that the table names")
        .isEqualTo(160 + 160);
    OptionalDouble quarter = OptionalDouble.of(0.25);
    assertThat(adam.bytes(10, 8, quarter, false)).as("a quarter of the weights").isEqualTo(40);
    assertThat(adam.hostBytes(10, 8, false)).isEqualTo(160 + 640);
    TableSpec enforced = TableSpecBuilder.builder(adam).enforceHbm(true).build();
    assertThat(enforced.bytes(10, 8, quarter, false)).isEqualTo(40 + 640);
    assertThat(enforced.hostBytes(10, 8, false)).isEqualTo(160);
    assertThat(optimized(8, 0).bytes(10, 8, quarter, false)).as("not named").isEqualTo(800 / 4);
    assertThat(optimized(8, 0).hostBytes(10, 8, false)).isEqualTo(800);
  }

  /** FBGEMM's construct_split_state, and enforce_hbm, which it applies to momentum1 alone. */
  @ParameterizedTest
  @CsvSource({
    "SGD, 0, 0",
    "ROWWISE_ADAGRAD, 400, 400",
    "ADAGRAD, 0, 3200",
    "ADAM, 0, 3200",
    "PARTIAL_ROWWISE_ADAM, 400, 3600",
    "LAMB, 0, 3200"
  })
  void state_of_cached_rows_is_where_fbgemm_has_it(
      Optimizer optimizer, long otherwise, long enforced) {
    TableSpec table = named(optimizer, Fixtures.table("a", 1_000, 16, 1));
    assertThat(table.bytes(100, 8, OptionalDouble.of(0), true)).isEqualTo(otherwise);
    assertThat(
            TableSpecBuilder.builder(table)
                .enforceHbm(true)
                .build()
                .bytes(100, 8, OptionalDouble.of(0), true))
        .isEqualTo(enforced);
    assertThat(Fixtures.table("a", 1_000, 16, 1).bytes(100, 8, OptionalDouble.of(0), true))
        .isZero();
  }

  @Test
  void a_table_without_an_optimizer_has_its_clusters() {
    ClusterSpec plain = Fixtures.cluster(2, Fixtures.GIB);
    ClusterSpec adam =
        ClusterSpecBuilder.builder(plain).optimizer(Optional.of(Optimizer.ADAM)).build();
    TableSpec table = optimized(0, 0);
    assertThat(table.withDefaultOptimizer(plain.optimizer())).isEqualTo(table);
    assertThat(table.withDefaultOptimizer(adam.optimizer()))
        .isEqualTo(named(Optimizer.ADAM, table));
    TableSpec sgd = named(Optimizer.SGD, table);
    assertThat(sgd.withDefaultOptimizer(adam.optimizer())).isEqualTo(sgd);
  }

  @Test
  void names_of_optimizers_are_those_of_samples_and_of_fbgemm() {
    assertThat(Named.labels(Optimizer.class))
        .containsExactly(
            "sgd", "rowwise_adagrad", "adagrad", "adam", "partial_rowwise_adam", "lamb");
    for (Optimizer optimizer : Optimizer.values()) {
      assertThat(Optimizer.of(optimizer.label())).isEqualTo(optimizer);
    }
    assertThatThrownBy(() -> Optimizer.of("Adam"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_OPTIMIZER))
        .hasMessage(
            "optimizer must be one of sgd, rowwise_adagrad, adagrad, adam, partial_rowwise_adam,"
                + " lamb, got \"Adam\"");
  }

  private static TableSpec named(Optimizer optimizer, TableSpec table) {
    return TableSpecBuilder.builder(table).optimizer(Optional.of(optimizer)).build();
  }

  private static TableSpec optimized(double perElement, double perRow) {
    return TableSpecBuilder.builder(new TableSpec("t", 10, 8, 1, ReuseHistogram.UNKNOWN, 2))
        .optimizerBytesPerElement(perElement)
        .optimizerBytesPerRow(perRow)
        .build();
  }

  @Test
  void the_optimizers_state_is_counted_for_each_element_and_for_each_row_of_each_shard() {
    assertThat(optimized(0, 0).bytes()).isEqualTo(160);
    assertThat(optimized(4, 0).bytes()).isEqualTo(160 + 320);
    assertThat(optimized(0, 4).bytes()).isEqualTo(160 + 40);
    TableSpec both = optimized(4, 4);
    assertThat(both.bytes()).isEqualTo(160 + 320 + 40);
    assertThat(2 * both.bytes(4)).as("two column parts").isEqualTo(160 + 320 + 2 * 40);
    assertThat(both.bytes(3, 8) + both.bytes(7, 8)).as("two row parts").isEqualTo(both.bytes());
    assertThat(both.bytes(10, 0)).as("rows alone").isEqualTo(40);
    assertThat(new Region(4, 4, 2, 5).bytes(both)).isEqualTo(5 * (4 * 6 + 4));
    assertThat(optimized(0.25, 0.01).bytes()).as("rounded up").isEqualTo(181);
    TableSpec largest =
        TableSpecBuilder.builder(
                new TableSpec("t", TableSpec.MAX_ROWS, 4096, 1, ReuseHistogram.UNKNOWN, 64))
            .optimizerBytesPerElement(64)
            .optimizerBytesPerRow(64)
            .build();
    assertThat(largest.bytes()).isEqualTo((1L << 36) * (4096 * 128 + 64));
  }

  @ParameterizedTest
  @CsvSource({
    "-0.5, 0, optimizer bytes per element, -0.5",
    "NaN, 0, optimizer bytes per element, NaN",
    "65, 0, optimizer bytes per element, 65.0",
    "0, -0.5, optimizer bytes per row, -0.5",
    "0, NaN, optimizer bytes per row, NaN",
    "0, 65, optimizer bytes per row, 65.0"
  })
  void optimizer_bytes_have_a_range(double perElement, double perRow, String what, String got) {
    assertThatThrownBy(() -> optimized(perElement, perRow))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_BYTES_PER_ELEMENT))
        .hasMessage("%s of table \"t\" must be between 0 and 64, got %s".formatted(what, got));
    assertThat(optimized(64, 64).optimizerBytesPerRow()).isEqualTo(64);
  }

  @Test
  void a_changed_table_keeps_its_other_fields() {
    TableSpec table =
        TableSpecBuilder.builder(optimized(4, 8))
            .reuseHistogram(Fixtures.reuse())
            .accessCdf(Fixtures.cdf(10))
            .build();
    TableSpec wider = table.withColumns(12);
    assertThat(wider.columns()).isEqualTo(12);
    assertThat(wider.withColumns(8)).isEqualTo(table);
    assertThat(
            Fixtures.withReuse(Fixtures.withReuse(table, ReuseHistogram.UNKNOWN), Fixtures.reuse()))
        .isEqualTo(table);
    assertThat(table.withoutCdf()).isEqualTo(Fixtures.withReuse(optimized(4, 8), Fixtures.reuse()));
    assertThat(table.withoutUse()).isEqualTo(optimized(4, 8));
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
          1     | 0  | 1  | 1  | bytes of memory per device of a cluster must be between 1 and 2^44, got 0
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

  private static ClusterSpec cluster(
      long memory, long host, long reserved, double forward, double backward) {
    return ClusterSpecBuilder.builder(new ClusterSpec(3, memory, 64, 2, "h100"))
        .hostMemoryBytesPerDevice(host)
        .reservedMemoryBytesPerDevice(reserved)
        .forwardBytesPerElement(forward)
        .backwardBytesPerElement(backward)
        .build();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          -1             | 0   | 4   | 4   | bytes of host memory per device of a cluster must be between 0 and 2^44, got -1
          17592186044417 | 0   | 4   | 4   | bytes of host memory per device of a cluster must be between 0 and 2^44, got 17592186044417
          0              | -1  | 4   | 4   | reserved bytes of memory per device of a cluster must be between 0 and 99, got -1
          0              | 100 | 4   | 4   | reserved bytes of memory per device of a cluster must be between 0 and 99, got 100
          0              | 0   | 0   | 4   | forward bytes per element of a cluster must be above 0 and at most 8, got 0.0
          0              | 0   | NaN | 4   | forward bytes per element of a cluster must be above 0 and at most 8, got NaN
          0              | 0   | 4   | 8.5 | backward bytes per element of a cluster must be above 0 and at most 8, got 8.5
          """)
  void what_a_cluster_reserves_and_sends_has_a_range(
      long host, long reserved, double forward, double backward, String text) {
    assertThatThrownBy(() -> cluster(100, host, reserved, forward, backward))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(text);
  }

  @Test
  void shards_may_use_what_is_not_reserved() {
    ClusterSpec most = cluster(100, ClusterSpec.MAX_MEMORY_BYTES, 99, 8, 0.125);
    assertThat(most.leastUsableBytes()).isEqualTo(1);
    assertThat(most.usableBytes()).isEqualTo(3);
    assertThat(cluster(100, 0, 0, 4, 4))
        .as("nothing is reserved, and single precision is sent, unless the event says so")
        .isEqualTo(new ClusterSpec(3, 100, 64, 2, "h100"));
    assertThat(cluster(100, 0, 30, 4, 4).usableBytes()).isEqualTo(210);
  }

  @Test
  void the_last_node_may_have_fewer_devices() {
    ClusterSpec seven = new ClusterSpec(7, 1, 1, 3, "h100");
    assertThat(seven.nodes()).isEqualTo(3);
    assertThat(seven.devicesOfNode(0)).containsExactly(0, 1, 2);
    assertThat(seven.devicesOfNode(1)).containsExactly(3, 4, 5);
    assertThat(seven.devicesOfNode(2)).containsExactly(6);
    assertThat(seven.node(5)).isEqualTo(1);
    assertThat(seven.node(6)).isEqualTo(2);
    assertThatThrownBy(() -> seven.devicesOfNode(3))
        .hasMessage("node must be between 0 and 2, got 3");
    assertThat(new ClusterSpec(6, 1, 1, 3, "h100").nodes()).as("whole nodes").isEqualTo(2);
    ClusterSpec few = new ClusterSpec(2, 1, 1, 8, "h100");
    assertThat(few.nodes()).isEqualTo(1);
    assertThat(few.devicesOfNode(0)).containsExactly(0, 1);
  }
}
