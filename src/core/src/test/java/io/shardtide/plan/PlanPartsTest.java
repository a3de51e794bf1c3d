package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.ColumnWise;
import io.shardtide.plan.Sharding.RowWise;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The parts of a plan at the ends of their ranges. */
class PlanPartsTest {
  private static final TableSpec TABLE = Fixtures.table("a", 14, 16, 1);

  private static PlanOrigin origin(long generation, long firstGeneration) {
    return new PlanOrigin(
        "w",
        generation,
        firstGeneration,
        Effort.QUICK,
        Fixtures.at(3),
        "model",
        SearchSettings.DEFAULTS,
        Optional.empty(),
        List.of());
  }

  private static ShardingPlan plan(String id, PlanMoves moves, Shard... shards) {
    return new ShardingPlan(
        id,
        origin(1, 1),
        "why",
        List.of(shards),
        Replication.NONE,
        List.of(),
        List.of(),
        new PlanPrediction(
            List.of(),
            6,
            new Insight(
                5, 0, new Bottleneck(0, Explanation.Cause.MEMORY, "a", 0), List.of(), List.of()),
            List.of(),
            0,
            List.of(),
            List.of()),
        moves,
        new SearchRun(99, 12.5, Instant.EPOCH));
  }

  private static Shard shard(String table, int device) {
    return new Shard(table, new Region(0, 4, 0, 10), device, ShardKind.TABLE_WISE);
  }

  private static Transfer move(int to, long bytes) {
    return new Transfer(new Overlap("a", new Region(0, 4, 0, 10), 0, to), bytes);
  }

  /** Rows 0 to 4 and 5 to 9 come to device 1; a copy comes to devices 2 and 3. */
  @Test
  void a_shard_of_several_parts_moves_once_and_so_does_a_copy() {
    Region upper = new Region(0, 4, 0, 5);
    Region lower = new Region(0, 4, 5, 5);
    Region all = new Region(0, 4, 0, 10);
    PlanMoves moves =
        new PlanMoves(
            List.of(
                new Transfer(new Overlap("a", upper, 0, 1), 1),
                new Transfer(new Overlap("a", lower, 2, 1), 1),
                new Transfer(new Overlap("b", all, Shard.EVERY_DEVICE, 2), 1),
                new Transfer(new Overlap("b", all, Shard.EVERY_DEVICE, 3), 1)),
            List.of());
    Shard copy = new Shard("b", all, Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL);
    assertThat(plan("id", moves, shard("a", 1), copy, shard("c", 1)).movedShards()).isEqualTo(2);
    assertThat(plan("id", moves, shard("a", 2)).movedShards()).isZero();
  }

  @Test
  void a_plan_has_its_origin_its_moves_and_its_run() {
    ShardingPlan plan =
        plan("id", new PlanMoves(List.of(move(1, 100), move(2, 60)), List.of()), shard("a", 1));
    assertThat(plan.movedBytes()).isEqualTo(160);
    assertThat(plan.origin().source()).isEqualTo(Fixtures.at(3));
    assertThat(plan.run().searchMillis()).isEqualTo(12.5);
    assertThat(plan.run().createdAt()).isEqualTo(Instant.EPOCH);
    assertThat(new DeviceCost(1, 2, 4, 8, 0).totalMs()).isEqualTo(7);
  }

  @Test
  void a_plan_with_another_id_than_its_content_was_changed() {
    ShardingPlan changed = plan("id", PlanMoves.NONE, shard("a", 1));
    assertThat(changed.hasValidId()).isFalse();
    assertThat(changed.identified().hasValidId()).isTrue();
  }

  @Test
  void plans_differ_in_tables_or_in_devices() {
    ShardingPlan plan = plan("1", PlanMoves.NONE, shard("a", 1));
    PlanDiff none = new PlanDiff(List.of(), new TreeSet<>(), new TreeSet<>());
    assertThat(PlanDiff.between(plan, plan)).isEqualTo(none);
    PlanDiff moved = PlanDiff.between(plan, plan("2", PlanMoves.NONE, shard("a", 2)));
    assertThat(moved.moved()).hasSize(1);
    PlanDiff added = PlanDiff.between(plan("3", PlanMoves.NONE), plan);
    assertThat(added.added()).containsExactly("a");
    PlanDiff dropped = PlanDiff.between(plan, plan("3", PlanMoves.NONE));
    assertThat(dropped.dropped()).containsExactly("a");
  }

  @Test
  void the_ends_of_the_ranges_are_inside() {
    assertThat(origin(1, 1).generation()).isEqualTo(1);
    assertThat(origin(5, 1).firstGeneration()).isEqualTo(1);
    assertThat(origin(5, 5).firstGeneration()).isEqualTo(5);
    assertThat(move(1, 0).bytes()).isZero();
    assertThat(new ColumnPart(1, 0).columns()).isEqualTo(1);
    new TableSpec(
        "t",
        TableSpec.MAX_ROWS,
        TableSpec.MAX_COLUMNS,
        TableSpec.MAX_POOLING_FACTOR,
        ReuseHistogram.UNKNOWN,
        TableSpec.MAX_BYTES_PER_ELEMENT);
    assertThat(new TableSpec("t", 1, 4, 0, ReuseHistogram.UNKNOWN, 4).poolingFactor()).isZero();
    ClusterSpec largest =
        new ClusterSpec(
            ClusterSpec.MAX_DEVICES, ClusterSpec.MAX_MEMORY_BYTES, 1, 1, Fixtures.WORKLOAD);
    assertThat(largest.usableBytes()).isEqualTo(1L << 58);
  }

  @Test
  void all_uses_of_a_table_may_be_of_one_frequency() {
    List<Double> shares = new ArrayList<>(Collections.nCopies(ReuseHistogram.SIZE, 0.0));
    shares.set(3, 1.0);
    ReuseHistogram one = new ReuseHistogram(shares);
    assertThat(one.isKnown()).isTrue();
    assertThat(Fixtures.withReuse(TABLE, one))
        .isEqualTo(new TableSpec("a", 14, 16, 1, one, 4))
        .isNotEqualTo(TABLE);
    assertThat(TABLE.withColumns(8)).isEqualTo(Fixtures.table("a", 14, 8, 1));
    assertThat(TableSpec.byName(List.of(TABLE))).isEqualTo(Map.of("a", TABLE));
  }

  @Test
  void a_shard_with_all_columns_is_the_whole_table() {
    assertThat(Fixtures.shard(TABLE, 0, 16, 2).kind()).isEqualTo(ShardKind.TABLE_WISE);
    assertThat(Fixtures.shard(TABLE, 4, 8, 2).kind()).isEqualTo(ShardKind.COLUMN_WISE);
  }

  @Test
  void rows_that_are_a_multiple_of_the_devices_are_cut_evenly() {
    assertThat(new RowWise().shards(TABLE, Fixtures.cluster(7, 100)))
        .hasSize(7)
        .allMatch(shard -> shard.rows() == 2);
  }

  @Test
  void columns_lie_on_devices_of_the_cluster() {
    ColumnWise wise = new ColumnWise(List.of(new ColumnPart(8, 0), new ColumnPart(8, 7)));
    assertThatThrownBy(() -> wise.shards(TABLE, Fixtures.cluster(7, 100)))
        .hasMessage("device must be between 0 and 6, got 7");
  }

  private static List<MoveStep> order(
      List<Shard> before, List<Shard> after, Map<String, TableSpec> tables, ClusterSpec cluster) {
    return Overlap.moveOrder(Plans.placed(before), Plans.placed(after), tables, cluster);
  }

  /** Only full devices that block one another go through host memory. */
  @Test
  void a_chain_of_full_devices_moves_from_its_end() {
    TableSpec table = Fixtures.table("a", 10, 4, 1);
    Map<String, TableSpec> tables = Map.of("a", table, "b", table, "c", table);
    assertThat(
            order(
                List.of(shard("a", 0), shard("b", 1), shard("c", 2)),
                List.of(shard("a", 1), shard("b", 2), shard("c", 3)),
                tables,
                Fixtures.cluster(4, 160)))
        .containsExactly(
            new MoveStep(2, MoveStep.Stage.DIRECT),
            new MoveStep(1, MoveStep.Stage.DIRECT),
            new MoveStep(0, MoveStep.Stage.DIRECT));
  }

  /** Parts of 1.2 bytes take 2 each, all four together 5: there seems to be room for two only. */
  @Test
  void parts_whose_bytes_are_rounded_up_arrive_all_the_same() {
    TableSpec table = new TableSpec("a", 1, 16, 1, ReuseHistogram.UNKNOWN, 0.3);
    List<Shard> before = new ArrayList<>();
    for (int part = 0; part < 4; part++) {
      before.add(Fixtures.shard(table, 4 * part, 4, part + 1));
    }
    List<MoveStep> steps =
        order(
            before,
            List.of(Fixtures.shard(table, 0, 16, 0)),
            Map.of("a", table),
            Fixtures.cluster(5, table.bytes()));
    assertThat(steps).extracting(MoveStep::move).containsExactly(0, 1, 2, 3);
    assertThat(steps).extracting(MoveStep::stage).containsOnly(MoveStep.Stage.DIRECT);
  }
}
