package io.shardtide.embedded;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Kafka settings of a broker on loopback that is also a controller (KRaft): of all settings, those
 * that depend on the node and on how many there are.
 */
final class BrokerSettings {
  /** Copies of each partition, if there are as many brokers. */
  static final int COPIES = 3;

  private static final String LOOPBACK = "127.0.0.1";

  /** Name of the listener for clients and other brokers. */
  static final String CLIENTS = "CLIENTS";

  /** Name of the listener for controllers. */
  static final String CONTROLLER = "CONTROLLER";

  private BrokerSettings() {}

  /**
   * Returns the settings of a node.
   *
   * @param directory folder of its data
   * @param node its number, from 1
   * @param port its port for clients
   * @param controllerPorts ports of all nodes' controllers, in the order of their numbers
   */
  static Map<String, String> of(Path directory, int node, int port, List<Integer> controllerPorts) {
    int nodes = controllerPorts.size();
    String copies = Integer.toString(Math.min(COPIES, nodes));
    String inSync = Integer.toString(Math.max(1, Math.min(COPIES, nodes) - 1));
    // Of one broker one partition is enough; of several each leads some.
    String partitions = Integer.toString(nodes);
    Map<String, String> settings = new HashMap<>();
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", Integer.toString(node));
    settings.put("log.dirs", directory.resolve("log").toString());
    settings.put(
        "listeners",
        "%s://%s:%d,%s://%s:%d"
            .formatted(
                CLIENTS, LOOPBACK, port, CONTROLLER, LOOPBACK, controllerPorts.get(node - 1)));
    settings.put("advertised.listeners", "%s://%s:%d".formatted(CLIENTS, LOOPBACK, port));
    settings.put(
        "listener.security.protocol.map",
        "%s:PLAINTEXT,%s:PLAINTEXT".formatted(CLIENTS, CONTROLLER));
    settings.put("inter.broker.listener.name", CLIENTS);
    settings.put("controller.listener.names", CONTROLLER);
    settings.put(
        "controller.quorum.voters",
        IntStream.range(0, nodes)
            .mapToObj(n -> "%d@%s:%d".formatted(n + 1, LOOPBACK, controllerPorts.get(n)))
            .collect(Collectors.joining(",")));
    settings.put("default.replication.factor", copies);
    settings.put("min.insync.replicas", inSync);
    settings.put("offsets.topic.replication.factor", copies);
    settings.put("offsets.topic.num.partitions", partitions);
    settings.put("transaction.state.log.replication.factor", copies);
    settings.put("transaction.state.log.min.isr", inSync);
    settings.put("transaction.state.log.num.partitions", partitions);
    settings.put("share.coordinator.state.topic.replication.factor", copies);
    settings.put("share.coordinator.state.topic.min.isr", inSync);
    settings.put("share.coordinator.state.topic.num.partitions", partitions);
    // A group is complete at once: it has its partitions after 0.5 s instead of 3 s.
    settings.put("group.initial.rebalance.delay.ms", "0");
    // Tests have sessions shorter than the 6 s that a broker accepts by default.
    settings.put("group.min.session.timeout.ms", "1000");
    settings.put("auto.create.topics.enable", "false");
    return settings;
  }

  /**
   * Adds a plain listener for clients to settings: one at a port, whose clients are told another
   * one, such as that of a proxy.
   */
  static void addListener(Map<String, String> settings, String name, int port, int told) {
    settings.merge(
        "listeners", "%s://%s:%d".formatted(name, LOOPBACK, port), (a, b) -> a + "," + b);
    settings.merge(
        "advertised.listeners",
        "%s://%s:%d".formatted(name, LOOPBACK, told),
        (a, b) -> a + "," + b);
    settings.merge("listener.security.protocol.map", name + ":PLAINTEXT", (a, b) -> a + "," + b);
  }
}
