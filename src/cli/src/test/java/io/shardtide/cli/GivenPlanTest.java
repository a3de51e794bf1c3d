package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.testing.RandomShardings;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is written is read again, and shards whose costs are not known are refused. */
class GivenPlanTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<JsonNode> GARBAGE =
      List.of(
          JSON.nullNode(),
          JSON.getNodeFactory().textNode("garbage"),
          JSON.getNodeFactory().textNode("row_wise"),
          JSON.getNodeFactory().numberNode(-1),
          JSON.getNodeFactory().numberNode(0),
          JSON.getNodeFactory().numberNode(3),
          JSON.getNodeFactory().numberNode(4),
          JSON.getNodeFactory().numberNode(Integer.MAX_VALUE),
          JSON.getNodeFactory().numberNode(Long.MAX_VALUE),
          JSON.getNodeFactory().numberNode(1.5),
          JSON.getNodeFactory().booleanNode(true),
          JSON.createArrayNode(),
          JSON.createArrayNode().add(3).add(3).add(3),
          JSON.createObjectNode(),
          JSON.createObjectNode().put("garbage", 1));

  /** Whole nodes. */
  private static ClusterSpec cluster(int nodes, int perNode) {
    return new ClusterSpec(nodes * perNode, Fixtures.GIB, 1024, perNode, "test");
  }

  private static ObjectNode written(WorkloadTask task, List<Shard> shards) {
    ObjectNode line = JSON.createObjectNode().put("task", task.name());
    PlanLine.putShards(line, task, shards);
    return line;
  }

  /** Tables of few rows, so that some devices are left without. */
  private static List<TableSpec> tables(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      int columns = 4 * (1 + random.nextInt(6));
      tables.add(Fixtures.table("t" + t, 1 + random.nextInt(30), columns, 1));
    }
    return tables;
  }

  /** Of all kinds, some of tables that are cut by use. */
  private static List<Shard> shards(List<TableSpec> tables, ClusterSpec cluster, Random random) {
    return new RandomShardings(cluster, random)
        .cutByUse(tables).stream().sorted(Shard.ORDER).toList();
  }

  @Property(tries = 300)
  void a_written_plan_is_read_again(
      @ForAll @IntRange(min = 1, max = 4) int nodes,
      @ForAll @IntRange(min = 1, max = 7) int perNode,
      @ForAll long seed) {
    Random random = new Random(seed);
    WorkloadTask task = new WorkloadTask("16x0", tables(random), cluster(nodes, perNode));
    List<Shard> shards = shards(task.tables(), task.cluster(), random);
    ObjectNode line = written(task, shards);
    assertThat(GivenPlan.parse(line.toString(), task)).isEqualTo(new GivenPlan(task, shards));
  }

  private static <T> Optional<T> any(T[] of, Random random) {
    return random.nextBoolean() ? Optional.empty() : Optional.of(of[random.nextInt(of.length)]);
  }

  /** What is decided about kernels is written, and counts in the prediction. */
  @Property(tries = 200)
  void kernels_of_a_written_plan_are_read_again(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> plain = tables(random);
    List<Shard> shards = new ArrayList<>();
    List<TableSpec> published = new ArrayList<>();
    for (TableSpec table : plain) {
      OptionalDouble share =
          random.nextInt(3) == 0
              ? OptionalDouble.of(random.nextInt(5) / 4.0)
              : OptionalDouble.empty();
      shards.add(
          Plans.cached(new Shard(table.name(), Region.of(table), 0, ShardKind.TABLE_WISE), share));
      published.add(
          TableSpecBuilder.builder(table)
              .enforceHbm(random.nextBoolean())
              .kernel(
                  new TableKernel(
                      any(ComputeKernel.values(), random),
                      OptionalDouble.empty(),
                      any(CacheAlgorithm.values(), random),
                      any(OutputType.values(), random),
                      any(new Boolean[] {true, false}, random)))
              .build());
    }
    shards.sort(Shard.ORDER);
    WorkloadTask task = new WorkloadTask("w", published, cluster(1, 1));
    WorkloadTask ofPlain = new WorkloadTask("w", plain, cluster(1, 1));
    assertThat(GivenPlan.parse(written(task, shards).toString(), ofPlain))
        .isEqualTo(new GivenPlan(task, shards));
  }

  /**
   * One value of a plan is replaced by another, or removed: the plan is refused with a message, or
   * it is a plan of the same tables.
   */
  @Property(tries = 1_500)
  void a_damaged_plan_is_refused_with_a_message(@ForAll long seed) {
    Random random = new Random(seed);
    WorkloadTask task = new WorkloadTask("w", tables(random), cluster(2, 2));
    ObjectNode plan = written(task, shards(task.tables(), task.cluster(), random));
    JsonNode place = plan;
    int index = random.nextInt(place.size());
    JsonNode inner = child(place, index);
    while (!inner.isEmpty() && random.nextInt(12) > 0) {
      place = inner;
      index = random.nextInt(place.size());
      inner = child(place, index);
    }
    JsonNode damage = GARBAGE.get(random.nextInt(GARBAGE.size()));
    replace(place, index, damage, random.nextInt(3) == 0);
    GivenPlan found;
    try {
      found = GivenPlan.parse(plan.toString(), task);
    } catch (IllegalArgumentException e) {
      assertThat(e.getMessage()).containsPattern("must|expected").hasSizeLessThan(400);
      return;
    }
    assertThat(found.workload().tables()).hasSameSizeAs(task.tables());
    for (TableSpec table : task.tables()) {
      List<Shard> ofTable =
          found.shards().stream().filter(s -> s.table().equals(table.name())).toList();
      assertThatCode(() -> Sharding.of(table, ofTable, task.cluster())).doesNotThrowAnyException();
    }
  }

  private static JsonNode child(JsonNode place, int index) {
    return place.isArray() ? place.get(index) : place.get(name(place, index));
  }

  private static String name(JsonNode place, int index) {
    return List.copyOf(place.properties()).get(index).getKey();
  }

  private static void replace(JsonNode place, int index, JsonNode damage, boolean isRemoved) {
    if (place instanceof ObjectNode object && isRemoved) {
      object.remove(name(place, index));
    } else if (place instanceof ObjectNode object) {
      object.set(name(place, index), damage);
    } else if (place instanceof ArrayNode array && isRemoved) {
      array.remove(index);
    } else if (place instanceof ArrayNode array) {
      array.set(index, damage);
    }
  }

  private static GivenPlan read(String plan) {
    return GivenPlan.parse(
        plan.replace('\'', '"'),
        new WorkloadTask("w", List.of(Fixtures.table("a", 10, 8, 1)), cluster(2, 2)));
  }

  private static String plan(String table) {
    return "{'world_size': 4, 'tables': [%s]}".formatted(table);
  }

  private static final String TABLE_WISE =
      "{'name': 'a', 'shards': [{'kind': 'table_wise', 'column_offset': 0, 'columns': 8, 'row_offset': 0, 'rows': 10, 'device': 1, 'cache_share': null}]}";

  @Test
  void a_plan_of_other_tables_or_devices_is_refused() {
    String plan = plan(TABLE_WISE);
    assertThat(read(plan).shards()).hasSize(1);
    assertThatThrownBy(() -> read(plan.replace("4,", "2,")))
        .hasMessage("world_size must be 4, the devices of the cluster, got 2");
    assertThatThrownBy(() -> read(plan.replace("'a'", "'b'")))
        .hasMessage("Table \"a\" is missing; the plan must have all tables of the workload");
    assertThatThrownBy(
            () -> read(plan.replace("[{'name'", "[{'name': 'b', 'shards': []}, {'name'")))
        .hasMessage("Table \"b\" is not in the workload; the plan must have its tables only");
    assertThatThrownBy(() -> read(plan(TABLE_WISE + "," + TABLE_WISE)))
        .hasMessage("Table \"a\" is there twice; must be once");
    assertThatThrownBy(() -> read(plan.replace("'tables'", "'world_size': 4, 'tables'")))
        .hasMessageStartingWith("invalid JSON: Duplicate field");
    assertThatThrownBy(() -> read(plan + plan)).hasMessageStartingWith("a line must be one JSON");
    assertThatThrownBy(() -> read("{'task': 'w', 'feasible': false, 'world_size': 4}"))
        .hasMessage("tables must be a list, each an object, got nothing");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          'table_wise' | 'odd'       | tables[0]: shards[0]: kind must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got "odd"
          'shards'     | 'compute_kernel': 'key_value', 'shards' | tables[0]: computeKernel must be one of dense, fused, fused_uvm, fused_uvm_caching, got "key_value"
          'shards'     | 'output_dtype': 'FP8', 'shards' | tables[0]: outputDtype must be one of FP32, FP16, BF16, INT8, got "FP8"
          'shards'     | 'stochastic_rounding': 1, 'shards' | tables[0]: stochasticRounding must be true or false, got 1
          'device': 1  | 'device': 4 | Table "a" is table_wise and has columns 0+8, rows 0+10 on device 4; expected columns 0+8, rows 0+10 on device 3
          'device': 1  | 'device': null | device of a table_wise shard of table "a" must be at least 0, got -1
          'columns': 8 | 'columns': 4 | Table "a" is table_wise and has columns 0+4, rows 0+10 on device 1; expected columns 0+8, rows 0+10 on device 1
          'rows': 10   | 'rows': 9   | Table "a" is table_wise and has columns 0+8, rows 0+9 on device 1; expected columns 0+8, rows 0+10 on device 1
          'table_wise' | 'row_wise'  | Table "a" is row_wise and has columns 0+8, rows 0+10 on device 1; expected columns 0+8, rows 0+3 on device 0
          'cache_share': null | 'cache_share': 2 | cache share of a table_wise shard of table "a" must be 0 to 1, got 2.0
          'kind'       | 'sort'      | tables[0]: shards[0]: kind must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got nothing
          """)
  void a_wrong_value_is_named(String old, String replacement, String message) {
    assertThatThrownBy(() -> read(plan(TABLE_WISE).replace(old, replacement))).hasMessage(message);
  }

  /** What a plan of TorchRec does not tell is that of the table. */
  @Test
  void a_shard_is_all_of_its_table_unless_it_says_other() {
    String copies = "{'name': 'a', 'shards': [{'kind': 'data_parallel', 'device': null}]}";
    assertThat(read(plan(copies)).shards())
        .containsExactly(
            new Shard("a", new Region(0, 8, 0, 10), Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL));
    String halves =
        "{'name': 'a', 'shards': [{'kind': 'column_wise', 'columns': 4, 'device': 0}, {'kind': 'column_wise', 'columnOffset': 4, 'device': 2}]}";
    assertThat(read(plan(halves)).shards())
        .extracting(Shard::columnOffset, Shard::columns, Shard::device)
        .containsExactly(tuple(0, 4, 0), tuple(4, 4, 2));
  }

  @Test
  void columns_of_one_node_are_on_one_node() {
    String halves =
        "{'name': 'a', 'shards': [{'kind': 'table_column_wise', 'columns': 4, 'device': 0}, {'kind': 'table_column_wise', 'column_offset': 4, 'device': %d}]}";
    assertThat(read(plan(halves.formatted(1))).shards()).hasSize(2);
    assertThatThrownBy(() -> read(plan(halves.formatted(2))))
        .hasMessage(
            "Table \"a\" is table_column_wise and has columns 4+4, rows 0+10 on device 2; expected columns 4+4, rows 0+10 on device 0");
  }
}
