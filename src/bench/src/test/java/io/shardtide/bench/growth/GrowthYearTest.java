package io.shardtide.bench.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.bench.Figures;
import io.shardtide.bench.growth.GrowthResult.AnnouncedEnd;
import io.shardtide.bench.growth.GrowthScenario.MemoryLimit;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.growth.DayTexts;
import io.shardtide.models.ModelFiles;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GrowthYearTest {
  private static ModelBundle bundle;
  private static TensorFlowTowers towers;

  @BeforeAll
  static void open() {
    bundle = ModelFiles.shippedForNodes();
    towers = new TensorFlowTowers(bundle);
  }

  @AfterAll
  static void close() {
    towers.close();
  }

  private static GrowthResult run(long seed, int days, MemoryLimit memory) {
    return run(new GrowthScenario(seed, days, 8, 6, memory));
  }

  /** The year of docs/BENCHMARKS.md, of one of its seeds. */
  @Test
  @Tag("nightly")
  void a_year_keeps_its_targets_and_the_end_of_memory_is_announced() {
    long seed = Long.getLong("bench.seed", 1);
    int days = Integer.getInteger("bench.days", 365);
    GrowthResult year = run(new GrowthScenario(seed, days, 48, 12, MemoryLimit.ENOUGH));
    GrowthResult ended = run(new GrowthScenario(seed, days, 48, 12, MemoryLimit.SHORT));
    double end = ended.memoryFull().orElseThrow();
    double ratio = (double) year.resizes() / year.knownResizes();
    Figures figures = new Figures("%d days, seed %d".formatted(days, seed), "value");
    figures.add("resizes without a plan", "%d", year.plansNotFound());
    figures.add("fullest device of any plan", "%.1f %%", 100 * year.fullestDevice());
    figures.add("reshards", "%d", year.resizes());
    figures.add("of a planner that knows the future", "%d", year.knownResizes());
    figures.add("ratio", "%.2f", ratio);
    figures.add("bytes of capacity, of that planner's", "%.3f", year.memoryRatio());
    figures.add("slots in use, by bytes", "%.1f %%", 100 * year.fill());
    figures.add("moved shards", "%d", year.moved());
    figures.add("moved bytes", "%,d", year.movedBytes());
    year.ranges()
        .forEach(
            range ->
                figures.add(
                    range.what() + ", within the 90 % range",
                    "%.1f %% of %,d",
                    100 * range.share(),
                    range.cases()));
    figures.add("with less memory: full on day", "%.1f", end);
    for (AnnouncedEnd announced : shown(ended.announced(), end)) {
      figures.add(
          "announced on day %.1f".formatted(announced.day()),
          "%s, actually in %.1f days",
          DayTexts.of(announced.inDays()),
          end - announced.day());
    }
    System.out.println(figures);
    assertThat(year.full()).as("tables full before a plan was adopted").isEmpty();
    assertThat(year.plansNotFound()).isZero();
    assertThat(year.fullestDevice()).isLessThanOrEqualTo(1);
    assertThat(ratio).isLessThanOrEqualTo(1.5);
    assertThat(year.memoryRatio()).isLessThanOrEqualTo(1.15);
    assertThat(year.ranges())
        .allSatisfy(ranges -> assertThat(ranges.share()).isBetween(0.85, 0.96));
    assertThat(end - ended.announced().get(0).day()).as("announced before").isGreaterThan(28);
  }

  /** Returns the first announcement, and the last ones before some days before the end. */
  private static List<AnnouncedEnd> shown(List<AnnouncedEnd> announced, double end) {
    return IntStream.of(365, 45, 30, 21, 14, 7, 3)
        .mapToObj(
            before ->
                announced.stream()
                    .filter(a -> a.day() <= end - before)
                    .reduce((first, second) -> second)
                    .orElse(announced.get(0)))
        .distinct()
        .toList();
  }

  private static GrowthResult run(GrowthScenario scenario) {
    return GrowthYear.run(scenario, bundle, towers);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void tables_are_resized_before_they_are_full(long seed) {
    GrowthResult result = run(seed, 100, MemoryLimit.ENOUGH);
    assertThat(result.days()).isEqualTo(100);
    assertThat(result.full()).isEmpty();
    assertThat(result.knownFull()).isEmpty();
    assertThat(result.plansNotFound()).isZero();
    assertThat(result.plans()).isEqualTo(result.resizes());
    assertThat(result.fullestDevice()).isBetween(0.5, 1.0);
    assertThat(result.knownResizes()).isBetween(3, 6);
    assertThat(result.resizes()).isBetween(result.knownResizes(), 2 * result.knownResizes());
    assertThat(result.memoryRatio()).isBetween(0.9, 1.25);
    assertThat(result.fill()).isBetween(0.6, 0.95);
    assertThat(result.ranges())
        .hasSize(6)
        .allSatisfy(
            ranges -> {
              assertThat(ranges.cases()).isBetween(500, 600);
              assertThat(ranges.share()).isBetween(0.75, 0.99);
            });
  }

  @Test
  void the_end_of_memory_is_announced_and_the_same_scenario_has_the_same_result() {
    GrowthResult result = run(1, 75, MemoryLimit.SHORT);
    double end = result.memoryFull().orElseThrow();
    assertThat(end).isBetween(30.0, 60.0);
    assertThat(result.full().orElseThrow()).isBetween(end - 7, end + 7);
    AnnouncedEnd twoWeeksBefore =
        result.announced().stream()
            .filter(announced -> announced.day() <= end - 14)
            .reduce((first, second) -> second)
            .orElseThrow();
    assertThat(end - twoWeeksBefore.day())
        .isBetween(twoWeeksBefore.inDays().low() - 3, twoWeeksBefore.inDays().high() + 3);
    assertThat(run(1, 75, MemoryLimit.SHORT)).isEqualTo(result);
  }

  @Test
  void scenarios_outside_their_range_are_refused() {
    assertThatThrownBy(() -> new GrowthScenario(1, 59, 8, 6, MemoryLimit.ENOUGH))
        .hasMessage("days must be between 60 and 730, got 59");
    assertThatThrownBy(() -> new GrowthScenario(1, 60, -1, 6, MemoryLimit.ENOUGH))
        .hasMessage("tables of a fixed size must be between 0 and 1000, got -1");
    assertThatThrownBy(() -> new GrowthScenario(1, 60, 8, 0, MemoryLimit.ENOUGH))
        .hasMessage("tables that grow must be between 1 and 1000, got 0");
  }
}
