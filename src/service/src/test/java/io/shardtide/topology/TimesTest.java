package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

class TimesTest {
  private long nanos = -77;
  private final MonotonicTime time = new MonotonicTime(1_000_000, () -> nanos);

  @Test
  void time_is_the_start_plus_the_time_elapsed() {
    assertThat(time.milliseconds()).isEqualTo(1_000_000);
    nanos += Duration.ofSeconds(5).toNanos();
    assertThat(time.milliseconds()).isEqualTo(1_005_000);
    assertThat(time.nanoseconds()).isEqualTo(nanos);
  }

  /** The deadline is hours before the machine's clock, and is not over for that. */
  @Test
  void deadlines_use_the_monotonic_time() throws InterruptedException {
    AtomicInteger asked = new AtomicInteger();
    time.waitObject(new Object(), () -> asked.incrementAndGet() > 1, time.milliseconds() + 50);
    assertThat(asked).hasValueGreaterThan(1);
    assertThatThrownBy(() -> time.waitObject(new Object(), () -> false, time.milliseconds() - 1))
        .isInstanceOf(TimeoutException.class);
  }

  @Test
  void timestamps_are_clamped_to_what_a_broker_accepts() {
    ClampedTimestampExtractor times = new ClampedTimestampExtractor(() -> 1_000_000);
    assertThat(times.extract(at(999_999), -1)).isEqualTo(999_999);
    assertThat(times.extract(at(1_000_001), -1)).as("from the future").isEqualTo(1_000_000);
    assertThat(times.extract(at(-1), 500)).as("without a time").isZero();
  }

  @Test
  void what_is_written_is_no_older_than_a_broker_accepts() {
    RecordHeaders headers = new RecordHeaders();
    headers.add("id", new byte[] {7});
    ProducerRecord<byte[], byte[]> old =
        new ProducerRecord<>("t", 3, 999L, new byte[] {1}, new byte[] {2}, headers);
    assertThat(StreamsClients.notOlder(old, 999)).isSameAs(old);
    ProducerRecord<byte[], byte[]> newer = StreamsClients.notOlder(old, 1_000);
    assertThat(newer)
        .isEqualTo(new ProducerRecord<>("t", 3, 1_000L, old.key(), old.value(), headers));
    ProducerRecord<byte[], byte[]> untimed = new ProducerRecord<>("t", new byte[] {2});
    assertThat(StreamsClients.notOlder(untimed, 1_000)).isSameAs(untimed);
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
        Optional.empty());
  }
}
