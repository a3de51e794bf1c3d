package io.shardtide.wire;

import static io.shardtide.wire.RecordDecoder.HEADER_BYTES;
import static java.util.Map.entry;

import io.confluent.kafka.schemaregistry.SchemaProvider;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaUtils;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientConfig;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClientFactory;
import io.confluent.kafka.schemaregistry.client.rest.RestService;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.confluent.kafka.serializers.AbstractKafkaSchemaSerDeConfig;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.confluent.kafka.serializers.KafkaAvroSerializerConfig;
import io.confluent.kafka.serializers.context.NullContextNameStrategy;
import io.confluent.kafka.serializers.subject.TopicNameStrategy;
import io.shardtide.tls.ReloadingSocketFactory;
import io.shardtide.tls.ReloadingSslEngineFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.avro.Schema;
import org.apache.avro.message.RawMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Utils;

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
   * A setting of ours: how long an id is asked for that the registry says it lacks, 500 unless set.
   */
  private static final String MISSING_ID_WAIT_MS = "missing.id.wait.ms";

  /** Of a planner: what it rejects stays rejected, while others only skip it. */
  private static final int PLANNERS_WAIT_MS = 3_000;

  private static final String READ_TIMEOUT_MS = "http.read.timeout.ms";

  private static final String OTHER_SCHEMA =
      "records would be written in another schema than their own, with values in wrong fields";

  private static final String OTHER_SUBJECT =
      "readers look for the schemas of a topic under TOPIC-value";

  /**
   * A setting of Confluent's serializer with which others could not read what it writes.
   *
   * @param least the value with which they can
   * @param reason why they could not
   */
  private record Fixed(String least, String reason) {}

  private static final Map<String, Fixed> FIXED =
      Map.ofEntries(
          entry("use.latest.version", new Fixed("false", OTHER_SCHEMA)),
          entry("use.latest.with.metadata", new Fixed("", OTHER_SCHEMA)),
          entry("use.schema.id", new Fixed("-1", OTHER_SCHEMA)),
          entry("schema.reflection", new Fixed("false", OTHER_SCHEMA)),
          entry(
              "avro.remove.java.properties",
              new Fixed("true", "schemas would be registered a second time, with Java's classes")),
          entry("rule.executors", new Fixed("", "rules may change or encrypt values")),
          entry(
              "context.name.strategy",
              new Fixed(NullContextNameStrategy.class.getName(), OTHER_SUBJECT)),
          entry(
              "key.subject.name.strategy",
              new Fixed(TopicNameStrategy.class.getName(), OTHER_SUBJECT)),
          entry(
              "value.subject.name.strategy",
              new Fixed(TopicNameStrategy.class.getName(), OTHER_SUBJECT)));

  private final String url;
  private final Map<String, Object> settings;
  private final SchemaRegistryClient client;
  private final WriterSchemas writers;

  /** What precedes the values of a topic: the client takes as long to find it as to encode one. */
  private final Map<String, byte[]> framing = new ConcurrentHashMap<>();

  /** The last value and its bytes: it may go to another topic next. */
  private volatile Map.Entry<?, byte[]> last = entry("", new byte[0]);

  private Registry(
      String url,
      Map<String, Object> settings,
      SchemaRegistryClient client,
      WriterSchemas.Lookup lookup) {
    this.url = url;
    this.settings = settings;
    this.client = client;
    writers = new WriterSchemas(url, client, lookup, millis(settings, MISSING_ID_WAIT_MS));
  }

  /**
   * Creates a client; sends no request yet.
   *
   * @param url address of the registry, or {@code mock://scope} for one in memory, in tests
   * @param settings settings of Confluent's client, such as credentials; they win over the defaults
   *     here
   * @throws IllegalArgumentException if one has a {@link #problem}
   */
  public static Registry connect(String url, Map<String, ?> settings) {
    settings.forEach(
        (name, value) ->
            problem(name, String.valueOf(value))
                .ifPresent(
                    problem -> {
                      throw new IllegalArgumentException(
                          "The schema registry's setting " + problem);
                    }));
    Map<String, Object> all = new HashMap<>();
    all.put(AbstractKafkaSchemaSerDeConfig.SCHEMA_REGISTRY_URL_CONFIG, url);
    // The client's defaults of 60 s are longer than a transaction may last.
    all.put("http.connect.timeout.ms", 2_000);
    all.put(READ_TIMEOUT_MS, 5_000);
    all.put(AbstractKafkaSchemaSerDeConfig.MAX_RETRIES_CONFIG, 2);
    all.put(AbstractKafkaSchemaSerDeConfig.RETRIES_WAIT_MS_CONFIG, 200);
    boolean isInMemory = url.startsWith("mock:");
    all.put(MISSING_ID_WAIT_MS, isInMemory ? 0 : 500);
    all.put(KafkaAvroSerializerConfig.AVRO_REMOVE_JAVA_PROPS_CONFIG, true);
    all.putAll(settings);
    List<SchemaProvider> providers = List.of(new AvroSchemaProvider());
    RestService requests = new BoundedRequests(url, millis(all, READ_TIMEOUT_MS));
    SchemaRegistryClient client =
        isInMemory
            ? SchemaRegistryClientFactory.newClient(
                List.of(url), CACHED_SCHEMAS, providers, all, Map.of())
            : new CachedSchemaRegistryClient(requests, CACHED_SCHEMAS, providers, all, Map.of());
    Map<String, ?> tls = Utils.entriesWithPrefix(all, SchemaRegistryClientConfig.CLIENT_NAMESPACE);
    if (tls.containsKey(SslConfigs.SSL_KEYSTORE_LOCATION_CONFIG)
        || tls.containsKey(SslConfigs.SSL_TRUSTSTORE_LOCATION_CONFIG)) {
      requests.setSslSocketFactory(new ReloadingSocketFactory(ReloadingSslEngineFactory.of(tls)));
    }
    return new Registry(
        url, all, client, isInMemory ? WriterSchemas.lookup(client) : requests::getId);
  }

  /** Returns what is wrong with a setting: others could not read what is written with it. */
  public static Optional<String> problem(String name, String value) {
    return Optional.ofNullable(FIXED.get(name))
        .filter(fixed -> !value.strip().equals(fixed.least))
        .map(
            fixed ->
                "%s must be %s, got \"%s\": %s. Leave it out"
                    .formatted(
                        name, fixed.least.isEmpty() ? "empty" : fixed.least, value, fixed.reason));
  }

  /** As {@link #connect}, for a planner: it asks longer for schemas that do not come at once. */
  public static Registry connectPlanner(String url, Map<String, ?> settings) {
    Map<String, Object> all = new HashMap<>();
    all.put(MISSING_ID_WAIT_MS, PLANNERS_WAIT_MS);
    all.putAll(settings);
    return connect(url, all);
  }

  private static Duration millis(Map<String, Object> settings, String key) {
    return Duration.ofMillis(Long.parseLong(String.valueOf(settings.get(key)).strip()));
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
      String subject = subject(topic);
      try {
        Schema schema = published(topic.type().codec());
        writers.add(client.register(subject, new AvroSchema(schema)), schema);
        client.updateCompatibility(subject, "BACKWARD_TRANSITIVE");
      } catch (IOException | RestClientException | RuntimeException e) {
        throw refused(e, "the schema of " + subject);
      }
    }
  }

  /** Returns the subject of a topic's values. */
  static String subject(Topic<?> topic) {
    return topic.name() + "-value";
  }

  /**
   * Checks that the registry is available.
   *
   * @throws RegistryUnavailableException if it does not answer, or answers with an error
   */
  public void probe() {
    try {
      client.getMode();
    } catch (IOException | RestClientException | RuntimeException e) {
      // Other answers come from a working registry, which may not support modes.
      if (!(e instanceof RestClientException answer)
          || RegistryErrors.isTemporary(answer)
          || answer.getStatus() == 401) {
        throw writers.unavailable(e);
      }
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
          .map(Registry::subject)
          .filter(subject -> !subjects.contains(subject))
          .toList();
    } catch (IOException | RestClientException | RuntimeException e) {
      throw refused(e, "to list its subjects");
    }
  }

  private RuntimeException refused(Exception answer, String what) {
    return RegistryErrors.cause(answer) instanceof RestClientException
            && !RegistryErrors.isTemporary(answer)
        ? new IllegalStateException(
            "The schema registry at %s refuses %s: %s; %s"
                .formatted(url, what, RegistryErrors.answer(answer), RegistryErrors.advice(answer)),
            answer)
        : writers.unavailable(answer);
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
   * @param subject of the record's topic
   * @throws io.shardtide.workload.RejectedException if there is none to read the record with
   * @throws RegistryUnavailableException if the registry is unavailable or, as {@link
   *     UndecidedSchemaException}, has not given this schema yet
   */
  Schema writerSchema(int id, String subject) {
    return writers.get(id, subject);
  }

  /**
   * Returns a serde of a topic's values. Its deserializer rejects what {@link RecordDecoder} does,
   * and does not check keys.
   */
  public <V> Serde<V> serde(Topic<V> topic) {
    RecordDecoder<V> decoder = new RecordDecoder<>(this, topic);
    return Serdes.serdeFrom(
        serializer(topic.type().codec()),
        (name, bytes) -> bytes == null ? null : decoder.read(bytes));
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

  private <V, A extends SpecificRecord> Serializer<V> serializer(Codec<V, A> codec) {
    KafkaAvroSerializer avro = new KafkaAvroSerializer(client, settings);
    RawMessageEncoder<A> encoder =
        new RawMessageEncoder<>(SpecificData.getForClass(codec.avroType()), codec.schema());
    return (topic, value) -> {
      if (value == null) {
        return null;
      }
      try {
        byte[] frame =
            framing.computeIfAbsent(
                topic,
                to -> Arrays.copyOf(avro.serialize(to, codec.toAvro().apply(value)), HEADER_BYTES));
        Map.Entry<?, byte[]> encoded = last;
        if (encoded.getKey() != value) {
          encoded = entry(value, Utils.toArray(encoder.encode(codec.toAvro().apply(value))));
          last = encoded;
        }
        byte[] bytes = encoded.getValue();
        return ByteBuffer.allocate(frame.length + bytes.length).put(frame).put(bytes).array();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (KafkaException e) {
        if (RegistryErrors.isTemporary(e)) {
          throw writers.unavailable(RegistryErrors.cause(e));
        }
        // The client's own message contains the whole schema.
        throw new SerializationException(
            "A %s cannot be written to %s: the schema registry at %s answers %s; %s"
                .formatted(
                    codec.avroType().getSimpleName(),
                    topic,
                    url,
                    RegistryErrors.answer(e),
                    RegistryErrors.advice(e)),
            e.getCause());
      }
    };
  }
}
