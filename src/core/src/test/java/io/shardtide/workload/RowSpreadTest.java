package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** How lookups spread over blocks of rows, and how ids repeat. */
class RowSpreadTest {
  private static RowSpread spread(RowOrder order, Double... shares) {
    return new RowSpread(order, List.of(shares));
  }

  private static void assertRejected(Runnable made, String message) {
    assertThatThrownBy(made::run).isInstanceOf(RejectedException.class).hasMessage(message);
  }

  @Test
  void measured_blocks_are_joined() {
    for (RowOrder order : List.of(RowOrder.CONTIGUOUS, RowOrder.ROUND_ROBIN)) {
      RowSpread spread = spread(order, 0.1, 0.2, 0.3, 0.4);
      boolean isContiguous = order == RowOrder.CONTIGUOUS;
      assertThat(spread.hottest(2).share()).isCloseTo(isContiguous ? 0.7 : 0.6, within(1e-12));
      assertThat(spread.hottest(2).number()).isEqualTo(1);
      assertThat(spread.hottest(1).share()).isCloseTo(1, within(1e-12));
      assertThat(spread.hottest(4)).isEqualTo(new RowSpread.Hottest(order, 3, 0.4));
    }
  }

  @Test
  void contiguous_blocks_are_cut_and_others_keep_their_hot_rows_together() {
    assertThat(spread(RowOrder.CONTIGUOUS, 0.5, 0.5).hottest(8).share())
        .isCloseTo(0.125, within(1e-12));
    assertThat(spread(RowOrder.CONTIGUOUS, 0.25, 0.75).hottest(3).share())
        .isCloseTo(0.5, within(1e-12));
    assertThat(spread(RowOrder.HASHED, 0.25, 0.75).hottest(8).share())
        .isCloseTo(0.25 + 0.125, within(1e-12));
  }

  @Test
  void shares_that_are_none_are_rejected() {
    assertRejected(
        () -> spread(RowOrder.CONTIGUOUS, 0.5, 0.4),
        "sum of the shares of a row spread \"contiguous\" must be 1, got 0.9");
    assertRejected(
        () -> spread(RowOrder.HASHED, 1.5, -0.5),
        "share of a row spread \"hashed\" must be between 0 and 1, got 1.5");
    assertRejected(
        () -> spread(RowOrder.HASHED),
        "blocks of a row spread \"hashed\" must be between 1 and 4096, got 0");
    assertRejected(
        () -> RowOrder.of("random"),
        "order of a table's rows must be one of contiguous, round_robin, hashed, got \"random\"");
  }

  private static TableSpec table(int rows, List<DistinctShare> shares) {
    return TableSpecBuilder.builder(Fixtures.table("t", rows, 4, 10)).distinctShare(shares).build();
  }

  @Test
  void distinct_shares_that_rows_or_lookups_exclude_are_rejected() {
    assertRejected(
        () -> new DistinctShare(10, 1.5),
        "share of a distinct share must be above 0 and at most 1, got 1.5");
    assertRejected(
        () -> table(50, List.of(new DistinctShare(10, 0.6))),
        "distinct share of 10 samples of table \"t\" must be of 1 to 50 rows, in 100.0 lookups, got 0.6");
    assertRejected(
        () -> table(50, List.of(new DistinctShare(10, 0.001))),
        "distinct share of 10 samples of table \"t\" must be of 1 to 50 rows, in 100.0 lookups, got 0.001");
    assertRejected(
        () -> table(500, List.of(new DistinctShare(10, 0.5), new DistinctShare(10, 0.4))),
        "samples of a distinct share of table \"t\" must be between 11 and 2147483647, got 10");
    assertRejected(
        () ->
            TableSpecBuilder.builder(Fixtures.table("t", 10, 4, 10))
                .deduplicated(Optional.of(true))
                .build(),
        "deduplicated of table \"t\" must be false, since it is pooled, got true");
    RowSpread spread = spread(RowOrder.CONTIGUOUS, 1.0);
    assertRejected(
        () ->
            TableSpecBuilder.builder(Fixtures.table("t", 10, 4, 10))
                .rowSpread(List.of(spread, spread))
                .build(),
        "orders of row spreads of table \"t\" must be different, got \"contiguous\" twice");
  }
}
