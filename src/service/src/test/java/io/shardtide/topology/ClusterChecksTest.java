package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.config.ServiceSettings;
import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import org.apache.kafka.common.errors.InvalidSessionTimeoutException;
import org.apache.kafka.common.errors.InvalidTxnTimeoutException;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClusterChecksTest {
  /** Kafka's own table, of every release that this build knows. */
  @Test
  void the_release_of_a_broker_is_that_of_its_newest_metadata_version() {
    for (MetadataVersion version : MetadataVersion.VERSIONS) {
      String release = version.version().substring(0, version.version().indexOf("-IV"));
      assertThat(BrokerRelease.of(version.featureLevel())).as("%s", version).startsWith(release);
      assertThat(BrokerRelease.mayLoseRecords(version.featureLevel()))
          .as("%s", version)
          .isEqualTo(release.compareTo("4.3") >= 0);
    }
    assertThat(BrokerRelease.of((short) 6)).isEqualTo("older than 3.3");
    assertThat(BrokerRelease.of((short) 40)).isEqualTo("4.3 or newer");
  }

  @ParameterizedTest
  @CsvSource({
    "2026-01-01T00:00:10Z, 2026-01-01T00:00:10.900Z, OK",
    "2026-01-01T00:00:10Z, 2026-01-01T00:00:05Z, OK",
    "2026-01-01T00:00:10Z, 2026-01-01T00:00:17Z, WARNING",
    "2026-01-01T00:00:10Z, 2025-12-31T23:00:00Z, WARNING",
  })
  void clocks_may_differ_by_five_seconds(
      Instant server, Instant here, CheckResult.CheckStatus status) {
    assertThat(ClusterChecks.clock(server, here).status()).isEqualTo(status);
  }

  @Test
  void the_finding_says_which_clock_is_ahead() {
    assertThat(
            ClusterChecks.clock(
                    Instant.parse("2026-01-01T00:00:10Z"), Instant.parse("2026-01-01T00:01:10Z"))
                .finding())
        .isEqualTo("this machine's clock is 60 s ahead of the registry's");
  }

  /** Without a broker: as doctor and run find it. */
  @ParameterizedTest
  @CsvSource({
    "main.consumer.session.timeout.ms, soon, 'Invalid value soon for configuration session.timeout.ms'",
    "producer.linger.ms, -1, linger.ms",
    "admin.request.timeout.ms, x, 'Invalid value x for configuration request.timeout.ms'",
    "sasl.login.callback.handler.class, no.such.Plugin, no.such.Plugin",
    "producer.transaction.timeout.ms, 10, transaction.timeout.ms",
  })
  void settings_that_a_client_refuses_are_named(String name, String value, String reason) {
    assertThat(ClientSettings.refusal(settings(Map.of(name, value))).orElse(""))
        .startsWith("Kafka's clients refuse the settings with the prefix kafka.: ")
        .contains(reason);
    assertThat(ClientSettings.refusal(settings(Map.of("linger.ms", "5")))).isEmpty();
  }

  @Test
  void what_brokers_refuse_is_explained_with_the_key_of_the_file() {
    Throwable session =
        new StreamsException(new InvalidSessionTimeoutException("not within the range"));
    assertThat(BrokerLimits.explain(session, settings(Map.of())))
        .contains(
            "kafka.main.consumer.session.timeout.ms is 2000; set it to what the brokers allow"
                + " (group.min.session.timeout.ms to group.max.session.timeout.ms), or raise their"
                + " limit");
    assertThat(
            BrokerLimits.explain(
                new StreamsException(new InvalidTxnTimeoutException("too long")),
                settings(Map.of())))
        .contains(
            "kafka.producer.transaction.timeout.ms is 4000; set it to what the brokers allow"
                + " (transaction.max.timeout.ms at most), or raise their limit");
    assertThat(BrokerLimits.explain(new StreamsException("other"), settings(Map.of()))).isEmpty();
  }

  private static ServiceSettings settings(Map<String, String> kafka) {
    return TestSettings.of("k:1", "http://r", "p.", Path.of("state")).kafka(kafka).build();
  }
}
