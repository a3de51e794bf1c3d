package io.shardtide.topology;

import io.shardtide.testing.RegistryContainer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.testcontainers.junit.jupiter.Testcontainers;

/**
 * The guarantees on the images of Kafka and of a registry that the compose file names. Skipped
 * where there is no container engine; {@link PlannerServiceIT} asks the same of the embedded broker
 * everywhere.
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
}
