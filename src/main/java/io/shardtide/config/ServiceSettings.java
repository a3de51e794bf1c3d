package io.shardtide.config;

import io.shardtide.domain.PlanningSettings;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/**
 * How the planner runs on a Kafka cluster.
 *
 * @param bootstrapServers addresses of the cluster
 * @param registryUrl address of the schema registry
 * @param topicPrefix before the name of each topic, and of each consumer group
 * @param partitions partitions of a topic that is created, at least 1
 * @param replication copies of each partition of a topic that is created, at least 1
 * @param stateDirectory where state stores lie; may be lost, and is then read from the log again
 * @param planning when plans are made, and how long is searched for them
 * @param kafka any setting of Kafka's clients; wins over the service's own
 * @param registry any setting of the registry's client, likewise
 */
public record ServiceSettings(
    String bootstrapServers,
    String registryUrl,
    String topicPrefix,
    int partitions,
    short replication,
    Path stateDirectory,
    PlanningSettings planning,
    Map<String, String> kafka,
    Map<String, String> registry) {
  /** Copies what may change and checks the ranges. */
  public ServiceSettings {
    Objects.requireNonNull(bootstrapServers, "bootstrapServers");
    Objects.requireNonNull(registryUrl, "registryUrl");
    Objects.requireNonNull(topicPrefix, "topicPrefix");
    Objects.requireNonNull(stateDirectory, "stateDirectory");
    Objects.requireNonNull(planning, "planning");
    kafka = Map.copyOf(kafka);
    registry = Map.copyOf(registry);
    if (partitions < 1 || replication < 1) {
      throw new IllegalArgumentException(
          "%d partitions in %d copies; legal are 1 and more".formatted(partitions, replication));
    }
  }
}
