package io.shardtide.topology;

import io.shardtide.testing.RegistryContainer;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.testcontainers.junit.jupiter.Testcontainers;

/**
 * The guarantees on the images of Kafka and of a registry that the compose file names. Skipped
 * where there is no container engine; {@link PlannerServiceIT} also runs the same tests against the
 * embedded broker.
 */
@Tag("docker")
@Testcontainers(disabledWithoutDocker = true)
class PlannerServiceContainersIT extends PlanningGuarantees {
  private static RegistryContainer containers;

  @BeforeAll
  static void start() {
    containers = RegistryContainer.start();
  }

  @AfterAll
  static void stop() {
    containers.close();
  }

  @Override
  String bootstrapServers() {
    return containers.bootstrapServers();
  }

  @Override
  String registryUrl() {
    return containers.url();
  }

  @Override
  Map<String, String> clients() {
    // A broker accepts no shorter sessions than 6 s by default.
    return Map.of("main.consumer.session.timeout.ms", "6000");
  }
}
