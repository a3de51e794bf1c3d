package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShardShapeTest {
  private static final int BATCH = 1_024;
  private static final TableSpec TABLE =
      new TableSpec("a", 1_000, 16, 2.5, ReuseHistogram.UNKNOWN, 4.5);

  /** Two nodes of 4 devices. */
  private static final ClusterSpec CLUSTER = new ClusterSpec(8, Fixtures.GIB, BATCH, 4, "test");

  private static List<ShardShape> shapes(Sharding sharding) {
    return sharding.shards(TABLE, CLUSTER).stream()
        .map(shard -> ShardShape.of(shard, TABLE, CLUSTER))
        .toList();
  }

  private static ShardShape shape(
      long rows, int columns, double outputs, double lookups, boolean replicated) {
    return new ShardShape(rows, columns, outputs, lookups, ReuseHistogram.UNKNOWN, 4.5, replicated);
  }

  /** Outputs and lookups of each sharding type: all samples, or a share of rows, or of samples. */
  @Test
  void a_shape_is_what_a_device_does_for_a_shard() {
    assertThat(shapes(new Sharding.TableWise(3)))
        .containsExactly(shape(1_000, 16, 1_024, 2_560, false));
    List<ColumnPart> parts = List.of(new ColumnPart(12, 3), new ColumnPart(4, 0));
    assertThat(shapes(new Sharding.ColumnWise(parts)))
        .isEqualTo(shapes(new Sharding.TableColumnWise(parts)))
        .containsExactly(
            shape(1_000, 12, 1_024, 2_560, false), shape(1_000, 4, 1_024, 2_560, false));
    assertThat(shapes(new Sharding.RowWise()))
        .hasSize(8)
        .allMatch(shape(125, 16, 1_024, 320, false)::equals);
    assertThat(shapes(new Sharding.TableRowWise(1)))
        .hasSize(4)
        .allMatch(shape(250, 16, 1_024, 640, false)::equals);
    assertThat(shapes(new Sharding.GridShard(List.of(new NodePart(8, 0), new NodePart(8, 1)))))
        .hasSize(8)
        .allMatch(shape(250, 8, 1_024, 640, false)::equals);
    assertThat(shapes(new Sharding.DataParallel()))
        .hasSize(8)
        .allMatch(shape(1_000, 16, 128, 320, true)::equals);
  }

  /** Rows of a table can change after a plan: a shard with all rows then has the new ones. */
  @Test
  void a_shard_with_all_rows_has_those_of_the_table() {
    Shard shard = Shard.ofColumns(Fixtures.table("a", 10, 16, 2.5), 0, 16, 0);
    assertThat(ShardShape.of(shard, TABLE, CLUSTER))
        .isEqualTo(ShardShape.ofColumns(TABLE, 16, BATCH));
  }

  @Test
  void bytes_and_outputs_follow_from_the_shape() {
    ShardShape shape = ShardShape.ofColumns(TABLE, 4, BATCH);
    assertThat(shape.bytes()).isEqualTo(18_000).isEqualTo(TABLE.bytes(4));
    assertThat(shape.outputElements()).isEqualTo(4_096);
  }

  @Test
  void the_number_of_distinct_rows_follows_from_the_histogram() {
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    TableSpec known = new TableSpec("a", 1_000, 16, 2.5, Fixtures.reuse(), 4);
    assertThat(ShardShape.ofColumns(known, 4, 100).distinctRows())
        .isCloseTo(250 / uses, within(1e-9));
    assertThat(ShardShape.ofColumns(known, 4, 1_000_000).distinctRows()).isEqualTo(1_000);
    // 1,000 rows, 2,560 lookups: 1 - exp(-2.56) of the rows.
    assertThat(ShardShape.ofColumns(TABLE, 4, BATCH).distinctRows())
        .isCloseTo(922.695, within(0.001));
  }

  @Test
  void a_shape_out_of_range_is_refused() {
    assertThat(shape(1, 1, 0, 0, false).outputElements()).isZero();
    assertThatThrownBy(() -> shape(0, 4, 1, 1, false))
        .hasMessage("rows of a shard must be at least 1, got 0");
    assertThatThrownBy(() -> shape(1, 0, 1, 1, false))
        .hasMessage("columns of a shard must be at least 1, got 0");
    assertThatThrownBy(() -> shape(1, 4, Double.NaN, 1, false))
        .hasMessage("outputs of a shard must be at least 0, got NaN");
    assertThatThrownBy(() -> shape(1, 4, 1, -1, false))
        .hasMessage("lookups of a shard must be at least 0, got -1.0");
    assertThatThrownBy(() -> new ShardShape(1, 4, 1, 1, ReuseHistogram.UNKNOWN, 0, false))
        .hasMessage("bytes per element of a shard must be above 0, got 0.0");
  }

  @Test
  void a_prediction_covers_columns_with_all_rows() {
    try (PlainTowers towers = new PlainTowers(Fixtures.bundle())) {
      TablePrediction prediction = towers.predict(List.of(TABLE), BATCH).get(0);
      assertThat(prediction.tower(ShardShape.ofColumns(TABLE, 8, BATCH)))
          .isSameAs(prediction.towers().get(1));
      assertThatThrownBy(() -> prediction.tower(shape(125, 16, 1, 1, false)))
          .hasMessage(
              "shards of table a must have all 1000 rows and one copy, got 125 rows, not replicated");
      assertThatThrownBy(() -> prediction.tower(shape(1_000, 16, 1, 1, true)))
          .hasMessage(
              "shards of table a must have all 1000 rows and one copy, got 1000 rows, replicated");
    }
  }
}
