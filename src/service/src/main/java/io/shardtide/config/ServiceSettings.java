package io.shardtide.config;

import io.shardtide.client.Endpoint;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import io.shardtide.workload.UnknownHardware;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Settings of a planner on a Kafka cluster. {@link Settings} lists their keys in a settings file.
 *
 * @param endpoint the cluster, the schema registry and the prefix of the topics
 * @param topics how topics are created
 * @param streams how Kafka Streams runs
 * @param models files of the cost models to publish; empty for the shipped one
 * @param unknownHardware what happens to events for hardware without a model
 * @param planning when plans are made, and how long the search for them is
 * @param training when cost models are retrained, and when a retrained one is published
 * @param extensions optional parts of the planner that are enabled
 * @param allocation how pools are allocated
 * @param capacities when hashed tables get other capacities, and which
 * @param http where the dashboard, health and metrics are served
 */
public record ServiceSettings(
    Endpoint endpoint,
    TopicSettings topics,
    StreamsSettings streams,
    List<Path> models,
    UnknownHardware unknownHardware,
    PlanningSettings planning,
    TrainingPolicy training,
    Set<Extension> extensions,
    AllocationPolicy allocation,
    CapacityPolicy capacities,
    HttpSettings http) {
  /** Copies the list and the set. */
  public ServiceSettings {
    models = List.copyOf(models);
    // In the order of the type, so that the text of equal settings is the same.
    extensions = Collections.unmodifiableSet(new TreeSet<>(extensions));
  }

  /** Returns the planner's topics. */
  public Topics topicsInUse() {
    return Topics.inUse(endpoint.prefix(), extensions);
  }
}
