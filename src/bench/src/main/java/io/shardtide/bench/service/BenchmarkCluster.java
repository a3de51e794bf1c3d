package io.shardtide.bench.service;

import io.shardtide.client.Endpoint;
import io.shardtide.config.ConnectionSettings;
import io.shardtide.config.HttpSettings;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.StreamsSettings;
import io.shardtide.config.TopicSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.models.ModelFiles;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.UnknownHardware;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** A broker and a registry in this process, with a temporary folder. */
final class BenchmarkCluster implements AutoCloseable {
  /** The planners' model. */
  static final ModelBundle MODEL = ModelFiles.shippedForNodes();

  private static final int BATCH_SIZE = 65_536;

  private final Path directory;
  private final EmbeddedKafka kafka;
  private final DevelopmentRegistry registryServer;
  private final Registry registry;
  private final int partitions;

  /**
   * Starts a cluster.
   *
   * @param partitions of each topic
   */
  BenchmarkCluster(int partitions) throws IOException {
    this.partitions = partitions;
    directory = Files.createTempDirectory("shardtide-bench");
    kafka = EmbeddedKafka.start(directory.resolve("kafka"));
    registryServer = DevelopmentRegistry.start(0, Optional.of(directory));
    registry = Registry.connect(registryServer.url(), Map.of());
  }

  /** Returns the folder of all data, that of the broker in {@code kafka}. */
  Path directory() {
    return directory;
  }

  Endpoint endpoint() {
    return Endpoint.of(kafka.bootstrapServers(), registryServer.url());
  }

  Registry registry() {
    return registry;
  }

  /**
   * Starts a planner with default settings except those of planning; does not wait for it.
   *
   * @param name of its folder
   * @param parts changes what it is made of
   */
  PlannerService start(
      String name, PlanningSettings planning, Function<PlannerParts, PlannerParts> parts)
      throws Exception {
    ServiceSettings settings =
        new ServiceSettings(
            new ConnectionSettings(
                kafka.bootstrapServers(), registryServer.url(), Map.of(), Map.of()),
            new TopicSettings(Topics.DEFAULT_PREFIX, partitions, 1),
            new StreamsSettings(directory.resolve(name), 1, 1),
            List.of(),
            UnknownHardware.NEAREST,
            planning,
            TrainingPolicy.DEFAULTS,
            Set.of(),
            AllocationPolicy.DEFAULTS,
            CapacityPolicy.DEFAULTS,
            HttpSettings.DEFAULTS);
    return PlannerService.start(
        parts.apply(new PlannerParts(settings, List.of(MODEL), TensorFlowTowers::new)));
  }

  static void awaitRunning(PlannerService planner) throws InterruptedException {
    while (!planner.isRunning()) {
      Thread.sleep(10);
    }
  }

  /** Returns the changes that create a workload, as one event may have them. */
  static List<Change> workload(List<TableSpec> tables, int devices) {
    List<Change> changes = new ArrayList<>();
    changes.add(clusterSet(devices));
    tables.forEach(table -> changes.add(new Change.TableUpserted(table)));
    return changes;
  }

  static Change clusterSet(int devices) {
    return new Change.ClusterSet(
        new ClusterSpec(devices, 80L << 30, BATCH_SIZE, 8, MODEL.hardware()));
  }

  @Override
  public void close() throws IOException {
    registry.close();
    registryServer.close();
    kafka.close();
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
