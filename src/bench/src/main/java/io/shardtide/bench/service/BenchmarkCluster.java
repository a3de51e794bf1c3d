package io.shardtide.bench.service;

import io.shardtide.client.Endpoint;
import io.shardtide.config.HttpSettings;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.StreamsSettings;
import io.shardtide.config.TopicSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.step.Planner;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.UnknownHardware;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

/** A broker and a registry in this process, with a temporary folder. */
final class BenchmarkCluster implements AutoCloseable {
  /** The model of all measurements except the drift. */
  static final ModelBundle MODEL = ModelFiles.shippedForNodes();

  /** The topics. */
  static final Topics TOPICS = Topics.withPrefix(Topics.DEFAULT_PREFIX);

  private final Path directory;
  private final EmbeddedKafka kafka;
  private final DevelopmentRegistry registryServer;
  private final Registry registry;
  private final int partitions;

  private BenchmarkCluster(
      Path directory,
      EmbeddedKafka kafka,
      DevelopmentRegistry registryServer,
      Registry registry,
      int partitions) {
    this.directory = directory;
    this.kafka = kafka;
    this.registryServer = registryServer;
    this.registry = registry;
    this.partitions = partitions;
  }

  /** Starts a cluster whose topics have one partition. */
  static BenchmarkCluster open() throws IOException {
    return open(1);
  }

  /** Starts a cluster whose topics have a number of partitions. */
  static BenchmarkCluster open(int partitions) throws IOException {
    Path directory = Files.createTempDirectory("shardtide-bench");
    EmbeddedKafka kafka = EmbeddedKafka.start(directory.resolve("kafka"));
    DevelopmentRegistry server = DevelopmentRegistry.start(0, Optional.of(directory));
    return new BenchmarkCluster(
        directory, kafka, server, Registry.connect(server.url(), Map.of()), partitions);
  }

  int partitions() {
    return partitions;
  }

  /** Returns the folder of all data, that of the broker in {@code kafka}. */
  Path directory() {
    return directory;
  }

  String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  String registryUrl() {
    return registryServer.url();
  }

  Registry registry() {
    return registry;
  }

  Path stateDirectory() {
    return directory.resolve("state");
  }

  /** Starts the planner with default settings except those of planning. */
  PlannerService start(PlanningSettings planning, Function<ModelBundle, TowerPredictor> predictorOf)
      throws Exception {
    return start(
        bootstrapServers(), registryUrl(), stateDirectory(), partitions, planning, predictorOf);
  }

  static PlannerService start(
      String bootstrapServers,
      String registryUrl,
      Path stateDirectory,
      int partitions,
      PlanningSettings planning,
      Function<ModelBundle, TowerPredictor> predictorOf)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
            settings(bootstrapServers, registryUrl, stateDirectory, partitions, planning),
            List.of(MODEL),
            predictorOf));
  }

  /**
   * Starts one of several planners.
   *
   * @param number its number, for a folder of its own
   * @param more models beside the usual one
   * @param search searches a problem
   */
  PlannerService start(
      int number,
      List<ModelBundle> more,
      BiFunction<GroupedProblem, SearchSettings, SearchResult> search)
      throws Exception {
    ServiceSettings settings =
        settings(
            bootstrapServers(),
            registryUrl(),
            directory.resolve("state-" + number),
            partitions,
            PlanningSettings.DEFAULTS);
    return PlannerService.start(
        new PlannerParts(
                settings,
                Stream.concat(Stream.of(MODEL), more.stream()).toList(),
                TensorFlowTowers::new)
            .with()
            .planner(new Planner(InstantSource.system(), System::nanoTime, search))
            .build());
  }

  /** Starts the planner with another model, which is retrained on measured costs. */
  PlannerService startLearning(
      ModelBundle model,
      Function<ModelBundle, TowerPredictor> predictorOf,
      RetrainingRun.RetrainingJob retraining)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
                settings(
                    bootstrapServers(),
                    registryUrl(),
                    stateDirectory(),
                    partitions,
                    PlanningSettings.DEFAULTS),
                List.of(model),
                predictorOf)
            .with()
            .trainer(Optional.of(retraining))
            .build());
  }

  private static ServiceSettings settings(
      String bootstrapServers,
      String registryUrl,
      Path stateDirectory,
      int partitions,
      PlanningSettings planning) {
    return new ServiceSettings(
        Endpoint.of(bootstrapServers, registryUrl),
        new TopicSettings(partitions, 1),
        new StreamsSettings(stateDirectory, 1, 1),
        List.of(),
        UnknownHardware.NEAREST,
        planning,
        TrainingPolicy.DEFAULTS,
        Set.of(),
        AllocationPolicy.DEFAULTS,
        CapacityPolicy.DEFAULTS,
        HttpSettings.DEFAULTS);
  }

  /** Starts the planner with default settings. */
  PlannerService start() throws Exception {
    return start(PlanningSettings.DEFAULTS, TensorFlowTowers::new);
  }

  /** Waits until a planner is running. */
  static void awaitRunning(PlannerService service, StepReporter steps) throws InterruptedException {
    while (!service.isRunning()) {
      steps.at("starting", 0, 1);
      Thread.sleep(10);
    }
  }

  /** Deletes a folder recursively. */
  static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }

  @Override
  public void close() throws IOException {
    registry.close();
    registryServer.close();
    kafka.close();
    delete(directory);
  }
}
