package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.Explanation;
import io.shardtide.plan.Explanation.Cause;
import io.shardtide.plan.Explanation.ExplainedAction;
import io.shardtide.plan.MoveStep.Stage;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Samples;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class ShardTextsTest {
  private static final ClusterSpec CLUSTER =
      new ClusterSpec(4, Fixtures.GIB, 1_024, 2, "simulated");

  private final ShardTexts texts = new ShardTexts(plan());

  private static ShardingPlan plan() {
    List<Shard> shards = new ArrayList<>();
    add(shards, "columns", new Sharding.ColumnWise(List.of(part(8, 3), part(8, 0))));
    add(shards, "copies", new Sharding.DataParallel());
    add(shards, "grid", new Sharding.GridShard(List.of(new NodePart(8, 1), new NodePart(8, 0))));
    add(shards, "node", new Sharding.TableRowWise(1));
    add(shards, "rows", new Sharding.RowWise());
    add(shards, "used", new Sharding.HotColdSplit(4_096, new Sharding.TableRowWise(0)));
    add(shards, "also-whole", new Sharding.TableWise(2));
    shards.add(
        new Shard("a", new Region(0, 16, 0, 40), 2, ShardKind.TABLE_WISE, OptionalDouble.of(0.05)));
    ShardingPlan plan = Samples.plan();
    return new ShardingPlan(
        "",
        plan.origin(),
        plan.reason(),
        shards,
        Replication.NONE,
        List.of(),
        List.of(),
        Samples.withRepeats(plan).prediction(),
        plan.transition(),
        plan.run());
  }

  private static ColumnPart part(int columns, int device) {
    return new ColumnPart(columns, device);
  }

  private static void add(List<Shard> shards, String name, Sharding sharding) {
    TableSpec table = Fixtures.table(name, 1_000_001, 16, 3);
    shards.addAll(sharding.shards(table, CLUSTER));
  }

  @Test
  void each_kind_has_a_row_for_each_range_of_columns_and_whole_tables_come_last() {
    assertThat(texts.layout(table -> true).toString())
        .isEqualTo(
            """
            table       sharded         columns          rows  devices
            columns     column_wise      0 to 7     1,000,001  3
                                        8 to 15     1,000,001  0
            copies      data_parallel   0 to 15     1,000,001  every device
            grid        grid_shard       0 to 7  500,001 each  2 to 3
                                        8 to 15  500,001 each  0 to 1
            node        table_row_wise  0 to 15  500,001 each  2 to 3
            rows        row_wise        0 to 15  250,001 each  0 to 3
            used        table_row_wise  0 to 15  497,953 each  0 to 1
                        hot rows        0 to 15         4,096  every device
            a           table_wise      0 to 15            40  2
            also-whole  table_wise      0 to 15     1,000,001  2
            """);
    assertThat(texts.kinds())
        .isEqualTo(
            "2 table_wise, 1 column_wise, 1 row_wise, 2 table_row_wise, 1 grid_shard, 1 data_parallel; 1 with hot rows");
  }

  @Test
  void moves_name_rows_where_they_are_not_all_and_copies_once() {
    assertThat(texts.part(move(new Region(0, 16, 250_001, 250_001), 0, 1)))
        .isEqualTo("columns 0 to 15, rows 250,001 to 500,001");
    assertThat(texts.part(move(new Region(8, 8, 0, 1_000_001), 0, 1))).isEqualTo("columns 8 to 15");
    Region all = new Region(0, 16, 0, 1_000_001);
    assertThat(ShardTexts.route(move(all, 0, 3), Stage.DIRECT)).isEqualTo("device 0 -> device 3");
    assertThat(ShardTexts.route(move(all, 0, Shard.EVERY_DEVICE), Stage.DIRECT))
        .isEqualTo("device 0 -> every other device");
    assertThat(ShardTexts.route(move(all, Shard.EVERY_DEVICE, 4), Stage.DIRECT))
        .isEqualTo("any copy -> device 4");
    assertThat(ShardTexts.route(move(all, 0, 3), Stage.TO_HOST)).isEqualTo("device 0 -> host");
    assertThat(ShardTexts.route(move(all, 0, 3), Stage.FROM_HOST)).isEqualTo("host -> device 3");
  }

  private static Transfer move(Region region, int from, int to) {
    return new Transfer(new Overlap("rows", region, from, to), 8);
  }

  @Test
  void a_decision_for_a_kind_has_its_name() {
    assertThat(texts.action(explanation(ExplainedAction.KIND, "rows"))).isEqualTo("row_wise");
    assertThat(texts.action(explanation(ExplainedAction.KIND, "used"))).isEqualTo("table_row_wise");
    assertThat(texts.action(explanation(ExplainedAction.MOVE, "rows"))).isEqualTo("moved 1 -> 2");
    assertThat(texts.action(explanation(ExplainedAction.HOT_ROWS, "used")))
        .isEqualTo("copies of 4,096 rows");
    assertThat(texts.action(explanation(ExplainedAction.CACHE, "a")))
        .isEqualTo(
            "cache of 5.00 % of the rows, 12.5 % of the lookups miss; below its least of 25.0 %; estimated from its reuse histogram");
  }

  private static Explanation explanation(ExplainedAction action, String table) {
    return new Explanation(action, table, 1, 2, Cause.MEMORY, 0);
  }
}
