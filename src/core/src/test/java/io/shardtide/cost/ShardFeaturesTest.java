package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** What the compute net reads of a shard, and the terms that it corrects. */
class ShardFeaturesTest {
  private static final int BATCH = 65_536;

  /** A tenth of a lookup for each row, all used equally. */
  private static final TableSpec TABLE = Fixtures.table("a", 655_360, 64, 1);

  private static final double DISTINCT = 655_360 * -Math.expm1(-0.1);

  private static ShardShape columns(TableSpec table, int columns) {
    return new Shapes(table, BATCH).ofColumns(columns);
  }

  private static Map<String, Double> named(List<String> names, double[] values) {
    assertThat(values).hasSameSizeAs(names.toArray());
    Map<String, Double> named = new HashMap<>();
    for (int i = 0; i < values.length; i++) {
      named.put(names.get(i), values[i]);
    }
    return named;
  }

  private static Map<String, Double> features(ShardShape shape) {
    return named(ShardFeatures.NAMES, ShardFeatures.of(shape));
  }

  private static Map<String, Double> terms(ShardShape shape) {
    return named(ComputeTerms.NAMES, ComputeTerms.of(shape));
  }

  private static void assertLog2(Map<String, Double> features, String name, double value) {
    assertThat(features.get(name)).as(name).isCloseTo(Math.log(value) / Math.log(2), within(1e-9));
  }

  @Test
  void features_tell_the_size_of_a_shard_and_of_its_batch() {
    Map<String, Double> features = features(columns(TABLE, 20));
    assertLog2(features, "log2_rows", 655_360);
    assertLog2(features, "log2_outputs", 1 + 65_536);
    assertLog2(features, "log2_lookups", 1 + 65_536);
    assertLog2(features, "log2_distinct_rows", 1 + DISTINCT);
    assertLog2(features, "log2_columns", 20);
    assertLog2(features, "log2_bytes_per_element", 4);
    assertLog2(features, "log2_lookups_per_distinct_row", 65_537 / (1 + DISTINCT));
    assertLog2(features, "log2_distinct_bytes", 80 * (1 + DISTINCT));
    assertLog2(features, "log2_bytes", 80 * 655_360);
    assertLog2(features, "log2_output_elements_over_lookup_bytes", 65_537.0 * 20 / (65_537.0 * 80));
    assertThat(features)
        .containsEntry("share_of_lanes_used_of_32", 20 / 32.0)
        .containsEntry("share_of_lanes_used_of_64", 20 / 64.0)
        .containsEntry("share_of_lanes_used_of_128", 20 / 128.0)
        .containsEntry("share_of_sectors_used", 80 / 96.0)
        .containsEntry("columns_over_128", 20 / 128.0)
        .containsEntry("replicated", 0.0)
        .containsEntry("cached", 0.0)
        .containsEntry("log2_missed_rows", 0.0)
        .containsEntry("cache_share", 1.0)
        .containsEntry("cache_misses", 0.0);
    assertThat(features(columns(TABLE, 64)).get("share_of_lanes_used_of_64")).isEqualTo(1);
  }

  /** 50 MiB of equally used rows: a cache of 1 MiB serves a fiftieth of the lookups. */
  @Test
  void features_tell_what_caches_hold() {
    Map<String, Double> features = features(columns(TABLE, 20));
    for (int mib : new int[] {1, 8, 32, 64, 256}) {
      assertThat(features.get("lookups_in_%d_mib".formatted(mib)))
          .isCloseTo(Math.min(1, mib / 50.0), within(1e-12));
    }
  }

  @Test
  void features_tell_how_much_is_known_of_the_use_of_rows() {
    TableSpec reuse = Fixtures.withReuse(TABLE, Fixtures.reuse());
    assertThat(features(columns(TABLE, 4)))
        .containsEntry("cdf_known", 0.0)
        .containsEntry("use_known", 0.0);
    assertThat(features(columns(reuse, 4)))
        .containsEntry("cdf_known", 0.0)
        .containsEntry("use_known", 1.0);
    AccessCdf cdf = new AccessCdf(Fixtures.times(AccessCdf.size(TABLE.rows()), 1.0));
    TableSpec known = TableSpecBuilder.builder(reuse).accessCdf(cdf).build();
    Map<String, Double> features = features(columns(known, 4));
    assertThat(features).containsEntry("cdf_known", 1.0).containsEntry("use_known", 1.0);
    // One row has all lookups.
    assertLog2(features, "log2_distinct_rows", 2);
    assertLog2(features, "log2_uses_mean_over_rows", 65_536);
    assertLog2(features, "log2_uses_mean_over_lookups", 65_536);
    assertThat(features.get("log2_uses_spread_over_rows")).isCloseTo(0, within(1e-6));
    assertThat(features.get("share_of_rows_used_once")).isCloseTo(0, within(1e-9));
  }

  @Test
  void terms_count_what_a_device_does_for_a_shard() {
    Map<String, Double> terms = terms(columns(TABLE, 20));
    double mib = 1 << 20;
    // 50 MiB in all, read in sectors: 96 bytes of a lookup.
    Map<String, Double> expected =
        Map.ofEntries(
            Map.entry("shards", 1.0),
            Map.entry("cached_shards", 0.0),
            Map.entry("copies", 0.0),
            Map.entry("outputs", 65_536.0),
            Map.entry("output_elements", 65_536 * 20.0),
            Map.entry("lookups", 65_536.0),
            Map.entry("lookups_times_columns", 65_536 * 20.0),
            Map.entry("lookups_times_lanes", 65_536 * 32.0),
            Map.entry("lookups_times_wide_lanes", 65_536 * 128.0),
            Map.entry("lookups_times_sector_bytes", 65_536 * 96.0),
            Map.entry("distinct_rows", DISTINCT),
            Map.entry("distinct_rows_times_columns", 20 * DISTINCT),
            Map.entry("distinct_rows_times_sector_bytes", 96 * DISTINCT),
            Map.entry("missed_rows", 0.0),
            Map.entry("missed_bytes", 0.0),
            Map.entry("elements_of_copies", 0.0),
            Map.entry("bytes_beside_32_mib", 18 / 50.0 * 6 * mib),
            Map.entry("bytes_beside_64_mib", 0.0),
            Map.entry("bytes_beside_256_mib", 0.0),
            // 4 bytes of row-wise Adagrad, in a sector.
            Map.entry("state_bytes", 32 * DISTINCT),
            Map.entry("state_bytes_in_host_memory", 0.0),
            Map.entry("state_bytes_of_copies", 0.0),
            Map.entry("unpooled_outputs", 0.0),
            Map.entry("unpooled_output_elements", 0.0));
    assertThat(terms).containsOnlyKeys(expected.keySet());
    expected.forEach(
        (name, value) ->
            assertThat(terms.get(name)).as(name).isCloseTo(value, within(1e-9 * (1 + value))));
  }

  @Test
  void state_lies_where_the_operator_keeps_it() {
    TableSpec adam = TableSpecBuilder.builder(TABLE).optimizer(Optional.of(Optimizer.ADAM)).build();
    Shapes shapes = new Shapes(adam, BATCH);
    // Two numbers of 4 bytes for each of 20 columns.
    assertState(shapes.ofColumns(20), 160 * DISTINCT, 0, 0);
    assertState(shapes.ofCopy(20, 8), 0, 0, 160 * 655_360.0);
    OptionalDouble half = OptionalDouble.of(0.5);
    assertState(shapes.ofRows(20, 1, half), 0, 160 * DISTINCT, 0);
    TableSpec enforced = TableSpecBuilder.builder(adam).enforceHbm(true).build();
    assertState(new Shapes(enforced, BATCH).ofRows(20, 1, half), 160 * DISTINCT, 0, 0);
    TableSpec sgd = TableSpecBuilder.builder(TABLE).optimizer(Optional.of(Optimizer.SGD)).build();
    assertState(new Shapes(sgd, BATCH).ofColumns(20), 0, 0, 0);
  }

  @Test
  void outputs_of_unpooled_tables_are_terms_of_their_own() {
    TableSpec unpooled = TableSpecBuilder.builder(TABLE).pooled(false).poolingFactor(3).build();
    ShardShape shape = new Shapes(unpooled, BATCH).ofColumns(20);
    assertThat(terms(shape))
        .containsEntry("outputs", 3.0 * BATCH)
        .containsEntry("unpooled_outputs", 3.0 * BATCH)
        .containsEntry("unpooled_output_elements", 60.0 * BATCH);
    assertThat(features(shape)).containsEntry("is_unpooled", 1.0);
    assertThat(features(columns(TABLE, 20))).containsEntry("is_unpooled", 0.0);
  }

  @Test
  void each_optimizer_but_the_default_has_a_feature() {
    for (Optimizer optimizer : Optimizer.values()) {
      TableSpec table = TableSpecBuilder.builder(TABLE).optimizer(Optional.of(optimizer)).build();
      Map<String, Double> features = features(new Shapes(table, BATCH).ofColumns(4));
      for (Optimizer other : Optimizer.values()) {
        if (other != Optimizer.DEFAULT) {
          assertThat(features).containsEntry("is_" + other.label(), other == optimizer ? 1.0 : 0.0);
        }
      }
    }
  }

  private static void assertState(ShardShape shape, double device, double host, double copies) {
    Map<String, Double> terms = terms(shape);
    assertThat(terms.get("state_bytes")).isCloseTo(device, within(1e-6 * (1 + device)));
    assertThat(terms.get("state_bytes_in_host_memory")).isCloseTo(host, within(1e-6 * (1 + host)));
    assertThat(terms.get("state_bytes_of_copies")).isCloseTo(copies, within(1e-6 * (1 + copies)));
  }

  @Test
  void terms_of_copies_and_of_cached_shards() {
    Shapes shapes = new Shapes(TABLE, BATCH);
    Map<String, Double> copy = terms(shapes.ofCopy(64, 8));
    assertThat(copy)
        .containsEntry("copies", 1.0)
        .containsEntry("outputs", 8_192.0)
        .containsEntry("lookups", 8_192.0)
        .containsEntry("elements_of_copies", 64 * 655_360.0);
    ShardShape whole = shapes.ofColumns(20);
    ShardShape cached =
        new ShardShape(
            whole.rows(),
            20,
            whole.outputs(),
            whole.use(),
            2,
            false,
            OptionalDouble.of(0.75),
            Optimizer.DEFAULT,
            false,
            true);
    Map<String, Double> terms = terms(cached);
    assertThat(terms).containsEntry("cached_shards", 1.0);
    assertThat(terms.get("missed_rows")).isCloseTo(DISTINCT / 4, within(1e-6));
    assertThat(terms.get("missed_bytes")).isCloseTo(40 * DISTINCT / 4, within(1e-4));
    Map<String, Double> features = features(cached);
    assertThat(features).containsEntry("cached", 1.0).containsEntry("cache_share", 0.75);
    assertThat(features.get("cache_misses")).isCloseTo(0.25, within(1e-12));
    assertLog2(features, "log2_missed_rows", 1 + DISTINCT / 4);
  }

  /** A batch touches no more rows than there are, and nearly all of them when it looks often. */
  @Test
  void distinct_rows_are_bounded_by_rows_and_by_lookups() {
    TableSpec small = new TableSpec("a", 100, 64, 10, Fixtures.reuse(), 4);
    assertThat(terms(columns(small, 32)).get("distinct_rows")).isBetween(99.0, 100.0);
    assertThat(
            terms(columns(Fixtures.withReuse(small, ReuseHistogram.UNKNOWN), 32))
                .get("distinct_rows"))
        .isCloseTo(100, within(1e-9));
    TableSpec huge = Fixtures.table("a", 1_000_000_000, 64, 1);
    assertThat(terms(columns(huge, 4)).get("distinct_rows")).isCloseTo(65_536, within(3.0));
  }

  /** A net reads a value far outside its training as one that is half a range outside. */
  @Test
  void a_feature_is_bounded() {
    Feature feature = new Feature("f", 10, 2, 0, 20);
    assertThat(feature.normalize(20)).isEqualTo(5f);
    assertThat(feature.normalize(25)).isEqualTo(7.5f);
    assertThat(feature.normalize(31)).isEqualTo(feature.normalize(30)).isEqualTo(10f);
    assertThat(feature.normalize(-1e30)).isEqualTo(-10f);
    assertThat(feature.normalize(Double.POSITIVE_INFINITY)).isEqualTo(10f);
    assertThat(new Feature("f", 3, 2, 0, 9).normalize(Double.NaN)).isZero();
    assertThat(new Feature("f", 3, 2, 0, 9).normalize(7)).isEqualTo(2f);
  }
}
