package io.shardtide.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import java.util.List;
import java.util.Optional;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class ResidualWindowTest {
  private static final Baseline BASELINE = new Baseline(0.5, 0.1);
  private static final ResidualWindow SERIES = ResidualWindow.begin("m").plus(1, 4).plus(2, 4);

  /** The latest residuals, more than half of the capacity as soon as there are as many. */
  @Property(tries = 200)
  void the_latest_residuals_are_kept(
      @ForAll @IntRange(min = 2, max = 9) int capacity,
      @ForAll @IntRange(min = 1, max = 40) int count) {
    ResidualWindow series = ResidualWindow.begin("m");
    for (int i = 0; i < count; i++) {
      series = series.plus(i, capacity);
      List<Float> kept = series.residuals();
      assertThat(series.samples()).isEqualTo(i + 1);
      assertThat(kept).hasSizeBetween(Math.min(i + 1, capacity / 2), Math.min(i + 1, capacity));
      for (int k = 0; k < kept.size(); k++) {
        assertThat(kept.get(k)).isEqualTo(i + 1 - kept.size() + k);
      }
    }
  }

  @Test
  void one_residual_above_the_capacity_leaves_half_of_it() {
    ResidualWindow full = SERIES.plus(3, 4).plus(4, 4);
    assertThat(full.residuals()).containsExactly(1f, 2f, 3f, 4f);
    assertThat(full.plus(5, 4).residuals()).containsExactly(4f, 5f);
  }

  @Test
  void another_model_resets_a_series() {
    ResidualWindow series = SERIES.calibrated(BASELINE).plus(3, 4);
    assertThat(series.forModel("m")).isSameAs(series);
    assertThat(series.forModel("n")).isEqualTo(ResidualWindow.begin("n"));
  }

  @Test
  void a_slow_device_stays_slow_whichever_model_predicts() {
    ResidualWindow slow = SERIES.calibrated(BASELINE).plus(3, 4).slow("plan", Fixtures.TIME);
    assertThat(slow.residuals()).isEmpty();
    assertThat(slow.samples()).isEqualTo(3);
    assertThat(slow.forModel("n"))
        .isEqualTo(
            new ResidualWindow(
                "n",
                Optional.of(BASELINE),
                0,
                List.of(),
                Optional.of("plan"),
                Optional.of(Fixtures.TIME),
                Optional.empty()));
    ResidualWindow back = slow.plus(4, 4).back(Optional.of("other"));
    assertThat(back)
        .isEqualTo(
            new ResidualWindow(
                "m",
                Optional.of(BASELINE),
                4,
                List.of(),
                Optional.empty(),
                Optional.empty(),
                Optional.of("other")));
    assertThat(back.forModel("n")).isEqualTo(ResidualWindow.begin("n"));
  }

  @Test
  void deviations_are_counted_from_a_baseline() {
    assertThat(
            SERIES
                .slow("plan", Fixtures.TIME)
                .back(Optional.of("plan"))
                .plus(3, 4)
                .calibrated(BASELINE))
        .isEqualTo(
            new ResidualWindow(
                "m",
                Optional.of(BASELINE),
                3,
                List.of(),
                Optional.empty(),
                Optional.empty(),
                Optional.of("plan")));
  }
}
