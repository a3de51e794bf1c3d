package io.shardtide.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.state.ModelDecision.Trigger;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** 500 samples start a retraining, 40 after an alarm or once a day. */
class TrainingStateTest {
  private static final TrainingPolicy POLICY = TrainingPolicy.DEFAULTS;
  private static final long START = 1_000;
  private static final long DAY = Duration.ofDays(1).toMillis();

  private static TrainingState after(TrainingState state, int computations) {
    for (int i = 0; i < computations; i++) {
      state = state.received(true);
    }
    return state;
  }

  private static void assertDue(TrainingState state, Trigger trigger) {
    assertThat(state.due(POLICY, START)).contains(trigger);
  }

  private static void assertNotDue(TrainingState state) {
    assertThat(state.due(POLICY, START)).isEmpty();
  }

  @Test
  void a_retraining_is_due_after_500_computations() {
    TrainingState before = after(TrainingState.begin(START), 499);
    assertNotDue(before);
    assertNotDue(before.received(false));
    assertThat(before.received(false).received()).isEqualTo(500);
    assertDue(before.received(true), Trigger.SAMPLES);
  }

  @Test
  void a_day_after_the_last_decision_40_computations_suffice() {
    TrainingState few = after(TrainingState.begin(START), 39);
    assertThat(few.due(POLICY, START + DAY)).isEmpty();
    TrainingState enough = few.received(true);
    assertThat(enough.due(POLICY, START + DAY - 1)).isEmpty();
    assertThat(enough.due(POLICY, START + DAY)).contains(Trigger.SCHEDULE);
    TrainingState decided = after(enough.decided(true, START + DAY), 40);
    assertThat(decided.due(POLICY, START + DAY + DAY - 1)).isEmpty();
    assertThat(decided.due(POLICY, START + DAY + DAY)).contains(Trigger.SCHEDULE);
  }

  @Test
  void after_an_alarm_40_computations_suffice() {
    TrainingState alarmed = after(TrainingState.begin(START), 100).alarmed("m");
    assertThat(alarmed.driftFrom()).hasValue(100);
    assertNotDue(after(alarmed, 39));
    assertDue(after(alarmed, 40), Trigger.DRIFT);
  }

  @Test
  void an_alarm_of_the_same_model_changes_nothing_while_one_is_pending() {
    TrainingState pending = after(TrainingState.begin(START).alarmed("m"), 30);
    assertThat(pending.alarmed("m")).isSameAs(pending);
    TrainingState other = pending.alarmed("n");
    assertThat(other.driftModel()).contains("n");
    assertThat(other.computations()).isZero();
    assertThat(other.driftFrom()).hasValue(30);
  }

  @Test
  void an_alarm_of_another_model_is_dropped() {
    TrainingState none = TrainingState.begin(START);
    assertThat(none.forModel("n")).isSameAs(none);
    TrainingState pending = after(none.alarmed("m"), 40).decided(false, START);
    assertThat(pending.forModel("m")).isSameAs(pending);
    TrainingState dropped = after(pending, 40).forModel("n");
    assertThat(dropped.driftModel()).isEmpty();
    assertThat(dropped.driftFrom()).isEmpty();
    assertThat(dropped.learned()).isZero();
    assertThat(dropped.patience()).isEqualTo(1);
    assertThat(dropped.computations()).isEqualTo(40);
  }

  /** The error after 40 computations is still large: see the defaults of the policy. */
  @Test
  void after_an_alarm_a_retraining_follows_each_time_the_samples_have_doubled() {
    TrainingState state = after(TrainingState.begin(START).alarmed("m"), 40);
    int learned = 40;
    for (; learned < POLICY.samples(); learned *= 2) {
      state = state.decided(true, START);
      assertThat(state.learned()).isEqualTo(learned);
      assertThat(state.driftModel()).isEmpty();
      state = after(state, learned - 1);
      assertNotDue(state);
      state = state.received(true);
      assertDue(state, Trigger.DRIFT);
    }
    state = after(state.decided(true, START), 499);
    assertNotDue(state);
    assertDue(state.received(true), Trigger.SAMPLES);
  }

  @Test
  void with_500_samples_since_an_alarm_the_usual_number_starts_the_next_retraining() {
    TrainingState state = after(TrainingState.begin(START).alarmed("m"), 500);
    assertDue(after(state.decided(true, START), 500), Trigger.SAMPLES);
  }

  @Test
  void a_challenger_that_is_not_better_doubles_the_samples_until_the_next_up_to_64_times() {
    TrainingState state = TrainingState.begin(START).alarmed("m");
    for (int patience = 1; patience <= 64; patience *= 2) {
      assertThat(state.patience()).isEqualTo(patience);
      assertNotDue(after(state, 40 * patience - 1));
      state = after(state, 40 * patience);
      assertDue(state, Trigger.DRIFT);
      state = state.decided(false, START);
    }
    assertThat(state.patience()).isEqualTo(64);
    assertThat(state.driftModel()).as("the alarm stays pending").contains("m");
    state = state.decided(true, START);
    assertThat(state.patience()).isEqualTo(1);

    TrainingState twice = TrainingState.begin(START).decided(false, START);
    assertNotDue(after(twice, 999));
    assertDue(after(twice, 1_000), Trigger.SAMPLES);
    assertThat(after(twice, 79).due(POLICY, START + DAY)).isEmpty();
    assertThat(after(twice, 80).due(POLICY, START + DAY)).contains(Trigger.SCHEDULE);
  }

  /** A model of the schedule that learned 10 samples after an alarm, and was not better since. */
  @Test
  void samples_after_an_alarm_are_multiplied_as_well() {
    TrainingState state =
        after(TrainingState.begin(START).alarmed("m"), 40).decided(true, START).received(true);
    state = state.decided(false, START);
    assertThat(state.learned()).isEqualTo(41);
    assertNotDue(after(state, 81));
    assertDue(after(state, 82), Trigger.DRIFT);
  }

  @Test
  void a_decision_counts_samples_from_0_and_keeps_older_samples() {
    TrainingState state =
        after(TrainingState.begin(START).with().olderKept(7).build(), 3).decided(true, START + 5);
    assertThat(state)
        .isEqualTo(
            new TrainingState(
                3, 0, 1, OptionalLong.empty(), java.util.Optional.empty(), 0, 7, START + 5));
  }

  @Test
  void a_cold_started_model_is_retrained_on_its_first_40_computations_and_each_time_they_double() {
    TrainingState fresh = TrainingState.begin(START);
    assertNotDue(after(fresh, 39).coldStarted("m"));
    TrainingState first = after(fresh, 40).coldStarted("m");
    assertDue(first, Trigger.DRIFT);
    assertThat(first.isSinceColdStart()).isTrue();
    assertThat(first.alarmed("n").isSinceColdStart()).isFalse();
    assertThat(first.coldStarted("m")).isEqualTo(first);
    TrainingState second = first.decided(true, START).forModel("n");
    assertNotDue(after(second, 39));
    assertDue(after(second, 40), Trigger.DRIFT);
    TrainingState third = after(second, 40).decided(true, START).forModel("o");
    assertNotDue(after(third, 79));
    assertDue(after(third, 80), Trigger.DRIFT);
    TrainingState usual = after(third, 420).decided(true, START).forModel("p");
    assertNotDue(after(usual, 499));
    assertDue(after(usual, 500), Trigger.SAMPLES);
  }

  @Test
  void a_rejected_retraining_of_a_cold_started_model_waits_for_twice_as_many() {
    TrainingState rejected =
        after(TrainingState.begin(START), 40).coldStarted("m").decided(false, START);
    assertNotDue(after(rejected, 79).coldStarted("m"));
    assertDue(after(rejected, 80).coldStarted("m"), Trigger.DRIFT);
  }

  @Test
  void an_alarm_about_a_cold_started_model_makes_earlier_samples_outdated() {
    TrainingState alarmed = after(TrainingState.begin(START), 20).alarmed("m");
    assertThat(alarmed.coldStarted("m")).isEqualTo(alarmed);
    assertThat(alarmed.coldStarted("another model").driftFrom()).hasValue(0);
  }
}
