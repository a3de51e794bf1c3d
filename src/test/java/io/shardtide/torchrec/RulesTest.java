package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.domain.Bottleneck;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Effort;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Insight;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.torchrec.Target.Kernel;
import io.shardtide.torchrec.Target.Processor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What TorchRec takes, by the examples of {@code rules.json}, which Python is held to as well. */
class RulesTest {
  private static final Path RULES = Path.of("src/test/resources/torchrec/rules.json");
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

  private static TorchRecPlans plans(JsonNode rule) {
    return new TorchRecPlans(
        new Target(
            rule.path("module").asText(Target.DEFAULT_MODULE),
            Kernel.valueOf(rule.path("kernel").asText("fused").toUpperCase(Locale.ROOT)),
            Processor.valueOf(rule.path("processor").asText("cuda").toUpperCase(Locale.ROOT)),
            rule.path("devices_per_node").asInt(8),
            rule.path("reshardable").asBoolean(false)));
  }

  private static ShardingPlan plan(String id, JsonNode shards, int worldSize) {
    List<Shard> list = new ArrayList<>();
    for (JsonNode shard : shards) {
      list.add(
          new Shard(
              shard.get(0).textValue(),
              ShardKind.valueOf(shard.get(1).textValue()),
              shard.get(2).intValue(),
              shard.get(3).intValue(),
              shard.get(4).longValue(),
              shard.get(5).longValue(),
              shard.get(6).intValue()));
    }
    return plan(id, list, worldSize);
  }

  private static ShardingPlan plan(String id, List<Shard> shards, int worldSize) {
    return new ShardingPlan(
        id,
        "w",
        3,
        3,
        Effort.QUICK,
        Fixtures.at(1),
        "model",
        SearchSettings.DEFAULTS,
        Optional.empty(),
        "why",
        shards,
        Collections.nCopies(worldSize, new DeviceCost(1, 1, 1, 1)),
        1.5,
        List.of(),
        List.of(),
        new Insight(1, new Bottleneck(0, Explanation.Cause.COMPUTATION, "a", 0), List.of()),
        List.of(),
        0,
        0,
        0,
        Fixtures.TIME);
  }

  @ParameterizedTest
  @MethodSource("descriptions")
  void a_plan_is_described(JsonNode rule) throws IOException {
    int worldSize = rule.get("world_size").intValue();
    ShardingPlan plan = plan("p", rule.get("shards"), worldSize);
    TorchRecPlans plans = plans(rule);
    if (rule.has("error")) {
      assertThatThrownBy(() -> plans.describe(plan))
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
    assertThat(read(plans.describe(plan))).isEqualTo(expected);
  }

  /** Numbers are compared as they are read back, whatever types they were put as. */
  private static JsonNode read(JsonNode node) throws IOException {
    return JSON.readTree(JSON.writeValueAsString(node));
  }

  @ParameterizedTest
  @MethodSource("changes")
  void changes_are_told(JsonNode rule) throws IOException {
    int worldSize = rule.get("world_size").intValue();
    ShardingPlan running = plan("before", rule.get("running"), worldSize);
    ShardingPlan wanted =
        plan("after", rule.get("wanted"), rule.path("wanted_world_size").asInt(worldSize));
    TorchRecPlans plans = plans(rule);
    JsonNode found = read(plans.describe(wanted, running));
    JsonNode reshard = found.get("reshard");
    assertThat(reshard.get("from").textValue()).isEqualTo("before");
    if (rule.has("refused")) {
      assertThat(reshard.get("refused")).isEqualTo(rule.get("refused"));
      assertThat(reshard.has("tables")).isFalse();
      assertThatThrownBy(() -> plans.reshard(running, wanted))
          .isInstanceOfSatisfying(
              NotReshardableException.class,
              e -> assertThat(e).hasMessage(String.join("; ", e.problems())));
      return;
    }
    JsonNode tables = found.get("plan").get(Target.DEFAULT_MODULE);
    assertThat(reshard.get("module").textValue()).isEqualTo(Target.DEFAULT_MODULE);
    assertThat(reshard.get("moved_elements")).isEqualTo(rule.get("moved_elements"));
    ObjectNode expected = JSON.createObjectNode();
    rule.get("tables")
        .forEach(name -> expected.set(name.textValue(), tables.get(name.textValue())));
    assertThat(reshard.get("tables")).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {".", "a.", ".a", "a..b"})
  void a_module_is_a_path(String module) {
    assertThatThrownBy(() -> new Target(module, Kernel.FUSED, Processor.CUDA, 8, false))
        .hasMessageContaining("\"" + module + "\"; expected names with dots between");
  }

  @Test
  void a_node_has_devices() {
    assertThatThrownBy(() -> new Target("a", Kernel.FUSED, Processor.CUDA, 0, false))
        .hasMessageContaining("0 devices share a node; expected 1 or more");
  }

  /** Shardings of ten tables of 64 columns and 1,000 rows over 4 devices. */
  @Provide
  Arbitrary<List<Shard>> shardings() {
    return Arbitraries.randomValue(
        random -> {
          List<Shard> shards = new ArrayList<>();
          for (int t = 0; t < 10; t++) {
            int width;
            for (int column = 0; column < 64; column += width) {
              width = 4 * (1 + random.nextInt((64 - column) / 4));
              shards.add(
                  new Shard(
                      "t" + t,
                      width == 64 ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE,
                      column,
                      width,
                      0,
                      1000,
                      random.nextInt(4)));
            }
          }
          return shards;
        });
  }

  /** Any reshardable plan is reached from any other, and nothing is moved that is in its place. */
  @Property(tries = 200)
  void the_running_plan_with_the_changes_is_the_wanted_one(
      @ForAll("shardings") List<Shard> before, @ForAll("shardings") List<Shard> after) {
    ModulePlan running = ModulePlan.of(before, 4, true);
    ModulePlan wanted = ModulePlan.of(after, 4, true);
    Reshard reshard = Reshard.between(running, wanted);
    TreeMap<String, TableSharding> made = new TreeMap<>(running.tables());
    made.putAll(reshard.tables());
    assertThat(made).isEqualTo(wanted.tables());
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

  /** Joined or not, each device has as many columns of each table as the plan says. */
  @Property(tries = 100)
  void joining_moves_no_column_to_another_device(@ForAll("shardings") List<Shard> shards) {
    assertThat(widths(ModulePlan.of(shards, 4, true)))
        .isEqualTo(widths(ModulePlan.of(shards, 4, false)));
  }

  private static Map<String, Integer> widths(ModulePlan plan) {
    Map<String, Integer> widths = new TreeMap<>();
    plan.tables()
        .forEach(
            (name, table) ->
                table
                    .shards()
                    .forEach(
                        shard ->
                            widths.merge(
                                name + " " + shard.device(), shard.columns(), Integer::sum)));
    return widths;
  }

  private static int device(ModulePlan plan, String table, int column) {
    return plan.tables().get(table).shards().stream()
        .filter(s -> s.columnOffset() <= column && column < s.columnOffset() + s.columns())
        .findFirst()
        .orElseThrow()
        .device();
  }
}
