package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TableConstraintsTest {
  private static TableSpec table(int columns, int least, ShardKind... kinds) {
    return Fixtures.table("t", 10, columns, 1)
        .withConstraints(new TableConstraints(Set.of(kinds), least, Optional.empty()));
  }

  private static void assertRejected(Runnable made, String message) {
    assertThatThrownBy(made::run)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS))
        .hasMessageContaining(message);
  }

  @Test
  void kinds_are_in_the_order_of_their_constants() {
    TableConstraints constraints =
        new TableConstraints(
            Set.of(ShardKind.DATA_PARALLEL, ShardKind.TABLE_WISE, ShardKind.ROW_WISE),
            0,
            Optional.empty());
    assertThat(constraints.kinds())
        .containsExactly(ShardKind.TABLE_WISE, ShardKind.ROW_WISE, ShardKind.DATA_PARALLEL);
    assertThat(constraints.describeKinds()).isEqualTo("table_wise, row_wise, data_parallel");
    assertThat(TableConstraints.kindsOf(List.of("grid_shard", "grid_shard")))
        .isEqualTo(EnumSet.of(ShardKind.GRID_SHARD));
  }

  private static boolean allows(
      TableConstraints constraints, ShardScope scope, int columns, int parts) {
    return Arrays.stream(ShardKind.values())
        .anyMatch(kind -> kind.scope() == scope && constraints.allows(kind, columns, parts));
  }

  @Test
  void a_table_is_cut_into_parts_of_its_least_width_and_wider() {
    TableConstraints least = table(64, 32).constraints();
    assertThat(allows(least, ShardScope.DEVICE, 64, 2)).isTrue();
    assertThat(allows(least, ShardScope.DEVICE, 64, 4)).isFalse();
    assertThat(allows(least, ShardScope.NODE, 64, 4)).isFalse();
    assertThat(allows(least, ShardScope.DEVICE, 16, 1)).as("narrower tables stay whole").isTrue();
  }

  @Test
  void constraints_that_no_plan_keeps_to_are_rejected() {
    ShardKind columns = ShardKind.COLUMN_WISE;
    assertThat(table(64, 32, columns).constraints().isEmpty()).isFalse();
    assertThat(table(4, 4096, columns, ShardKind.ROW_WISE).columns()).isEqualTo(4);
    TableSpec grid = table(64, 0, ShardKind.GRID_SHARD, ShardKind.TABLE_ROW_WISE);
    assertRejected(
        () -> TableSpecBuilder.builder(grid).pooled(false).build(),
        "constraints of unpooled table \"t\" contradict each other: it may only be table_row_wise,"
            + " grid_shard, as only pooled tables can be; expected another kind");
  }

  /** As in TorchRec: 64 columns in parts of at least 40 are one part. */
  @Test
  void a_table_that_is_too_narrow_for_two_parts_is_one() {
    for (ShardKind kind : List.of(ShardKind.COLUMN_WISE, ShardKind.TABLE_COLUMN_WISE)) {
      TableConstraints narrow = table(64, 40, kind).constraints();
      assertThat(allows(narrow, ShardScope.DEVICE, 64, 1)).isTrue();
      assertThat(allows(narrow, ShardScope.DEVICE, 64, 2)).isFalse();
      assertThat(allows(narrow, ShardScope.DEVICE, 160, 1)).as("two parts of 80").isFalse();
      assertThat(allows(narrow, ShardScope.DEVICE, 84, 1)).as("3 parts of 28 at most").isTrue();
      assertThat(allows(narrow, ShardScope.NODE, 64, 1)).isFalse();
      assertThat(allows(table(4, 0, kind).constraints(), ShardScope.DEVICE, 4, 1)).isTrue();
    }
    TableConstraints grid = table(64, 40, ShardKind.GRID_SHARD).constraints();
    assertThat(allows(grid, ShardScope.NODE, 64, 1)).isTrue();
    assertThat(allows(grid, ShardScope.DEVICE, 64, 1)).isFalse();
    assertThat(allows(grid, ShardScope.NODE, 160, 1)).isFalse();
  }

  @Test
  void blocks_of_rows_are_allowed_where_they_are_named_and_of_pooled_tables() {
    ShardKind blocks = ShardKind.PARTIAL_ROW_WISE;
    assertThat(TableConstraints.NONE.allows(blocks)).isFalse();
    assertThat(TableConstraints.NONE.excludedKinds()).as("no others would do more").isEmpty();
    assertThat(table(64, 32).constraints().allows(blocks)).isFalse();
    assertThat(table(64, 0, ShardKind.ROW_WISE).constraints().allows(blocks)).isFalse();
    assertThat(table(64, 36, blocks).constraints().allows(blocks)).isTrue();
    assertThat(table(64, 0, blocks).constraints().allows(ShardKind.TABLE_WISE)).isFalse();
    assertRejected(
        () -> TableSpecBuilder.builder(table(64, 0, blocks)).pooled(false).build(),
        "constraints of unpooled table \"t\" contradict each other: it may only be"
            + " partial_row_wise");
  }

  @Test
  void values_outside_their_range_are_rejected() {
    assertRejected(() -> table(64, -1), "between 0 and 4096, got -1");
    assertRejected(() -> table(64, 4097), "between 0 and 4096, got 4097");
    assertRejected(() -> TableConstraints.kindsOf(List.of("TABLE_WISE")), "got \"TABLE_WISE\"");
    assertRejected(
        () -> new TableConstraints(Set.of(), 0, Optional.of(" ")), "table name in constraints");
    assertRejected(
        () ->
            Fixtures.table("t", 10, 4, 1)
                .withConstraints(new TableConstraints(Set.of(), 0, Optional.of("t"))),
        "got the table itself");
  }

  /** What is measured of a part of a table has no constraints. */
  @Test
  void a_part_of_a_table_has_no_constraints() {
    assertThat(table(64, 32, ShardKind.COLUMN_WISE).withColumns(4).constraints())
        .isEqualTo(TableConstraints.NONE);
  }
}
