package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TableFeatureTest {
  private static final TableSpec TABLE = Fixtures.table("t", 1_000, 16, 6);

  private static TableSpec with(TableSpec table, TableFeature... features) {
    return TableSpecBuilder.builder(table).features(List.of(features)).build();
  }

  /** So that its predictions, its plans and its ids are those of the table without features. */
  @Test
  void one_feature_with_all_samples_is_what_every_table_has() {
    assertThat(with(TABLE, new TableFeature("a", 6))).isEqualTo(TABLE);
    assertThat(TABLE.withFeatures(List.of(new TableFeature("a", 6)))).isEqualTo(TABLE);
    assertThat(with(TABLE, new TableFeature("a", 12, 0.5, 1))).isNotEqualTo(TABLE);
    assertThat(with(TABLE, new TableFeature("a", 12, 1, 2))).isNotEqualTo(TABLE);
  }

  @Test
  void outputs_and_lookups_are_those_of_all_features() {
    TableSpec table =
        TABLE.withFeatures(
            List.of(
                new TableFeature("a", 10),
                new TableFeature("b", 4, 0.5, 1),
                new TableFeature("c", 3, 1, 4)));
    assertThat(table.poolingFactor()).isEqualTo(10 + 2 + 0.75);
    assertThat(table.outputsPerSample()).isEqualTo(1 + 0.5 + 0.25);
    assertThat(table.lookups(1_000, 0.5)).isEqualTo(6_375);
    assertThat(table.outputs(1_000, 0.5)).as("pooled").isEqualTo(1_750);
    assertThat(table.hasOneOutputPerSample()).isFalse();
    TableSpec unpooled = TableSpecBuilder.builder(table).pooled(false).build();
    assertThat(unpooled.outputs(1_000, 0.5)).as("one a lookup").isEqualTo(6_375);
    assertThat(TABLE.outputs(1_000, 0.5)).isEqualTo(1_000);
    assertThat(TABLE.hasOneOutputPerSample()).isTrue();
  }

  @Property(tries = 200)
  void another_pooling_factor_is_shared_as_before(@ForAll long seed) {
    Random random = new Random(seed);
    TableSpec table = Fixtures.withFeatures(TABLE, random);
    double lookups = 100 * random.nextDouble();
    TableSpec other = table.withPoolingFactor(lookups);
    assertThat(other.poolingFactor()).isEqualTo(lookups);
    assertThat(other.outputsPerSample()).isEqualTo(table.outputsPerSample());
    assertThat(other.idWeights()).isEqualTo(table.idWeights());
    assertThat(TableFeature.lookups(other.features()))
        .isCloseTo(table.features().isEmpty() ? 0 : lookups, within(1e-9 * lookups));
  }

  @Test
  void weights_take_four_bytes_a_lookup_and_their_gradients_as_many() {
    assertThat(TABLE.weightBytesPerLookup()).isZero();
    assertThat(weighted("given").weightBytesPerLookup()).isEqualTo(4);
    assertThat(weighted("learned").weightBytesPerLookup()).isEqualTo(8);
    assertThatThrownBy(() -> weighted("yes"))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_FEATURES))
        .hasMessage("weights of ids must be given or learned, got \"yes\"");
  }

  private static TableSpec weighted(String name) {
    return TableSpecBuilder.builder(TABLE).idWeights(Optional.of(IdWeights.of(name))).build();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          a  | -1  | 1    | 1   | pooling factor of feature "a" must be between 0 and 1000000 lookups per sample, got -1.0 lookups per sample
          a  | NaN | 1    | 1   | pooling factor of feature "a" must be between 0 and 1000000 lookups per sample, got NaN lookups per sample
          a  | 6   | 0    | 1   | batch share of feature "a" must be above 0 and at most 1000, got 0.0
          a  | 6   | NaN  | 1   | batch share of feature "a" must be above 0 and at most 1000, got NaN
          a  | 6   | 1001 | 1   | batch share of feature "a" must be above 0 and at most 1000, got 1001.0
          a  | 6   | 1    | 0.5 | duplicates of feature "a" must be between 1 and 1000000, got 0.5
          a  | 6   | 1    | NaN | duplicates of feature "a" must be between 1 and 1000000, got NaN
          '' | 6   | 1    | 1   | feature name must have 1 to 255 characters, none of them a control character, got "": it is empty
          a  | 6.1 | 1    | 1   | pooling factor of table "t" must be 6.1, the sum over its features of poolingFactor * batchShare / duplicates, got 6.0
          a  | 0   | 1    | 1   | pooling factor of table "t" must be 0.0, the sum over its features of poolingFactor * batchShare / duplicates, got 6.0
          """)
  void values_have_ranges(
      String name, double lookups, double batchShare, double duplicates, String message) {
    assertRejected(
        () -> with(TABLE, new TableFeature(name, lookups, batchShare, duplicates)), message);
  }

  @Test
  void features_have_different_names_and_are_not_too_many() {
    assertRejected(
        () -> with(TABLE, new TableFeature("a", 3), new TableFeature("a", 3)),
        "names of features of table \"t\" must be different, got \"a\" twice");
    List<TableFeature> many = new ArrayList<>();
    for (int i = 0; i <= TableFeature.MAX_FEATURES; i++) {
      many.add(new TableFeature("f" + i, 1));
    }
    assertRejected(
        () -> TABLE.withFeatures(many),
        "number of features of table \"t\" must be between 0 and 1000, got 1001");
    assertThat(TABLE.withFeatures(many.subList(0, TableFeature.MAX_FEATURES)).outputsPerSample())
        .isEqualTo(1_000);
  }

  /** People round. */
  @Test
  void a_sum_may_differ_a_little() {
    TableFeature third = new TableFeature("a", 3.3333);
    TableFeature other = new TableFeature("b", 6.6667);
    assertThat(with(TABLE.withPoolingFactor(10.0005), third, other).poolingFactor())
        .isEqualTo(10.0005);
    assertRejected(
        () -> with(TABLE.withPoolingFactor(10.01), third, other), "pooling factor of table");
  }

  private static void assertRejected(Runnable make, String message) {
    assertThatThrownBy(make::run)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_FEATURES))
        .hasMessageContaining(message);
  }
}
