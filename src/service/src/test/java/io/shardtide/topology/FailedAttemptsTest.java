package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FailedAttemptsTest {
  private long nanos;
  private final FailedAttempts failed = new FailedAttempts(() -> nanos);

  @Test
  void the_next_attempt_learns_of_the_failure_once() {
    failed.add("w", "planning", "injected");
    assertThat(failed.take("w", "background search")).isEmpty();
    nanos += FailedAttempts.REMEMBERED.toNanos() - 1;
    assertThat(failed.take("w", "planning")).contains("injected");
    assertThat(failed.take("w", "planning")).isEmpty();
  }

  /** The partition moved, and comes back with other work. */
  @Test
  void an_old_failure_is_not_told_of_new_work() {
    failed.add("w", "planning", "injected");
    nanos += FailedAttempts.REMEMBERED.toNanos();
    assertThat(failed.take("w", "planning")).isEmpty();
  }
}
