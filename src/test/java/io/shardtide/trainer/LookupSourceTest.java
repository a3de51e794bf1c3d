package io.shardtide.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LookupSourceTest {
  private static final int BATCH = 2_000;

  private static Map<Long, Integer> uses(TableSpec table, long step) {
    Lookups lookups = draw(table, step);
    Map<Long, Integer> uses = new HashMap<>();
    for (int i = 0; i < lookups.end(BATCH - 1); i++) {
      assertThat(lookups.row(i)).isBetween(0L, table.rows() - 1);
      uses.merge(lookups.row(i), 1, Integer::sum);
    }
    return uses;
  }

  private static Lookups draw(TableSpec table, long step) {
    Lookups lookups = new Lookups(BATCH);
    new LookupSource(table, BATCH, 1).draw(step, lookups);
    return lookups;
  }

  private static ReuseHistogram reuse(Map<Integer, Double> shares) {
    List<Double> all = new ArrayList<>();
    for (int k = 0; k < ReuseHistogram.SIZE; k++) {
      all.add(shares.getOrDefault(k, 0.0));
    }
    return new ReuseHistogram(all);
  }

  @Test
  void the_mean_number_of_lookups_is_the_pooling_factor() {
    for (double pooling : new double[] {0, 0.25, 1, 7.5}) {
      Lookups lookups = draw(Fixtures.table("t", 1_000, 4, pooling), 0);
      assertThat(lookups.end(BATCH - 1) / (double) BATCH).isCloseTo(pooling, within(0.05));
    }
  }

  @Test
  void rows_are_reused_as_in_the_histogram() {
    // Of the touched rows, 90% are used once and 10% are used 8 to 16 times.
    TableSpec table =
        Fixtures.table("t", 5_000_000, 4, 10).withReuse(reuse(Map.of(0, 0.9, 4, 0.1)));
    Map<Long, Integer> uses = uses(table, 3);
    long once = uses.values().stream().filter(u -> u == 1).count();
    double touched = 10.0 * BATCH / (0.9 + 0.1 * 12);
    assertThat(uses.size()).isCloseTo((int) touched, within((int) (0.02 * touched)));
    assertThat(once / (double) uses.size()).isCloseTo(0.9, within(0.02));
    assertThat(uses.values().stream().filter(u -> u > 4).mapToInt(u -> u).average().orElseThrow())
        .isCloseTo(12, within(0.5));
  }

  @Test
  void without_a_histogram_few_rows_are_hot() {
    Map<Long, Integer> uses = uses(Fixtures.table("t", 100_000, 4, 10), 0);
    int hottest = uses.values().stream().mapToInt(u -> u).max().orElseThrow();
    // Zipf's law: the first of n ranks has the share log(2)/log(n+1).
    assertThat(hottest / (10.0 * BATCH)).isCloseTo(Math.log(2) / Math.log(100_001), within(0.01));
  }

  @Test
  void lookups_depend_only_on_table_name_and_step() {
    TableSpec table = Fixtures.table("t", 1_000, 4, 3);
    assertThat(uses(table, 5))
        .isEqualTo(uses(table.withColumns(64), 5))
        .isNotEqualTo(uses(table, 6));
    assertThat(uses(table, 5)).isNotEqualTo(uses(Fixtures.table("u", 1_000, 4, 3), 5));
  }

  @Test
  void tables_with_fewer_rows_than_the_histogram_needs_are_supported() {
    for (long rows : new long[] {1, 2, 3, 17}) {
      for (int k : new int[] {0, 1, 16}) {
        TableSpec table = Fixtures.table("t", rows, 4, 3).withReuse(reuse(Map.of(k, 1.0)));
        assertThat(uses(table, 0)).isNotEmpty();
      }
    }
  }

  @Test
  void a_measured_histogram_reproduces_the_reuse() {
    TableSpec table = Fixtures.table("t", 20_000, 4, 10);
    TableSpec known = MeasuredReuse.of(table, BATCH, 3);
    TableSpec again = MeasuredReuse.of(table, BATCH, 3);
    assertThat(known).isEqualTo(again);
    double before = uses(table, 7).size();
    assertThat(uses(known, 7).size()).isCloseTo((int) before, within((int) (0.1 * before)));
    assertThat(known.reuseHistogram().shares().get(0)).isBetween(0.3, 0.8);
    assertThat(MeasuredReuse.of(Fixtures.table("t", 10, 4, 0), BATCH, 3).reuseHistogram())
        .isEqualTo(ReuseHistogram.UNKNOWN);
  }
}
