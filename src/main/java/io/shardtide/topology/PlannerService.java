package io.shardtide.topology;

import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.learning.FeedbackStep;
import io.shardtide.learning.RetrainingRun;
import io.shardtide.planning.Planner;
import io.shardtide.planning.PlanningStep;
import io.shardtide.planning.WorkloadStep;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
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

  /**
   * Long enough not to fill a log while a server is away, short enough that nobody waits once it is
   * back.
   */
  private static final Duration RESTART_PAUSE = Duration.ofSeconds(1);

  /**
   * Part of {@code max.poll.interval.ms} for which a thread waits for the registry. Kafka Streams
   * polls before half of the interval has passed, so that a sixth of it is left for the last call
   * of the registry.
   */
  private static final int POLL_INTERVAL_PART = 3;

  private static final int PROBE_TIMEOUT_MS = 3_000;

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final Registry registry;
  private final PlannerMetrics metrics;
  private final ServiceHealth health;
  private final ModelSubscriber models;
  private final ExecutorService deep = background("deeper-search");
  private final ExecutorService training = background("training");
  private final CountDownLatch closing = new CountDownLatch(1);
  private final List<KafkaStreams> streams = new ArrayList<>();
  private final List<KafkaStreamsMetrics> binders = new ArrayList<>();

  private PlannerService(
      Registry registry, PlannerMetrics metrics, ServiceHealth health, ModelSubscriber models) {
    this.registry = registry;
    this.metrics = metrics;
    this.health = health;
    this.models = models;
  }

  private static ExecutorService background(String name) {
    return Executors.newSingleThreadExecutor(
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        });
  }

  /**
   * Starts unobserved, and learns nothing; see {@link #start(ServiceSettings, List, Function,
   * Optional, PlannerMetrics, ServiceHealth)}.
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf)
      throws Exception {
    return start(settings, bundles, predictorOf, Optional.empty());
  }

  /**
   * Starts unobserved; see {@link #start(ServiceSettings, List, Function, Optional, PlannerMetrics,
   * ServiceHealth)}.
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

  /**
   * Creates the topics that are missing and checks the others, registers the schemas, publishes the
   * models that are not on their topic yet, and starts the topologies. Waits for a cluster or a
   * registry that is away.
   *
   * @param settings how to run
   * @param bundles models to publish; for each hardware, the one that was published last predicts
   * @param predictorOf runs a model's table tower
   * @param trainer trains models on what is measured; without one, nothing is compared with what is
   *     measured either
   * @param metrics told what is done
   * @param health told how it goes
   * @throws InterruptedException if the thread is interrupted while it waits
   * @throws TopicMismatchException if the cluster's topics would lose records
   * @throws IllegalStateException if the cluster does not accept the user, or does not let it do
   *     what a planner must ({@link Acls})
   * @throws Exception if the cluster or the registry refuses what is asked
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf,
      Optional<RetrainingRun.RetrainingJob> trainer,
      PlannerMetrics metrics,
      ServiceHealth health)
      throws Exception {
    Topics topics = Topics.withPrefix(settings.topics().prefix());
    Registry registry =
        Registry.connect(settings.connection().registryUrl(), settings.connection().registry());
    ModelSubscriber models = null;
    try {
      checkTopics(topics, settings);
      register(registry, topics);
      models =
          new ModelSubscriber(
              clients(settings),
              registry,
              topics,
              bundle -> new MeteredPredictor(predictorOf.apply(bundle), metrics));
      publish(models, bundles, settings);
      ModelSubscriber subscriber = models;
      health.modelsPublished(
          () ->
              subscriber
                  .problem()
                  .map(
                      e ->
                          "New ones cannot be read: "
                              + AuthorizationErrors.describe(e, settings.topics().prefix())));
      models.start();

      WorkloadStep workloadStep = new WorkloadStep(models);
      Planner planner = new Planner(InstantSource.system(), System::nanoTime);
      PlannerService service = new PlannerService(registry, metrics, health, models);
      service.run(
          TopologyName.WORKLOAD,
          retry ->
              WorkloadTopology.build(
                  topics, registry, workloadStep, subscriber::changes, metrics, retry),
          settings);
      service.run(
          TopologyName.PLANNING,
          retry ->
              PlanningTopology.build(
                  topics,
                  registry,
                  new PlanningStep(
                      id -> retry.call(() -> subscriber.get(id)), settings.planning(), planner),
                  service.deep,
                  System::nanoTime,
                  metrics,
                  retry),
          settings);
      trainer.ifPresent(
          t ->
              service.learn(
                  topics,
                  new RetrainingRun(t, predictorOf, settings.training(), InstantSource.system()),
                  settings));
      service.streams.forEach(KafkaStreams::start);
      return service;
    } catch (Exception e) {
      if (models != null) {
        models.close();
      }
      close(registry);
      throw AuthorizationErrors.explain(e, settings.topics().prefix());
    }
  }

  private void learn(Topics topics, RetrainingRun trains, ServiceSettings settings) {
    run(
        TopologyName.FEEDBACK,
        retry ->
            FeedbackTopology.build(
                topics, registry, new FeedbackStep(settings.detector()), metrics, retry),
        settings);
    if (settings.training().enabled()) {
      run(
          TopologyName.TRAINING,
          retry ->
              TrainingTopology.build(
                  topics,
                  registry,
                  trains,
                  hardware ->
                      models.of(hardware).map(current -> models.get(current.modelId()).bundle()),
                  training,
                  System::nanoTime,
                  metrics,
                  retry),
          settings);
    }
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
    streams.forEach(s -> s.close(leave));
    // What it searches is searched again by the next instance.
    deep.shutdownNow();
    training.shutdownNow();
    models.close();
    binders.forEach(KafkaStreamsMetrics::close);
    close(registry);
  }

  private static void close(Registry registry) {
    try {
      registry.close();
    } catch (java.io.IOException e) {
      log.warn("The registry's client does not close: {}", e.getMessage());
    }
  }

  /** Returns settings that every client of the cluster is made with. */
  static Map<String, Object> clients(ServiceSettings settings) {
    Map<String, Object> clients = new HashMap<>(settings.connection().kafka());
    clients.put(
        CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, settings.connection().bootstrapServers());
    return clients;
  }

  private static void checkTopics(Topics topics, ServiceSettings settings) throws Exception {
    Map<String, Object> config = clients(settings);
    // A minute, the default, is long for a person who looks at a start.
    config.putIfAbsent(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, 10_000);
    config.putIfAbsent(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
    List<TopicDifference> harmless =
        Retry.untilAvailable(
            "Kafka at " + settings.connection().bootstrapServers(),
            () -> {
              try (Admin admin = Admin.create(config)) {
                // Says within seconds that the cluster is away, where all else waits longer.
                admin
                    .describeCluster(new DescribeClusterOptions().timeoutMs(PROBE_TIMEOUT_MS))
                    .nodes()
                    .get();
                return TopicCheck.run(admin, topics, settings);
              }
            });
    if (!harmless.isEmpty()) {
      log.warn(
          "Topics are not as the settings say, which does no harm:\n{}",
          TopicCheck.describe(harmless));
    }
  }

  private static void register(Registry registry, Topics topics) throws Exception {
    Retry.untilAvailable(
        "The schema registry",
        () -> {
          registry.register(topics);
          return true;
        });
  }

  private static void publish(
      ModelSubscriber models, List<ModelBundle> bundles, ServiceSettings settings)
      throws Exception {
    for (ModelBundle bundle : bundles) {
      Retry.untilAvailable(
          "Kafka at " + settings.connection().bootstrapServers() + ", or the registry,",
          () -> {
            models.publish(bundle);
            return true;
          });
    }
  }

  private void run(
      TopologyName name, Function<RegistryRetry, Topology> topology, ServiceSettings settings) {
    Properties properties = properties(name, settings);
    KafkaStreams kafkaStreams =
        new KafkaStreams(
            topology.apply(retry(name, properties)), properties, MonotonicTime.system());
    kafkaStreams.setUncaughtExceptionHandler(
        error -> {
          String reason = AuthorizationErrors.describe(error, settings.topics().prefix());
          log.warn(
              "The {} topology stopped: {}. It goes on from the last committed record",
              name,
              reason);
          log.debug("Why it stopped", error);
          health.failed(name, reason);
          pauseBeforeRestart();
          return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
    streams.add(kafkaStreams);
    binders.add(metrics.bind(name, kafkaStreams));
    health.started(name, kafkaStreams);
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

  private RegistryRetry retry(TopologyName name, Properties properties) {
    Object pollIntervalMs =
        new StreamsConfig(properties)
            .getMainConsumerConfigs(name.toString(), name.toString(), 0)
            .getOrDefault(
                ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG,
                ConsumerConfig.configDef()
                    .defaultValues()
                    .get(ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG));
    Duration limit =
        Duration.ofMillis(Long.parseLong(pollIntervalMs.toString()) / POLL_INTERVAL_PART);
    return new RegistryRetry(name, limit, closing, health);
  }

  private static Properties properties(TopologyName name, ServiceSettings settings) {
    Properties properties = new Properties();
    properties.put(
        StreamsConfig.APPLICATION_ID_CONFIG, name.applicationId(settings.topics().prefix()));
    properties.put(
        StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.connection().bootstrapServers());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.streams().stateDirectory().toString());
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, settings.streams().threads());
    properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, settings.topics().replication());
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    // What somebody waits for is committed at once (CommitPace); this is for the rest.
    properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
    // Sparse traffic: how long ticks wait for a poll to end.
    properties.put(StreamsConfig.POLL_MS_CONFIG, 5);
    // How long partitions wait for an instance that died, or for a thread that failed, before the
    // next one takes them.
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 10_000);
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG), 3_000);
    // A commit sends what is collected, so that nothing waits for more; see RATIONALE.md.
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 100);
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 * 1024);
    // A broker that still completes the transaction before is asked again soon, not after 100 ms.
    properties.put(StreamsConfig.producerPrefix(ProducerConfig.RETRY_BACKOFF_MS_CONFIG), 20);
    properties.put(
        StreamsConfig.producerPrefix(ProducerConfig.MAX_REQUEST_SIZE_CONFIG),
        2 * Topics.LARGE_RECORD_BYTES);
    properties.put(
        StreamsConfig.topicPrefix(TopicConfig.MAX_MESSAGE_BYTES_CONFIG),
        Integer.toString(Topics.LARGE_RECORD_BYTES));
    for (String setting : settings.connection().kafka().keySet()) {
      // Without a prefix it is meant for every client, and Kafka Streams would prefer ours.
      properties.remove(StreamsConfig.mainConsumerPrefix(setting));
      properties.remove(StreamsConfig.producerPrefix(setting));
      properties.remove(StreamsConfig.topicPrefix(setting));
    }
    properties.putAll(settings.connection().kafka());
    return properties;
  }
}
