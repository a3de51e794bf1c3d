package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.StepCosts;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clusters as they are: nodes of 1, 3, 6 or 7 devices, the last of which may be smaller, and
 * devices of unequal memory. Tables of all kinds are planned, written, read again and predicted.
 */
class ClusterShapesTest {
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();
  private static final CostModel MODEL = new CostModel(BUNDLE);
  private static final PlainTowers TOWERS = new PlainTowers(BUNDLE);
  private static final SearchSettings BRIEF = Fixtures.settings(5, 50, 10, 10, 0, 1_000);
  private static final Set<ShardKind> KINDS =
      EnumSet.complementOf(EnumSet.of(ShardKind.PARTIAL_ROW_WISE));

  private static ClusterSpec cluster(int devices, int perNode, long memory) {
    return new ClusterSpec(devices, memory, 16_384, perNode, MODEL.hardware());
  }

  private static TableSpec of(ShardKind kind, TableSpec table) {
    return table.withConstraints(
        new TableConstraints(Set.of(kind), 0, Optional.empty(), true, false));
  }

  private static SearchResult search(List<TableSpec> tables, ClusterSpec cluster) {
    return LocalSearch.search(problem(tables, cluster), BRIEF);
  }

  private static SearchProblem problem(List<TableSpec> tables, ClusterSpec cluster) {
    return new SearchProblem(TOWERS.predict(tables, cluster), cluster, MODEL, PlanShards.NONE);
  }

  /** Each device within its own memory; what is written is what was planned and predicted. */
  private static void check(SearchProblem problem, SearchResult.Found found) {
    ClusterSpec cluster = problem.cluster();
    List<TableSpec> tables = problem.tables().stream().map(TablePrediction::table).toList();
    for (int d = 0; d < cluster.devices(); d++) {
      assertThat(found.deviceCosts().get(d).memoryBytes())
          .as("device %d", d)
          .isLessThanOrEqualTo(cluster.usableMemory().bytes(d));
    }
    WorkloadTask task = new WorkloadTask("w", tables, cluster);
    ObjectNode line = new ObjectMapper().createObjectNode();
    PlanLine.putShards(line, task, found.shards());
    List<Shard> read = GivenPlan.parse(line.toString(), task).shards();
    assertThat(read).isEqualTo(found.shards().stream().sorted(Shard.ORDER).toList());
    assertThat(StepCosts.of(problem.tables(), read, cluster, MODEL).predictedMs())
        .isEqualTo(found.predictedMs());
  }

  @Property(tries = 15)
  void tables_of_all_kinds_are_planned_written_and_predicted(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int nodes) {
    Random random = new Random(seed);
    int perNode = new int[] {1, 3, 6, 7}[random.nextInt(4)];
    int missing = random.nextInt(3) == 0 ? random.nextInt(perNode) : 0;
    List<TableSpec> tables = new ArrayList<>();
    for (TableSpec table : Plans.randomTables(random, 3 + random.nextInt(8))) {
      ShardKind kind = List.copyOf(KINDS).get(random.nextInt(KINDS.size()));
      tables.add(
          random.nextBoolean() || table.columns() == TableSpec.COLUMN_UNIT
              ? table.withConstraints(table.constraints().withMayHaveHotRows(false))
              : of(kind, table));
    }
    int devices = nodes * perNode - missing;
    double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
    ClusterSpec equal =
        cluster(devices, perNode, (long) ((0.5 + 4 * random.nextDouble()) * bytes / devices));
    ClusterSpec cluster = random.nextBoolean() ? Fixtures.withUnequalMemory(random, equal) : equal;
    SearchProblem problem = problem(tables, cluster);
    SearchResult result = LocalSearch.search(problem, BRIEF);
    if (result instanceof SearchResult.Found found) {
      check(problem, found);
      // On a lone device, all kinds are one thing.
      if (devices > 1 && devices % perNode != 0) {
        assertThat(found.shards()).noneMatch(shard -> shard.kind().scope() == ShardScope.NODE);
      }
    } else if (result instanceof SearchResult.NotFound notFound) {
      checkShortfall(tables, cluster, notFound);
    }
  }

  /** Enough for each device to hold everything is enough, but for kinds that nodes do not allow. */
  private static void checkShortfall(
      List<TableSpec> tables, ClusterSpec cluster, SearchResult.NotFound notFound) {
    assertThat(notFound.shortfall().tablesToBlame()).isNotEmpty();
    double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
    if (notFound.shortfall().bytesShort() == 0) {
      assertThat(notFound.shortfall().message())
          .contains(
              "on %d devices, %d on a node, for "
                  .formatted(cluster.devices(), cluster.devicesPerNode()));
    } else {
      assertThat((double) cluster.leastUsableBytes()).isLessThan(2 * bytes);
    }
  }

  /** What all devices have is no exception: the plan is the same one. */
  @Test
  void exceptions_that_say_what_all_have_change_nothing() {
    List<TableSpec> tables = Plans.randomTables(new Random(5), 9);
    ClusterSpec equal = cluster(6, 3, Fixtures.GIB);
    ClusterSpec same =
        ClusterSpecBuilder.builder(equal)
            .memoryBytesByDevice(
                IntStream.range(0, 6).mapToObj(d -> new DeviceMemory(d, Fixtures.GIB)).toList())
            .build();
    assertThat(search(tables, same)).isEqualTo(search(tables, equal));
  }

  /** A table that only the largest device holds is on it, and the others get the rest. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 6, 7})
  void the_only_device_with_room_holds_what_only_it_can(int perNode) {
    TableSpec large = of(ShardKind.TABLE_WISE, Fixtures.table("large", 3_000, 64, 1));
    List<TableSpec> tables = new ArrayList<>(List.of(large));
    for (int t = 0; t < 2 * perNode; t++) {
      tables.add(of(ShardKind.TABLE_WISE, Fixtures.table("small" + t, 900, 64, 1)));
    }
    long small = 2 * tables.get(1).bytes();
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(cluster(perNode + 1, perNode, small))
            .memoryBytesByDevice(List.of(new DeviceMemory(perNode, large.bytes())))
            .build();
    SearchProblem problem = problem(tables, cluster);
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    check(problem, found);
    assertThat(found.shards())
        .filteredOn(shard -> shard.table().equals("large"))
        .extracting(Shard::device)
        .containsExactly(perNode);
  }

  /** Rows are split evenly: the smallest device says how many. */
  @Test
  void the_smallest_device_limits_split_rows_and_copies() {
    TableSpec table = Fixtures.table("t", 8_000, 64, 1);
    for (ShardKind kind : List.of(ShardKind.ROW_WISE, ShardKind.DATA_PARALLEL)) {
      long each = kind == ShardKind.ROW_WISE ? table.bytes() / 4 : table.bytes();
      ClusterSpec enough = cluster(4, 2, each);
      assertThat(search(List.of(of(kind, table)), enough)).isInstanceOf(SearchResult.Found.class);
      ClusterSpec small =
          ClusterSpecBuilder.builder(enough)
              .memoryBytesPerDevice(10 * each)
              .memoryBytesByDevice(List.of(new DeviceMemory(2, each - 1)))
              .build();
      assertThat(search(List.of(of(kind, table)), small))
          .isInstanceOfSatisfying(
              SearchResult.NotFound.class,
              none -> {
                assertThat(none.shortfall().proven()).isTrue();
                assertThat(none.shortfall().bytesShort()).isEqualTo(1);
                assertThat(none.shortfall().message())
                    .contains("and the device with the least memory has ");
              });
    }
  }

  /** A node with room for the parts of a table is enough. */
  @Test
  void the_smallest_device_of_a_node_limits_rows_split_over_it() {
    TableSpec table = of(ShardKind.TABLE_ROW_WISE, Fixtures.table("t", 8_000, 64, 1));
    long each = table.bytes() / 2;
    ClusterSpecBuilder one =
        ClusterSpecBuilder.builder(cluster(4, 2, each))
            .memoryBytesByDevice(List.of(new DeviceMemory(1, each - 1)));
    SearchResult.Found found = (SearchResult.Found) search(List.of(table), one.build());
    assertThat(found.shards()).extracting(Shard::device).containsExactly(2, 3);
    ClusterSpec both =
        one.memoryBytesByDevice(List.of(new DeviceMemory(1, each - 1), new DeviceMemory(2, 9)))
            .build();
    SearchResult.NotFound none = (SearchResult.NotFound) search(List.of(table), both);
    assertThat(none.shortfall().bytesShort()).isEqualTo(1);
    assertThat(none.shortfall().message())
        .contains("and the smallest device of the node with the most memory has ");
  }

  /**
   * TorchRec and the cost of collectives take nodes as equal: no rows are split over unequal ones.
   */
  @Test
  void nodes_of_unequal_size_have_no_rows_split_over_them() {
    TableSpec table = of(ShardKind.TABLE_ROW_WISE, Fixtures.table("t", 8_000, 64, 1));
    assertThat(search(List.of(table), cluster(6, 3, Fixtures.GIB)))
        .isInstanceOf(SearchResult.Found.class);
    assertThat(search(List.of(table), cluster(5, 3, Fixtures.GIB)))
        .isInstanceOfSatisfying(
            SearchResult.NotFound.class,
            none ->
                assertThat(none.shortfall().message())
                    .startsWith(
                        "No sharding that the constraints allow exists on 5 devices, 3 on a node,"
                            + " for t (table_row_wise)"));
  }
}
