package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.apache.kafka.server.common.MetadataVersion;
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
}
