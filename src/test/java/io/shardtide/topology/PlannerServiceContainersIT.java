package io.shardtide.topology;

import io.shardtide.embedded.DevelopmentRegistry;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.kafka.KafkaContainer;

/**
 * The guarantees on Apache Kafka's own image. Skipped where there is no container engine; {@link
 * PlannerServiceIT} asks the same of the embedded broker everywhere.
 */
@Tag("docker")
@Testcontainers(disabledWithoutDocker = true)
class PlannerServiceContainersIT extends PlanningGuarantees {
  @Container private static final KafkaContainer KAFKA = new KafkaContainer("apache/kafka:4.1.0");

  private static DevelopmentRegistry registry;

  @BeforeAll
  static void start() throws Exception {
    registry = DevelopmentRegistry.start(0, Optional.empty());
  }

  @AfterAll
  static void stop() throws Exception {
    registry.close();
  }

  @Override
  String bootstrapServers() {
    return KAFKA.getBootstrapServers();
  }

  @Override
  String registryUrl() {
    return registry.url();
  }
}
