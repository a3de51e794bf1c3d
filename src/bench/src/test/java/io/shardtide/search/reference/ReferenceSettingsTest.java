package io.shardtide.search.reference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReferenceSettingsTest {
  @ParameterizedTest
  @CsvSource({
    "0, 1, 0, 1, 1, 1, 'reference.beamWidth must be between 1.0 and 100.0, got 0.0'",
    "1, 1001, 0, 1, 1, 1, 'reference.candidates must be between 1.0 and 1000.0, got 1001.0'",
    "1, 1, -1, 1, 1, 1, 'reference.levels must be between 0.0 and 1000.0, got -1.0'",
    "1, 1, 0, 0, 1, 1, 'reference.gridPoints must be between 1.0 and 1000.0, got 0.0'",
    "1, 1, 0, 1, NaN, 1, 'reference.gridStart must be between 1.0 and 1000.0, got NaN'",
    "1, 1, 0, 1, 2, 1, 'reference.gridEnd must be between 2.0 and 1000.0, got 1.0'"
  })
  void settings_have_ranges(
      int width, int candidates, int levels, int points, double start, double end, String message) {
    assertThatThrownBy(() -> new ReferenceSettings(width, candidates, levels, points, start, end))
        .hasMessage(message);
  }

  @Test
  void the_ends_of_the_ranges_are_inside() {
    assertThat(new ReferenceSettings(1, 1, 0, 1, 1, 1).levels()).isZero();
    assertThat(new ReferenceSettings(100, 1_000, 1_000, 1_000, 1_000, 1_000).levels())
        .isEqualTo(1_000);
  }
}
