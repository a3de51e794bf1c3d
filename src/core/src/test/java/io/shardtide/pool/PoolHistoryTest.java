package io.shardtide.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class PoolHistoryTest {
  private final PoolHistory history = new PoolHistory("p");

  private static PoolChange event(int id, PoolUpdate update) {
    return new PoolChange(new UUID(0, id), "p", Instant.EPOCH, "test", List.of(update));
  }

  private static PoolUpdate set(String... nodes) {
    return new PoolUpdate.PoolSet(
        Pool.of(
            8, 1, 0, "h100", List.of(nodes).stream().map(name -> new PoolNode(name, "")).toList()));
  }

  @Test
  void a_rejected_event_makes_no_generation() {
    assertThat(history.apply(event(1, new PoolUpdate.PoolNodeLost("a")))).isEmpty();
    assertThat(history.apply(event(2, set("a", "b")))).isEqualTo(OptionalLong.of(1));
    assertThat(history.apply(event(3, new PoolUpdate.PoolNodeLost("c")))).isEmpty();
    assertThat(history.apply(event(4, new PoolUpdate.PoolNodeLost("a"))))
        .isEqualTo(OptionalLong.of(2));
    assertThat(history.state().pool().orElseThrow().nodes()).containsOnlyKeys("b");
  }

  @Test
  void an_event_is_applied_once_but_a_rejected_one_may_come_again() {
    PoolUpdate lost = new PoolUpdate.PoolNodeLost("b");
    assertThat(history.apply(event(1, lost))).isEmpty();
    assertThat(history.apply(event(2, set("a", "b")))).isPresent();
    assertThat(history.apply(event(2, set("a")))).isEmpty();
    assertThat(history.apply(event(1, lost))).isEqualTo(OptionalLong.of(2));
  }

  /** As long as the planner's, not longer: a forgotten id is applied again by both. */
  @Test
  void ids_are_remembered_as_long_as_the_planner_does() {
    for (int id = 1; id <= PoolHistory.REMEMBERED_EVENTS; id++) {
      history.apply(event(id, set("a")));
    }
    assertThat(history.apply(event(1, set("b")))).isEmpty();
    history.apply(event(PoolHistory.REMEMBERED_EVENTS + 1, set("a")));
    assertThat(history.apply(event(2, set("b")))).isEmpty();
    assertThat(history.apply(event(1, set("b"))))
        .isEqualTo(OptionalLong.of(PoolHistory.REMEMBERED_EVENTS + 2));
  }
}
