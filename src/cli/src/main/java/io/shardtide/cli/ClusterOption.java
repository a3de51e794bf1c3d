package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
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
    KafkaWarnings.of(Optional.of(new KafkaWarnings.Outages(bootstrap, err())));
  }

  @Override
  void end() {
    KafkaWarnings.of(Optional.empty());
  }

  /** Returns how long the user wants to wait. */
  final Duration timeout() {
    return Duration.ofSeconds(timeout);
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
}
