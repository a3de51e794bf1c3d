package io.shardtide.cli;

import static java.util.stream.Collectors.joining;

import io.shardtide.client.Endpoint;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Path;
import java.time.Duration;
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
import picocli.CommandLine.Spec;

/** The options of commands that connect to a cluster. */
final class ClusterOption {
  /** Prefix of the registry client's settings in the file. */
  private static final String REGISTRY = "registry.";

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

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
      description = "Prefix of the topics' names. Default: ${DEFAULT-VALUE}")
  private String prefix;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "30",
      description =
          "How long to wait for the cluster, the registry and, in publish, for the outcome of an event; at least 1."
              + " Default: ${DEFAULT-VALUE}")
  private int timeout;

  @Option(
      names = "--kafka-config",
      paramLabel = "FILE",
      description =
          "Java properties in UTF-8: any setting of Kafka's client and, after \"registry.\", of the registry's.")
  private Path config;

  /** What the file of settings says, if it was read. */
  private Properties properties;

  /** Returns whether a cluster is named. */
  boolean isGiven() {
    return bootstrap != null || registry != null;
  }

  /** Fails as wrong usage if an address is missing, or a value is out of range. */
  void check(CommandSpec spec) {
    if (bootstrap == null || registry == null) {
      throw new ParameterException(
          spec.commandLine(), "Missing option: --bootstrap and --registry must be given together");
    }
    for (String address : bootstrap.split(",", -1)) {
      if (!address.strip().matches(".+:\\d{1,5}")) {
        throw new ParameterException(
            spec.commandLine(),
            "--bootstrap must be HOST:PORT, or several separated by commas, got \"%s\""
                .formatted(bootstrap));
      }
    }
    if (!registry.matches("https?://.+")) {
      throw new ParameterException(
          spec.commandLine(),
          "--registry must be a URL such as http://HOST:8081, got \"%s\"".formatted(registry));
    }
    if (timeout < 1) {
      throw new ParameterException(
          spec.commandLine(), "--timeout must be at least 1 s, got %d".formatted(timeout));
    }
  }

  /** Returns how long the user wants to wait. */
  Duration timeout() {
    return Duration.ofSeconds(timeout);
  }

  /** Keeps the warnings of Kafka's clients from the terminal until it is closed. */
  KafkaLogSummary quietLog() {
    return KafkaLogSummary.start(bootstrap, command.commandLine().getErr());
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
    private final Optional<KafkaLogSummary> quietLog;

    private Connection(
        Endpoint endpoint,
        Registry registry,
        KafkaLogRecords records,
        Optional<KafkaLogSummary> quietLog) {
      this.endpoint = endpoint;
      this.registry = registry;
      this.records = records;
      this.quietLog = quietLog;
    }

    KafkaLogRecords records() {
      return records;
    }

    Topics topics() {
      return endpoint.topics();
    }

    /**
     * Writes records in one transaction; returns when it is committed.
     *
     * @param writer part of the transactional id: of two writers at the same time, the first fails
     * @throws IOException if the cluster does not take the records; none is written
     */
    @SuppressWarnings("FutureReturnValueIgnored") // The commit throws the error of any record.
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
        producer.commitTransaction();
      } catch (KafkaException | RegistryUnavailableException e) {
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
      quietLog.ifPresent(KafkaLogSummary::close);
    }
  }

  /** Reads the file of settings, once: it may be a pipe. */
  private Properties properties() throws IOException {
    if (properties == null) {
      Properties read = new Properties();
      if (config != null) {
        try (Reader in = TextFiles.open(config)) {
          read.load(in);
        } catch (IllegalArgumentException e) {
          throw new MalformedFileException(
              config, 0, "it must be a file of Java properties: " + e.getMessage());
        }
      }
      properties = read;
    }
    return properties;
  }

  /**
   * Returns the endpoint that the options name, with their time-out.
   *
   * @throws IOException if the file of settings cannot be read
   */
  Endpoint endpoint() throws IOException {
    Map<String, Object> clients = new HashMap<>();
    Map<String, Object> registrySettings = new HashMap<>();
    Properties properties = properties();
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
        .withRegistry(registrySettings)
        .withTimeout(timeout());
  }

  /**
   * Connects to the cluster of the options, without warnings on the terminal.
   *
   * @param workload whose records are read; empty for all
   * @param progress runs after each record
   */
  Connection connect(Optional<String> workload, Runnable progress) throws IOException {
    KafkaLogSummary quietLog = quietLog();
    try {
      return connect(endpoint(), workload, progress, Optional.of(quietLog));
    } catch (IOException | RuntimeException e) {
      quietLog.close();
      throw e;
    }
  }

  /** Connects to a cluster as part of a service, with warnings in its log. */
  static Connection connect(Endpoint endpoint, Optional<String> workload, Runnable progress)
      throws IOException {
    return connect(endpoint, workload, progress, Optional.empty());
  }

  private static Connection connect(
      Endpoint endpoint,
      Optional<String> workload,
      Runnable progress,
      Optional<KafkaLogSummary> quietLog)
      throws IOException {
    Registry client = Registry.connect(endpoint.registryUrl(), endpoint.registry());
    try {
      return new Connection(
          endpoint,
          client,
          new KafkaLogRecords(
              endpoint.clients(Map.of(), Map.of()), client, endpoint.topics(), workload, progress),
          quietLog);
    } catch (IOException | RuntimeException e) {
      client.close();
      throw e;
    }
  }
}
