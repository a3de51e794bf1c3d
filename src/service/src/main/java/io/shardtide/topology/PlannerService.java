package io.shardtide.topology;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.shardtide.allocation.CurveStep;
import io.shardtide.allocation.PoolStep;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.growth.GrowthStep;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.log.DaemonThreads;
import io.shardtide.plan.SearchSettings;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.WorkloadStep;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
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
public class PlannerService implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PlannerService.class);

  /** Pause before a failed thread is replaced: limits log lines, and delays recovery little. */
  private static final Duration RESTART_PAUSE = Duration.ofSeconds(1);

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final PlannerParts parts;
  private final ServiceSettings settings;
  private final Registry registry;
  private final AbandonedTransactions abandoned;
  private final WorkerThreads threads = new WorkerThreads();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final List<KafkaStreams> streams = new ArrayList<>();
  private final List<KafkaStreamsMetrics> binders = new ArrayList<>();
  private Optional<ModelSubscriber> subscriber = Optional.empty();

  PlannerService(PlannerParts parts) {
    this.parts = parts;
    settings = parts.settings();
    registry =
        Registry.connectPlanner(settings.endpoint().registryUrl(), settings.endpoint().registry());
    abandoned =
        new AbandonedTransactions(
            settings, ended -> parts.metrics().add(Metric.TRANSACTIONS_FENCED, ended));
  }

  /**
   * Creates missing topics and checks the others, registers the schemas, publishes the models that
   * are not on their topic yet, and starts the topologies. Waits while the cluster or the registry
   * is unavailable.
   *
   * @throws InterruptedException if the thread is interrupted while it waits
   * @throws TopicMismatchException if the cluster's topics would lose records
   * @throws IllegalStateException if the cluster does not accept the user, an ACL is missing
   *     ({@link Acls}), the state of the workloads is lost or another cluster's, or another planner
   *     uses the state directory
   * @throws Exception if the cluster or the registry refuses a request
   */
  public static PlannerService start(PlannerParts parts) throws Exception {
    return new PlannerService(parts).started();
  }

  final PlannerService started() throws Exception {
    try {
      start();
      return this;
    } catch (Exception e) {
      close();
      throw AuthorizationErrors.explain(e, settings);
    }
  }

  private void start() throws Exception {
    Topics topics = checkTopics(settings);
    Retry.untilAvailable(
        "The schema registry",
        () -> {
          registry.register(topics);
          return true;
        });
    ModelSubscriber models =
        new ModelSubscriber(
            clients(settings),
            registry,
            topics,
            parts.predictorOf(),
            settings.unknownHardware(),
            parts.metrics());
    subscriber = Optional.of(models);
    for (ModelBundle bundle : parts.bundles()) {
      Retry.untilAvailable(
          "Kafka at " + settings.endpoint().bootstrapServers() + ", or the registry,",
          () -> {
            models.publish(bundle);
            return true;
          });
    }
    Supplier<Optional<String>> unread =
        () -> models.problem().map(e -> AuthorizationErrors.describe(e, settings));
    parts.health().modelsPublished(unread, parts.metrics()::quarantined);
    models.start();
    for (TopologyName name : TopologyName.inUse(settings.extensions())) {
      if (runs(name)) {
        run(name, topics, models);
      }
    }
    streams.forEach(KafkaStreams::start);
    abandoned.start();
  }

  private boolean runs(TopologyName name) {
    return switch (name) {
      case FEEDBACK -> parts.trainer().isPresent();
      case TRAINING -> parts.trainer().isPresent() && settings.training().enabled();
      default -> true;
    };
  }

  KeyedProcessor processor(Skeleton skeleton, ModelSubscriber models) {
    return switch (skeleton.name()) {
      case WORKLOAD -> new WorkloadTopology(skeleton, new WorkloadStep(models), models);
      case PLANNING ->
          new PlanningTopology(
              skeleton,
              new PlanningStep(models, settings.planning(), parts.planner()),
              models,
              threads.liveSearches,
              threads.backgroundSearches,
              System::nanoTime);
      case FEEDBACK ->
          new FeedbackTopology(skeleton, new FeedbackStep(models::isOtherHardware), models);
      case TRAINING ->
          new TrainingTopology(
              skeleton,
              new RetrainingRun(
                  parts.trainer().orElseThrow(),
                  parts.predictorOf(),
                  settings.training(),
                  InstantSource.system()),
              hardware ->
                  models.of(hardware).map(current -> models.get(current.modelId()).bundle()),
              threads.training,
              System::nanoTime);
      case CURVES ->
          new CurvesTopology(
              skeleton,
              new CurveStep(
                  // A model that arrives later makes the curve due again.
                  cluster ->
                      models.isDecided(cluster) ? models.of(cluster.hardware()) : Optional.empty(),
                  models::get,
                  SearchSettings.DEFAULTS),
              models,
              threads.curves);
      case POOL -> new PoolTopology(skeleton, new PoolStep(settings.allocation()));
      case GROWTH -> new GrowthTopology(skeleton, new GrowthStep(settings.capacities()));
    };
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
    // At the same time: each waits for a fetch to return.
    Executor closers = task -> DaemonThreads.named("closing").newThread(task).start();
    CompletableFuture.allOf(
            streams.stream()
                .map(s -> CompletableFuture.runAsync(() -> s.close(leave), closers))
                .toArray(CompletableFuture[]::new))
        .join();
    threads.close();
    subscriber.ifPresent(ModelSubscriber::close);
    binders.forEach(KafkaStreamsMetrics::close);
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
    return Retry.untilAvailable(
        "Kafka at " + settings.endpoint().bootstrapServers(),
        () -> {
          try (Admin admin = KafkaAnswers.admin(settings)) {
            // Fails within seconds if the cluster is unavailable; other requests wait longer.
            String clusterId = KafkaAnswers.cluster(admin).clusterId().get();
            // Before topics are created: the cluster may be the wrong one.
            StateCheck.stateDirectory(clusterId, settings);
            TopicCheck checked = TopicCheck.run(admin, settings);
            StateCheck.changelogs(admin, settings);
            Optional<CheckResult> lost = OffsetsCheck.find(admin, settings);
            if (lost.isPresent()) {
              throw new IllegalStateException(lost.get().text());
            }
            StateCheck.mark(clusterId, settings);
            if (!checked.harmless().isEmpty()) {
              log.warn(
                  "Topics or limits differ from what is expected, harmlessly:\n{}",
                  TopicCheck.describe(checked.harmless()));
            }
            return checked.topics();
          }
        });
  }

  private void run(TopologyName name, Topics topics, ModelSubscriber models) {
    Properties properties = StreamsProperties.of(name, settings);
    RegistryRetry retry =
        new RegistryRetry(
            name, StreamsProperties.registryWait(properties), closing, parts.health()::waiting);
    FailedAttempts failed = new FailedAttempts(System::nanoTime);
    Topology topology =
        new Skeleton(name, registry, topics, parts.metrics(), retry, failed)
            .topology(skeleton -> processor(skeleton, models));
    KafkaStreams kafkaStreams = build(name, topology, properties);
    kafkaStreams.setUncaughtExceptionHandler(
        error -> {
          String reason = AuthorizationErrors.describe(error, settings);
          log.warn(
              "A thread of the {} topology failed: {}. Its successor continues from the last"
                  + " commit",
              name,
              reason);
          log.debug("Stack trace of the failure", error);
          parts.health().failed(name, reason);
          retry.pause(RESTART_PAUSE.toMillis());
          return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
    kafkaStreams.setGlobalStateRestoreListener(new RestoreLog(name, parts.metrics()));
    abandoned.watch(name.applicationId(settings.endpoint().prefix()), kafkaStreams::state);
    streams.add(kafkaStreams);
    binders.add(parts.metrics().bind(name, kafkaStreams));
    parts.health().started(name, kafkaStreams);
  }

  private KafkaStreams build(TopologyName name, Topology topology, Properties properties) {
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
}
