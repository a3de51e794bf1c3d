package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

class TimesTest {
  private long wallMillis = 1_000_000;
  private long nanos = -77;
  private final SteadyTime time = new SteadyTime(() -> wallMillis, () -> nanos);

  private void pass(Duration duration) {
    nanos += duration.toNanos();
    wallMillis += duration.toMillis();
  }

  @Test
  void time_passes_as_on_the_clock() {
    assertThat(time.milliseconds()).isEqualTo(1_000_000);
    pass(Duration.ofSeconds(5));
    assertThat(time.milliseconds()).isEqualTo(1_005_000);
  }

  @Test
  void a_clock_that_is_set_back_does_not_stop_time() {
    wallMillis -= Duration.ofHours(1).toMillis();
    assertThat(time.milliseconds()).isEqualTo(1_000_000);
    pass(Duration.ofMillis(7));
    assertThat(time.milliseconds()).isEqualTo(1_000_007);
  }

  @Test
  void a_clock_that_is_set_forward_is_followed() {
    wallMillis += Duration.ofHours(1).toMillis();
    assertThat(time.milliseconds()).isEqualTo(4_600_000);
    wallMillis -= Duration.ofHours(1).toMillis();
    pass(Duration.ofMillis(7));
    assertThat(time.milliseconds()).isEqualTo(4_600_007);
  }

  /** Asked every few microseconds, time still passes. */
  @Test
  void parts_of_a_millisecond_add_up() {
    wallMillis = 0;
    for (int i = 0; i < 1_000; i++) {
      nanos += 3_500;
      time.milliseconds();
    }
    assertThat(time.milliseconds()).isEqualTo(1_000_003);
  }

  @Test
  void waiting_is_counted_in_steady_time() throws InterruptedException {
    Object object = new Object();
    wallMillis -= Duration.ofHours(1).toMillis();
    time.waitObject(object, () -> true, time.milliseconds() + 10);
    assertThat(time.nanoseconds()).isEqualTo(nanos);
  }

  @Test
  void a_record_is_of_no_time_that_a_broker_refuses() {
    RecordTimes times = new RecordTimes(() -> wallMillis);
    assertThat(times.extract(at(999_999), -1)).isEqualTo(999_999);
    assertThat(times.extract(at(1_000_001), -1)).as("from the future").isEqualTo(1_000_000);
    assertThat(times.extract(at(-1), 500)).as("without a time").isZero();
  }

  private static ConsumerRecord<Object, Object> at(long timestamp) {
    return new ConsumerRecord<>(
        "t",
        0,
        0,
        timestamp,
        TimestampType.CREATE_TIME,
        0,
        0,
        null,
        null,
        new RecordHeaders(),
        java.util.Optional.empty());
  }
}
