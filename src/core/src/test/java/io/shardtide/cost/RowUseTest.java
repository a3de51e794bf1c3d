package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.RowUse;
import io.shardtide.plan.UseKnowledge;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link RowUse} and {@link BatchUse}: what a batch looks up in the rows of a table. */
class RowUseTest {
  private static final int BATCH = 65_536;

  private static TableSpec table(long rows, double pooling, AccessCdf cdf) {
    return TableSpecBuilder.builder(Fixtures.table("a", rows, 64, pooling)).accessCdf(cdf).build();
  }

  private static RowUse use(long rows, AccessCdf cdf) {
    return RowUse.of(table(rows, 1, cdf), BATCH);
  }

  /** Returns the CDF of weights of the most used row, the next 3, the next 12 ... */
  private static AccessCdf cdf(double... weights) {
    double sum = Arrays.stream(weights).sum();
    List<Double> shares = new ArrayList<>();
    double before = 0;
    for (double weight : weights) {
      before += weight;
      shares.add(before / sum);
    }
    return new AccessCdf(shares);
  }

  /** Returns how many rows are among the most used ones of the first {@code k + 1} weights. */
  private static double ranked(long rows, int k) {
    return Math.min((double) rows, Math.pow(4, k));
  }

  private static AccessCdf uniform(long rows) {
    double[] weights = new double[AccessCdf.size(rows)];
    for (int k = 0; k < weights.length; k++) {
      weights[k] = ranked(rows, k) - (k == 0 ? 0 : ranked(rows, k - 1));
    }
    return cdf(weights);
  }

  /** Rows are used less and less: by nothing to the square of the step, from one to the next. */
  private static AccessCdf random(long rows, Random random) {
    double[] weights = new double[AccessCdf.size(rows)];
    double density = 1;
    for (int k = 0; k < weights.length; k++) {
      weights[k] = density * (ranked(rows, k) - (k == 0 ? 0 : ranked(rows, k - 1)));
      density *= Math.pow(4, -2 * random.nextDouble() * random.nextInt(2));
    }
    return cdf(weights);
  }

  /** Returns the CDF of rows whose use is their rank to the power of {@code -exponent}. */
  private static AccessCdf zipf(int rows, double exponent) {
    double[] weights = new double[AccessCdf.size(rows)];
    int k = 0;
    for (int row = 1; row <= rows; row++) {
      if (row > ranked(rows, k)) {
        k++;
      }
      weights[k] += Math.pow(row, -exponent);
    }
    return cdf(weights);
  }

  @Property(tries = 200)
  void equal_use_touches_rows_as_poisson_says(
      @ForAll @LongRange(min = 1, max = 1L << 36) long rows,
      @ForAll @Scale(15) @DoubleRange(min = 1, max = 1e8) double lookups) {
    double expected = -rows * Math.expm1(-lookups / rows);
    BatchUse known = BatchUse.of(use(rows, uniform(rows)), lookups);
    assertThat(known.distinctRows()).isCloseTo(expected, within(1e-9 * expected));
    BatchUse unknown = BatchUse.of(use(rows, AccessCdf.UNKNOWN), lookups);
    assertThat(unknown.distinctRows()).isCloseTo(expected, within(1e-9 * expected));
  }

  @Property(tries = 500)
  void distinct_rows_follow_from_the_cdf(
      @ForAll @LongRange(min = 1, max = 1L << 36) long rows,
      @ForAll @Scale(15) @DoubleRange(min = 0, max = 1e9) double lookups,
      @ForAll Random random) {
    AccessCdf cdf = random(rows, random);
    BatchUse batch = BatchUse.of(use(rows, cdf), lookups);
    double most = Math.min((double) rows, lookups);
    assertThat(batch.distinctRows()).isBetween(0.0, most * (1 + 1e-9));
    assertThat(BatchUse.of(use(rows, cdf), 1.1 * lookups).distinctRows())
        .isGreaterThanOrEqualTo(batch.distinctRows());
    for (int k = 0; k < cdf.shares().size(); k++) {
      assertThat(batch.lookupShare(ranked(rows, k)))
          .as("share of the %.0f most used rows", ranked(rows, k))
          .isCloseTo(cdf.shares().get(k), within(1e-6));
    }
    double share = 0;
    double beside = batch.distinctRows();
    assertThat(batch.lookupShare(0)).isZero();
    assertThat(batch.distinctBeside(0)).isEqualTo(beside);
    for (double ranked = 0.7; ranked < rows; ranked *= 1.3) {
      assertThat(batch.lookupShare(ranked)).isBetween(share, 1.0);
      assertThat(batch.distinctBeside(ranked)).isBetween(0.0, beside);
      share = batch.lookupShare(ranked);
      beside = batch.distinctBeside(ranked);
    }
    assertThat(batch.distinctBeside((double) rows)).isCloseTo(0, within(1e-9 * most));
  }

  /** Each share of the rows has the same mix of rows that are used often and seldom. */
  @Property(tries = 200)
  void shares_of_the_rows_make_up_the_table(
      @ForAll @LongRange(min = 100, max = 1L << 36) long rows,
      @ForAll @Scale(15) @DoubleRange(min = 0.01, max = 0.99) double share,
      @ForAll Random random) {
    BatchUse whole = BatchUse.of(use(rows, random(rows, random)), 1e6);
    BatchUse one = whole.ofRows(share);
    BatchUse other = whole.ofRows(1 - share);
    assertThat(one.lookups()).isCloseTo(share * 1e6, within(1e-3));
    assertThat(one.lookups() + other.lookups()).isCloseTo(1e6, within(1e-3));
    assertThat(one.distinctRows() + other.distinctRows())
        .isCloseTo(whole.distinctRows(), within(1e-9 * whole.distinctRows()));
    double ranked = rows * random.nextDouble();
    assertThat(one.lookupShare(share * ranked)).isCloseTo(whole.lookupShare(ranked), within(1e-9));
    assertThat(one.distinctBeside(share * ranked) + other.distinctBeside((1 - share) * ranked))
        .isCloseTo(whole.distinctBeside(ranked), within(1e-6 * whole.distinctRows()));
  }

  /** A row that a batch misses is missed by each of its halves, independently. */
  @Property(tries = 200)
  void halves_of_a_batch_share_rows(
      @ForAll @LongRange(min = 1, max = 1L << 36) long rows,
      @ForAll @Scale(15) @DoubleRange(min = 1, max = 1e8) double lookups,
      @ForAll Random random) {
    RowUse use = use(rows, random(rows, random));
    double inBoth = 0;
    for (int g = 0; g < use.size(); g++) {
      double touched = -Math.expm1(-lookups / 2 * use.share(g));
      inBoth += use.rows(g) * touched * touched;
    }
    double half = BatchUse.of(use, lookups / 2).distinctRows();
    double whole = BatchUse.of(use, lookups).distinctRows();
    assertThat(2 * half - inBoth).isCloseTo(whole, within(1e-6 * whole));
  }

  /** The most used row has a share of the lookups, and all others the rest: two kinds of rows. */
  @Property(tries = 100)
  void statistics_describe_how_often_touched_rows_are_used(
      @ForAll @LongRange(min = 17, max = 1_000_000) long rows,
      @ForAll @Scale(15) @DoubleRange(min = 0.1, max = 0.9) double share,
      @ForAll @Scale(15) @DoubleRange(min = 10, max = 1e7) double lookups) {
    double[] weights = new double[AccessCdf.size(rows)];
    weights[0] = share;
    for (int k = 1; k < weights.length; k++) {
      weights[k] = (1 - share) * (ranked(rows, k) - ranked(rows, k - 1)) / (rows - 1);
    }
    BatchUse.Statistics statistics = BatchUse.of(use(rows, cdf(weights)), lookups).statistics();
    double[] uses = {share * lookups, (1 - share) * lookups / (rows - 1)};
    double[] count = {1, rows - 1};
    double[] touched = new double[2];
    double[] log = new double[2];
    for (int i = 0; i < 2; i++) {
      double probability = -Math.expm1(-uses[i]);
      touched[i] = count[i] * probability;
      log[i] = Math.log(uses[i] / probability) / Math.log(2);
    }
    double ofRows = touched[0] / (touched[0] + touched[1]);
    double distance = Math.abs(log[0] - log[1]);
    assertThat(statistics.rowMean())
        .isCloseTo(ofRows * log[0] + (1 - ofRows) * log[1], within(1e-6));
    assertThat(statistics.rowSpread())
        .isCloseTo(distance * Math.sqrt(ofRows * (1 - ofRows)), within(1e-5));
    assertThat(statistics.lookupMean())
        .isCloseTo(share * log[0] + (1 - share) * log[1], within(1e-6));
    assertThat(statistics.lookupSpread())
        .isCloseTo(distance * Math.sqrt(share * (1 - share)), within(1e-5));
    double once = uses[0] * Math.exp(-uses[0]) + count[1] * uses[1] * Math.exp(-uses[1]);
    assertThat(statistics.once()).isCloseTo(once / (touched[0] + touched[1]), within(1e-6));
  }

  /** A trainer counts how often a batch uses rows; the CDF behind it has the same distinct rows. */
  @ParameterizedTest
  @CsvSource({
    "1000, 1.0, 3000",
    "100000, 0.6, 50000",
    "100000, 1.0, 500000",
    "1000000, 0.8, 100000",
    "1000000, 1.1, 300000"
  })
  void a_reuse_histogram_gives_back_its_batch(int rows, double exponent, double lookups) {
    RowUse known = use(rows, zipf(rows, exponent));
    double[] counted = new double[ReuseHistogram.SIZE];
    for (int g = 0; g < known.size(); g++) {
      double uses = lookups * known.share(g);
      double logOfProbability = -uses;
      for (int n = 1; n <= 1 << 16; n++) {
        logOfProbability += Math.log(uses / n);
        int bin = 32 - Integer.numberOfLeadingZeros(n - 1);
        counted[bin] += known.rows(g) * Math.exp(logOfProbability);
      }
    }
    double distinct = Arrays.stream(counted).sum();
    assertThat(BatchUse.of(known, lookups).distinctRows())
        .isCloseTo(distinct, within(1e-6 * distinct));
    ReuseHistogram reuse =
        new ReuseHistogram(Arrays.stream(counted).mapToObj(rowsOf -> rowsOf / distinct).toList());
    TableSpec table = Fixtures.withReuse(table(rows, lookups / BATCH, AccessCdf.UNKNOWN), reuse);
    assertThat(BatchUse.of(RowUse.of(table, BATCH), lookups).distinctRows())
        .isCloseTo(distinct, within(0.4 * distinct));
  }

  @Test
  void the_best_knowledge_of_three_is_used() {
    AccessCdf cdf = zipf(1_000, 1);
    TableSpec both = Fixtures.withReuse(table(1_000, 2, cdf), Fixtures.reuse());
    assertThat(RowUse.of(both, BATCH).knowledge()).isEqualTo(UseKnowledge.ACCESS_CDF);
    assertThat(RowUse.of(both, BATCH).lookupShare(16)).isCloseTo(cdf.shares().get(2), within(1e-9));
    assertThat(RowUse.of(both.withoutCdf(), BATCH).knowledge())
        .isEqualTo(UseKnowledge.REUSE_HISTOGRAM);
    RowUse none = RowUse.of(both.withoutUse(), BATCH);
    assertThat(none.knowledge()).isEqualTo(UseKnowledge.NONE);
    assertThat(none.lookupShare(250)).isEqualTo(0.25);
    // Of no lookups, a histogram says nothing.
    TableSpec unused = Fixtures.withReuse(table(1_000, 0, AccessCdf.UNKNOWN), Fixtures.reuse());
    assertThat(RowUse.of(unused, BATCH).knowledge()).isEqualTo(UseKnowledge.NONE);
  }

  @Test
  void at_most_half_of_the_lookups_go_to_rows_that_a_measured_batch_did_not_touch() {
    Double[] shares = new Double[ReuseHistogram.SIZE];
    Arrays.fill(shares, 0.0);
    shares[0] = 1.0;
    TableSpec once =
        Fixtures.withReuse(
            table(1_000_000, 1, AccessCdf.UNKNOWN), new ReuseHistogram(List.of(shares)));
    RowUse use = RowUse.of(once, 1_000);
    assertThat(use.lookupShare(1_000)).isCloseTo(0.5, within(1e-9));
    assertThat(use.lookupShare(1_000_000)).isEqualTo(1);
  }

  @Test
  void a_batch_without_lookups_touches_nothing() {
    BatchUse nothing = BatchUse.of(use(1_000, zipf(1_000, 1)), 0);
    assertThat(nothing.distinctRows()).isZero();
    assertThat(nothing.distinctBeside(0)).isZero();
    assertThat(nothing.statistics()).isEqualTo(new BatchUse.Statistics(0, 0, 0, 0, 1));
  }
}
