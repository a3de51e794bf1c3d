package io.shardtide.wire;

import io.shardtide.testing.RegistryContainer;
import io.shardtide.testing.RegistryFront;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.testcontainers.junit.jupiter.Testcontainers;

/**
 * The contract with Confluent's own registry. Skipped where there is no container engine; {@link
 * RegistryContractIT} asks the same of the development registry everywhere.
 */
@Tag("docker")
@Testcontainers(disabledWithoutDocker = true)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RegistryContractContainersIT extends RegistryContract {
  private RegistryContainer containers;
  private RegistryFront front;

  @BeforeAll
  void start() throws Exception {
    containers = RegistryContainer.start();
    front = new RegistryFront(containers.url(), Optional.empty(), Optional.empty(), "");
  }

  @AfterAll
  void stop() {
    front.close();
    containers.close();
  }

  @Override
  protected RegistryFront front() {
    return front;
  }

  @Override
  protected Map<String, String> settings() {
    return Map.of();
  }
}
