package io.shardtide.embedded;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** The program of a broker in a process of its own; {@link KafkaCluster} starts it. */
final class BrokerProcess {
  /** What it prints when it accepts clients. */
  private static final String READY = "broker at ";

  private static final String SETTINGS_FILE = "broker.properties";
  private static final String CLUSTER_ID = "cluster.id";

  private BrokerProcess() {}

  /**
   * Prepares the process of a broker.
   *
   * @param directory folder of its data
   * @param config all its settings
   * @param clusterId id of the cluster
   */
  static JavaProcess prepare(Path directory, Map<String, String> config, String clusterId)
      throws IOException {
    Files.createDirectories(directory);
    Properties settings = new Properties();
    settings.putAll(config);
    settings.setProperty(CLUSTER_ID, clusterId);
    try (var writer = Files.newBufferedWriter(directory.resolve(SETTINGS_FILE))) {
      settings.store(writer, "A broker of an embedded cluster");
    }
    return JavaProcess.prepare(
        directory.resolve("broker.out"),
        READY,
        // Brokers of tests and demos hold little, and are started often.
        List.of("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        Map.of(),
        List.of(
            BrokerProcess.class.getName(),
            directory.toString(),
            Long.toString(ProcessHandle.current().pid())));
  }

  /** Runs in the process; arguments: the folder, and the process without which it ends. */
  public static void main(String[] args) throws Exception {
    JavaProcess.endWith(Long.parseLong(args[1]));
    Path directory = Path.of(args[0]);
    Properties settings = new Properties();
    try (var reader =
        Files.newBufferedReader(directory.resolve(SETTINGS_FILE), StandardCharsets.UTF_8)) {
      settings.load(reader);
    }
    Map<String, String> config = new TreeMap<>();
    settings.stringPropertyNames().forEach(name -> config.put(name, settings.getProperty(name)));
    String clusterId = config.remove(CLUSTER_ID);
    EmbeddedKafka kafka =
        EmbeddedKafka.start(directory, new HashMap<>(config), clusterId, Map.of());
    Runtime.getRuntime().addShutdownHook(new Thread(kafka::close));
    System.out.println(READY + kafka.bootstrapServers());
    Thread.currentThread().join();
  }
}
