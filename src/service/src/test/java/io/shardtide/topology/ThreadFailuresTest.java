package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** When a topology counts as healthy again after a thread failed. */
class ThreadFailuresTest {
  private final ThreadFailures failures = new ThreadFailures();

  private static long seconds(long seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  @Test
  void a_single_failure_is_over_after_seconds_of_running() {
    assertThat(failures.lasting(seconds(0), true)).isEmpty();
    failures.failed("a", seconds(10));
    assertThat(failures.lasting(seconds(10), false)).contains("a");
    // The partitions of the failed thread are back after its session.
    assertThat(failures.lasting(seconds(17), false)).contains("a");
    failures.running(seconds(17));
    assertThat(failures.lasting(seconds(21), true)).contains("a");
    assertThat(failures.lasting(seconds(22), true)).isEmpty();
  }

  /** The same record fails each new thread, after the session and a transaction's time. */
  @Test
  void a_loop_of_failures_is_never_healthy_in_between() {
    for (int loop = 1; loop < 20; loop++) {
      failures.failed("a", seconds(60L * loop));
      failures.running(seconds(60L * loop + 7));
      if (loop > 1) {
        assertThat(failures.lasting(seconds(60L * loop + 59), true)).contains("a");
      }
    }
    assertThat(failures.lasting(seconds(60 * 19 + 7 + 119), true)).contains("a");
    assertThat(failures.lasting(seconds(60 * 19 + 7 + 120), true)).isEmpty();
    failures.failed("b", seconds(60 * 60));
    assertThat(failures.lasting(seconds(60 * 60 + 5), true)).as("a new one").isEmpty();
  }
}
