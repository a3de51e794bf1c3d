package io.shardtide.bench.soak;

import io.shardtide.embedded.JavaProcess;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.embedded.RegistryProcess;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Three brokers, two registries behind one address, and planners as users run them ({@code
 * shardtide run --config FILE}), each in a process of its own. A planner reaches brokers and
 * registries by links of its own, which can be cut and slowed. Its disk is a small file system of
 * its own where this process may mount one, and its clock can be set where the machine has
 * libfaketime.
 */
final class SoakCluster implements AutoCloseable {
  /** Number of brokers, and of planners. */
  static final int MACHINES = 3;

  private static final int REGISTRIES = 2;

  /**
   * Where Debian installs libfaketime; not its variant for several threads, of which each call for
   * the time takes 15 times as long (4.1 instead of 0.27 microseconds): threads read a new offset
   * together, without harm.
   */
  private static final Path FAKETIME =
      Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1");

  private static final String MAIN = "io.shardtide.cli.Shardtide";

  /** What {@code run} prints when its topologies have their partitions. */
  private static final String SERVING = "Serving.";

  /** Above the gigabyte below which DiskNearlyFull fires; memory is used only when it fills. */
  private static final String DISK_SIZE = "size=1400m";

  private final Path directory;
  private final List<TcpLink> links = new ArrayList<>();
  private final List<List<TcpLink>> linksOfPlanner = new ArrayList<>();
  private final List<List<TcpLink>> linksOfBroker = new ArrayList<>();
  private final List<JavaProcess> registries = new ArrayList<>();
  private final List<JavaProcess> planners = new ArrayList<>();
  private final List<Path> disks = new ArrayList<>();
  private final List<Integer> httpPorts = new ArrayList<>();
  private final Thread hook = new Thread(this::killAll, "soak-end");
  private KafkaCluster brokers;
  private String registryUrl;

  private SoakCluster(Path directory) {
    this.directory = directory;
  }

  /**
   * Starts everything, and returns when all planners have their partitions.
   *
   * @param directory an empty folder
   */
  static SoakCluster start(Path directory) throws IOException, InterruptedException {
    SoakCluster cluster = new SoakCluster(directory);
    Runtime.getRuntime().addShutdownHook(cluster.hook);
    try {
      cluster.startRegistries();
      cluster.startBrokers();
      for (int p = 0; p < MACHINES; p++) {
        cluster.httpPorts.add(KafkaCluster.freePort());
        cluster.planners.add(cluster.planner(p));
        cluster.planners.get(p).start();
      }
      cluster.awaitPlanners();
      return cluster;
    } catch (IOException | InterruptedException | RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  private TcpLink link(List<InetSocketAddress> targets) throws IOException {
    TcpLink link = TcpLink.open(KafkaCluster.freePort(), targets);
    links.add(link);
    return link;
  }

  private void startRegistries() throws IOException, InterruptedException {
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (int r = 0; r < REGISTRIES; r++) {
      int port = KafkaCluster.freePort();
      addresses.add(loopback(port));
      registries.add(RegistryProcess.prepare(directory.resolve("registry"), port));
      registries.get(r).start();
      registries.get(r).awaitReady();
    }
    registryUrl = url(link(addresses));
    for (int p = 0; p < MACHINES; p++) {
      linksOfPlanner.add(new ArrayList<>(List.of(link(addresses))));
    }
  }

  private static String url(TcpLink link) {
    return "http://127.0.0.1:" + link.port();
  }

  private void startBrokers() throws IOException, InterruptedException {
    KafkaCluster.Builder builder = KafkaCluster.of(directory.resolve("kafka"), MACHINES);
    for (int b = 0; b < MACHINES; b++) {
      linksOfBroker.add(new ArrayList<>());
      for (int p = 0; p < MACHINES; p++) {
        int port = KafkaCluster.freePort();
        TcpLink link = link(List.of(loopback(port)));
        builder.listener(b, "PLANNER" + p, port, link.port());
        linksOfPlanner.get(p).add(link);
        linksOfBroker.get(b).add(link);
      }
    }
    brokers = builder.start();
  }

  private JavaProcess planner(int p) throws IOException {
    Path folder = Files.createDirectories(directory.resolve("planner-" + (p + 1)));
    Path state = Files.createDirectories(folder.resolve("state"));
    if (!disks.contains(state) && mount(state)) {
      disks.add(state);
    }
    List<TcpLink> own = linksOfPlanner.get(p);
    List<String> addresses =
        own.subList(1, own.size()).stream().map(link -> "127.0.0.1:" + link.port()).toList();
    Properties settings = new Properties();
    settings.setProperty("bootstrap.servers", String.join(",", addresses));
    settings.setProperty("schema.registry.url", url(own.get(0)));
    settings.setProperty("state.directory", state.toString());
    settings.setProperty("topics.replication", Integer.toString(MACHINES));
    settings.setProperty("http.port", Integer.toString(httpPorts.get(p)));
    // docs/OPERATING.md, Several instances: a killed planner is replaced sooner.
    settings.setProperty("kafka.session.timeout.ms", "2000");
    Path file = folder.resolve("shardtide.properties");
    try (var writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
      settings.store(writer, "A planner of bench soak");
    }
    Map<String, String> environment = new HashMap<>();
    environment.put("TF_CPP_MIN_LOG_LEVEL", "2");
    if (canSetClocks()) {
      setClock(p, 0);
      environment.put("LD_PRELOAD", FAKETIME.toString());
      environment.put("FAKETIME_TIMESTAMP_FILE", clock(p).toString());
      environment.put("FAKETIME_CACHE_DURATION", "1");
      environment.put("FAKETIME_DONT_FAKE_MONOTONIC", "1");
      // Where it is on, each timed wait of Java ends at once, and threads spin.
      environment.put("FAKETIME_FORCE_MONOTONIC_FIX", "0");
    }
    return JavaProcess.prepare(
        folder.resolve("planner.out"),
        SERVING,
        List.of(
            "-Xmx768m",
            "-XX:+UseSerialGC",
            // Starts of planners compete with all other processes for the cores of one machine.
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            "-Dorg.bytedeco.javacpp.maxphysicalbytes=0"),
        environment,
        List.of(MAIN, "run", "--config", file.toString()));
  }

  private Path clock(int planner) {
    return directory.resolve("planner-" + (planner + 1)).resolve("clock");
  }

  /** Mounts a small file system on a folder; returns whether this process may. */
  private static boolean mount(Path folder) {
    return run("mount", "-t", "tmpfs", "-o", DISK_SIZE, "shardtide-soak", folder.toString());
  }

  private static boolean run(String... command) {
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.onExit().join().exitValue() == 0;
    } catch (IOException e) {
      // The machine has no such program.
      return false;
    }
  }

  /** Returns whether the clocks of planners can be set. */
  static boolean canSetClocks() {
    return Files.exists(FAKETIME);
  }

  /** Returns whether the planners have disks of their own. */
  boolean hasDisks() {
    return disks.size() == MACHINES;
  }

  /** Returns the brokers' addresses, without links between. */
  String bootstrapServers() {
    return brokers.bootstrapServers();
  }

  /** Returns the address of the registries, by a link that is never cut. */
  String registryUrl() {
    return registryUrl;
  }

  /** Returns the topics. */
  static Topics topics() {
    return Topics.withPrefix(Topics.DEFAULT_PREFIX);
  }

  /** Returns the brokers' processes. */
  List<JavaProcess> brokers() {
    return brokers.brokers();
  }

  /** Returns the registries' processes; the first one that runs is asked. */
  List<JavaProcess> registries() {
    return registries;
  }

  /** Returns the planners' processes. */
  List<JavaProcess> planners() {
    return planners;
  }

  /** Returns the planners' ports for HTTP. */
  List<Integer> httpPorts() {
    return httpPorts;
  }

  /** Returns the links of a planner. */
  List<TcpLink> linksOfPlanner(int planner) {
    return linksOfPlanner.get(planner);
  }

  /** Returns the planners' links to a broker. */
  List<TcpLink> linksOfBroker(int broker) {
    return linksOfBroker.get(broker);
  }

  /** Returns the folder of a planner's state. */
  Path disk(int planner) {
    return disks.get(planner);
  }

  /** Sets the clock that a planner has of its own, in seconds from the machine's. */
  void setClock(int planner, long offsetSeconds) throws IOException {
    Files.writeString(clock(planner), "%+d".formatted(offsetSeconds));
  }

  /** Waits until all planners that run have their partitions. */
  void awaitPlanners() throws IOException, InterruptedException {
    for (JavaProcess planner : planners) {
      planner.awaitReady();
    }
  }

  private void killAll() {
    for (JavaProcess planner : planners) {
      if (planner.isAlive()) {
        planner.kill();
      }
    }
    if (brokers != null) {
      brokers.close();
    }
    for (JavaProcess registry : registries) {
      if (registry.isAlive()) {
        registry.kill();
      }
    }
    disks.forEach(disk -> run("umount", "-l", disk.toString()));
  }

  @Override
  public void close() throws IOException {
    killAll();
    for (TcpLink link : links) {
      link.close();
    }
    Runtime.getRuntime().removeShutdownHook(hook);
  }
}
