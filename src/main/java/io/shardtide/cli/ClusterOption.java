package io.shardtide.cli;

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
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
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

  /** An open cluster. */
  static final class Connection implements AutoCloseable {
    private final Registry registry;
    private final KafkaRecords records;
    private final Topics topics;
    private final Map<String, Object> clients;

    private Connection(
        Registry registry, KafkaRecords records, Topics topics, Map<String, Object> clients) {
      this.topics = topics;
      this.clients = clients;
      this.registry = registry;
      this.records = records;
    }

    KafkaRecords records() {
      return records;
    }

    Topics topics() {
      return topics;
    }

    /** Writes a record, and returns when it is there. */
    <V> void write(Topic<V> topic, String key, V value) throws IOException {
      Map<String, Object> config = new HashMap<>(clients);
      config.put(ProducerConfig.ACKS_CONFIG, "all");
      try (KafkaProducer<String, V> producer =
          new KafkaProducer<>(config, new StringSerializer(), registry.serde(topic).serializer())) {
        producer.send(new ProducerRecord<>(topic.name(), key, value)).get();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("Interrupted while " + topic.name() + " was written", e);
      } catch (ExecutionException e) {
        throw new IOException(
            "Topic %s cannot be written: %s".formatted(topic.name(), e.getCause().getMessage()), e);
      }
    }

    @Override
    public void close() throws IOException {
      records.close();
      registry.close();
    }
  }

  /**
   * Connects.
   *
   * @param workload whose records are read; empty for all
   * @param progress runs after each record
   */
  Connection connect(Optional<String> workload, Runnable progress) throws IOException {
    Properties properties = new Properties();
    if (config != null) {
      try (InputStream in = Files.newInputStream(config)) {
        properties.load(in);
      } catch (IllegalArgumentException e) {
        throw new IOException(config + " is no file of Java properties: " + e.getMessage(), e);
      }
    }
    Map<String, Object> clients = new HashMap<>();
    Map<String, String> registrySettings = new HashMap<>();
    for (String key : properties.stringPropertyNames()) {
      if (key.startsWith(REGISTRY)) {
        registrySettings.put(key.substring(REGISTRY.length()), properties.getProperty(key));
      } else {
        clients.put(key, properties.getProperty(key));
      }
    }
    clients.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    Registry client = Registry.connect(registry, registrySettings);
    try {
      Topics topics = Topics.withPrefix(prefix);
      return new Connection(
          client,
          new KafkaRecords(clients, client, topics, workload, progress),
          topics,
          Map.copyOf(clients));
    } catch (IOException | RuntimeException e) {
      client.close();
      throw e;
    }
  }
}
