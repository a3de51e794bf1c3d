package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.planning.Planner;
import io.shardtide.planning.PlanningStep;
import io.shardtide.planning.WorkloadStep;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Both topologies on a Kafka cluster. A record is applied exactly once: a thread that fails,
 * because the registry or the cluster is away, is replaced, and the next one goes on from the last
 * committed record.
 */
public final class PlannerService implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PlannerService.class);

  /**
   * Long enough not to fill a log while a server is away, short enough that nobody waits once it is
   * back.
   */
  private static final Duration RESTART_PAUSE = Duration.ofSeconds(1);

  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final Registry registry;
  private final ModelLog models;
  private final ExecutorService deep;
  private final List<KafkaStreams> streams;

  private PlannerService(
      Registry registry, ModelLog models, ExecutorService deep, List<KafkaStreams> streams) {
    this.registry = registry;
    this.models = models;
    this.deep = deep;
    this.streams = streams;
  }

  /**
   * Creates the topics that are missing, registers the schemas, publishes the models that are not
   * on their topic yet, and starts both topologies.
   *
   * @param settings how to run
   * @param bundles models to publish
   * @param predictorOf runs a model's table tower
   * @throws InterruptedException if the thread is interrupted while it waits
   * @throws ExecutionException if the cluster refuses a topic or a model
   */
  public static PlannerService start(
      ServiceSettings settings,
      List<ModelBundle> bundles,
      Function<ModelBundle, TowerPredictor> predictorOf)
      throws InterruptedException, ExecutionException {
    Topics topics = Topics.withPrefix(settings.topicPrefix());
    Registry registry = Registry.connect(settings.registryUrl(), settings.registry());
    Map<String, Object> clients = new HashMap<>(settings.kafka());
    clients.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrapServers());
    createTopics(clients, topics, settings);
    register(registry, topics);
    ModelLog models = new ModelLog(clients, registry, topics, predictorOf);
    for (ModelBundle bundle : bundles) {
      models.publish(bundle);
    }
    models.start();
    ExecutorService deep = Executors.newSingleThreadExecutor(PlannerService::deepThread);

    WorkloadStep workloadStep = new WorkloadStep(models);
    PlanningStep planningStep =
        new PlanningStep(
            models, settings.planning(), new Planner(InstantSource.system(), System::nanoTime));
    PlannerService service =
        new PlannerService(
            registry,
            models,
            deep,
            List.of(
                streams(
                    "workload",
                    WorkloadTopology.build(topics, registry, workloadStep, models::changes),
                    settings),
                streams(
                    "planning",
                    PlanningTopology.build(topics, registry, planningStep, deep, System::nanoTime),
                    settings)));
    service.streams.forEach(KafkaStreams::start);
    return service;
  }

  private static Thread deepThread(Runnable task) {
    Thread thread = new Thread(task, "deeper-search");
    thread.setDaemon(true);
    return thread;
  }

  /** Returns whether both topologies have their partitions and are processing. */
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
    streams.forEach(s -> s.close(leave));
    // What it searches is searched again by the next instance.
    deep.shutdownNow();
    models.close();
    try {
      registry.close();
    } catch (java.io.IOException e) {
      log.warn("The registry's client does not close: {}", e.getMessage());
    }
  }

  private static void createTopics(
      Map<String, Object> clients, Topics topics, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    try (Admin admin = Admin.create(clients)) {
      for (Topic<?> topic : topics.all()) {
        NewTopic wanted =
            new NewTopic(
                    topic.name(),
                    Optional.of(settings.partitions()),
                    Optional.of(settings.replication()))
                .configs(topic.config());
        try {
          admin.createTopics(List.of(wanted)).all().get();
        } catch (ExecutionException e) {
          if (!(e.getCause() instanceof TopicExistsException)) {
            throw e;
          }
        }
      }
    }
  }

  private static void register(Registry registry, Topics topics) throws InterruptedException {
    while (true) {
      try {
        registry.register(topics);
        return;
      } catch (RegistryUnavailableException e) {
        log.warn("{}; trying again", e.getMessage());
        Thread.sleep(RESTART_PAUSE.toMillis());
      }
    }
  }

  private static KafkaStreams streams(String name, Topology topology, ServiceSettings settings) {
    KafkaStreams streams = new KafkaStreams(topology, properties(name, settings));
    streams.setUncaughtExceptionHandler(
        error -> {
          log.warn(
              "The {} topology stopped: {}. It goes on from the last committed record",
              name,
              describe(error));
          log.debug("Why it stopped", error);
          try {
            Thread.sleep(RESTART_PAUSE.toMillis());
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
    return streams;
  }

  private static Properties properties(String name, ServiceSettings settings) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, settings.topicPrefix() + name);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.bootstrapServers());
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.stateDirectory().toString());
    properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, (int) settings.replication());
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
    properties.putAll(settings.kafka());
    return properties;
  }

  /**
   * Returns what a person wants to know: that the registry is away, or else what lies at the
   * bottom.
   */
  private static String describe(Throwable error) {
    Throwable last = error;
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof RegistryUnavailableException) {
        return e.getMessage();
      }
      last = e;
    }
    return last.getMessage() == null ? last.getClass().getSimpleName() : last.getMessage();
  }
}
