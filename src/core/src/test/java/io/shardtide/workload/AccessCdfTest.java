package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AccessCdfTest {
  private static TableSpec table(long rows, AccessCdf cdf) {
    return TableSpecBuilder.builder(Fixtures.table("t", rows, 4, 1)).accessCdf(cdf).build();
  }

  private static void assertInvalid(Runnable made, String message) {
    assertThatThrownBy(made::run)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_ACCESS_CDF))
        .hasMessageContaining(message);
  }

  /** Uses of rows, most used first: some skew, many ties. */
  @Provide
  Arbitrary<List<Integer>> uses() {
    return Arbitraries.oneOf(
            Arbitraries.integers().between(1, 5), Arbitraries.integers().between(1, 1_000_000))
        .list()
        .ofMinSize(1)
        .ofMaxSize(400)
        .map(list -> list.stream().sorted((a, b) -> b - a).toList());
  }

  /** What a publisher computes from the uses of rows is accepted, whatever they are. */
  @Property
  void a_cdf_of_any_uses_is_accepted_for_its_rows(@ForAll("uses") List<Integer> uses) {
    double total = uses.stream().mapToLong(Integer::longValue).sum();
    List<Double> shares = new ArrayList<>();
    for (int ranked = 1; ranked < uses.size(); ranked *= AccessCdf.FACTOR) {
      shares.add(uses.stream().limit(ranked).mapToLong(Integer::longValue).sum() / total);
    }
    shares.add(1.0);
    AccessCdf cdf = new AccessCdf(shares);
    assertThat(cdf.isKnown()).isTrue();
    assertThat(cdf.shares()).hasSize(AccessCdf.size(uses.size()));
    assertThat(table(uses.size(), cdf).accessCdf()).isEqualTo(cdf);
  }

  @Property
  void the_size_counts_powers_of_4_below_the_rows_and_all_rows(
      @ForAll @LongRange(min = 1, max = TableSpec.MAX_ROWS) long rows) {
    int size = AccessCdf.size(rows);
    // 4^(size - 2) is the last power below the rows, 4^(size - 1) is not.
    assertThat(1L << (2 * (size - 1))).isGreaterThanOrEqualTo(rows);
    if (size > 1) {
      assertThat(1L << (2 * (size - 2))).isLessThan(rows);
    }
    AccessCdf cdf = Fixtures.cdf(rows);
    assertThat(table(rows, cdf).accessCdf()).isEqualTo(cdf);
    assertThat(table(rows, AccessCdf.UNKNOWN).accessCdf().isKnown()).isFalse();
  }

  /** What the most used rows have is kept, whatever the number of rows becomes. */
  @Property
  void a_resized_cdf_is_one_of_the_new_rows(
      @ForAll @LongRange(min = 1, max = TableSpec.MAX_ROWS) long rows,
      @ForAll @LongRange(min = 1, max = TableSpec.MAX_ROWS) long others) {
    AccessCdf cdf = Fixtures.cdf(rows);
    AccessCdf resized = cdf.resized(others);
    assertThat(table(others, resized).accessCdf()).isEqualTo(resized);
    for (int entry = 0; entry < resized.shares().size(); entry++) {
      boolean isKept = entry < Math.min(cdf.shares().size(), resized.shares().size()) - 1;
      assertThat(resized.shares().get(entry)).isEqualTo(isKept ? cdf.shares().get(entry) : 1);
    }
    assertThat(cdf.resized(rows)).isEqualTo(cdf);
    assertThat(AccessCdf.UNKNOWN.resized(others)).isEqualTo(AccessCdf.UNKNOWN);
  }

  @Test
  void a_resized_cdf_ends_as_it_did() {
    AccessCdf rounded = new AccessCdf(List.of(0.25, 0.5, 1.0001));
    assertThat(rounded.resized(100).shares()).containsExactly(0.25, 0.5, 1.0001, 1.0001, 1.0001);
    assertThat(rounded.resized(2).shares()).containsExactly(0.25, 1.0001);
    assertThat(rounded.resized(1).shares()).containsExactly(1.0001);
  }

  @Property
  void one_entry_too_many_or_too_few_is_rejected(
      @ForAll @LongRange(min = 2, max = TableSpec.MAX_ROWS / 4) long rows) {
    int size = AccessCdf.size(rows);
    for (AccessCdf other : List.of(Fixtures.cdf(4 * rows), Fixtures.cdf((rows + 3) / 4))) {
      assertInvalid(
          () -> table(rows, other),
          "entries of the access CDF of table \"t\" must be %d for its %d rows, got %d"
              .formatted(size, rows, other.shares().size()));
    }
  }

  /** A share that falls, is 0, negative, NaN, infinite or above 1 is found wherever it is. */
  @Property
  void one_wrong_share_is_rejected(
      @ForAll @LongRange(min = 5, max = TableSpec.MAX_ROWS) long rows,
      @ForAll @IntRange(max = 100) int place,
      @ForAll @Scale(15) @DoubleRange(min = 0.01, max = 1) double by) {
    List<Double> shares = Fixtures.cdf(rows).shares();
    int entry = 1 + place % (shares.size() - 1);
    double before = shares.get(entry - 1);
    for (double wrong :
        new double[] {
          before * (1 - by), 0, -0.0, -by, 1 + by, Double.NaN, Double.POSITIVE_INFINITY
        }) {
      List<Double> changed = new ArrayList<>(shares);
      changed.set(entry, wrong);
      assertInvalid(
          () -> new AccessCdf(changed), "entry %d of an access CDF must be ".formatted(entry));
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "4, 2", "5, 3", "16, 3", "17, 4", "68719476736, 19"})
  void sizes_at_powers_of_4(long rows, int size) {
    assertThat(AccessCdf.size(rows)).isEqualTo(size);
  }

  @Test
  void the_last_share_is_1_up_to_rounding() {
    assertThat(new AccessCdf(List.of(0.5, 0.9999)).isKnown()).isTrue();
    assertThat(new AccessCdf(List.of(0.5, 1.0001)).isKnown()).isTrue();
    assertThat(new AccessCdf(List.of(1.0, 1.0)).isKnown()).isTrue();
    assertInvalid(
        () -> new AccessCdf(List.of(0.5, 0.99)),
        "entry 1 of an access CDF must be 1, as all rows have all lookups, got 0.99");
    assertInvalid(() -> new AccessCdf(List.of(0.9)), "entry 0 of an access CDF must be 1");
    assertInvalid(
        () -> new AccessCdf(List.of(0.5, 0.25, 1.0)),
        "entry 1 of an access CDF must be at least 0.5, the one before, got 0.25");
    assertInvalid(
        () -> new AccessCdf(List.of(0.0, 1.0)),
        "entry 0 of an access CDF must be above 0 and at most 1, got 0.0");
    assertThat(new AccessCdf(List.of())).isEqualTo(AccessCdf.UNKNOWN);
  }
}
