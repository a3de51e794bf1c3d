package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class ShardShapeTest {
  private static final int BATCH = 1_024;
  private static final TableSpec TABLE =
      new TableSpec("a", 1_000, 16, 2.5, ReuseHistogram.UNKNOWN, 4.5);

  /** Two nodes of 4 devices. */
  private static final ClusterSpec CLUSTER = new ClusterSpec(8, Fixtures.GIB, BATCH, 4, "test");

  private static final Shapes SHAPES = new Shapes(TABLE, BATCH);

  /** What a shape says, without what a batch does in detail. */
  private record Work(
      long rows,
      int columns,
      double outputs,
      double lookups,
      double distinctRows,
      boolean replicated) {
    static Work of(ShardShape shape) {
      return new Work(
          shape.rows(),
          shape.columns(),
          shape.outputs(),
          shape.lookups(),
          Math.rint(1e6 * shape.distinctRows()) / 1e6,
          shape.replicated());
    }
  }

  private static List<Work> work(Sharding sharding) {
    List<Shard> shards = sharding.shards(TABLE, CLUSTER);
    List<TablePart> parts = Option.of(shards).stream().map(Option::part).toList();
    return IntStream.range(0, shards.size())
        .mapToObj(i -> Work.of(SHAPES.of(parts.get(i), shards.get(i).device(), CLUSTER)))
        .toList();
  }

  private static Work work(
      long rows, int columns, double outputs, double lookups, double share, boolean replicated) {
    // 1,000 rows of equal use: each is touched with the same probability.
    double distinct = share * 1_000 * -Math.expm1(-lookups / (share * 1_000));
    return new Work(rows, columns, outputs, lookups, Math.rint(1e6 * distinct) / 1e6, replicated);
  }

  /** Outputs and lookups of each sharding type: all samples, or a share of rows, or of samples. */
  @Test
  void a_shape_is_what_a_device_does_for_a_shard() {
    assertThat(work(new Sharding.TableWise(3)))
        .containsExactly(work(1_000, 16, 1_024, 2_560, 1, false));
    List<ColumnPart> parts = List.of(new ColumnPart(12, 3), new ColumnPart(4, 0));
    assertThat(work(new Sharding.ColumnWise(parts)))
        .isEqualTo(work(new Sharding.TableColumnWise(parts)))
        .containsExactly(
            work(1_000, 12, 1_024, 2_560, 1, false), work(1_000, 4, 1_024, 2_560, 1, false));
    assertThat(work(new Sharding.RowWise()))
        .hasSize(8)
        .allMatch(work(125, 16, 1_024, 320, 0.125, false)::equals);
    assertThat(work(new Sharding.TableRowWise(1)))
        .hasSize(4)
        .allMatch(work(250, 16, 1_024, 640, 0.25, false)::equals);
    assertThat(work(new Sharding.GridShard(List.of(new NodePart(8, 0), new NodePart(8, 1)))))
        .hasSize(8)
        .allMatch(work(250, 8, 1_024, 640, 0.25, false)::equals);
    assertThat(work(new Sharding.DataParallel()))
        .containsExactly(work(1_000, 16, 128, 320, 1, true));
  }

  /** Blocks of rows are rounded up; the last shard is taken to be as large as the first one. */
  @Property(tries = 300)
  void row_shards_have_one_shape(
      @ForAll @IntRange(min = 1, max = 100_000) int rows,
      @ForAll @IntRange(min = 1, max = 64) int devices) {
    TableSpec table = new TableSpec("a", rows, 16, 2.5, Fixtures.reuse(), 4);
    ClusterSpec cluster = new ClusterSpec(devices, Fixtures.GIB, BATCH, 8, "test");
    Shapes shapes = new Shapes(table, BATCH);
    ShardShape whole = shapes.ofColumns(16);
    List<Shard> shards = new Sharding.RowWise().shards(table, cluster);
    long block = shards.get(0).rows();
    double share = (double) block / rows;
    double lookups = 0;
    double distinct = 0;
    for (Shard shard : shards) {
      ShardShape shape =
          shapes.of(Option.of(List.of(shard)).get(0).part(), shard.device(), cluster);
      assertThat(shape.rows()).isEqualTo(block);
      assertThat(shape.outputs()).isEqualTo(BATCH);
      assertThat(shape.lookups())
          .isCloseTo(whole.lookups() * share, within(1e-9 * whole.lookups()));
      lookups += shape.lookups();
      distinct += shape.distinctRows();
    }
    // All but the last shard have all their rows.
    double all = (double) shards.size() * block / rows;
    assertThat(all).isBetween(1.0, 1 + share);
    assertThat(lookups).isCloseTo(all * whole.lookups(), within(1e-6 * whole.lookups()));
    assertThat(distinct).isCloseTo(all * whole.distinctRows(), within(1e-6 * lookups));
  }

  /**
   * A sampled share of the rows is rounded up to whole rows, but for the rounding of a quotient.
   */
  @Test
  void a_share_of_the_rows_has_whole_rows() {
    assertThat(SHAPES.ofRows(4, 0.0001).rows()).isEqualTo(1);
    assertThat(SHAPES.ofRows(4, 0.0011).rows()).isEqualTo(2);
    assertThat(ShardShape.rows(25, 7 / 25.0)).isEqualTo(7);
    assertThat(ShardShape.rows(TableSpec.MAX_ROWS, (TableSpec.MAX_ROWS - 1.0) / TableSpec.MAX_ROWS))
        .isEqualTo(TableSpec.MAX_ROWS - 1);
    TableSpec table =
        TableSpecBuilder.builder(Fixtures.table("a", 25, 8, 2)).bytesPerElement(2).build();
    ShardShape shape =
        TableShapes.of(
            new DeviceShard(table, 2_048, 7 / 25.0, false, OptionalDouble.empty(), BATCH));
    assertThat(shape.rows()).isEqualTo(7);
    assertThat(shape.outputs()).isEqualTo(2_048);
    assertThat(shape.lookups()).isCloseTo(2_048 * 2 * 7 / 25.0, within(1e-9));
    assertThat(shape.rowBytes()).isEqualTo(16);
  }

  /** Rows of a table can change after a plan: a shard with all rows then has the new ones. */
  @Test
  void a_shard_with_all_rows_has_those_of_the_table() {
    Shard shard = Fixtures.shard(Fixtures.table("a", 10, 16, 2.5), 0, 16, 0);
    assertThat(SHAPES.of(Option.of(List.of(shard)).get(0).part(), shard.device(), CLUSTER))
        .isEqualTo(SHAPES.ofColumns(16));
  }

  @Test
  void sizes_follow_from_the_shape() {
    ShardShape shape = SHAPES.ofColumns(4);
    assertThat(shape.rowBytes()).isEqualTo(18);
    assertThat(shape.outputElements()).isEqualTo(4_096);
    // 1,000 rows, 2,560 lookups: 1 - exp(-2.56) of the rows.
    assertThat(shape.distinctRows()).isCloseTo(922.695, within(0.001));
    assertThat(shape.missedRows()).isZero();
    assertThat(shape.hitShare()).isEqualTo(1);
  }

  @Test
  void a_cache_holds_the_most_used_rows() {
    ShardShape whole = SHAPES.ofRows(8, 0.5);
    ShardShape cached =
        new ShardShape(
            500,
            8,
            1_024,
            whole.use(),
            4,
            false,
            OptionalDouble.of(0.25),
            Optimizer.DEFAULT,
            false,
            true);
    assertThat(cached.hitShare()).isCloseTo(0.25, within(1e-12));
    assertThat(cached.missedRows()).isCloseTo(0.75 * whole.distinctRows(), within(1e-9));
  }

  private static ShardShape shape(long rows, int columns, double outputs, double weightBytes) {
    return new ShardShape(
        rows,
        columns,
        outputs,
        SHAPES.ofColumns(4).use(),
        weightBytes,
        false,
        OptionalDouble.empty(),
        Optimizer.DEFAULT,
        false,
        true);
  }

  @Test
  void a_shape_out_of_range_is_refused() {
    assertThat(shape(1, 1, 0, 4).outputElements()).isZero();
    assertThatThrownBy(() -> shape(0, 4, 1, 4))
        .hasMessage("rows of a shard must be at least 1, got 0");
    assertThatThrownBy(() -> shape(1, 0, 1, 4))
        .hasMessage("columns of a shard must be at least 1, got 0");
    assertThatThrownBy(() -> shape(1, 4, Double.NaN, 4))
        .hasMessage("outputs of a shard must be at least 0, got NaN");
    assertThatThrownBy(() -> shape(1, 4, 1, 0))
        .hasMessage("bytes of a weight of a shard must be above 0, got 0.0");
  }
}
