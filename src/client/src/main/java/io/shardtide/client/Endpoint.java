package io.shardtide.client;

import io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig;
import io.shardtide.log.TopicReader;
import io.shardtide.tls.ReloadingSslEngineFactory;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * The addresses of the Kafka cluster and the schema registry, and how to connect to them.
 *
 * @param bootstrapServers addresses of brokers, {@code host:port,host:port}
 * @param registryUrl address of a schema registry with Confluent's protocol, {@code
 *     http://host:port}
 * @param prefix prefix of the planner's topics; {@link Topics#DEFAULT_PREFIX} unless the planner's
 *     settings differ
 * @param kafka settings of Kafka's clients, such as TLS and SASL
 * @param registry settings of the registry's client, such as credentials
 */
public record Endpoint(
    String bootstrapServers,
    String registryUrl,
    String prefix,
    Map<String, Object> kafka,
    Map<String, Object> registry) {

  /** Copies the settings. */
  public Endpoint {
    Objects.requireNonNull(bootstrapServers, "bootstrapServers");
    Objects.requireNonNull(registryUrl, "registryUrl");
    Objects.requireNonNull(prefix, "prefix");
    kafka = Map.copyOf(kafka);
    registry = Map.copyOf(registry);
  }

  /** Returns an endpoint with the default prefix and no further settings. */
  public static Endpoint of(String bootstrapServers, String registryUrl) {
    return new Endpoint(bootstrapServers, registryUrl, Topics.DEFAULT_PREFIX, Map.of(), Map.of());
  }

  /** Returns this endpoint with another prefix of the topics. */
  public Endpoint withPrefix(String newPrefix) {
    return new Endpoint(bootstrapServers, registryUrl, newPrefix, kafka, registry);
  }

  /** Returns this endpoint with these settings of Kafka's clients. */
  public Endpoint withKafka(Map<String, ?> settings) {
    return new Endpoint(bootstrapServers, registryUrl, prefix, Map.copyOf(settings), registry);
  }

  /** Returns this endpoint with these settings of the registry's client. */
  public Endpoint withRegistry(Map<String, ?> settings) {
    return new Endpoint(bootstrapServers, registryUrl, prefix, kafka, Map.copyOf(settings));
  }

  /**
   * Returns this endpoint with a limit of the time that a call waits for Kafka or the registry.
   * Time-outs among its settings stay as they are.
   *
   * @param timeout at least 1 s; without it, Kafka's clients wait for one to two minutes
   */
  public Endpoint withTimeout(Duration timeout) {
    if (timeout.toSeconds() < 1) {
      throw new IllegalArgumentException("timeout must be at least 1 s, got " + timeout);
    }
    int ms = Math.toIntExact(timeout.toMillis());
    Map<String, Object> clients = new HashMap<>();
    clients.put(CommonClientConfigs.DEFAULT_API_TIMEOUT_MS_CONFIG, ms);
    // Below the producer's delivery time-out by more than its linger.
    clients.put(CommonClientConfigs.REQUEST_TIMEOUT_MS_CONFIG, ms / 2);
    clients.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, ms);
    clients.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, ms);
    clients.putAll(kafka);
    Map<String, Object> schemas = new HashMap<>();
    // The client of the registry tries three times.
    schemas.put("http.connect.timeout.ms", ms / 3);
    schemas.put("http.read.timeout.ms", ms / 3);
    schemas.putAll(registry);
    return withKafka(clients).withRegistry(schemas);
  }

  /** Leaves the settings out, since some are secret. */
  @Override
  public String toString() {
    return "%s, registry %s, topics %s*".formatted(bootstrapServers, registryUrl, prefix);
  }

  /** Returns the planner's topics. */
  public Topics topics() {
    return Topics.withPrefix(prefix);
  }

  /**
   * Returns a client of the registry, to be closed by the caller. It registers no schema: the
   * planner does, so that a client needs no right to and cannot spoil a subject.
   */
  public Registry connectRegistry() {
    Map<String, Object> all = new HashMap<>();
    all.put(AbstractKafkaSchemaSerDeConfig.AUTO_REGISTER_SCHEMAS, false);
    all.putAll(registry);
    return Registry.connect(registryUrl, all);
  }

  /**
   * Returns the settings of one of Kafka's clients, which reads its certificates again when their
   * files change.
   *
   * @param defaults settings that this endpoint's override
   * @param fixed settings that override this endpoint's
   */
  public Map<String, Object> clients(Map<String, Object> defaults, Map<String, Object> fixed) {
    Map<String, Object> all = new HashMap<>(defaults);
    all.putAll(kafka);
    all.putAll(fixed);
    all.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    return ReloadingSslEngineFactory.with(all);
  }

  /** Returns a reader of this endpoint's topics and its registry, to be closed by the caller. */
  public TopicReader reader() {
    Registry own = connectRegistry();
    return reader(own).onClose(own::close);
  }

  /**
   * Returns a reader of this endpoint's topics, to be closed by the caller.
   *
   * @param schemas this endpoint's registry; not closed with the reader
   */
  public TopicReader reader(Registry schemas) {
    return new TopicReader(clients(Map.of(), Map.of()), schemas);
  }
}
