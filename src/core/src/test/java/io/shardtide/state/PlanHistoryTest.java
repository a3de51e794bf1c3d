package io.shardtide.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.PlanStatus.StatusKind;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class PlanHistoryTest {
  private static final PlanHistory TWO = of("a", "b");

  private static PlanHistory of(String... ids) {
    PlanHistory plans = PlanHistory.NONE;
    for (String id : ids) {
      plans = plans.with(id, plan -> Optional.empty(), removed -> {});
    }
    return plans;
  }

  private static PlanStatus status(String planId, StatusKind kind, long step, String run) {
    return new PlanStatus(
        "w", planId, kind, step, Optional.empty(), "trainer", run, Fixtures.TIME, 1, 1);
  }

  private static PlanHistory reported(PlanHistory plans, String planId, StatusKind kind) {
    return plans.reported(status(planId, kind, 1, ""), plan -> Optional.empty());
  }

  /** Plans that are added and adopted at random. */
  @Property(tries = 200)
  void the_latest_plans_and_the_running_one_are_stored(
      @ForAll @Size(min = 1, max = 120) List<@IntRange(min = 0, max = 59) Integer> actions) {
    PlanHistory plans = PlanHistory.NONE;
    Set<String> newestLast = new LinkedHashSet<>();
    int added = 0;
    for (int action : actions) {
      Set<String> kept = new HashSet<>();
      plans.adopted().ifPresent(kept::add);
      plans.previous().ifPresent(kept::add);
      if (action < 10 && action < plans.ids().size()) {
        plans = reported(plans, plans.ids().get(action), StatusKind.ADOPTED);
        continue;
      }
      String id = action < 50 ? "p" + added++ : plans.ids().isEmpty() ? "p" : plans.ids().get(0);
      List<String> removed = new ArrayList<>();
      plans = plans.with(id, plan -> Optional.empty(), removed::add);
      newestLast.remove(id);
      newestLast.add(id);
      List<String> expected = new ArrayList<>();
      for (String old : newestLast) {
        boolean isOld = newestLast.size() - expected.size() > PlanHistory.MOST;
        if (isOld && !kept.contains(old)) {
          expected.add(old);
        }
      }
      assertThat(removed).isEqualTo(expected);
      newestLast.removeAll(removed);
      assertThat(plans.ids()).containsExactlyElementsOf(newestLast);
      assertThat(plans.latest()).contains(id);
    }
  }

  /**
   * Plans are published, each searched from the plan that planning knows to run, while a trainer
   * adopts any that is stored, reports it late, and goes back where a move fails.
   */
  @Property(tries = 300)
  void the_trainer_can_always_go_back(
      @ForAll @Size(min = 1, max = 400) List<@IntRange(min = 0, max = 39) Integer> actions) {
    Map<String, String> previous = new HashMap<>();
    Function<String, Optional<String>> previousOf = id -> Optional.ofNullable(previous.get(id));
    Set<String> stored = new HashSet<>();
    PlanHistory plans = PlanHistory.NONE;
    Optional<String> runs = Optional.empty();
    Optional<String> before = Optional.empty();
    int step = 0;
    for (int action : actions) {
      if (action > 2 || plans.ids().isEmpty()) {
        String id = "p" + previous.size();
        previous.put(id, plans.running().orElse(null));
        plans = plans.with(id, previousOf, stored::remove);
        stored.add(id);
      } else if (action == 0 && before.isPresent()) {
        plans =
            plans.reported(
                status(runs.orElseThrow(), StatusKind.REJECTED, step++, "run"), previousOf);
        runs = before;
        before = Optional.empty();
      } else {
        String next = plans.ids().get(actions.get(step % actions.size()) % plans.ids().size());
        if (!runs.equals(Optional.of(next))) {
          before = runs;
        }
        runs = Optional.of(next);
        plans = plans.reported(status(next, StatusKind.ADOPTED, step++, "run"), previousOf);
      }
      runs.ifPresent(id -> assertThat(stored).contains(id));
      before.ifPresent(id -> assertThat(stored).contains(id));
      if (runs.isPresent()) {
        assertThat(plans.running()).isEqualTo(runs);
      }
      assertThat(stored).hasSizeLessThanOrEqualTo(PlanHistory.MOST);
      assertThat(plans.ids()).containsExactlyInAnyOrderElementsOf(stored);
    }
  }

  @Test
  void the_latest_plan_runs_until_the_trainer_reports() {
    assertThat(PlanHistory.NONE.latest()).isEmpty();
    assertThat(PlanHistory.NONE.running()).isEmpty();
    assertThat(TWO.running()).contains("b");
    assertThat(reported(TWO, "a", StatusKind.ADOPTED).running()).contains("a");
    assertThat(reported(TWO, "a", StatusKind.FINISHED_MOVING).running()).contains("a");
  }

  @Test
  void after_a_rejection_the_plan_before_runs() {
    PlanStatus rejected = status("b", StatusKind.REJECTED, 3, "run");
    PlanHistory after = TWO.reported(rejected, plan -> Optional.of(plan.equals("b") ? "a" : ""));
    assertThat(after)
        .isEqualTo(
            new PlanHistory(
                List.of("a", "b"), Optional.of("a"), Optional.empty(), OptionalLong.of(3), "run"));
    assertThat(TWO.reported(rejected, plan -> Optional.of("removed")).running()).isEmpty();
    assertThat(reported(TWO, "a", StatusKind.REJECTED).running())
        .as("another plan runs")
        .contains("b");
  }

  @Test
  void a_status_of_a_plan_that_is_not_stored_is_rejected() {
    PlanStatus unknown = status("0123456789abcdef", StatusKind.ADOPTED, 3, "run");
    assertThatThrownBy(() -> TWO.check(unknown))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.UNKNOWN_PLAN))
        .hasMessage(
            "plan of a status must be one of the 2 that are stored of workload \"w\" (the 32 latest"
                + ", the running one and the one before it), got 0123456789ab");
  }

  @Test
  void a_status_of_an_earlier_step_is_rejected() {
    PlanStatus ten = status("b", StatusKind.ADOPTED, 10, "run");
    TWO.check(status("b", StatusKind.ADOPTED, 0, ""));
    PlanHistory after = TWO.reported(ten, plan -> Optional.empty());
    after.check(ten);
    after.check(status("a", StatusKind.ADOPTED, 9, "another run"));
    PlanStatus late = status("a", StatusKind.ADOPTED, 9, "run");
    assertThatThrownBy(() -> after.check(late))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.STALE_STATUS))
        .hasMessageStartingWith(
            "step of a status of workload \"w\" must be at least 10, which was reported before,"
                + " got 9");
  }
}
