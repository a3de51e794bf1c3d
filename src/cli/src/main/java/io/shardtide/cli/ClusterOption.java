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
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import picocli.CommandLine.Option;

/** The options of commands that connect to a cluster. */
class ClusterOption extends PrintOption {
  /** Prefix of the registry client's settings in the file. */
  private static final String REGISTRY = "registry.";

  @Option(
      names = {"-b", "--bootstrap-server"},
      paramLabel = "HOST:PORT",
      description =
          "Address of the Kafka cluster. Default: the variable SHARDTIDE_BOOTSTRAP_SERVER, or that"
              + " of a context.")
  private String bootstrap;

  @Option(
      names = "--registry",
      paramLabel = "URL",
      description =
          "Address of the schema registry. Default: the variable SHARDTIDE_REGISTRY, or that of a"
              + " context.")
  private String registry;

  @Option(
      names = "--prefix",
      paramLabel = "TEXT",
      description = "Prefix of the topics' names. Default: " + Topics.DEFAULT_PREFIX)
  private String prefix;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "30",
      description =
          "How long to wait for the cluster, the registry and the outcome of an event; at least 1."
              + " Default: ${DEFAULT-VALUE}")
  private int timeout;

  @Option(
      names = "--command-config",
      paramLabel = "FILE",
      description =
          "Java properties in UTF-8: any setting of Kafka's client and, after \"registry.\", of the"
              + " registry's.")
  private Path config;

  /** What the context and the file of settings say, if they were read. */
  private Map<String, String> settings;

  /** Returns whether the call itself names a cluster. */
  final boolean isGiven() {
    return isGiven("--bootstrap-server") || isGiven("--registry");
  }

  /** Finds the addresses; fails as wrong usage if one is missing, or a value is out of range. */
  @Override
  void check() throws IOException {
    Context context = Context.find(System.getenv(), bootstrap, registry);
    bootstrap = context.bootstrapServer();
    registry = context.registry();
    prefix = prefix == null ? context.prefix() : prefix;
    if (bootstrap == null || registry == null) {
      throw wrong(
          "this command needs a cluster: give --bootstrap-server and --registry, or set "
              + Context.ELSEWHERE);
    }
    for (String address : bootstrap.split(",", -1)) {
      if (!address.strip().matches(".+:\\d{1,5}")) {
        throw wrong(
            "--bootstrap-server must be HOST:PORT, or several separated by commas, got \"%s\""
                .formatted(bootstrap));
      }
    }
    if (!registry.matches("https?://.+")) {
      throw wrong(
          "--registry must be a URL such as http://HOST:8081, got \"%s\"".formatted(registry));
    }
    if (timeout < 1) {
      throw wrong("--timeout must be at least 1 s, got %d".formatted(timeout));
    }
    settings = new HashMap<>(context.settings());
    if (config != null) {
      Properties read = new Properties();
      try (Reader in = TextFiles.open(config)) {
        read.load(in);
      } catch (IllegalArgumentException e) {
        throw new MalformedFileException(
            config, 0, "it must be a file of Java properties: " + e.getMessage());
      }
      read.stringPropertyNames().forEach(key -> settings.put(key, read.getProperty(key)));
    }
  }

  /** Returns how long the user wants to wait. */
  final Duration timeout() {
    return Duration.ofSeconds(timeout);
  }

  /** Does something without the warnings of Kafka's clients on the terminal. */
  final <T> T quietly(Callable<T> work) throws Exception {
    KafkaLogSummary quietLog = KafkaLogSummary.start(bootstrap, err());
    try {
      return work.call();
    } finally {
      quietLog.close();
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

  /** Returns the endpoint that the options name, with their time-out. */
  final Endpoint endpoint() {
    Map<String, Object> clients = new HashMap<>();
    Map<String, Object> ofRegistry = new HashMap<>();
    settings.forEach(
        (key, value) -> {
          if (key.startsWith(REGISTRY)) {
            ofRegistry.put(key.substring(REGISTRY.length()), value);
          } else {
            clients.put(key, value);
          }
        });
    return Endpoint.of(bootstrap, registry)
        .withPrefix(prefix)
        .withKafka(clients)
        .withRegistry(ofRegistry)
        .withTimeout(timeout());
  }

  /**
   * Connects to the cluster of the options, without warnings on the terminal.
   *
   * @param workload whose records are read; empty for all
   * @param progress runs after each record
   */
  final Connection connect(Optional<String> workload, Runnable progress) throws IOException {
    KafkaLogSummary quietLog = KafkaLogSummary.start(bootstrap, err());
    try {
      return connect(endpoint(), workload, progress, Optional.of(quietLog));
    } catch (IOException | RuntimeException e) {
      quietLog.close();
      throw e;
    }
  }

  /** Connects to the cluster of the options to read all of it, without a bar. */
  final Connection connect() throws IOException {
    return connect(Optional.empty(), () -> {});
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
