package io.shardtide.embedded;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A single Kafka broker that is its own controller (KRaft), listening on loopback only. Its data
 * survive a restart on the same folder.
 *
 * <p>Its listener for clients is CLIENTS, plain text unless overrides say otherwise: TLS, SASL and
 * an authorizer are broker settings like any other. The listener CONTROLLER stays plain: the broker
 * itself connects to it as {@code User:ANONYMOUS}, which an authorizer's {@code super.users} must
 * contain.
 */
public final class EmbeddedKafka implements Brokers {
  private static final int NODE_ID = 1;
  private static final int START_ATTEMPTS = 5;
  private static final String CLUSTER_ID_FILE = "cluster.id";

  private final KafkaRaftServer server;
  private final String bootstrapServers;

  private EmbeddedKafka(KafkaRaftServer server, String bootstrapServers) {
    this.server = server;
    this.bootstrapServers = bootstrapServers;
  }

  /** Starts a broker on a free port; see {@link #start(Path, int, Map)}. */
  public static EmbeddedKafka start(Path directory) throws IOException {
    return start(directory, 0, Map.of());
  }

  /**
   * Starts a broker, and returns when it accepts clients.
   *
   * @param directory folder of its data
   * @param port port for clients, or 0 for any free one
   * @param overrides broker settings that override the defaults here
   * @throws IOException if the folder cannot be used
   * @throws IllegalStateException if the broker does not start
   */
  public static EmbeddedKafka start(Path directory, int port, Map<String, String> overrides)
      throws IOException {
    return start(directory, port, overrides, Map.of());
  }

  /**
   * Starts a broker with SCRAM users, and returns when it accepts clients.
   *
   * @param directory folder of its data
   * @param port port for clients, or 0 for any free one
   * @param overrides broker settings that override the defaults here
   * @param users passwords by user name, for SCRAM-SHA-512; used at the first start on a folder
   *     only. With SASL for clients, the broker connects to itself with SASL too, and needs a user.
   * @throws IOException if the folder cannot be used
   * @throws IllegalStateException if the broker does not start
   */
  public static EmbeddedKafka start(
      Path directory, int port, Map<String, String> overrides, Map<String, String> users)
      throws IOException {
    for (int attempt = 1; ; attempt++) {
      int[] free = freePorts();
      int clientPort = port == 0 ? free[0] : port;
      try {
        return tryStart(directory, clientPort, free[1], overrides, users);
      } catch (RuntimeException e) {
        // Between finding a free port and using it, another process may have taken it.
        if (port != 0 || attempt == START_ATTEMPTS || !isBindFailure(e)) {
          throw new IllegalStateException(
              "The embedded Kafka broker could not start on port %d with data in %s: %s"
                  .formatted(clientPort, directory, e.getMessage()),
              e);
        }
      }
    }
  }

  private static EmbeddedKafka tryStart(
      Path directory,
      int clientPort,
      int controllerPort,
      Map<String, String> overrides,
      Map<String, String> users)
      throws IOException {
    Map<String, String> config =
        BrokerSettings.of(directory, NODE_ID, clientPort, List.of(controllerPort));
    config.putAll(overrides);
    return start(directory, config, clusterId(directory), users);
  }

  /** Returns the id of the cluster whose data are in a folder, a new one for an empty folder. */
  static String clusterId(Path directory) throws IOException {
    Files.createDirectories(directory);
    Path idFile = directory.resolve(CLUSTER_ID_FILE);
    if (!Files.exists(idFile)) {
      Files.writeString(idFile, Uuid.randomUuid().toString());
    }
    return Files.readString(idFile).strip();
  }

  /**
   * Starts a broker of a cluster, and returns when it accepts clients: with several controllers,
   * when most of them run.
   *
   * @param directory folder of its data
   * @param config all its settings
   * @param clusterId id of the cluster
   * @param users passwords by user name
   */
  static EmbeddedKafka start(
      Path directory, Map<String, String> config, String clusterId, Map<String, String> users)
      throws IOException {
    format(directory, config, clusterId, users);
    KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(config, false), Time.SYSTEM);
    try {
      server.startup();
    } catch (RuntimeException e) {
      server.shutdown();
      throw e;
    }
    String listeners = config.get("advertised.listeners");
    return new EmbeddedKafka(server, listeners.replaceFirst(".*?://", "").replaceFirst(",.*", ""));
  }

  private static void format(
      Path directory, Map<String, String> config, String clusterId, Map<String, String> users)
      throws IOException {
    Formatter formatter = new Formatter();
    formatter.setPrintStream(
        new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8));
    formatter.setNodeId(Integer.parseInt(config.get("node.id")));
    formatter.setClusterId(clusterId);
    formatter.setControllerListenerName(BrokerSettings.CONTROLLER);
    formatter.setReleaseVersion(MetadataVersion.latestProduction());
    formatter.setIgnoreFormatted(true);
    formatter.setScramArguments(
        users.entrySet().stream()
            .map(
                user ->
                    "SCRAM-SHA-512=[name=%s,password=%s]".formatted(user.getKey(), user.getValue()))
            .toList());
    formatter.addDirectory(config.get("log.dirs"));
    formatter.setMetadataLogDirectory(config.get("log.dirs"));
    try {
      formatter.run();
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(
          "The folder %s could not be formatted for Kafka".formatted(directory), e);
    }
  }

  private static boolean isBindFailure(Throwable error) {
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof BindException
          || (e.getMessage() != null && e.getMessage().contains("Address already in use"))) {
        return true;
      }
    }
    return false;
  }

  /** Returns two free ports. */
  private static int[] freePorts() throws IOException {
    InetAddress loopback = InetAddress.getLoopbackAddress();
    try (ServerSocket first = new ServerSocket(0, 1, loopback);
        ServerSocket second = new ServerSocket(0, 1, loopback)) {
      return new int[] {first.getLocalPort(), second.getLocalPort()};
    }
  }

  @Override
  public String bootstrapServers() {
    return bootstrapServers;
  }

  @Override
  public int copies() {
    return 1;
  }

  /** Stops the broker, and returns when it has stopped. */
  @Override
  public void close() {
    server.shutdown();
    server.awaitShutdown();
  }
}
