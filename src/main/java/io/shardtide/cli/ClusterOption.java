package io.shardtide.cli;

import static java.util.stream.Collectors.joining;

import io.shardtide.client.Endpoint;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options that name a cluster to read from. */
final class ClusterOption {
  /** Settings of the file that are the registry client's. */
  private static final String REGISTRY = "registry.";

  @Option(
      names = "--bootstrap",
      paramLabel = "HOST:PORT",
      description = "Address of the Kafka cluster.")
  private String bootstrap;

  @Option(names = "--registry", paramLabel = "URL", description = "Address of the schema registry.")
  private String registry;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      defaultValue = Topics.DEFAULT_PREFIX,
      description = "Before the name of each topic. Default: ${DEFAULT-VALUE}")
  private String prefix;

  @Option(
      names = "--kafka-config",
      paramLabel = "FILE",
      description =
          "Java properties: any setting of Kafka's client and, after \"registry.\", of the registry's.")
  private Path config;

  /** Returns whether a cluster is named. */
  boolean isGiven() {
    return bootstrap != null || registry != null;
  }

  /** Fails as wrong usage if half of the addresses is missing. */
  void check(CommandSpec spec) {
    if (bootstrap == null || registry == null) {
      throw new ParameterException(
          spec.commandLine(), "Missing option: --bootstrap and --registry name a cluster together");
    }
  }

  /** A record to write. */
  record Written<V>(Topic<V> topic, String key, V value) {
    private ProducerRecord<String, byte[]> bytes(Registry registry) {
      return new ProducerRecord<>(
          topic.name(), key, registry.serde(topic).serializer().serialize(topic.name(), value));
    }
  }

  /** An open cluster. */
  static final class Connection implements AutoCloseable {
    private final Endpoint endpoint;
    private final Registry registry;
    private final KafkaLogRecords records;

    private Connection(Endpoint endpoint, Registry registry, KafkaLogRecords records) {
      this.endpoint = endpoint;
      this.registry = registry;
      this.records = records;
    }

    KafkaLogRecords records() {
      return records;
    }

    Topics topics() {
      return endpoint.topics();
    }

    /**
     * Writes records, all or none, and returns when they are there.
     *
     * @param writer who writes, part of the transactional id: of two that write at once, the first
     *     is refused
     */
    @SuppressWarnings("FutureReturnValueIgnored") // The commit throws what any of them met.
    void write(String writer, Written<?>... written) throws IOException {
      Map<String, Object> config =
          endpoint.clients(
              Map.of(), Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, endpoint.prefix() + writer));
      try (KafkaProducer<String, byte[]> producer =
          new KafkaProducer<>(config, new StringSerializer(), new ByteArraySerializer())) {
        producer.initTransactions();
        producer.beginTransaction();
        for (Written<?> record : written) {
          producer.send(record.bytes(registry));
        }
        // Waits for all of them, and throws what any of them met.
        producer.commitTransaction();
      } catch (KafkaException e) {
        throw new IOException(
            "%s cannot be written: %s"
                .formatted(
                    Stream.of(written).map(w -> w.topic().name()).collect(joining(" and ")),
                    e.getMessage()),
            e);
      }
    }

    @Override
    public void close() throws IOException {
      records.close();
      registry.close();
    }
  }

  /**
   * Returns what the options name.
   *
   * @throws IOException if the file of settings cannot be read
   */
  Endpoint endpoint() throws IOException {
    Properties properties = new Properties();
    if (config != null) {
      try (InputStream in = Files.newInputStream(config)) {
        properties.load(in);
      } catch (IllegalArgumentException e) {
        throw new IOException(config + " is no file of Java properties: " + e.getMessage(), e);
      }
    }
    Map<String, Object> clients = new HashMap<>();
    Map<String, Object> registrySettings = new HashMap<>();
    for (String key : properties.stringPropertyNames()) {
      if (key.startsWith(REGISTRY)) {
        registrySettings.put(key.substring(REGISTRY.length()), properties.getProperty(key));
      } else {
        clients.put(key, properties.getProperty(key));
      }
    }
    return Endpoint.of(bootstrap, registry)
        .withPrefix(prefix)
        .withKafka(clients)
        .withRegistry(registrySettings);
  }

  /**
   * Connects.
   *
   * @param workload whose records are read; empty for all
   * @param progress runs after each record
   */
  Connection connect(Optional<String> workload, Runnable progress) throws IOException {
    return connect(endpoint(), workload, progress);
  }

  /** Connects as above, to any cluster. */
  static Connection connect(Endpoint endpoint, Optional<String> workload, Runnable progress)
      throws IOException {
    Registry client = Registry.connect(endpoint.registryUrl(), endpoint.registry());
    try {
      return new Connection(
          endpoint,
          client,
          new KafkaLogRecords(
              endpoint.clients(Map.of(), Map.of()), client, endpoint.topics(), workload, progress));
    } catch (IOException | RuntimeException e) {
      client.close();
      throw e;
    }
  }
}
