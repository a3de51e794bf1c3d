package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.PlanProvenance.SharedDevices;
import io.shardtide.testing.RandomMoves;
import io.shardtide.testing.Samples;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.UsableMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.Help.Ansi;

class PlanTextTest {
  private final PlanText view = new PlanText(Ansi.OFF, modelId -> false);

  /** The whole text, as a user sees it. */
  @Test
  void a_plan_shows_cost_bottleneck_devices_and_moves() {
    assertThat(
            view.summary(
                Samples.plan(),
                Optional.of(Samples.plan()),
                Optional.of(new UsableMemory(640, Collections.emptySortedMap())),
                "a table is added",
                OptionalDouble.of(31.4)))
        .isEqualTo(
            """
            generations 6 to 7  a table is added
              plan PLANID  1 table added (a)
              predicted step 6.500 -> 6.500 ms; answered in 31 ms, quick search of 13 ms, 99 evaluations
              lower bound 6.250 ms, the step is 4.0 % above it; bottleneck: device 1, communication, mostly table a (0.50 ms less without it)
              extrapolating: outside the training range: a with rows of 10 (trained: 1000 to 20000000) and 1 more
              tables: 1 column_wise
                table  decision      for          saves
                a      moved 0 -> 1  computation  0.750 ms
                a      cut           memory
                device  █ computation ▓ backward ▒ forward · idle            ms  memory     of
                     0  ███████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  6.500   160 B  640 B
                     1  ███████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓··▒▒▒▒▒▒▒▒▒▒▒▒▒    6.250   160 B  640 B
              moves: 1 shard, 160 B of 320 B (50.0 %), 1 of them through host memory
              in 1 wave with 25 % of the links: 0 ms of transfers, steps 6.50 -> 8.17 ms meanwhile; training loses 1.0 s
                table  part            route             bytes
                a      columns 0 to 3  device 0 -> host  160 B
                a      columns 0 to 3  host -> device 1  160 B
            """
                .replace("PLANID", Samples.plan().planId().substring(0, 12)));
  }

  @Test
  void waves_are_described_for_devices_of_any_memory() {
    assertThat(ShardTexts.waves(Samples.plan(), Optional.empty()))
        .isEqualTo(
            "in 1 wave with 25 % of the links, without spare memory: 0 ms of transfers, steps 6.50 -> 8.17 ms meanwhile; training loses 1.0 s");
    assertThat(
            IntStream.range(0, 100)
                .mapToObj(
                    seed ->
                        ShardTexts.waves(
                            RandomMoves.of(8, seed).plan(),
                            Optional.of(new UsableMemory(1, Collections.emptySortedMap()))))
                .toList())
        .anySatisfy(text -> assertThat(text).contains("ms meanwhile, none in 1 of the waves; "));
  }

  @Test
  void a_plan_with_codecs_names_them() {
    CollectiveCodec codec =
        new CollectiveCodec(
            ShardScope.DEVICE, Direction.FORWARD, new CommCodec("fp16", 2), 0.41256);
    assertThat(shown(Samples.with(Samples.plan(), List.of(codec))))
        .contains("\n  codecs: device forward fp16 (saves 0.413 ms); none elsewhere\n");
    assertThat(shown(Samples.plan())).doesNotContain("codec");
  }

  @Test
  void a_plan_with_kernels_names_them() {
    List<PlannedKernel> kernels = new ArrayList<>();
    kernels.add(new PlannedKernel("a", Samples.kernel(), true));
    kernels.add(
        new PlannedKernel(
            "b",
            TableKernelBuilder.builder(TableKernel.NONE)
                .cacheLoadFactor(OptionalDouble.of(0.5))
                .build(),
            false));
    assertThat(shown(Samples.withKernels(Samples.plan(), kernels)))
        .contains(
            "\n  kernels: a fused_uvm_caching, cache LFU, state in device memory, outputs BF16, no stochastic rounding; b cache of a fixed size\n");
    for (int i = 0; i < 5; i++) {
      kernels.add(new PlannedKernel("c" + i, Samples.kernel(), true));
    }
    assertThat(shown(Samples.withKernels(Samples.plan(), kernels)))
        .contains("; and 2 more tables\n");
    assertThat(shown(Samples.plan())).doesNotContain("kernel");
  }

  private String shown(ShardingPlan plan) {
    return view.summary(
        plan,
        Optional.empty(),
        Optional.of(new UsableMemory(640, Collections.emptySortedMap())),
        "new",
        OptionalDouble.empty());
  }

  @Test
  void a_first_plan_has_neither_moves_nor_a_previous_cost() throws IOException {
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    String first =
        lines
            .write(Samples.plan())
            .replaceFirst("\"previousPlanId\":[^,]*,", "\"previousPlanId\":null,");
    assertThat(shown(lines.read(first)))
        .contains("predicted step 6.500 ms")
        .doesNotContain("moves: ", "6.500 ->");
    assertThat(shown(Samples.plan())).contains("\n  moves: 1 shard, ");
  }

  @Test
  void infeasible_and_rejected_show_the_reason() {
    assertThat(view.infeasible(Samples.infeasible(), "too large"))
        .isEqualTo(
            """
            generation 8  too large
              does not fit, 17 B short: 17 bytes short
              the last feasible plan stays
                table  bytes
                a       18 B
            """);
    assertThat(view.rejected(Samples.rejected(), "noise"))
        .contains(
            "rejected  noise", "UNDECODABLE at workload-changes-0@5; the workload is unchanged");
  }

  /** Names may have picocli's marks, formats of Java, and what a terminal interprets. */
  @Provide
  Arbitrary<String> names() {
    return Arbitraries.of(
            "@|",
            "|@",
            "x y",
            "red ",
            "bold,",
            " ",
            "%s",
            "%",
            "@",
            "|",
            "a",
            "\u8868",
            "\u001b[31m",
            "\u202e",
            "\n")
        .list()
        .ofMinSize(1)
        .ofMaxSize(8)
        .map(parts -> String.join("", parts));
  }

  private static ShardingPlan planOf(String table) throws IOException {
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    String name = new ObjectMapper().writeValueAsString(table);
    return lines.read(lines.write(Samples.plan()).replace("\"a\"", name));
  }

  @Property(tries = 300)
  void names_are_shown_as_they_are_whatever_they_contain(@ForAll("names") String name)
      throws IOException {
    ShardingPlan plan = planOf(name);
    RejectedEvent rejected = Samples.rejected();
    List<Function<PlanText, String>> views =
        List.of(
            v ->
                v.summary(
                    plan,
                    Optional.of(plan),
                    Optional.of(new UsableMemory(640, Collections.emptySortedMap())),
                    name,
                    OptionalDouble.empty()),
            v -> v.infeasible(Samples.infeasible(), name),
            v ->
                v.rejected(
                    new RejectedEvent(
                        rejected.source(),
                        rejected.workloadId(),
                        rejected.reason(),
                        name,
                        rejected.key(),
                        rejected.value()),
                    name));
    for (Function<PlanText, String> show : views) {
      String text = show.apply(view);
      assertThat(text).contains(Printable.of(name).strip());
      assertThat(text.lines().map(Printable::of)).containsExactlyElementsOf(text.lines().toList());
      String styled = show.apply(new PlanText(Ansi.ON, modelId -> false));
      assertThat(styled.replaceAll("\u001b\\[[0-9;]*m", "")).isEqualTo(text);
    }
  }

  @Test
  void a_name_with_a_mark_of_no_style_is_shown() {
    assertThat(view.infeasible(Samples.infeasible(), "@|x y|@"))
        .startsWith("generation 8  @|x y|@\n");
  }

  private static String why(List<SharedDevices> shared) {
    return why(shared, Optional.empty());
  }

  private static String why(List<SharedDevices> shared, Optional<String> table) {
    return new PlanText(Ansi.OFF, modelId -> true)
        .why(
            new PlanProvenance(
                Samples.plan(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                List.of(),
                shared,
                List.of(),
                List.of(),
                Optional.of(true)),
            table);
  }

  @Test
  void of_one_table_there_is_its_place_and_its_decision() {
    String table = Samples.plan().shards().get(0).table();
    String row = "\n    " + table + " ";
    assertThat(why(List.of(), Optional.of(table))).contains(row).isEqualTo(why(List.of()));
    assertThat(why(List.of(), Optional.of("another"))).contains("tables: ").doesNotContain(row);
  }

  @Test
  void a_plan_of_a_simulated_model_says_so() {
    assertThat(why(List.of())).containsPattern("predicted step [0-9.]+ ms.* \\(simulated costs\\)");
  }

  @Test
  void tables_that_share_devices_say_with_which() {
    assertThat(why(List.of(new SharedDevices("b", "a"), new SharedDevices("clicks", "b"))))
        .endsWith(
            """
              placed together by constraints, so that no split, kind or move of one is explained:
                table   on the devices of
                b       a
                clicks  b
            """);
    assertThat(why(List.of())).doesNotContain("placed together");
    List<SharedDevices> many =
        IntStream.range(0, 23).mapToObj(i -> new SharedDevices("t" + i, "a")).toList();
    assertThat(why(many)).endsWith("    ... and 3 more\n");
  }

  @Test
  void bytes_have_units() {
    assertThat(ByteSizes.describe(0)).isEqualTo("0 B");
    assertThat(ByteSizes.describe(1023)).isEqualTo("1023 B");
    assertThat(ByteSizes.describe(1536)).isEqualTo("1.5 KiB");
    assertThat(ByteSizes.describe(24L << 30)).isEqualTo("24.0 GiB");
    assertThat(ByteSizes.describe(Long.MAX_VALUE)).isEqualTo("8192.0 PiB");
  }
}
