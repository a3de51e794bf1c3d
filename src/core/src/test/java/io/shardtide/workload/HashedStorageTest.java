package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class HashedStorageTest {
  private static HashedStorage with(UnaryOperator<HashedStorageBuilder> change) {
    return change.apply(HashedStorageBuilder.builder(HashedStorage.PLAIN)).build();
  }

  private static void assertInvalid(UnaryOperator<HashedStorageBuilder> change, String message) {
    assertThatThrownBy(() -> with(change))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STORAGE))
        .hasMessage(message);
  }

  @Test
  void values_are_within_their_ranges() {
    HashedStorage most =
        new HashedStorage(
            1L << 36,
            1e12,
            1024,
            Eviction.AGE,
            Fixtures.cdf(1L << 36),
            Optional.of("x".repeat(500)));
    assertThat(most.ids()).isEqualTo(HashedStorage.MAX_IDS);
    assertThat(with(b -> b.slotBytes(0).idsPerDay(0)).slotBytes()).isZero();
    for (long ids : new long[] {-1, (1L << 36) + 1}) {
      assertInvalid(
          b -> b.ids(ids), "ids of a hashed table must be between 0 and 2^36, got " + ids);
    }
    for (double number : new double[] {-0.1, 1e13, Double.NaN}) {
      assertInvalid(
          b -> b.idsPerDay(number),
          "ids per day of a hashed table must be between 0 and 1000000000000, got " + number);
      assertInvalid(
          b -> b.slotBytes(number),
          "slot bytes of a hashed table must be between 0 and 1024, got " + number);
    }
  }

  /** No id and one id have one share: all lookups find it. */
  @Test
  void hit_shares_are_of_the_ids() {
    for (long ids : new long[] {0, 1}) {
      assertThat(with(b -> b.ids(ids).hitShares(Fixtures.cdf(1))).hitShares().shares())
          .containsExactly(1.0);
    }
    assertThat(with(b -> b.ids(17).hitShares(Fixtures.cdf(17))).hitShares().shares()).hasSize(4);
    assertInvalid(
        b -> b.ids(16).hitShares(Fixtures.cdf(17)),
        "entries of the hit shares of a hashed table must be 3 for its 16 ids, got 4");
  }

  @Test
  void a_reason_is_a_line_of_at_most_500_characters() {
    assertThat(with(b -> b.resizeReason(Optional.of(" "))).resizeReason()).isEmpty();
    assertThat(with(b -> b.resizeReason(Optional.of("voll: 表"))).resizeReason())
        .contains("voll: 表");
    assertInvalid(
        b -> b.resizeReason(Optional.of("y".repeat(501))),
        "reason of a resize must have at most 500 characters, none of them a control character, got"
            + " \""
            + "y".repeat(80)
            + "...\": it has 501 characters");
    assertInvalid(
        b -> b.resizeReason(Optional.of("a\nb")),
        "reason of a resize must have at most 500 characters, none of them a control character, got"
            + " \"a\uFFFDb\": it contains a control character");
    assertThatThrownBy(() -> new Change.TableResized("t", 5, "a\tb"))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("it contains a control character");
  }

  @Test
  void evictions_have_names() {
    for (Eviction eviction : Eviction.values()) {
      assertThat(Eviction.of(eviction.label())).isEqualTo(eviction);
    }
    assertThatThrownBy(() -> Eviction.of("LRU"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_STORAGE))
        .hasMessage("eviction of a hashed table must be one of none, lru, lfu, age, got \"LRU\"");
  }

  private static TableSpec hashed(TableConstraints constraints) {
    return Fixtures.hashed("t", 1_000, 64, 1).withConstraints(constraints);
  }

  @Test
  void a_hashed_table_is_not_copied() {
    for (TableSpec table :
        List.of(Fixtures.hashed("t", 1_000, 64, 1), hashed(TableConstraints.NONE))) {
      assertThat(table.constraints().kinds())
          .isEqualTo(
              EnumSet.complementOf(
                  EnumSet.of(ShardKind.DATA_PARALLEL, ShardKind.PARTIAL_ROW_WISE)));
      assertThat(table.constraints().mayHaveHotRows()).isFalse();
      assertThat(table.storage()).isPresent();
    }
    TableSpec other = Fixtures.table("t", 1_000, 64, 1);
    assertThat(other.constraints().allows(ShardKind.DATA_PARALLEL)).isTrue();
  }

  @ParameterizedTest
  @EnumSource(ShardKind.class)
  void other_kinds_stay(ShardKind kind) {
    TableConstraints only =
        TableConstraints.NONE
            .withKinds(EnumSet.of(kind, ShardKind.DATA_PARALLEL))
            .withLeastColumns(16)
            .withMayBeCached(false);
    if (kind == ShardKind.DATA_PARALLEL) {
      assertThatThrownBy(() -> hashed(only))
          .isInstanceOfSatisfying(
              RejectedException.class,
              e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS))
          .hasMessage(
              "constraints of hashed table \"t\" must allow a kind other than data_parallel, since"
                  + " each copy would store other ids; got data_parallel");
      return;
    }
    TableSpec table = hashed(only);
    assertThat(table.constraints())
        .isEqualTo(only.withKinds(Set.of(kind)).withMayHaveHotRows(false));
    assertThat(hashed(table.constraints())).as("normalised already").isEqualTo(table);
  }

  private static TableSpec keyed(Optimizer optimizer, double slotBytes) {
    return TableSpecBuilder.builder(Fixtures.table("t", 1_000, 64, 1))
        .optimizer(Optional.of(optimizer))
        .storage(Optional.of(with(b -> b.slotBytes(slotBytes))))
        .build();
  }

  /** A column part has the keys of all rows, a row part those of its own. */
  @Test
  void each_shard_has_the_keys_of_its_rows() {
    TableSpec table = keyed(Optimizer.ROWWISE_ADAGRAD, 16);
    assertThat(table.bytes()).isEqualTo(1_000 * (64 * 4 + 4 + 16));
    assertThat(2 * table.bytes(32)).isEqualTo(table.bytes() + 1_000 * (4 + 16));
    assertThat(table.bytes(250, 64)).isEqualTo(table.bytes() / 4);
    assertThat(table.bytes(1_000, 0)).isEqualTo(1_000 * (4 + 16));
    assertThat(keyed(Optimizer.SGD, 0.3).bytes(3, 4)).as("rounded up").isEqualTo(48 + 1);
    assertThat(keyed(Optimizer.SGD, 0).bytes()).isEqualTo(1_000 * 64 * 4);
  }

  /** Keys are in device memory, whatever share of the weights is, and never in host memory. */
  @Test
  void keys_of_cached_rows_are_in_device_memory() {
    TableSpec table = keyed(Optimizer.ROWWISE_ADAGRAD, 16);
    for (double share : new double[] {0, 0.25, 1}) {
      assertThat(table.bytes(100, 8, OptionalDouble.of(share), false))
          .isEqualTo((long) (share * 100 * 8 * 4) + 100 * 16);
    }
    assertThat(table.hostBytes(100, 8, false)).isEqualTo(100 * (8 * 4 + 4));
    assertThat(table.cachedBytes(100, 8)).isEqualTo(100 * 8 * 4);
    assertThat(table.bytes(100, 8, OptionalDouble.of(0), true))
        .as("state and keys")
        .isEqualTo(100 * (4 + 16));
    TableSpec enforced = TableSpecBuilder.builder(table).enforceHbm(true).build();
    assertThat(enforced.bytes(100, 8, OptionalDouble.of(0.5), false))
        .isEqualTo(1_600 + 400 + 1_600);
    assertThat(enforced.hostBytes(100, 8, false)).isEqualTo(100 * 8 * 4);
    TableSpec unnamed = Fixtures.hashed("t", 1_000, 64, 1);
    assertThat(unnamed.bytes(100, 8, OptionalDouble.of(0), true)).isEqualTo(1_600);
    assertThat(unnamed.hostBytes(100, 8, false)).isEqualTo(3_200);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, (1L << 36) + 1})
  void a_resize_has_slots_that_a_table_may_have(long rows) {
    assertThatThrownBy(() -> new Change.TableResized("t", rows, ""))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_ROWS))
        .hasMessage("rows of table \"t\" must be between 1 and 2^36, got " + rows);
  }
}
