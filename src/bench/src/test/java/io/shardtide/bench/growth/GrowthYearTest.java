package io.shardtide.bench.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.bench.growth.GrowthResult.AnnouncedEnd;
import io.shardtide.bench.growth.GrowthScenario.MemoryLimit;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
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
    return GrowthYear.run(
        new GrowthScenario(seed, days, 8, 6, memory), bundle, towers, progress -> {});
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
