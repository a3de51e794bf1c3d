package io.shardtide.views;

import static io.shardtide.testing.Fixtures.event;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import org.junit.jupiter.api.Test;

class LogEventTest {
  @Test
  void a_change_is_described_by_its_first_part() {
    assertThat(LogEvent.describe(event(Fixtures.upsert("a", 1_000, 64, 5))))
        .isEqualTo("table a: 1,000 rows, 64 columns, 5.0 lookups");
    assertThat(LogEvent.describe(event(Fixtures.resize("a", 2_000, "it is full"))))
        .isEqualTo("table a resized: 2,000 slots");
    assertThat(LogEvent.describe(event(Fixtures.drop("a"), Fixtures.set(4, 100))))
        .isEqualTo("table a dropped, and 1 more change");
    assertThat(LogEvent.describe(event(Fixtures.set(4, 100)))).isEqualTo("4 devices");
    assertThat(LogEvent.describe(event(Fixtures.delete()))).isEqualTo("workload deleted: retired");
  }
}
