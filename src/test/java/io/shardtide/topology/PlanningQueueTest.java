package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.SearchSettings;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PlanningQueueTest {
  private final PlanningQueue waiting =
      new PlanningQueue(
          new PlanningSettings(
              Duration.ofNanos(10),
              Duration.ofNanos(25),
              SearchSettings.QUICK,
              Optional.empty(),
              Duration.ZERO,
              0));

  @Test
  void a_workload_is_next_when_it_has_been_quiet() {
    waiting.changed("a", 0);
    waiting.changed("a", 8);
    assertThat(waiting.nextChanged(17)).isEmpty();
    assertThat(waiting.nextChanged(18)).contains("a");
    assertThat(waiting.nextChanged(99)).as("once").isEmpty();
  }

  @Test
  void a_workload_that_is_never_quiet_waits_no_longer_than_allowed() {
    for (int t = 0; t < 25; t += 5) {
      waiting.changed("a", t);
      assertThat(waiting.nextChanged(t)).isEmpty();
    }
    assertThat(waiting.nextChanged(25)).contains("a");
    waiting.changed("a", 26);
    assertThat(waiting.nextChanged(30)).as("the wait begins anew").isEmpty();
  }

  @Test
  void a_workload_that_is_not_quiet_does_not_hold_up_another() {
    waiting.changed("busy", 0);
    waiting.changed("calm", 1);
    waiting.changed("busy", 9);
    assertThat(waiting.nextChanged(12)).contains("calm");
  }

  @Test
  void a_clock_that_wraps_around_is_no_matter() {
    waiting.changed("a", Long.MAX_VALUE - 3);
    assertThat(waiting.nextChanged(Long.MIN_VALUE + 3)).isEmpty();
    assertThat(waiting.nextChanged(Long.MIN_VALUE + 6)).contains("a");
  }

  @Test
  void what_a_new_model_concerns_comes_with_the_most_promising_first() {
    waiting.predictedAnew("b", 1);
    waiting.predictedAnew("a", 1);
    waiting.predictedAnew("c", 2);
    waiting.predictedAnew("d", 3);
    waiting.changed("d", 0);
    waiting.predictedAnew("d", 3);
    assertThat(waiting.size()).isEqualTo(4);
    assertThat(waiting.mostPromising()).contains("c");
    assertThat(waiting.mostPromising()).contains("a");
    assertThat(waiting.mostPromising()).contains("b");
    assertThat(waiting.mostPromising()).as("d changed, and is planned for that").isEmpty();
    assertThat(waiting.nextChanged(10)).contains("d");
  }
}
