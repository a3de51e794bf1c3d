package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class StreamsPropertiesTest {
  private static Properties properties(Map<String, String> kafka) {
    return StreamsProperties.of(
        TopologyName.WORKLOAD,
        TestSettings.of("k:1", "http://r", "p.", Path.of("state")).kafka(kafka).build());
  }

  @Test
  void a_thread_waits_for_the_registry_for_a_third_of_the_poll_interval() {
    assertThat(StreamsProperties.registryWait(properties(Map.of())))
        .isEqualTo(Duration.ofSeconds(100));
    for (String key : new String[] {"", "consumer.", "main.consumer."}) {
      assertThat(
              StreamsProperties.registryWait(
                  properties(Map.of(key + "max.poll.interval.ms", "60000"))))
          .as(key)
          .isEqualTo(Duration.ofSeconds(20));
    }
  }

  @Test
  void a_changelog_has_small_segments_that_hold_the_largest_records() {
    Properties properties = properties(Map.of());
    assertThat(properties)
        .containsEntry("topic.segment.bytes", Integer.toString(32 * 1024 * 1024))
        .containsEntry("topic.max.message.bytes", Integer.toString(16 * 1024 * 1024));
    assertThat(properties(Map.of("topic.segment.bytes", "67108864")))
        .containsEntry("topic.segment.bytes", "67108864");
  }

  @Test
  void a_setting_without_a_prefix_overrides_the_services_own() {
    Properties properties = properties(Map.of("linger.ms", "7"));
    assertThat(properties).containsEntry("linger.ms", "7").doesNotContainKey("producer.linger.ms");
    assertThat(properties(Map.of())).containsEntry("producer.linger.ms", 100);
    assertThat(properties).containsEntry("application.id", "p.workload");
  }
}
