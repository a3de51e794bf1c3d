package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.SearchSettings;
import io.shardtide.state.PlanningSettings;
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
              0,
              0));

  @Test
  void a_workload_is_due_after_the_debounce_interval() {
    waiting.changed("a", 0);
    waiting.changed("a", 8);
    assertThat(waiting.nextChanged(17)).isEmpty();
    assertThat(waiting.nextChanged(18)).contains("a");
    assertThat(waiting.nextChanged(99)).as("once").isEmpty();
  }

  @Test
  void a_constantly_changing_workload_is_due_after_the_longest_wait() {
    for (int t = 0; t < 25; t += 5) {
      waiting.changed("a", t);
      assertThat(waiting.nextChanged(t)).isEmpty();
    }
    assertThat(waiting.nextChanged(25)).contains("a");
    waiting.changed("a", 26);
    assertThat(waiting.nextChanged(30)).as("the wait begins anew").isEmpty();
  }

  @Test
  void a_changing_workload_does_not_delay_another() {
    waiting.changed("busy", 0);
    waiting.changed("calm", 1);
    waiting.changed("busy", 9);
    assertThat(waiting.nextChanged(12)).contains("calm");
  }

  @Test
  void nanoseconds_may_overflow() {
    waiting.changed("a", Long.MAX_VALUE - 3);
    assertThat(waiting.nextChanged(Long.MIN_VALUE + 3)).isEmpty();
    assertThat(waiting.nextChanged(Long.MIN_VALUE + 6)).contains("a");
  }

  @Test
  void workloads_of_a_new_model_are_ordered_by_expected_gain() {
    waiting.repredicted("b", 1);
    waiting.repredicted("a", 1);
    waiting.repredicted("c", 2);
    waiting.repredicted("d", 3);
    waiting.changed("d", 0);
    waiting.repredicted("d", 3);
    assertThat(waiting.size()).isEqualTo(4);
    assertThat(waiting.greatestGain()).contains("c");
    assertThat(waiting.greatestGain()).contains("a");
    assertThat(waiting.greatestGain()).contains("b");
    assertThat(waiting.greatestGain()).as("d changed, and is planned for that").isEmpty();
    assertThat(waiting.nextChanged(10)).contains("d");
  }
}
