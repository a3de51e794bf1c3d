package io.shardtide.topology;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.shardtide.allocation.CurveStep;
import io.shardtide.allocation.PoolStep;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.growth.GrowthStep;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.WorkloadStep;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The topologies on a Kafka cluster. Each record is applied exactly once. A stream thread waits
 * while the registry is unavailable ({@link RegistryRetry}); a thread that fails is replaced, and
 * the next one continues from the last committed record.
 */
public final class PlannerService implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PlannerService.class);

  /** Pause before a failed thread is replaced: limits log lines, and delays recovery little. */
  private static final Duration RESTART_PAUSE = Duration.ofSeconds(1);

  private static final int PROBE_TIMEOUT_MS = 3_000;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final Registry registry;
  private final PlannerMetrics metrics;
  private final ServiceHealth health;
  private final ModelSubscriber models;
  private final AbandonedTransactions abandoned;
  private final WorkerThreads threads = new WorkerThreads();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final List<KafkaStreams> streams = new ArrayList<>();
  private final List<KafkaStreamsMetrics> binders = new ArrayList<>();

  private PlannerService(
      Registry registry,
      PlannerMetrics metrics,
      ServiceHealth health,
      ModelSubscriber models,
      AbandonedTransactions abandoned) {
    this.registry = registry;
    this.metrics = metrics;
    this.health = health;
    this.models = models;
    this.abandoned = abandoned;
  }

  /**
   * Starts without metrics, health and retraining; see {@link #start(ServiceSettings, List,
   * Function, Optional, PlannerMetrics, ServiceHealth)}.
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf)
      throws Exception {
    return start(settings, bundles, predictorOf, Optional.empty());
  }

  /**
   * Starts without metrics and health; see {@link #start(ServiceSettings, List, Function, Optional,
   * PlannerMetrics, ServiceHealth)}.
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Optional<RetrainingRun.RetrainingJob> trainer)
      throws Exception {
    return start(
        settings,
        bundles,
        predictorOf,
        trainer,
        PlannerMetrics.unread(),
        ServiceHealth.unwatched(settings));
  }

  /** Starts with the planner's own search. */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Optional<RetrainingRun.RetrainingJob> trainer,
      PlannerMetrics metrics,
      ServiceHealth health)
      throws Exception {
    Planner planner = new Planner(InstantSource.system(), System::nanoTime);
    return start(settings, bundles, predictorOf, trainer, metrics, health, planner);
  }

  /**
   * Creates missing topics and checks the others, registers the schemas, publishes the models that
   * are not on their topic yet, and starts the topologies. Waits while the cluster or the registry
   * is unavailable.
   *
   * @param settings settings of the planner
   * @param bundles models to publish, except those of hardware whose model was fine-tuned; the
   *     latest one of each kind of hardware predicts
   * @param predictorOf creates the predictor of a model
   * @param trainer retrains models on measured costs; empty for neither feedback nor retraining
   * @param metrics counts events and times them
   * @param health receives failures and waits
   * @param planner makes the plans
   * @throws InterruptedException if the thread is interrupted while it waits
   * @throws TopicMismatchException if the cluster's topics would lose records
   * @throws IllegalStateException if the cluster does not accept the user, an ACL is missing
   *     ({@link Acls}), the state of the workloads is lost or another cluster's, or another planner
   *     uses the state directory
   * @throws Exception if the cluster or the registry refuses a request
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Optional<RetrainingRun.RetrainingJob> trainer,
      PlannerMetrics metrics,
      ServiceHealth health,
      Planner planner)
      throws Exception {
    health.quarantine(metrics::quarantined);
    Registry registry =
        Registry.connectPlanner(
            settings.connection().registryUrl(), settings.connection().registry());
    ModelSubscriber models = null;
    PlannerService service = null;
    try {
      Topics topics = checkTopics(settings);
      register(registry, topics);
      models =
          new ModelSubscriber(
              clients(settings),
              registry,
              topics,
              predictorOf,
              settings.unknownHardware(),
              metrics);
      models.publish(bundles, settings.connection().bootstrapServers());
      ModelSubscriber subscriber = models;
      health.modelsPublished(
          () ->
              subscriber
                  .problem()
                  .map(
                      e ->
                          "New models cannot be read: "
                              + AuthorizationErrors.describe(e, settings)));
      models.start();

      WorkloadStep workloadStep = new WorkloadStep(models);
      service =
          new PlannerService(
              registry,
              metrics,
              health,
              models,
              new AbandonedTransactions(
                  clients(settings), ended -> metrics.add(Metric.TRANSACTIONS_FENCED, ended)));
      service.run(
          TopologyName.WORKLOAD,
          retry ->
              WorkloadTopology.build(topics, registry, workloadStep, subscriber, metrics, retry),
          settings);
      WorkerThreads threads = service.threads;
      service.run(
          TopologyName.PLANNING,
          retry ->
              PlanningTopology.build(
                  topics,
                  registry,
                  new PlanningStep(subscriber, settings.planning(), planner),
                  subscriber,
                  threads.liveSearches(),
                  threads.backgroundSearches(),
                  System::nanoTime,
                  metrics,
                  retry),
          settings);
      if (trainer.isPresent()) {
        service.runFeedback(
            topics,
            new RetrainingRun(
                trainer.get(), predictorOf, settings.training(), InstantSource.system()),
            settings);
      }
      if (settings.extensions().contains(Extension.POOLS)) {
        service.runPools(topics, settings);
      }
      if (settings.extensions().contains(Extension.GROWTH)) {
        service.runGrowth(topics, settings);
      }
      service.streams.forEach(KafkaStreams::start);
      service.abandoned.start();
      return service;
    } catch (Exception e) {
      if (service != null) {
        service.close();
      } else {
        if (models != null) {
          models.close();
        }
        close(registry);
      }
      throw AuthorizationErrors.explain(e, settings);
    }
  }

  private void runFeedback(Topics topics, RetrainingRun retraining, ServiceSettings settings) {
    run(
        TopologyName.FEEDBACK,
        retry ->
            FeedbackTopology.build(
                topics,
                registry,
                new FeedbackStep(models::isOtherHardware),
                models,
                metrics,
                retry),
        settings);
    if (settings.training().enabled()) {
      run(
          TopologyName.TRAINING,
          retry ->
              TrainingTopology.build(
                  topics,
                  registry,
                  retraining,
                  hardware ->
                      models.of(hardware).map(current -> models.get(current.modelId()).bundle()),
                  threads.training(),
                  System::nanoTime,
                  metrics,
                  retry),
          settings);
    }
  }

  private void runPools(Topics topics, ServiceSettings settings) {
    run(
        TopologyName.CURVES,
        retry ->
            CurvesTopology.build(
                topics,
                registry,
                new CurveStep(
                    // A model that arrives later makes the curve due again.
                    cluster ->
                        models.isDecided(cluster)
                            ? models.of(cluster.hardware())
                            : Optional.empty(),
                    models::get,
                    SearchSettings.DEFAULTS),
                models,
                threads.curves(),
                metrics,
                retry),
        settings);
    run(
        TopologyName.POOL,
        retry ->
            PoolTopology.build(
                topics, registry, new PoolStep(settings.allocation()), metrics, retry),
        settings);
  }

  private void runGrowth(Topics topics, ServiceSettings settings) {
    run(
        TopologyName.GROWTH,
        retry ->
            GrowthTopology.build(
                topics, registry, new GrowthStep(settings.capacities()), metrics, retry),
        settings);
  }

  /** Returns whether all topologies have their partitions and are processing. */
  public boolean isRunning() {
    return streams.stream().allMatch(s -> s.state() == KafkaStreams.State.RUNNING);
  }

  @Override
  public void close() {
    // Leaving the group hands the partitions over at once; staying would keep them until the
    // session times out.
    CloseOptions leave =
        CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP)
            .withTimeout(CLOSE_TIMEOUT);
    closing.countDown();
    abandoned.close();
    streams.forEach(s -> s.close(leave));
    threads.close();
    models.close();
    binders.forEach(KafkaStreamsMetrics::close);
    close(registry);
  }

  private static void close(Registry registry) {
    try {
      registry.close();
    } catch (UncheckedIOException e) {
      log.warn("The registry's client could not be closed: {}", e.getMessage());
    }
  }

  /** Returns the settings that all clients of the cluster share. */
  static Map<String, Object> clients(ServiceSettings settings) {
    return settings.endpoint().clients(Map.of(), Map.of());
  }

  /** Creates missing topics and checks all; returns them with their limits and partitions. */
  private static Topics checkTopics(ServiceSettings settings) throws Exception {
    Topics topics = Topics.inUse(settings.topics().prefix(), settings.extensions());
    Map<String, Object> config = clients(settings);
    // The default of a minute is long for an operator who watches a start.
    config.putIfAbsent(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 10_000);
    config.putIfAbsent(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    Map<String, Integer> partitions = new HashMap<>();
    List<TopicDifference> harmless =
        Retry.untilAvailable(
            "Kafka at " + settings.connection().bootstrapServers(),
            () -> {
              try (Admin admin = Admin.create(config)) {
                // Fails within seconds if the cluster is unavailable; other requests wait longer.
                admin
                    .describeCluster(new DescribeClusterOptions().timeoutMs(PROBE_TIMEOUT_MS))
                    .nodes()
                    .get();
                // Before topics are created: the cluster may be the wrong one.
                StateCheck.stateDirectory(admin, settings);
                List<TopicDifference> differences = TopicCheck.run(admin, topics, settings);
                partitions.putAll(TopicCheck.partitions(admin, topics, settings));
                StateCheck.changelogs(admin, settings);
                Optional<OffsetsCheck.LostOffsets> lost = OffsetsCheck.find(admin, settings);
                if (lost.isPresent()) {
                  throw new IllegalStateException(lost.get().message());
                }
                return differences;
              }
            });
    if (!harmless.isEmpty()) {
      log.warn(
          "Topics or limits differ from what is expected, harmlessly:\n{}",
          TopicCheck.describe(harmless));
    }
    return topics
        .withPartitions(partitions)
        .limitedTo(
            harmless.stream()
                .filter(d -> d.setting().equals(TopicConfig.MAX_MESSAGE_BYTES_CONFIG))
                .collect(
                    Collectors.toMap(TopicDifference::topic, d -> Integer.valueOf(d.found()))));
  }

  private static void register(Registry registry, Topics topics) throws Exception {
    Retry.untilAvailable(
        "The schema registry",
        () -> {
          registry.register(topics);
          return true;
        });
  }

  private void run(
      TopologyName name, Function<RegistryRetry, Topology> topology, ServiceSettings settings) {
    Properties properties = StreamsProperties.of(name, settings);
    RegistryRetry retry =
        new RegistryRetry(name, StreamsProperties.registryWait(properties), closing, health);
    KafkaStreams kafkaStreams = build(name, topology.apply(retry), properties, settings);
    kafkaStreams.setUncaughtExceptionHandler(
        error -> {
          String reason = AuthorizationErrors.describe(error, settings);
          log.warn(
              "A thread of the {} topology failed: {}. Its successor continues from the last"
                  + " commit",
              name,
              reason);
          log.debug("Stack trace of the failure", error);
          health.failed(name, reason);
          pauseBeforeRestart();
          return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
    kafkaStreams.setGlobalStateRestoreListener(new RestoreLog(name, metrics));
    abandoned.watch(name.applicationId(settings.topics().prefix()), kafkaStreams::state);
    streams.add(kafkaStreams);
    binders.add(metrics.bind(name, kafkaStreams));
    health.started(name, kafkaStreams);
  }

  private static KafkaStreams build(
      TopologyName name, Topology topology, Properties properties, ServiceSettings settings) {
    try {
      return new MeteredStreams(
          topology, properties, new StreamsClients(name, settings), MonotonicTime.system());
    } catch (StreamsException e) {
      // Kafka Streams has no exception of its own for it.
      if (String.valueOf(e.getMessage()).contains("in the same state directory")) {
        throw new IllegalStateException(
            "Another planner uses state.directory=%s. Stop it, or give each planner on this machine a state.directory and an http.port of its own."
                .formatted(settings.streams().stateDirectory()),
            e);
      }
      throw e;
    }
  }

  private void pauseBeforeRestart() {
    try {
      if (closing.await(RESTART_PAUSE.toMillis(), TimeUnit.MILLISECONDS)) {
        log.debug("The service closes before the stream thread is replaced");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
