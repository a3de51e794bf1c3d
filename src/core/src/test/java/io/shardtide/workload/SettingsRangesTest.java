package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Overlap;
import io.shardtide.plan.Region;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Transfer;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.testing.Fixtures;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings at and beyond the ends of their ranges. */
class SettingsRangesTest {
  /** A check passes exactly the values from the least, or above it, to the greatest. */
  @Property(tries = 300)
  void a_check_passes_what_is_in_the_range(
      @ForAll @Scale(15) double a, @ForAll @Scale(15) double b, @ForAll @Scale(15) double other) {
    double min = Math.min(a, b);
    double max = Math.max(a, b);
    for (double value : new double[] {min, Math.nextDown(min), max, Math.nextUp(max), other}) {
      boolean isInside = min <= value && value <= max;
      assertThat(NumberRange.of(min, max).contains(value)).isEqualTo(isInside);
      assertThat(NumberRange.above(min, max).contains(value)).isEqualTo(isInside && value != min);
    }
    assertThat(NumberRange.of(min, max).contains(Double.NaN)).isFalse();
    assertThat(NumberRange.above(min, max).contains(Double.NaN)).isFalse();
  }

  @Test
  void a_range_reads_as_in_the_documentation() {
    assertThat(NumberRange.whole(1, 256)).hasToString("1 to 256");
    assertThat(NumberRange.above(0, 10)).hasToString("above 0 to 10");
    assertThat(NumberRange.of(0.005, 0.99)).hasToString("0.005 to 0.99");
    assertThat(NumberRange.of(-0x1p53, 0x1p53))
        .hasToString("-9007199254740992 to 9007199254740992");
    assertThat(NumberRange.of(0, 0x1p54)).hasToString("0 to 1.8014398509481984E16");
  }

  @Test
  void a_value_outside_the_range_is_named_with_what_is_expected() {
    assertThatThrownBy(() -> NumberRange.whole(1, 256).check("devices", 257))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("devices must be 1 to 256, got 257");
    assertThatThrownBy(() -> NumberRange.above(0, 1).check("share", Double.NaN))
        .hasMessage("share must be above 0 to 1, got NaN");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0        | 0           | 1       | 0       | 0       | 1             | evaluationsPerTable must be 1 to 10000000, got 0
          10000001 | 0           | 1       | 0       | 0       | 1             | evaluationsPerTable must be 1 to 10000000, got 10000001
          1        | -1          | 1       | 0       | 0       | 1             | repairEvaluations must be 0 to 10000000000, got -1
          1        | 10000000001 | 1       | 0       | 0       | 1             | repairEvaluations must be 0 to 10000000000, got 10000000001
          1        | 0           | 0       | 0       | 0       | 1             | moveGigabytesPerSecond must be above 0 to 1000000, got 0
          1        | 0           | 1000001 | 0       | 0       | 1             | moveGigabytesPerSecond must be above 0 to 1000000, got 1000001
          1        | 0           | 1       | -0.5    | 0       | 1             | moveOverheadMs must be 0 to 1000000, got -0.5
          1        | 0           | 1       | 1000001 | 0       | 1             | moveOverheadMs must be 0 to 1000000, got 1000001
          1        | 0           | 1       | 0       | -1      | 1             | reshardMs must be 0 to 1000000, got -1
          1        | 0           | 1       | 0       | 1000001 | 1             | reshardMs must be 0 to 1000000, got 1000001
          1        | 0           | 1       | 0       | 0       | 0             | paybackSteps must be 1 to 1000000000000, got 0
          1        | 0           | 1       | 0       | 0       | 1000000000001 | paybackSteps must be 1 to 1000000000000, got 1000000000001
          """)
  void settings_of_a_search_have_ranges(
      long perTable,
      long repair,
      double bandwidth,
      double overhead,
      double reshard,
      long steps,
      String message) {
    assertThatThrownBy(
            () -> Fixtures.settings(perTable, repair, bandwidth, overhead, reshard, steps))
        .hasMessage(message);
  }

  @Test
  void the_ends_of_the_ranges_are_inside() {
    assertThatCode(() -> Fixtures.settings(1, 0, Double.MIN_VALUE, 0, 0, 1))
        .doesNotThrowAnyException();
    assertThatCode(
            () -> Fixtures.settings(10_000_000, 10_000_000_000L, 1e6, 1e6, 1e6, 1_000_000_000_000L))
        .doesNotThrowAnyException();
  }

  /** 2 GB at 10 GB/s take 200 ms, two moves 5 ms more, a reshard a second, over 1,000 steps. */
  @Test
  void moves_have_a_price_for_each_step() {
    Region region = new Region(0, 4, 0, 10);
    List<Transfer> moves =
        List.of(
            new Transfer(new Overlap("a", region, 0, 1), 500_000_000),
            new Transfer(new Overlap("b", region, 1, 0), 1_500_000_000));
    SearchSettings settings = SearchSettings.DEFAULTS;
    assertThat(settings.moveMs(2e9)).isEqualTo(0.2);
    assertThat(settings.moveOverheadMsPerStep()).isEqualTo(0.0025);
    assertThat(settings.reshardMsPerStep()).isEqualTo(1);
    assertThat(settings.moveMs(moves)).isEqualTo(1.205);
    assertThat(settings.moveMs(List.of())).isZero();
  }

  private static PlanningSettings planning(long quiet, long longest, long deep, double gain) {
    return new PlanningSettings(
        Duration.ofMillis(quiet),
        Duration.ofMillis(longest),
        SearchSettings.QUICK,
        Optional.empty(),
        Duration.ofMillis(deep),
        gain,
        0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          -1 | 5     | 0        | 0   | debounce in ms must be 0 to 60000, got -1
          5  | 60001 | 0        | 0   | longestWait in ms must be 0 to 60000, got 60001
          5  | 5     | 86400001 | 0   | deepAfter in ms must be 0 to 86400000, got 86400001
          5  | 5     | 0        | 1.1 | deepGain must be 0 to 1, got 1.1
          6  | 5     | 0        | 0   | the debounce interval must be at most the longest wait of 5 ms, got 6 ms
          """)
  void settings_of_planning_have_ranges(
      long quiet, long longest, long deep, double gain, String message) {
    assertThatThrownBy(() -> planning(quiet, longest, deep, gain)).hasMessage(message);
  }

  @Test
  void a_debounce_interval_may_be_as_long_as_the_longest_wait() {
    assertThat(planning(5, 5, 0, 0).debounce()).isEqualTo(Duration.ofMillis(5));
    assertThat(PlanningSettings.eachGeneration(SearchSettings.DEEP))
        .isEqualTo(
            new PlanningSettings(
                Duration.ZERO,
                Duration.ZERO,
                SearchSettings.DEEP,
                Optional.empty(),
                Duration.ZERO,
                0,
                0));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0   | 40 | 24 | 2000    | 2000    | 0.1 | 0.1 | samples must be 1 to 1000000, got 0
          500 | 0  | 24 | 2000    | 2000    | 0.1 | 0.1 | samplesAfterDrift must be 1 to 1000000, got 0
          500 | 40 | 0  | 2000    | 2000    | 0.1 | 0.1 | schedule in hours must be 1 to 87600, got 0
          500 | 40 | 24 | 1000001 | 2000    | 0.1 | 0.1 | recent must be 1 to 1000000, got 1000001
          500 | 40 | 24 | 2000    | 1000001 | 0.1 | 0.1 | old must be 0 to 1000000, got 1000001
          500 | 40 | 24 | 2000    | 2000    | 1   | 0.1 | gain must be 0 to 0.99, got 1
          500 | 40 | 24 | 2000    | 2000    | 0.1 | 11  | oldMargin must be 0 to 10, got 11
          """)
  void settings_of_retraining_have_ranges(
      int samples,
      int afterDrift,
      int hours,
      int recent,
      int old,
      double gain,
      double oldMargin,
      String message) {
    assertThatThrownBy(
            () ->
                new TrainingPolicy(
                    true,
                    samples,
                    afterDrift,
                    Duration.ofHours(hours),
                    recent,
                    old,
                    gain,
                    oldMargin,
                    1))
        .hasMessage(message);
  }
}
