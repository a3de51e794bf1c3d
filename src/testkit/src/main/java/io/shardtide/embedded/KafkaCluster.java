package io.shardtide.embedded;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/**
 * Kafka brokers in processes of their own, on loopback, each of which can be killed and started
 * again with the same data and ports. Each is a controller, too. Of three brokers, each partition
 * has three copies, and two are enough to write ({@code min.insync.replicas}).
 */
public final class KafkaCluster implements Brokers {
  /**
   * Below the ports that Linux gives to outgoing connections, from 32768: those of a client that
   * keeps trying to reach a killed broker may be given the broker's own port.
   */
  private static final int FIRST_PORT = 12_000;

  private static final int PORTS = 20_000;

  /** Defaults that {@link Builder#set} may replace. */
  private static final Map<String, String> DEFAULTS =
      Map.of(
          // The controllers take a broker that was killed for alive until this ends, and let no
          // other one in.
          "broker.session.timeout.ms", "1000",
          "broker.heartbeat.interval.ms", "200",
          "transaction.abort.timed.out.transaction.cleanup.interval.ms", "500");

  private final List<JavaProcess> brokers;
  private final List<Integer> ports;

  /** What a cluster is started with. */
  public static final class Builder {
    private final Path directory;
    private final List<Integer> ports = new ArrayList<>();
    private final List<Integer> controllerPorts = new ArrayList<>();
    private final List<Map<String, String>> settings = new ArrayList<>();
    private final Map<String, String> overrides = new HashMap<>(DEFAULTS);

    private Builder(Path directory, int brokers) throws IOException {
      this.directory = directory;
      for (int b = 0; b < brokers; b++) {
        ports.add(freePort());
        controllerPorts.add(freePort());
      }
      for (int b = 0; b < brokers; b++) {
        settings.add(BrokerSettings.of(folder(b), b + 1, ports.get(b), controllerPorts));
      }
    }

    private Path folder(int broker) {
      return directory.resolve("broker-" + (broker + 1));
    }

    /** Sets a setting of all brokers. */
    public Builder set(String name, String value) {
      overrides.put(name, value);
      return this;
    }

    /**
     * Adds a listener to a broker, behind a proxy.
     *
     * @param broker position of the broker, from 0
     * @param name name of the listener, the same for all brokers that its clients shall find
     * @param port where the broker listens
     * @param proxy the port that clients are told to connect to
     */
    public Builder listener(int broker, String name, int port, int proxy) {
      BrokerSettings.addListener(settings.get(broker), name, port, proxy);
      return this;
    }

    /** Returns the cluster; its brokers' processes are not started. */
    public KafkaCluster prepare() throws IOException {
      String clusterId = EmbeddedKafka.clusterId(directory);
      List<JavaProcess> brokers = new ArrayList<>();
      for (int b = 0; b < settings.size(); b++) {
        settings.get(b).putAll(overrides);
        brokers.add(BrokerProcess.prepare(folder(b), settings.get(b), clusterId));
      }
      return new KafkaCluster(brokers, ports);
    }

    /** Starts the brokers, and returns when all accept clients. */
    public KafkaCluster start() throws IOException, InterruptedException {
      KafkaCluster cluster = prepare();
      try {
        for (JavaProcess broker : cluster.brokers()) {
          broker.start();
        }
        for (JavaProcess broker : cluster.brokers()) {
          broker.awaitReady();
        }
      } catch (IOException | InterruptedException | RuntimeException e) {
        cluster.close();
        throw e;
      }
      return cluster;
    }
  }

  private KafkaCluster(List<JavaProcess> brokers, List<Integer> ports) {
    this.brokers = List.copyOf(brokers);
    this.ports = List.copyOf(ports);
  }

  /**
   * Begins a cluster.
   *
   * @param directory folder of its data: of an earlier cluster of as many brokers, or empty
   * @param brokers number of brokers, at least 1
   */
  public static Builder of(Path directory, int brokers) throws IOException {
    if (brokers < 1) {
      throw new IllegalArgumentException("brokers must be at least 1, got " + brokers);
    }
    return new Builder(directory, brokers);
  }

  /** Returns a free port on loopback, which stays free: no outgoing connection is given it. */
  public static int freePort() throws IOException {
    Random random = new Random();
    while (true) {
      int port = FIRST_PORT + random.nextInt(PORTS);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (BindException e) {
        // Another process has it.
      }
    }
  }

  /** Returns the addresses of all brokers, those that do not run included. */
  @Override
  public String bootstrapServers() {
    return ports.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
  }

  @Override
  public int copies() {
    return Math.min(BrokerSettings.COPIES, brokers.size());
  }

  /** Returns the brokers' processes; the broker at position 0 has the id 1. */
  public List<JavaProcess> brokers() {
    return brokers;
  }

  /** Kills all brokers, which loses nothing that they have acknowledged. */
  @Override
  public void close() {
    for (JavaProcess broker : brokers) {
      if (broker.isAlive()) {
        broker.kill();
      }
    }
  }
}
