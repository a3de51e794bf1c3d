package io.shardtide.config;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * How to connect to the Kafka cluster and the schema registry.
 *
 * @param bootstrapServers addresses of the cluster, as {@code host:port,...}
 * @param registryUrl address of the schema registry
 * @param kafka any settings of Kafka's clients and of Kafka Streams; override the service's own
 * @param registry any settings of the registry's client; override the service's own
 */
public record ConnectionSettings(
    String bootstrapServers,
    String registryUrl,
    Map<String, String> kafka,
    Map<String, String> registry) {
  /** Copies the maps. */
  public ConnectionSettings {
    Objects.requireNonNull(bootstrapServers, "bootstrapServers");
    Objects.requireNonNull(registryUrl, "registryUrl");
    kafka = Map.copyOf(kafka);
    registry = Map.copyOf(registry);
  }

  /** Shows all settings, with secrets masked. */
  @Override
  public String toString() {
    return "ConnectionSettings[bootstrapServers=%s, registryUrl=%s, kafka=%s, registry=%s]"
        .formatted(
            Secrets.shown("bootstrap.servers", bootstrapServers),
            Secrets.shown("schema.registry.url", registryUrl),
            shown(kafka),
            shown(registry));
  }

  private static Map<String, String> shown(Map<String, String> settings) {
    Map<String, String> shown = new TreeMap<>();
    settings.forEach((key, value) -> shown.put(key, Secrets.shown(key, value)));
    return shown;
  }
}
