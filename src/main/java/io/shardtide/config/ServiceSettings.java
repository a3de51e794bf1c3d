package io.shardtide.config;

import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.TrainingPolicy;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * How the planner runs on a Kafka cluster. {@link Settings} has the key of each in a file, and what
 * is legal.
 *
 * @param bootstrapServers addresses of the cluster
 * @param registryUrl address of the schema registry
 * @param topicPrefix before the name of each topic, and of each consumer group
 * @param partitions partitions of a topic that is created, at least 1
 * @param replication copies of each partition of a topic that is created, at least 1
 * @param stateDirectory where state stores lie; may be lost, and is then read from the log again
 * @param models files of the cost models that predict from now on; none for the shipped one
 * @param threads stream threads of each topology, at least 1
 * @param planning when plans are made, and how long is searched for them
 * @param detector how feedback notices that measured costs went away from what is predicted
 * @param training when models are trained on what is measured, and what lets the result take over
 * @param http where health and metrics are served
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
    List<Path> models,
    int threads,
    PlanningSettings planning,
    DetectorKind detector,
    TrainingPolicy training,
    HttpSettings http,
    Map<String, String> kafka,
    Map<String, String> registry) {
  /** Copies what may change and checks the ranges. */
  public ServiceSettings {
    Objects.requireNonNull(bootstrapServers, "bootstrapServers");
    Objects.requireNonNull(registryUrl, "registryUrl");
    Objects.requireNonNull(topicPrefix, "topicPrefix");
    Objects.requireNonNull(stateDirectory, "stateDirectory");
    Objects.requireNonNull(planning, "planning");
    Objects.requireNonNull(detector, "detector");
    Objects.requireNonNull(training, "training");
    Objects.requireNonNull(http, "http");
    models = List.copyOf(models);
    kafka = Map.copyOf(kafka);
    registry = Map.copyOf(registry);
    if (partitions < 1 || replication < 1) {
      throw new IllegalArgumentException(
          "%d partitions in %d copies; legal are 1 and more".formatted(partitions, replication));
    }
    if (threads < 1) {
      throw new IllegalArgumentException("%d threads; legal are 1 and more".formatted(threads));
    }
  }

  /** Settings of a planner in this process: one thread, the shipped model, the default port. */
  public ServiceSettings(
      String bootstrapServers,
      String registryUrl,
      String topicPrefix,
      int partitions,
      short replication,
      Path stateDirectory,
      PlanningSettings planning,
      Map<String, String> kafka,
      Map<String, String> registry) {
    this(
        bootstrapServers,
        registryUrl,
        topicPrefix,
        partitions,
        replication,
        stateDirectory,
        List.of(),
        1,
        planning,
        DetectorKind.DEFAULT,
        TrainingPolicy.DEFAULTS,
        HttpSettings.DEFAULTS,
        kafka,
        registry);
  }

  /** Names every setting, and shows no secret. */
  @Override
  public String toString() {
    return ("ServiceSettings[bootstrapServers=%s, registryUrl=%s, topicPrefix=%s, partitions=%d, replication=%d,"
            + " stateDirectory=%s, models=%s, threads=%d, planning=%s, detector=%s, training=%s, http=%s, kafka=%s, registry=%s]")
        .formatted(
            Secrets.shown("bootstrap.servers", bootstrapServers),
            Secrets.shown("schema.registry.url", registryUrl),
            topicPrefix,
            partitions,
            replication,
            stateDirectory,
            models,
            threads,
            planning,
            detector,
            training,
            http,
            shown(kafka),
            shown(registry));
  }

  private static Map<String, String> shown(Map<String, String> settings) {
    Map<String, String> shown = new TreeMap<>();
    settings.forEach((key, value) -> shown.put(key, Secrets.shown(key, value)));
    return shown;
  }
}
