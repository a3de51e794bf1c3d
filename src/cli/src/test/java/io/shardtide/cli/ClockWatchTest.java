package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ClockWatchTest {
  private long clockMs = 1_000_000;
  private long nanos = 7;
  private final ClockWatch watch = new ClockWatch(() -> clockMs, () -> nanos);

  private Duration after(long clock, long elapsed) {
    clockMs += clock;
    nanos += elapsed * 1_000_000;
    return watch.setBack();
  }

  @Test
  void a_clock_that_runs_is_not_set_back() {
    assertThat(after(0, 0)).isZero();
    assertThat(after(100, 100)).isZero();
    assertThat(after(90, 100)).as("it is slow").isZero();
    assertThat(after(3_600_000, 100)).as("it was set ahead").isZero();
  }

  @Test
  void a_clock_that_is_set_back_is_told_once() {
    assertThat(after(-3_600_000, 200)).isEqualTo(Duration.ofMillis(3_600_200));
    assertThat(after(200, 200)).isZero();
    assertThat(after(3_600_000, 200)).isZero();
    assertThat(after(-4_700, 200)).as("within the tolerance").isZero();
    assertThat(after(-4_800, 200)).isEqualTo(Duration.ofSeconds(5));
  }
}
