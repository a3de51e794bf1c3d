package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Effort;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Insight;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.torchrec.Target.Processor;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableKernel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** TorchRec's rules by the examples of {@code rules.json}, which the Python tests read, too. */
class RulesTest {
  private static final Path RULES = Path.of("src/cli/src/test/resources/torchrec/rules.json");
  private static final ObjectMapper JSON = new ObjectMapper();

  private static Stream<JsonNode> cases(String kind) throws IOException {
    return StreamSupport.stream(JSON.readTree(RULES.toFile()).get(kind).spliterator(), false);
  }

  static Stream<JsonNode> descriptions() throws IOException {
    return cases("descriptions");
  }

  static Stream<JsonNode> changes() throws IOException {
    return cases("changes");
  }

  private static Modules modules(JsonNode modules) {
    if (!modules.isObject()) {
      return Modules.of(modules.asText(Target.DEFAULT_MODULE));
    }
    TreeMap<String, String> paths = new TreeMap<>();
    modules.properties().forEach(path -> paths.put(path.getKey(), path.getValue().textValue()));
    return new Modules("", paths);
  }

  private static TorchRecPlans plans(JsonNode rule) {
    return new TorchRecPlans(
        new Target(
            modules(rule.path("modules")),
            ComputeKernel.valueOf(rule.path("kernel").asText("fused").toUpperCase(Locale.ROOT)),
            Processor.valueOf(rule.path("processor").asText("cuda").toUpperCase(Locale.ROOT)),
            rule.path("devices_per_node").asInt(8),
            rule.path("devices_per_host").asInt(0),
            rule.path("reshardable").asBoolean(false)));
  }

  private static ShardingPlan plan(String id, JsonNode shards, JsonNode kernels, int worldSize) {
    List<Shard> list = new ArrayList<>();
    for (JsonNode shard : shards) {
      list.add(
          new Shard(
              shard.get(0).textValue(),
              new Region(
                  shard.get(2).intValue(),
                  shard.get(3).intValue(),
                  shard.get(4).longValue(),
                  shard.get(5).longValue()),
              shard.get(6).intValue(),
              ShardKind.valueOf(shard.get(1).textValue()),
              shard.has(7)
                  ? OptionalDouble.of(shard.get(7).doubleValue())
                  : OptionalDouble.empty()));
    }
    return plan(id, list, kernels(kernels), worldSize);
  }

  private static List<PlannedKernel> kernels(JsonNode kernels) {
    List<PlannedKernel> planned = new ArrayList<>();
    kernels
        .properties()
        .forEach(
            of -> {
              JsonNode kernel = of.getValue();
              planned.add(
                  new PlannedKernel(
                      of.getKey(),
                      new TableKernel(
                          named(kernel, "computeKernel").map(ComputeKernel::of),
                          kernel.has("cacheLoadFactor")
                              ? OptionalDouble.of(kernel.get("cacheLoadFactor").doubleValue())
                              : OptionalDouble.empty(),
                          named(kernel, "cacheAlgorithm").map(CacheAlgorithm::of),
                          named(kernel, "outputType").map(OutputType::of),
                          Optional.ofNullable(kernel.get("stochasticRounding"))
                              .map(JsonNode::booleanValue)),
                      kernel.path("enforceHbm").asBoolean(false)));
            });
    return planned;
  }

  private static Optional<String> named(JsonNode kernel, String field) {
    return Optional.ofNullable(kernel.get(field)).map(JsonNode::textValue);
  }

  private static ShardingPlan plan(
      String id, List<Shard> shards, List<PlannedKernel> kernels, int worldSize) {
    return new ShardingPlan(
        id,
        new PlanOrigin(
            "w",
            3,
            3,
            Effort.QUICK,
            Fixtures.at(1),
            "model",
            SearchSettings.DEFAULTS,
            Optional.empty(),
            List.of()),
        "why",
        shards,
        Replication.NONE,
        List.of(),
        kernels,
        new PlanPrediction(
            Collections.nCopies(worldSize, new DeviceCost(1, 1, 1, 1, 0)),
            1.5,
            new Insight(1, 0, new Bottleneck(0, Explanation.Cause.COMPUTATION, "a", 0), List.of()),
            List.of(),
            0,
            List.of()),
        new PlanMoves(List.of(), List.of()),
        new SearchRun(0, 0, Fixtures.TIME));
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void plans_are_converted(JsonNode rule) throws IOException {
    int worldSize = rule.get("world_size").intValue();
    ShardingPlan plan = plan("p", rule.get("shards"), rule.path("kernels"), worldSize);
    if (rule.has("error")) {
      assertThatThrownBy(() -> plans(rule).describe(plan))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(rule.get("error").textValue());
      return;
    }
    ObjectNode expected =
        JSON.createObjectNode()
            .put("workload", "w")
            .put("generation", 3)
            .put("plan_id", "p")
            .putNull("previous_plan_id")
            .put("predicted_ms", 1.5)
            .put("world_size", worldSize);
    expected.set("plan", rule.get("expected"));
    assertThat(read(plans(rule).describe(plan))).isEqualTo(expected);
  }

  /** Serializes and parses again, so that numbers have comparable types. */
  private static JsonNode read(JsonNode node) throws IOException {
    return JSON.readTree(JSON.writeValueAsString(node));
  }

  @ParameterizedTest
  @MethodSource("changes")
  void changes_of_plans_are_converted(JsonNode rule) throws IOException {
    int worldSize = rule.get("world_size").intValue();
    ShardingPlan running =
        plan("before", rule.get("running"), rule.path("running_kernels"), worldSize);
    ShardingPlan wanted =
        plan(
            "after",
            rule.get("wanted"),
            rule.path("wanted_kernels"),
            rule.path("wanted_world_size").asInt(worldSize));
    TorchRecPlans plans = plans(rule);
    JsonNode found = read(plans.describe(wanted, running));
    JsonNode reshard = found.get("reshard");
    assertThat(reshard.get("from").textValue()).isEqualTo("before");
    if (rule.has("refused")) {
      assertThat(reshard.get("refused")).isEqualTo(rule.get("refused"));
      assertThat(reshard.has("plan")).isFalse();
      assertThatThrownBy(() -> plans.reshard(running, wanted))
          .isInstanceOfSatisfying(
              NotReshardableException.class,
              e -> assertThat(e).hasMessage(String.join("; ", e.problems())));
      return;
    }
    assertThat(reshard.get("moved_elements")).isEqualTo(rule.get("moved_elements"));
    Set<String> changed = new TreeSet<>();
    rule.get("tables").forEach(name -> changed.add(name.textValue()));
    // Of the plan, what changed, in its modules.
    ObjectNode expected = JSON.createObjectNode();
    for (var module : found.get("plan").properties()) {
      for (var table : module.getValue().properties()) {
        if (changed.contains(table.getKey())) {
          expected.withObjectProperty(module.getKey()).set(table.getKey(), table.getValue());
        }
      }
    }
    assertThat(reshard.get("plan")).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {".", "a.", ".a", "a..b"})
  void a_module_is_a_path(String module) {
    assertThatThrownBy(
            () -> new Target(Modules.of(module), ComputeKernel.FUSED, Processor.CUDA, 8, false))
        .hasMessageContaining(
            "names separated by dots, or empty for the model itself, got \"" + module);
  }

  @Test
  void several_modules_are_parsed() {
    assertThat(Modules.parse(List.of("a.b"))).isEqualTo(Modules.of("a.b"));
    assertThat(Modules.parse(List.of("a.b=t,u", "=v")))
        .isEqualTo(new Modules("", new TreeMap<>(Map.of("t", "a.b", "u", "a.b", "v", ""))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a=t;b     | module must be PATH=TABLE,TABLE,... for each of several, got \"b\"",
        "a=t,      | module must be PATH=TABLE,TABLE,..., got \"a=t,\"",
        "a=t;b=u,t | Table \"t\" is in modules \"a\" and \"b\"; must be in one",
        "a.=t      | module path must be names separated by dots, or empty for the model itself, got \"a.\"",
      })
  void wrong_modules_are_refused(String texts, String message) {
    assertThatThrownBy(() -> Modules.parse(List.of(texts.split(";")))).hasMessage(message);
  }

  @Test
  void a_node_has_devices() {
    assertThatThrownBy(
            () -> new Target(Modules.of("a"), ComputeKernel.FUSED, Processor.CUDA, 0, false))
        .hasMessage("devices per node must be at least 1, got 0");
    assertThatThrownBy(
            () -> new Target(Modules.of("a"), ComputeKernel.FUSED, Processor.CUDA, 8, 3, false))
        .hasMessage("devices per host must divide the 8 devices per node, got 3");
  }

  private static final Target RESHARDABLE =
      new Target(Modules.of("a"), ComputeKernel.FUSED, Processor.CUDA, 4, true);

  /** Shardings of ten tables of 64 columns and 1,000 rows over 4 devices, in equal column parts. */
  @Provide
  Arbitrary<List<Shard>> shardings() {
    return Arbitraries.randomValue(
        random -> {
          List<Shard> shards = new ArrayList<>();
          for (int t = 0; t < 10; t++) {
            int width = 64 >> random.nextInt(3);
            List<Integer> devices = new ArrayList<>(List.of(0, 1, 2, 3));
            Collections.shuffle(devices, random);
            for (int column = 0; column < 64; column += width) {
              shards.add(
                  new Shard(
                      "t" + t,
                      new Region(column, width, 0, 1000),
                      devices.get(column / width),
                      width == 64 ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE));
            }
          }
          return shards;
        });
  }

  /** Column-wise shards of a table of any widths, several of them on a device. */
  @Provide
  Arbitrary<List<Shard>> uneven() {
    return Arbitraries.randomValue(
        random -> {
          List<Shard> shards = new ArrayList<>();
          int width;
          for (int column = 0; column < 64; column += width) {
            width = 4 * (1 + random.nextInt((64 - column) / 4));
            shards.add(
                new Shard(
                    "t",
                    new Region(column, width, 0, 1000),
                    random.nextInt(4),
                    ShardKind.COLUMN_WISE));
          }
          return shards;
        });
  }

  /** Reshardable plans can be changed to one another, and only necessary columns move. */
  @Property(tries = 200)
  void resharding_the_running_plan_gives_the_wanted_one(
      @ForAll("shardings") List<Shard> before, @ForAll("shardings") List<Shard> after) {
    ModelPlan running = ModelPlan.of(before, List.of(), 4, RESHARDABLE, table -> true);
    ModelPlan wanted = ModelPlan.of(after, List.of(), 4, RESHARDABLE, table -> true);
    Reshard reshard = Reshard.between(running, wanted);
    TreeMap<String, TableSharding> resharded = new TreeMap<>(running.tables());
    resharded.putAll(reshard.tables());
    assertThat(resharded).isEqualTo(wanted.tables());
    assertThat(reshard.tables())
        .allSatisfy((name, table) -> assertThat(table).isNotEqualTo(running.tables().get(name)));
    long moved = 0;
    for (String table : wanted.tables().keySet()) {
      for (int column = 0; column < 64; column++) {
        moved += device(running, table, column) == device(wanted, table, column) ? 0 : 1000;
      }
    }
    assertThat(reshard.movedElements()).isEqualTo(moved);
  }

  @Property(tries = 100)
  void merging_shards_keeps_the_columns_of_each_device(@ForAll("uneven") List<Shard> shards) {
    Map<String, Integer> expected = new TreeMap<>();
    shards.forEach(
        shard ->
            expected.merge(shard.table() + " " + shard.device(), shard.columns(), Integer::sum));
    assertThat(widths(ModelPlan.of(shards, List.of(), 4, RESHARDABLE, table -> true)))
        .isEqualTo(expected);
  }

  private static Map<String, Integer> widths(ModelPlan plan) {
    Map<String, Integer> widths = new TreeMap<>();
    plan.tables()
        .forEach(
            (name, table) ->
                table
                    .shards()
                    .forEach(
                        shard ->
                            widths.merge(
                                name + " " + shard.rank(), shard.columns(), Integer::sum)));
    return widths;
  }

  private static int device(ModelPlan plan, String table, int column) {
    return plan.tables().get(table).shards().stream()
        .filter(s -> s.columnOffset() <= column && column < s.columnOffset() + s.columns())
        .findFirst()
        .orElseThrow()
        .rank();
  }
}
