package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.option.Option;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.Placer.PlacementStrategy;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tables that cannot be cut, on devices with room for 100 rows. */
class PackingTest {
  private static final long ROW_BYTES = 4 * TableSpec.COLUMN_UNIT;

  /** A placer of tables with so many rows each. */
  private static final class Packing {
    final LocalSearch search;
    final State state;
    final Placer placer;
    final int[] rows;

    Packing(int devices, int... rows) {
      this.rows = rows;
      ClusterSpec cluster = Fixtures.cluster(devices, 100 * ROW_BYTES);
      SearchProblem problem = Plans.problem(tables(rows), cluster);
      search = new LocalSearch(problem, SearchSettings.QUICK, 1, LocalSearch.NOTHING);
      state = search.empty();
      placer = search.placer;
    }

    Packing on(int... devices) {
      for (int t = 0; t < devices.length; t++) {
        Way way = search.ways.find(t, Option.ofColumns(TableSpec.COLUMN_UNIT));
        state.add(t, way, devices[t]);
      }
      return this;
    }

    /** Returns the device of each table, -1 for none. */
    List<Integer> devices() {
      List<Integer> devices = new ArrayList<>();
      for (int t = 0; t < rows.length; t++) {
        devices.add(state.count[t] == 0 ? -1 : state.at[t][0]);
      }
      return devices;
    }

    List<Integer> evicted() {
      new PartRemoval(state).run();
      return devices();
    }

    List<Integer> packed(PlacementStrategy strategy) {
      assertThat(placer.pack(state, strategy, 0, new SeededRandom(1))).isTrue();
      return devices();
    }
  }

  private static List<TableSpec> tables(int... rows) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < rows.length; t++) {
      tables.add(Fixtures.table("t%02d".formatted(t), rows[t], TableSpec.COLUMN_UNIT, 5));
    }
    return tables;
  }

  @Test
  void the_smallest_shard_that_is_enough_is_removed() {
    assertThat(new Packing(1, 50, 60, 10, 30).on(0, 0, 0, 0).evicted())
        .as("50 rows too many")
        .containsExactly(-1, 0, 0, 0);
    assertThat(new Packing(1, 10, 60, 50, 30).on(0, 0, 0, 0).evicted())
        .containsExactly(0, 0, -1, 0);
    assertThat(new Packing(1, 70, 70).on(0, 0).evicted())
        .as("the first of equal ones")
        .containsExactly(-1, 0);
  }

  @Test
  void where_none_is_enough_the_largest_shard_is_removed() {
    assertThat(new Packing(1, 30, 70, 40, 50, 20).on(0, 0, 0, 0, 0).evicted())
        .as("110 rows too many, then 40")
        .containsExactly(0, -1, -1, 0, 0);
    assertThat(new Packing(1, 50, 60, 60, 55).on(0, 0, 0, 0).evicted())
        .as("125 rows too many, then 65, then 5")
        .containsExactly(-1, -1, -1, 0);
  }

  @Test
  void a_device_that_is_full_loses_nothing() {
    assertThat(new Packing(2, 60, 40, 60, 50).on(0, 0, 1, 1).evicted())
        .containsExactly(0, 0, 1, -1);
  }

  @Test
  void packings_choose_the_first_the_fullest_or_the_emptiest_device() {
    assertThat(new Packing(3, 70, 60, 35, 5).packed(PlacementStrategy.FIRST))
        .containsExactly(0, 1, 1, 0);
    assertThat(new Packing(3, 70, 60, 35, 5).packed(PlacementStrategy.BEST))
        .containsExactly(0, 1, 1, 1);
    assertThat(new Packing(3, 70, 60, 35, 5).packed(PlacementStrategy.WORST))
        .containsExactly(0, 1, 2, 2);
    assertThat(new Packing(3, 5, 35, 60, 70).packed(PlacementStrategy.FIRST))
        .as("the largest comes first")
        .containsExactly(0, 1, 1, 0);
  }

  @Test
  void what_finds_no_room_is_counted() {
    Packing packing = new Packing(1, 70, 40, 30);
    assertThat(packing.placer.pack(packing.state, PlacementStrategy.FIRST, 0, new SeededRandom(1)))
        .isFalse();
    assertThat(packing.placer.unplacedBytes(packing.state)).isEqualTo(40 * ROW_BYTES);
    assertThat(packing.devices()).containsExactly(0, -1, 0);
  }

  /** On three devices: halves of 90 rows on two of them leave no room for two halves of 40. */
  @Test
  void a_table_whose_narrowest_parts_find_no_room_is_packed_in_wider_ones() {
    List<TableSpec> tables =
        List.of(
            Fixtures.table("a", 90, 2 * TableSpec.COLUMN_UNIT, 5),
            Fixtures.table("b", 40, 2 * TableSpec.COLUMN_UNIT, 5));
    SearchProblem problem = Plans.problem(tables, Fixtures.cluster(3, 100 * ROW_BYTES));
    LocalSearch search = new LocalSearch(problem, SearchSettings.QUICK, 1, LocalSearch.NOTHING);
    for (PlacementStrategy strategy : PlacementStrategy.values()) {
      State state = search.empty();
      assertThat(search.placer.pack(state, strategy, 0, new SeededRandom(1))).isTrue();
      assertThat(List.of(state.count[0], state.count[1])).containsExactly(2, 1);
    }
  }

  /** 496 of 500 rows. */
  @Test
  void a_packing_that_no_simple_order_finds_is_found_with_a_shuffled_one() {
    int[] rows = {46, 24, 27, 31, 54, 42, 46, 35, 39, 51, 26, 26, 49};
    for (PlacementStrategy strategy : PlacementStrategy.values()) {
      Packing packing = new Packing(5, rows);
      assertThat(packing.placer.pack(packing.state, strategy, 0, new SeededRandom(1))).isFalse();
    }
    found(tables(rows), Fixtures.cluster(5, 100 * ROW_BYTES));
  }

  private static SearchResult.Found found(List<TableSpec> tables, ClusterSpec cluster) {
    SearchProblem problem = Plans.problem(tables, cluster);
    SearchResult.Found found =
        (SearchResult.Found) LocalSearch.search(problem, Fixtures.settings(100, 0, 10, 0, 0, 1));
    Plans.check(problem, found);
    return found;
  }

  @Test
  void tables_as_large_as_the_memory_fit() {
    ClusterSpec three = Fixtures.cluster(3, 100 * ROW_BYTES);
    assertThat(found(tables(100, 100, 100), three).shards())
        .extracting(Shard::device)
        .containsExactlyInAnyOrder(0, 1, 2);
    List<TableSpec> wide = List.of(Fixtures.table("wide", 100, 16, 5));
    assertThat(found(wide, Fixtures.cluster(1, 400 * ROW_BYTES)).shards()).hasSize(1);
  }
}
