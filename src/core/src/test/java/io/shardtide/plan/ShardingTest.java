package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.ColumnWise;
import io.shardtide.plan.Sharding.GridShard;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.plan.Sharding.PartialRowWise;
import io.shardtide.plan.Sharding.RowWise;
import io.shardtide.plan.Sharding.TableColumnWise;
import io.shardtide.plan.Sharding.TableRowWise;
import io.shardtide.plan.Sharding.TableWise;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RandomShardings;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class ShardingTest {
  private static final TableSpec TABLE = Fixtures.table("a", 10, 16, 1);

  /** 3 devices on a node: 7 are two whole nodes and one of a single device. */
  private static ClusterSpec cluster(int devices) {
    return new ClusterSpec(devices, Fixtures.GIB, 1024, 3, "test");
  }

  @Property
  void shards_cover_the_table_once_and_tell_their_sharding(
      @ForAll ShardKind kind,
      @ForAll @IntRange(min = 1, max = 12) int devices,
      @ForAll @IntRange(min = 1, max = 40) int rows,
      @ForAll @IntRange(min = 1, max = 6) int units,
      @ForAll Random random) {
    ClusterSpec cluster = cluster(devices);
    TableSpec table = Fixtures.table("a", rows, 4 * units, 1);
    RandomShardings shardings = new RandomShardings(cluster, random);
    Sharding whole = shardings.sharding(table, kind);
    boolean isCut = rows > 1 && kind != ShardKind.DATA_PARALLEL && random.nextBoolean();
    Sharding sharding = isCut ? shardings.byUse(table, whole) : whole;
    List<Shard> shards = sharding.shards(table, cluster);
    assertThat(sharding.kind()).isEqualTo(kind);
    assertThat(shards).allMatch(shard -> shard.table().equals("a"));
    assertThat(HotRows.others(shards)).isNotEmpty().allMatch(shard -> shard.kind() == kind);
    Map<String, Long> hotRows = HotRows.byTable(shards);
    assertThat(hotRows).hasSize(isCut ? 1 : 0);
    assertThat(join(HotRows.separate(shards), hotRows)).isEqualTo(shards);
    assertThat(shards).allMatch(shard -> shard.device() < devices);
    assertThat(shards)
        .allMatch(shard -> shard.holders(devices).count() == (shard.isCopied() ? devices : 1));
    assertThat(shards).isSortedAccordingTo(Shard.ORDER);
    for (int column = 0; column < table.columns(); column++) {
      for (int row = 0; row < rows; row++) {
        Region element = new Region(column, 1, row, 1);
        assertThat(
                shards.stream().filter(s -> s.region().intersection(element).isPresent()).count())
            .isEqualTo(1);
      }
    }
    List<Shard> shuffled = new ArrayList<>(shards);
    Collections.shuffle(shuffled, random);
    assertThat(Sharding.of(table, shuffled, cluster)).isEqualTo(sharding);
  }

  /** Returns the shards of a plan with one table in place of two. */
  private static List<Shard> join(List<Shard> shards, Map<String, Long> hotRows) {
    Map<String, String> tables = new HashMap<>();
    hotRows.keySet().forEach(table -> tables.put(HotRows.name(table), table));
    return shards.stream()
        .map(
            shard ->
                tables.containsKey(shard.table())
                    ? shard.at(tables.get(shard.table()), 0)
                    : shard.at(shard.table(), hotRows.getOrDefault(shard.table(), 0L)))
        .sorted(Shard.ORDER)
        .toList();
  }

  /** As TorchRec cuts them: blocks of ceil(10 / 7) rows, of which the last devices get none. */
  @Test
  void rows_are_cut_into_blocks_rounded_up() {
    assertThat(new RowWise().shards(TABLE, cluster(7)))
        .extracting(Shard::device, Shard::rowOffset, Shard::rows)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(0, 0L, 2L),
            org.assertj.core.groups.Tuple.tuple(1, 2L, 2L),
            org.assertj.core.groups.Tuple.tuple(2, 4L, 2L),
            org.assertj.core.groups.Tuple.tuple(3, 6L, 2L),
            org.assertj.core.groups.Tuple.tuple(4, 8L, 2L));
    assertThat(new TableRowWise(1).shards(TABLE, cluster(7)))
        .extracting(Shard::device, Shard::rowOffset, Shard::rows)
        .containsExactly(
            org.assertj.core.groups.Tuple.tuple(3, 0L, 4L),
            org.assertj.core.groups.Tuple.tuple(4, 4L, 4L),
            org.assertj.core.groups.Tuple.tuple(5, 8L, 2L));
  }

  @Test
  void the_names_are_in_torchrecs_style() {
    assertThat(ShardKind.values())
        .extracting(ShardKind::label)
        .containsExactly(
            "table_wise",
            "column_wise",
            "table_column_wise",
            "row_wise",
            "table_row_wise",
            "grid_shard",
            "data_parallel",
            "partial_row_wise");
  }

  /** Ten rows in three blocks of four at most; the order of the devices is that of the rows. */
  @Test
  void blocks_of_rows_are_on_any_devices() {
    ClusterSpec cluster = cluster(7);
    Sharding blocks = new PartialRowWise(List.of(5, 0, 2));
    List<Shard> shards = blocks.shards(TABLE, cluster);
    assertThat(shards).extracting(Shard::device).containsExactly(5, 0, 2);
    assertThat(shards).extracting(Shard::rowOffset).containsExactly(0L, 4L, 8L);
    assertThat(shards).extracting(Shard::rows).containsExactly(4L, 4L, 2L);
    assertThat(shards).extracting(Shard::columns).containsOnly(16);
    assertThat(Sharding.of(TABLE, shards, cluster)).isEqualTo(blocks);
    assertThatThrownBy(() -> new PartialRowWise(List.of(0, 1, 2, 3, 4, 5)).shards(TABLE, cluster))
        .hasMessageContaining("table \"a\" of 10 rows must have some on each of its devices");
    assertThatThrownBy(() -> new PartialRowWise(List.of(3, 3)).shards(TABLE, cluster))
        .hasMessageEndingWith("each named once, got devices [3, 3]");
    assertThatThrownBy(() -> new PartialRowWise(List.of(7)).shards(TABLE, cluster))
        .hasMessage("device must be between 0 and 6, got 7");
  }

  @Test
  void one_part_is_the_whole_table() {
    assertThat(Sharding.ofColumns(List.of(new ColumnPart(16, 3)))).isEqualTo(new TableWise(3));
    List<ColumnPart> two = List.of(new ColumnPart(12, 3), new ColumnPart(4, 3));
    assertThat(Sharding.ofColumns(two)).isEqualTo(new ColumnWise(two));
  }

  @Test
  void what_a_table_or_a_cluster_does_not_have_is_refused() {
    ClusterSpec cluster = cluster(7);
    assertThatThrownBy(() -> new TableWise(7).shards(TABLE, cluster))
        .hasMessage("device must be between 0 and 6, got 7");
    assertThatThrownBy(() -> new TableWise(-1).shards(TABLE, cluster))
        .hasMessage("device must be between 0 and 6, got -1");
    assertThatThrownBy(() -> new TableRowWise(3).shards(TABLE, cluster))
        .hasMessage("node must be between 0 and 2, got 3");
    assertThatThrownBy(() -> new TableRowWise(-1).shards(TABLE, cluster))
        .hasMessage("node must be between 0 and 2, got -1");
    assertThatThrownBy(() -> new ColumnWise(List.of(new ColumnPart(12, 0))).shards(TABLE, cluster))
        .hasMessage("table \"a\" must have parts of 16 columns, got 12");
    assertThatThrownBy(() -> new GridShard(List.of(new NodePart(20, 0))).shards(TABLE, cluster))
        .hasMessage("table \"a\" must have parts of 16 columns, got 20");
    assertThatThrownBy(
            () ->
                new TableColumnWise(List.of(new ColumnPart(8, 0), new ColumnPart(8, 3)))
                    .shards(TABLE, cluster))
        .hasMessage("table_column_wise parts of table \"a\" must be on one node, got nodes [0, 1]");
    assertThatThrownBy(() -> new ColumnPart(0, 0)).hasMessage("columns must be at least 1, got 0");
    assertThatThrownBy(() -> new NodePart(0, 0)).hasMessage("columns must be at least 1, got 0");
    assertThatThrownBy(() -> new ColumnWise(List.of()))
        .hasMessage("a sharding must have parts, got none");
  }

  @Test
  void shards_of_no_sharding_are_refused() {
    ClusterSpec cluster = cluster(7);
    assertThatThrownBy(() -> Sharding.of(TABLE, List.of(), cluster))
        .hasMessage("table \"a\" must have shards, got none");
    List<Shard> rows = new RowWise().shards(TABLE, cluster);
    assertThatThrownBy(() -> Sharding.of(TABLE, rows.subList(1, 5), cluster))
        .hasMessageStartingWith("table \"a\" must have the shards of row_wise sharding, [Shard[");
    List<Shard> mixed = new ArrayList<>(rows);
    mixed.add(new Shard("a", Region.of(TABLE), Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL));
    assertThatThrownBy(() -> Sharding.of(TABLE, mixed, cluster))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void nodes_have_their_devices() {
    ClusterSpec cluster = cluster(7);
    assertThat(cluster.nodes()).isEqualTo(3);
    assertThat(cluster.devicesOfNode(1)).containsExactly(3, 4, 5);
    assertThat(cluster.devicesOfNode(2)).containsExactly(6);
    assertThat(cluster.node(5)).isEqualTo(1);
    ClusterSpec one = new ClusterSpec(2, 1, 1, Integer.MAX_VALUE, "test");
    assertThat(one.nodes()).isEqualTo(1);
    assertThat(one.devicesOfNode(0)).containsExactly(0, 1);
  }
}
