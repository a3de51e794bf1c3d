package io.shardtide.client;

import io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Where the log is: a Kafka cluster, a schema registry, and how to reach them.
 *
 * @param bootstrapServers addresses of brokers, {@code host:port,host:port}
 * @param registryUrl address of a schema registry that speaks Confluent's protocol
 * @param prefix what the planner's topics begin with; {@link Topics#DEFAULT_PREFIX} unless its
 *     settings say otherwise
 * @param kafka any settings of Kafka's clients: TLS, SASL, timeouts
 * @param registry any settings of the registry's client: credentials, TLS
 */
public record Endpoint(
    String bootstrapServers,
    String registryUrl,
    String prefix,
    Map<String, Object> kafka,
    Map<String, Object> registry) {

  /** Copies what may change. */
  public Endpoint {
    Objects.requireNonNull(bootstrapServers, "bootstrapServers");
    Objects.requireNonNull(registryUrl, "registryUrl");
    Objects.requireNonNull(prefix, "prefix");
    kafka = Map.copyOf(kafka);
    registry = Map.copyOf(registry);
  }

  /** Returns an endpoint with the default prefix and no other settings. */
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

  /** Leaves the settings out: some are secret. */
  @Override
  public String toString() {
    return "%s, registry %s, topics %s*".formatted(bootstrapServers, registryUrl, prefix);
  }

  /** Returns the planner's topics. */
  public Topics topics() {
    return Topics.withPrefix(prefix);
  }

  /**
   * Returns a client of the registry, to be closed. The planner registers schemas: a client needs
   * no right to, and cannot spoil a subject.
   */
  public Registry connectRegistry() {
    Map<String, Object> all = new HashMap<>();
    all.put(AbstractKafkaSchemaSerDeConfig.AUTO_REGISTER_SCHEMAS, false);
    all.putAll(registry);
    return Registry.connect(registryUrl, all);
  }

  /**
   * Returns settings for a client of Kafka.
   *
   * @param defaults give way to the user's settings
   * @param fixed do not
   */
  public Map<String, Object> clients(Map<String, Object> defaults, Map<String, Object> fixed) {
    Map<String, Object> all = new HashMap<>(defaults);
    all.putAll(kafka);
    all.putAll(fixed);
    all.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    return all;
  }

  /**
   * Returns a consumer of what is committed, that joins no group and makes no topics; to be closed.
   *
   * @param besides settings of its own
   */
  public KafkaConsumer<byte[], byte[]> reader(Map<String, Object> besides) {
    Map<String, Object> fixed = new HashMap<>(besides);
    fixed.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    fixed.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    fixed.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    return new KafkaConsumer<>(
        clients(Map.of(), fixed), new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }
}
