package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RandomShardings;
import io.shardtide.torchrec.Target.Processor;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.stream.Collectors;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Plans of TorchRec: what is exported is read again, and what TorchRec would not run is refused.
 */
class ImportedPlanTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<JsonNode> GARBAGE =
      List.of(
          JSON.nullNode(),
          JSON.getNodeFactory().textNode("garbage"),
          JSON.getNodeFactory().numberNode(-1),
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

  /** Some nodes of 4 or 6 devices span several hosts. */
  private static ClusterSpec withHosts(ClusterSpec cluster, Random random) {
    int hosts = 1 + random.nextInt(3);
    return cluster.devicesPerNode() % hosts == 0
        ? ClusterSpecBuilder.builder(cluster)
            .devicesPerHost(cluster.devicesPerNode() / hosts)
            .build()
        : cluster;
  }

  private static ObjectNode export(
      List<Shard> shards, List<PlannedKernel> kernels, ClusterSpec cluster, Random random) {
    boolean mayBeCpu = random.nextBoolean() && haveAllRows(shards, cluster);
    Processor processor = mayBeCpu ? Processor.CPU : Processor.CUDA;
    ComputeKernel kernel = random.nextBoolean() ? ComputeKernel.FUSED : ComputeKernel.DENSE;
    Target target = new Target(Modules.of("a.b"), kernel, processor, 1, false).withNodesOf(cluster);
    return new TorchRecPlans(target)
        .describe(JSON.createObjectNode(), shards, kernels, cluster.devices(), table -> true);
  }

  /** Returns whether each device that shares a table's rows has some, as on CPUs. */
  private static boolean haveAllRows(List<Shard> shards, ClusterSpec cluster) {
    return shards.stream()
        .filter(shard -> !shard.isCopied() && shard.kind().scope() != ShardScope.DEVICE)
        .collect(Collectors.groupingBy(Shard::table))
        .values()
        .stream()
        .allMatch(
            of ->
                of.size()
                    == of.get(0).kind().scope().devices(cluster)
                        * of.stream().map(Shard::columnOffset).distinct().count());
  }

  /**
   * A table of each kind that TorchRec has, with few rows, so that some devices are left without.
   */
  private static List<TableSpec> tables(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    for (ShardKind kind : EnumSet.complementOf(EnumSet.of(ShardKind.PARTIAL_ROW_WISE))) {
      int columns = 4 * (1 + random.nextInt(6));
      tables.add(Fixtures.table(kind.label(), 1 + random.nextInt(30), columns, 1));
    }
    return tables;
  }

  private static List<Shard> shards(List<TableSpec> tables, ClusterSpec cluster, Random random) {
    RandomShardings shardings = new RandomShardings(cluster, random);
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table : tables) {
      ShardKind kind = ShardKind.valueOf(table.name().toUpperCase(Locale.ROOT));
      List<Shard> drawn = shardings.ofKind(List.of(table), kind);
      while (hasUnequalWidthsOnDevice(drawn)) {
        drawn = shardings.ofKind(List.of(table), kind);
      }
      shards.addAll(drawn);
    }
    shards.sort(Shard.ORDER);
    return shards;
  }

  /** TorchRec does not support these, and they are not exported. */
  private static boolean hasUnequalWidthsOnDevice(List<Shard> shards) {
    return shards.stream()
        .anyMatch(
            a ->
                shards.stream()
                    .anyMatch(b -> a.device() == b.device() && a.columns() != b.columns()));
  }

  @Property(tries = 300)
  void an_exported_plan_is_read_again(
      @ForAll @IntRange(min = 1, max = 4) int nodes,
      @ForAll @IntRange(min = 1, max = 7) int perNode,
      @ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec cluster = withHosts(cluster(nodes, perNode), random);
    List<TableSpec> tables = tables(random);
    List<Shard> shards = shards(tables, cluster, random);
    ObjectNode exported = export(shards, List.of(), cluster, random).put("task", "16x0");
    ImportedPlan plan = ImportedPlan.parse(exported.toString());
    assertThat(plan.task()).contains("16x0");
    assertThat(plan.shards(tables, cluster)).isEqualTo(shards);
    // A plan that TorchRec makes does not tell the size of copies.
    ((ObjectNode) exported.at("/plan/a.b/data_parallel")).remove("size");
    assertThat(ImportedPlan.parse(exported.toString()).shards(tables, cluster)).isEqualTo(shards);
  }

  private static <T> Optional<T> any(T[] of, Random random) {
    return random.nextBoolean() ? Optional.empty() : Optional.of(of[random.nextInt(of.length)]);
  }

  /**
   * What is decided about kernels is exported, and counts in the prediction of an imported plan.
   */
  @Property(tries = 200)
  void kernels_of_an_exported_plan_are_read_again(@ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec cluster = cluster(1, 1);
    List<TableSpec> plain = tables(random);
    List<Shard> shards = new ArrayList<>();
    List<TableSpec> published = new ArrayList<>();
    for (TableSpec table : plain) {
      OptionalDouble share =
          switch (random.nextInt(3)) {
            case 0 -> OptionalDouble.of(random.nextInt(5) / 4.0);
            default -> OptionalDouble.empty();
          };
      shards.add(
          new Shard(table.name(), Region.of(table), 0, ShardKind.TABLE_WISE).withCacheShare(share));
      boolean isDense = share.isEmpty() && random.nextBoolean();
      published.add(
          TableSpecBuilder.builder(table)
              .enforceHbm(random.nextBoolean())
              .kernel(
                  new TableKernel(
                      isDense ? Optional.of(ComputeKernel.DENSE) : Optional.empty(),
                      OptionalDouble.empty(),
                      share.orElse(0) > 0 ? any(CacheAlgorithm.values(), random) : Optional.empty(),
                      any(OutputType.values(), random),
                      any(new Boolean[] {true, false}, random)))
              .build());
    }
    Target target = new Target(Modules.of("m"), ComputeKernel.FUSED, Processor.CUDA, 1, false);
    shards.sort(Shard.ORDER);
    ImportedPlan plan =
        ImportedPlan.parse(
            new TorchRecPlans(target)
                .describe(
                    JSON.createObjectNode(), shards, PlannedKernel.of(published), 1, table -> true)
                .toString());
    assertThat(plan.shards(plain, cluster)).isEqualTo(shards);
    assertThat(plan.tables(plain, cluster)).isEqualTo(published);
  }

  /**
   * One value of a plan is replaced by another, or removed: the plan is refused with a message, or
   * it is a plan of the same tables.
   */
  @Property(tries = 700)
  void a_damaged_plan_is_refused_with_a_message(@ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec cluster = cluster(2, 2);
    List<TableSpec> tables = tables(random);
    TableKernel half =
        TableKernelBuilder.builder(TableKernel.NONE)
            .outputType(Optional.of(OutputType.FP16))
            .stochasticRounding(Optional.of(true))
            .build();
    List<PlannedKernel> kernels =
        tables.stream().map(table -> new PlannedKernel(table.name(), half, true)).toList();
    ObjectNode plan;
    try {
      plan = export(shards(tables, cluster, random), kernels, cluster, random);
    } catch (IllegalArgumentException e) {
      assertThat(e).hasMessageContaining("must be one format");
      return;
    }
    JsonNode place = plan;
    int index = random.nextInt(place.size());
    JsonNode inner = child(place, index);
    while (!inner.isEmpty() && random.nextInt(8) > 0) {
      place = inner;
      index = random.nextInt(place.size());
      inner = child(place, index);
    }
    JsonNode damage = GARBAGE.get(random.nextInt(GARBAGE.size()));
    replace(place, index, damage, random.nextInt(3) == 0);
    String text = plan.toString();
    List<Shard> found;
    try {
      ImportedPlan imported = ImportedPlan.parse(text);
      found = imported.shards(tables, cluster);
      assertThat(imported.tables(tables, cluster)).hasSameSizeAs(tables);
    } catch (IllegalArgumentException e) {
      assertThat(e.getMessage()).containsPattern("must|expected").hasSizeLessThan(400);
      return;
    }
    for (TableSpec table : tables) {
      List<Shard> ofTable = found.stream().filter(s -> s.table().equals(table.name())).toList();
      assertThatCode(() -> Sharding.of(table, ofTable, cluster)).doesNotThrowAnyException();
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

  private static final String TABLE_WISE =
      "{'sharding_type': 'table_wise', 'compute_kernel': 'fused', 'ranks': [1], 'shards': [{'shard_offsets': [0, 0], 'shard_sizes': [10, 8], 'placement': 'rank:1/cuda:1'}]}";

  private static List<Shard> read(String plan) {
    return ImportedPlan.parse(plan.replace('\'', '"'))
        .shards(List.of(Fixtures.table("a", 10, 8, 1)), cluster(2, 2));
  }

  @Test
  void a_plan_of_other_tables_or_devices_is_refused() {
    String plan = "{'world_size': 4, 'plan': {'m': {'a': %s}}}".formatted(TABLE_WISE);
    assertThat(read(plan)).hasSize(1);
    assertThatThrownBy(() -> read(plan.replace("4,", "2,")))
        .hasMessage("world_size must be 4, the devices of the cluster, got 2");
    assertThatThrownBy(() -> read(plan.replace("'a'", "'b'")))
        .hasMessage("Table \"a\" is missing; the plan must have all tables of the workload");
    assertThatThrownBy(() -> read(plan.replace("{'a'", "{'b': {}, 'a'")))
        .hasMessage("Table \"b\" is not in the workload; the plan must have its tables only");
    assertThatThrownBy(() -> read(plan.replace("{'m'", "{'n': {'a': {}}, 'm'")))
        .hasMessage("Table \"a\" is in modules \"n\" and \"m\"; must be in one");
    assertThatThrownBy(() -> read(plan.replace("'plan'", "'world': 3, 'plan'")))
        .hasMessage(
            "a plan must be an object of task, hardware, feasible, predicted_ms, seconds, evaluations, memory_bytes, memory_bytes_per_device, memory_bytes_by_device, workload, generation, plan_id, previous_plan_id, world_size, plan, reshard, got \"world\": 3");
    assertThatThrownBy(() -> read(plan.replace("'plan'", "'world_size': 4, 'plan'")))
        .hasMessageStartingWith("invalid JSON: Duplicate field 'world_size'");
    assertThatThrownBy(() -> read(plan + plan)).hasMessageStartingWith("invalid JSON: ");
    assertThatThrownBy(() -> read("")).hasMessage("a plan must be an object, got nothing");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          'table_wise' | 'odd'   | Table "a": sharding_type must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got "odd"
          'fused' | 'key_value'  | Table "a": compute_kernel must be one of dense, fused, fused_uvm, fused_uvm_caching for table_wise, got "key_value"
          'ranks' | 'cache_params': {'load_factor': 1}, 'ranks' | Table "a": cache_params must be absent but for fused_uvm_caching, got {"load_factor":1}
          'fused' | 'fused_uvm_caching', 'cache_params': {'load_factor': 0.0} | Table "a": cache_params must be an object with a load_factor above 0 and at most 1, got {"load_factor":0.0}
          'fused' | 'fused_uvm_caching', 'cache_params': {'load_factor': 0.5, 'size': 1} | Table "a": cache_params must be an object of algorithm, load_factor, got "size": 1
          [1] | [4]              | Table "a": ranks must be a whole number between 0 and 3, got 4
          [1] | [1, 1]           | Table "a": ranks must be one for each of the 1 shards, got [1, 1]
          [1] | [0]              | Table "a": shards[0]: placement must be rank:0/cpu or rank:0/cuda:0 on nodes of 2 devices, got "rank:1/cuda:1"
          cuda:1 | cuda:3        | Table "a": shards[0]: placement must be rank:1/cpu or rank:1/cuda:1 on nodes of 2 devices, got "rank:1/cuda:3"
          [10, 8] | [10, 4]      | Table "a" is 10 rows by 4 columns; must be 10 by 8 as in the workload
          [0, 0] | [0]           | Table "a": shards[0]: shard_offsets must be [rows, columns], got [0]
          'table_wise' | 'row_wise' | Table "a" is row_wise and has columns 0+8, rows 0+10 on device 1; expected columns 0+8, rows 0+3 on device 0
          'placement' | 'place'  | Table "a": shards[0] must be an object of shard_offsets, shard_sizes, placement, got "place": "rank:1/cuda:1"
          'table_wise' | 'data_parallel' | Table "a": compute_kernel must be dense for data_parallel, got "fused"
          """)
  void a_wrong_value_is_named(String old, String replacement, String message) {
    String plan = "{'world_size': 4, 'plan': {'m': {'a': %s}}}".formatted(TABLE_WISE);
    assertThatThrownBy(() -> read(plan.replace(old, replacement))).hasMessage(message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          'output_dtype': 'FP8'      | Table "a": output_dtype must be one of FP32, FP16, BF16, INT8, got "FP8"
          'stochastic_rounding': 1   | Table "a": stochastic_rounding must be true or false, got 1
          'enforce_hbm': 'yes'       | Table "a": enforce_hbm must be true or false, got "yes"
          'compute_kernel': 'fused_uvm_caching', 'cache_params': {'algorithm': 'MRU', 'load_factor': 0.5} | Table "a": cache_params: algorithm must be one of LRU, LFU, got "MRU"
          """)
  void a_wrong_value_of_a_kernel_is_named(String fields, String message) {
    String own = fields.contains("kernel") ? "" : "'compute_kernel': 'fused', ";
    String table = TABLE_WISE.replace("'compute_kernel': 'fused'", own + fields);
    ImportedPlan plan =
        ImportedPlan.parse(
            "{'world_size': 4, 'plan': {'m': {'a': %s}}}".formatted(table).replace('\'', '"'));
    List<TableSpec> tables = List.of(Fixtures.table("a", 10, 8, 1));
    assertThat(plan.shards(tables, cluster(2, 2))).hasSize(1);
    assertThatThrownBy(() -> plan.tables(tables, cluster(2, 2))).hasMessage(message);
  }

  @Test
  void copies_are_on_all_ranks() {
    String plan =
        "{'world_size': 4, 'plan': {'m': {'a': {'sharding_type': 'data_parallel', 'compute_kernel': 'dense', 'ranks': [0, 1, 2, 3], 'shards': null}}}}";
    assertThat(read(plan)).extracting(Shard::device).containsExactly(Shard.EVERY_DEVICE);
    assertThatThrownBy(() -> read(plan.replace(", 3]", "]")))
        .hasMessage("Table \"a\": ranks must be all, 0 to 3, for data_parallel, got [0, 1, 2]");
    assertThatThrownBy(() -> read(plan.replace("null", "[1]")))
        .hasMessage("Table \"a\": shards must be absent for data_parallel, got [1]");
    assertThatThrownBy(() -> read(plan.replace("null", "null, 'size': [10, 4]")))
        .hasMessage("Table \"a\" is 10 rows by 4 columns; must be 10 by 8 as in the workload");
  }
}
