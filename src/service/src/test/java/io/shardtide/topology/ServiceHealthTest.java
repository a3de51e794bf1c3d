package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.TestSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Health where nothing is as it should be; {@code RunIT} has the rest. */
class ServiceHealthTest {
  @Test
  void each_unhealthy_part_reports_its_problem(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    int port;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    ServiceSettings settings =
        TestSettings.of(
                "nobody.invalid:9092", "http://127.0.0.1:" + port, "t.", file.resolve("state"))
            .planning(PlanningSettings.DEFAULTS)
            .build();
    try (ServiceHealth health = ServiceHealth.watch(settings)) {
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () ->
                  assertThat(health.parts())
                      .noneMatch(p -> p.problem().orElse("").contains("Not probed yet")));
      List<ServiceHealth.HealthPart> parts = health.parts();
      assertThat(parts)
          .extracting(ServiceHealth.HealthPart::name)
          .containsExactly(
              "kafka",
              "registry",
              "state directory",
              "models",
              "workload topology",
              "planning topology",
              "feedback topology",
              "training topology");
      assertThat(parts.get(0).problem().orElseThrow())
          .startsWith("Kafka at nobody.invalid:9092 does not answer: ");
      assertThat(parts.get(1).problem().orElseThrow())
          .startsWith("The schema registry at http://127.0.0.1:" + port + " does not answer: ");
      assertThat(parts.get(2).problem().orElseThrow())
          .startsWith(file.resolve("state") + " is unusable: ");
      assertThat(health.isLive()).as("it waits for its servers").isTrue();
      health.closing();
      assertThat(health.parts().get(4).problem()).contains("The service is closing.");
    }
  }

  /** Its threads are replaced when they fail, so that only an ended client needs a restart. */
  @Test
  void a_process_whose_topology_has_ended_is_not_live(@TempDir Path folder) {
    ServiceSettings settings =
        TestSettings.of("127.0.0.1:1", "http://127.0.0.1:1", "t.", folder.resolve("state")).build();
    Topology topology = new Topology();
    topology.addSource("source", "t.any");
    try (ServiceHealth health = ServiceHealth.unwatched(settings);
        KafkaStreams streams =
            new KafkaStreams(topology, StreamsProperties.of(TopologyName.WORKLOAD, settings))) {
      health.started(TopologyName.WORKLOAD, streams);
      assertThat(health.isLive()).isTrue();
      streams.close(Duration.ofSeconds(10));
      assertThat(health.isLive()).isFalse();
      health.closing();
      assertThat(health.isLive()).as("it ends by itself").isTrue();
    }
  }
}
