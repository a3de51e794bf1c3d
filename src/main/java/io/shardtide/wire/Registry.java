package io.shardtide.wire;

import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaUtils;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientConfig;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientFactory;
import io.confluent.kafka.schemaregistry.client.rest.RestService;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.schemaregistry.client.security.SslFactory;
import io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig;
import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroDeserializerConfig;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.KafkaAvroSerializerConfig;
import io.shardtide.tls.ReloadingSocketFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Client of a schema registry with Confluent's protocol, and the serdes that use it.
 *
 * <p>Records carry the id of their schema, and the schema's text is in the registry under {@code
 * <topic>-value}, so that any Avro client reads every topic.
 */
public final class Registry implements AutoCloseable {
  /** Size of the schema cache; there are fewer than twenty schemas. */
  private static final int CACHED_SCHEMAS = 1000;

  /**
   * Confluent's error codes for a missing schema, or a missing subject, which the client's
   * in-memory registry reports for an unknown id.
   */
  private static final Set<Integer> NOT_FOUND = Set.of(40401, 40403);

  private final String url;
  private final Map<String, Object> settings;
  private final SchemaRegistryClient client;

  private Registry(String url, Map<String, Object> settings, SchemaRegistryClient client) {
    this.url = url;
    this.settings = settings;
    this.client = client;
  }

  /**
   * Creates a client; sends no request yet.
   *
   * @param url address of the registry, or {@code mock://scope} for one in memory, in tests
   * @param settings any setting of Confluent's client, such as credentials; wins over the defaults
   *     here
   */
  public static Registry connect(String url, Map<String, ?> settings) {
    Map<String, Object> all = new HashMap<>();
    all.put(AbstractKafkaSchemaSerDeConfig.SCHEMA_REGISTRY_URL_CONFIG, url);
    // The client's defaults of 60 s are longer than a transaction may last.
    all.put("http.connect.timeout.ms", 2_000);
    all.put("http.read.timeout.ms", 5_000);
    all.put(AbstractKafkaSchemaSerDeConfig.MAX_RETRIES_CONFIG, 2);
    all.put(AbstractKafkaSchemaSerDeConfig.RETRIES_WAIT_MS_CONFIG, 200);
    all.put(KafkaAvroSerializerConfig.AVRO_REMOVE_JAVA_PROPS_CONFIG, true);
    all.put(KafkaAvroDeserializerConfig.SPECIFIC_AVRO_READER_CONFIG, true);
    all.putAll(settings);
    SchemaRegistryClient client =
        stores(all).isEmpty()
            ? SchemaRegistryClientFactory.newClient(
                List.of(url), CACHED_SCHEMAS, List.of(new AvroSchemaProvider()), all, Map.of())
            : reloading(url, all);
    return new Registry(url, all, client);
  }

  /** Returns a client whose new connections use the key store and trust store as they are then. */
  private static SchemaRegistryClient reloading(String url, Map<String, Object> settings) {
    RestService requests = new RestService(List.of(url));
    SchemaRegistryClient client =
        new CachedSchemaRegistryClient(
            requests, CACHED_SCHEMAS, List.of(new AvroSchemaProvider()), settings, Map.of());
    Map<String, Object> tls = new HashMap<>();
    settings.forEach(
        (key, value) -> {
          if (key.startsWith(SchemaRegistryClientConfig.CLIENT_NAMESPACE)) {
            tls.put(key.substring(SchemaRegistryClientConfig.CLIENT_NAMESPACE.length()), value);
          }
        });
    requests.setSslSocketFactory(
        new ReloadingSocketFactory(
            stores(settings), () -> new SslFactory(tls).sslContext().getSocketFactory()));
    return client;
  }

  /** Returns the files of the client's certificates. */
  private static List<Path> stores(Map<String, ?> settings) {
    return Stream.of(
            SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG, SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG)
        .map(key -> settings.get(SchemaRegistryClientConfig.CLIENT_NAMESPACE + key))
        .filter(Objects::nonNull)
        .map(file -> Path.of(file.toString()))
        .toList();
  }

  /** Returns the address. */
  public String url() {
    return url;
  }

  /**
   * Registers the schema of each topic with compatibility BACKWARD_TRANSITIVE.
   *
   * @throws RegistryUnavailableException if the registry is unavailable
   * @throws IllegalStateException if it refuses a schema
   */
  public void register(Topics topics) {
    for (Topic<?> topic : topics.all()) {
      String subject = topic.name() + "-value";
      try {
        client.register(subject, new AvroSchema(published(topic.codec())));
        client.updateCompatibility(subject, "BACKWARD_TRANSITIVE");
      } catch (RestClientException e) {
        if (isTemporary(e.getStatus())) {
          throw unavailable(e);
        }
        throw new IllegalStateException(
            "The schema registry at %s refuses the schema of %s: %s"
                .formatted(url, subject, e.getMessage()),
            e);
      } catch (IOException e) {
        throw unavailable(e);
      }
    }
  }

  /**
   * Checks that the registry is available.
   *
   * @throws RegistryUnavailableException if it does not answer, or answers with an error
   */
  public void probe() {
    try {
      client.getMode();
    } catch (RestClientException e) {
      // Other errors come from a working registry, which may not support modes.
      if (isTemporary(e.getStatus()) || e.getStatus() == 401) {
        throw unavailable(e);
      }
    } catch (IOException e) {
      throw unavailable(e);
    }
  }

  /**
   * Returns the subjects that {@link #register} would create. Changes nothing.
   *
   * @throws RegistryUnavailableException if the registry does not answer
   * @throws IllegalStateException if it refuses to list its subjects
   */
  public List<String> unregistered(Topics topics) {
    try {
      Collection<String> subjects = client.getAllSubjects();
      return topics.all().stream()
          .map(topic -> topic.name() + "-value")
          .filter(subject -> !subjects.contains(subject))
          .toList();
    } catch (RestClientException e) {
      if (isTemporary(e.getStatus())) {
        throw unavailable(e);
      }
      throw new IllegalStateException(
          "The schema registry at %s refuses to list its subjects: %s"
              .formatted(url, e.getMessage()),
          e);
    } catch (IOException e) {
      throw unavailable(e);
    }
  }

  /**
   * Returns the schema as the serializer registers it: without the properties of generated Java
   * classes.
   */
  static Schema published(Codec<?, ?> codec) {
    Object record = SpecificData.get().newRecord(null, codec.schema());
    return AvroSchemaUtils.getSchema(record, false, false, true);
  }

  /**
   * Returns the writer's schema of a record.
   *
   * @return the schema, or null if the registry has none with this id
   * @throws RegistryUnavailableException if the registry is unavailable
   */
  Schema writerSchema(int id) {
    try {
      return (Schema) client.getSchemaById(id).rawSchema();
    } catch (RestClientException e) {
      // Only by the registry's own code: a proxy before it may answer 404 for other reasons, and no
      // record must be rejected for that.
      if (NOT_FOUND.contains(e.getErrorCode())) {
        return null;
      }
      throw unavailable(e);
    } catch (IOException e) {
      throw unavailable(e);
    }
  }

  /** Returns whether a later attempt may succeed: timeout, too many requests, server error. */
  private static boolean isTemporary(int status) {
    return status == 408 || status == 429 || status >= 500;
  }

  private RegistryUnavailableException unavailable(Exception cause) {
    return new RegistryUnavailableException(
        "The schema registry at %s does not answer: %s".formatted(url, cause.getMessage()), cause);
  }

  /** Returns a serde of a topic's values. */
  public <V> Serde<V> serde(Topic<V> topic) {
    return serde(topic.codec());
  }

  private <V, A extends SpecificRecord> Serde<V> serde(Codec<V, A> codec) {
    return Serdes.serdeFrom(new ValueSerializer<>(codec), new ValueDeserializer<>(codec));
  }

  /**
   * Closes the client.
   *
   * @throws UncheckedIOException if that fails
   */
  @Override
  public void close() {
    try {
      client.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private final class ValueSerializer<V, A extends SpecificRecord> implements Serializer<V> {
    private final Codec<V, A> codec;
    private final KafkaAvroSerializer avro;

    ValueSerializer(Codec<V, A> codec) {
      this.codec = codec;
      avro = new KafkaAvroSerializer(client, settings);
    }

    @Override
    public byte[] serialize(String topic, V value) {
      if (value == null) {
        return null;
      }
      try {
        return avro.serialize(topic, codec.toAvro().apply(value));
      } catch (SerializationException e) {
        // The client's own message contains the whole schema.
        throw new SerializationException(
            "A %s cannot be written to %s: the schema registry at %s answers: %s"
                .formatted(
                    codec.avroType().getSimpleName(), topic, url, RecordDecoder.rootMessage(e)),
            e.getCause());
      }
    }

    @Override
    public void close() {
      avro.close();
    }
  }

  private final class ValueDeserializer<V, A extends SpecificRecord> implements Deserializer<V> {
    private final Codec<V, A> codec;
    private final KafkaAvroDeserializer avro;

    ValueDeserializer(Codec<V, A> codec) {
      this.codec = codec;
      avro = new KafkaAvroDeserializer(client, settings);
    }

    @Override
    public V deserialize(String topic, byte[] bytes) {
      if (bytes == null) {
        return null;
      }
      // With the reader's schema, so that a record cannot choose its class.
      Object record = avro.deserialize(topic, bytes, codec.schema());
      return codec.fromAvro().apply(codec.avroType().cast(Objects.requireNonNull(record)));
    }

    @Override
    public void close() {
      avro.close();
    }
  }
}
