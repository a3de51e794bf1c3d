package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.wire.RegistryUnavailableException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** A stream thread waits for the registry, but not for ever. */
class RegistryRetryTest {
  private final List<String> heard = new ArrayList<>();
  private final CountDownLatch closing = new CountDownLatch(1);
  private int attempts;

  private RegistryRetry retry(Duration limit) {
    return new RegistryRetry(
        TopologyName.WORKLOAD,
        limit,
        closing,
        (topology, reason) ->
            heard.add(topology + reason.map(" waits: "::concat).orElse(" resumed")));
  }

  private Supplier<String> failing(int times) {
    return () -> {
      if (attempts++ < times) {
        throw new RegistryUnavailableException("attempt " + attempts, new IOException());
      }
      return "schema";
    };
  }

  @Test
  void a_call_is_repeated_until_the_registry_answers() {
    assertThat(retry(Duration.ofMinutes(5)).call(failing(2))).isEqualTo("schema");
    assertThat(heard)
        .containsExactly(
            "workload waits: the schema registry: attempt 1",
            "workload waits: the schema registry: attempt 2",
            "workload resumed");
  }

  @Test
  void a_call_that_succeeds_at_once_is_not_a_wait() {
    assertThat(retry(Duration.ofMinutes(5)).call(failing(0))).isEqualTo("schema");
    assertThat(heard).isEmpty();
  }

  @Test
  void after_the_limit_the_thread_fails_with_the_last_error() {
    assertThatThrownBy(() -> retry(Duration.ZERO).call(failing(9)))
        .isInstanceOf(RegistryUnavailableException.class)
        .hasMessage("attempt 1");
    assertThat(heard)
        .containsExactly("workload waits: the schema registry: attempt 1", "workload resumed");
  }

  @Test
  void closing_the_service_ends_the_wait() {
    closing.countDown();
    assertThatThrownBy(() -> retry(Duration.ofMinutes(5)).call(failing(9)))
        .isInstanceOf(RegistryUnavailableException.class);
    assertThat(attempts).isEqualTo(1);
  }

  @Test
  void an_interrupt_ends_the_wait_and_stays_set() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> retry(Duration.ofMinutes(5)).call(failing(9)))
        .isInstanceOf(RegistryUnavailableException.class);
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void other_errors_are_not_retried() {
    assertThatThrownBy(
            () ->
                retry(Duration.ofMinutes(5))
                    .call(
                        () -> {
                          attempts++;
                          throw new IllegalStateException("wrong");
                        }))
        .hasMessage("wrong");
    assertThat(attempts).isEqualTo(1);
  }
}
