package io.shardtide.testing;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.utility.DockerImageName;

/** Kafka and a registry from the images that the compose file names. */
public final class RegistryContainer implements AutoCloseable {
  private static final int PORT = 8081;

  private final Network network = Network.newNetwork();
  private final KafkaContainer kafka;
  private final GenericContainer<?> registry;

  private RegistryContainer() {
    kafka =
        new KafkaContainer(DockerImageName.parse(Compose.image("kafka")))
            .withNetwork(network)
            .withListener("kafka:19092");
    registry =
        new GenericContainer<>(DockerImageName.parse(Compose.image("registry")))
            .withNetwork(network)
            .withExposedPorts(PORT)
            .withEnv("SCHEMA_REGISTRY_HOST_NAME", "registry")
            .withEnv("SCHEMA_REGISTRY_LISTENERS", "http://0.0.0.0:" + PORT)
            .withEnv("SCHEMA_REGISTRY_KAFKASTORE_BOOTSTRAP_SERVERS", "PLAINTEXT://kafka:19092")
            .withEnv("SCHEMA_REGISTRY_KAFKASTORE_TOPIC_REPLICATION_FACTOR", "1")
            .dependsOn(kafka)
            .waitingFor(Wait.forHttp("/subjects").forPort(PORT));
  }

  /** Starts both, and returns when they serve. */
  public static RegistryContainer start() {
    RegistryContainer containers = new RegistryContainer();
    try {
      containers.registry.start();
    } catch (RuntimeException e) {
      containers.close();
      throw e;
    }
    return containers;
  }

  /** Returns where Kafka serves. */
  public String bootstrapServers() {
    return kafka.getBootstrapServers();
  }

  /** Returns where the registry serves. */
  public String url() {
    return "http://%s:%d".formatted(registry.getHost(), registry.getMappedPort(PORT));
  }

  @Override
  public void close() {
    registry.stop();
    kafka.stop();
    network.close();
  }
}
