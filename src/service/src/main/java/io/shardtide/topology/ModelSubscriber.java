package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.log.DaemonThreads;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.step.Predictors;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.UnknownHardware;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The cost models on the topic cost-models: all of them by id, and for each hardware the predictor
 * of the latest one. A thread of its own reads new records, every second, and at once when a record
 * names an unknown model, because a prediction is written after its model. A record that is not a
 * model, or a model that this version cannot run, is skipped and logged; the model before it
 * remains current.
 *
 * <p>Safe for use by several threads. There is one predictor per hardware, of which few are open
 * ({@link OpenPredictors}); a replaced one is closed when the calls that use it have returned.
 */
final class ModelSubscriber implements ArrivingModels, CostModels, Predictors, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ModelSubscriber.class);
  private static final long REFRESH_MS = 1_000;

  /** A committed transaction becomes visible within milliseconds. */
  private static final Duration VISIBLE_WITHIN = Duration.ofSeconds(5);

  private static final long VISIBLE_POLL_NANOS = 5_000_000;

  private final Map<String, Object> clientConfig;
  private final Registry registry;
  private final Topics topics;
  private final OpenPredictors predictors;
  private final UnknownHardware unknownHardware;
  private final ScheduledExecutorService refresher =
      Executors.newSingleThreadScheduledExecutor(DaemonThreads.named("model-subscriber"));

  private final Map<String, CostModel> models = new ConcurrentHashMap<>();
  private final ConcurrentSkipListMap<String, ReplaceablePredictor> current =
      new ConcurrentSkipListMap<>();

  /** By hardware, the latest model of the records that are being read. */
  private final Map<String, ModelBundle> latest = new HashMap<>();

  private final AtomicLong changes = new AtomicLong();

  /** What is being read or begun, by the model's id or the hardware. */
  private final Map<String, CompletableFuture<Boolean>> asked = new ConcurrentHashMap<>();

  private Optional<TopicReader> reader = Optional.empty();
  private boolean closed;
  private volatile Optional<RuntimeException> problem = Optional.empty();

  /**
   * @param clientConfig settings of Kafka's clients
   * @param registry looks schemas up
   * @param topics the topics
   * @param predictorOf opens the predictor of a model
   * @param unknownHardware whether hardware without a model begins with the nearest one's
   * @param metrics counts and times predictions
   */
  ModelSubscriber(
      Map<String, Object> clientConfig,
      Registry registry,
      Topics topics,
      Function<ModelBundle, TowerPredictor> predictorOf,
      UnknownHardware unknownHardware,
      PlannerMetrics metrics) {
    this.clientConfig = Map.copyOf(clientConfig);
    this.registry = registry;
    this.topics = topics;
    predictors = new OpenPredictors(predictorOf, metrics);
    this.unknownHardware = unknownHardware;
  }

  /** Starts to read new models every second. */
  @SuppressWarnings("FutureReturnValueIgnored") // The task reports failures itself.
  void start() {
    refresher.scheduleWithFixedDelay(
        () -> succeeds(this::readNew), REFRESH_MS, REFRESH_MS, TimeUnit.MILLISECONDS);
  }

  private boolean succeeds(Runnable action) {
    try {
      action.run();
      problem = Optional.empty();
      return true;
    } catch (RuntimeException e) {
      // Logged once per outage; the models that were read remain in use.
      if (problem.isEmpty()) {
        log.warn("New cost models cannot be read: {}; trying again", e.toString());
      }
      problem = Optional.of(e);
      return false;
    }
  }

  @Override
  public boolean isDecided(String modelId) {
    return models.containsKey(modelId) || isDone(modelId, this::readNew);
  }

  @Override
  public boolean isDecided(ClusterSpec cluster) {
    return current.containsKey(cluster.hardware())
        || isDone("hardware " + cluster.hardware(), () -> beginNew(cluster));
  }

  /** Returns whether an action that was asked for has succeeded; if not, it will be done. */
  private boolean isDone(String what, Runnable action) {
    CompletableFuture<Boolean> doing =
        asked.computeIfAbsent(
            what, w -> CompletableFuture.supplyAsync(() -> succeeds(action), refresher));
    if (!doing.isDone()) {
      return false;
    }
    asked.remove(what, doing);
    return doing.join();
  }

  /** Returns the error that prevents reading new models; empty if none does. */
  Optional<RuntimeException> problem() {
    return problem;
  }

  /**
   * Publishes a model unless the topic has it, or its hardware has a fine-tuned one: a start must
   * not replace what was learned. Returns when all in-sync replicas have it.
   */
  void publish(ModelBundle bundle) throws InterruptedException, ExecutionException {
    readNew();
    if (models.containsKey(bundle.modelId())) {
      return;
    }
    ReplaceablePredictor champion = current.get(bundle.hardware());
    if (champion != null && champion.bundle().isFineTuned()) {
      log.info(
          "Model {} of \"{}\" is not published: the current model {} was fine-tuned on measured"
              + " costs. To replace it: models promote {}, or the model's file",
          bundle.shown(),
          bundle.hardware(),
          champion.bundle().shown(),
          bundle.shown());
      return;
    }
    Map<String, Object> config = new HashMap<>(clientConfig);
    config.put(ProducerConfig.ACKS_CONFIG, "all");
    try (KafkaProducer<String, ModelBundle> producer =
        new KafkaProducer<>(
            config, new StringSerializer(), registry.serde(topics.of(COST_MODELS)).serializer())) {
      producer
          .send(new ProducerRecord<>(topics.of(COST_MODELS).name(), bundle.hardware(), bundle))
          .get();
    }
    readNew();
  }

  @Override
  public CostModel get(String modelId) {
    CostModel model = models.get(modelId);
    if (model == null) {
      throw new IllegalStateException(
          "There is no model %s on %s, which has %s"
              .formatted(modelId, topics.of(COST_MODELS).name(), models.keySet()));
    }
    return model;
  }

  @Override
  public Optional<TowerPredictor> of(String hardware) {
    return Optional.ofNullable(current.get(hardware));
  }

  /** Returns the model that another thread has begun with; see {@link #isDecided(ClusterSpec)}. */
  @Override
  public Optional<TowerPredictor> begin(ClusterSpec cluster) {
    Optional<TowerPredictor> begun = of(cluster.hardware());
    if (begun.isEmpty() && unknownHardware == UnknownHardware.NEAREST) {
      NearestModel.requireRoom(currentBundles(), cluster.hardware());
    }
    return begun;
  }

  /**
   * Publishes the first model of a cluster's hardware, unless another instance has done so. The
   * topic is read before, and again when no other instance can publish one any more: a first model
   * must not replace one that was retrained since.
   */
  private synchronized void beginNew(ClusterSpec cluster) {
    readNew();
    if (unknownHardware == UnknownHardware.NEAREST && firstModel(cluster).isPresent()) {
      new ColdStartPublisher(clientConfig, registry, topics)
          .publish(
              cluster,
              () -> {
                readNew();
                return firstModel(cluster);
              });
      awaitModel(cluster.hardware());
    }
  }

  /** Waits for a model that this instance, or one that began later, has just published. */
  private void awaitModel(String hardware) {
    long end = System.nanoTime() + VISIBLE_WITHIN.toNanos();
    for (readNew(); !current.containsKey(hardware); readNew()) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException(
            "The first model of \"%s\" must be on %s within %d s after it was published"
                .formatted(hardware, topics.of(COST_MODELS).name(), VISIBLE_WITHIN.toSeconds()));
      }
      LockSupport.parkNanos(VISIBLE_POLL_NANOS);
    }
  }

  private List<ModelBundle> currentBundles() {
    return current.values().stream().map(ReplaceablePredictor::bundle).toList();
  }

  /**
   * Returns the model that hardware begins with; empty if it has one, none is near, or too many
   * kinds of hardware have begun.
   */
  private Optional<ModelBundle> firstModel(ClusterSpec cluster) {
    List<ModelBundle> candidates = currentBundles();
    return current.containsKey(cluster.hardware()) || !NearestModel.hasRoom(candidates)
        ? Optional.empty()
        : NearestModel.begin(candidates, cluster);
  }

  /** Returns whether a model still has the costs of other hardware. */
  boolean isOtherHardware(String modelId) {
    CostModel model = models.get(modelId);
    return model != null && model.bundle().proxyHardware().isPresent();
  }

  @Override
  public SortedSet<String> hardware() {
    return new TreeSet<>(current.keySet());
  }

  @Override
  public long changes() {
    return changes.get();
  }

  private synchronized void readNew() {
    if (closed) {
      throw new IllegalStateException("The model subscriber is closed");
    }
    if (reader.isEmpty()) {
      TopicReader opened =
          new TopicReader(clientConfig, registry)
              .handle(
                  topics.of(COST_MODELS),
                  StartPosition.BEGINNING,
                  (position, writtenAt, bundle) -> {
                    models.put(bundle.modelId(), new CostModel(bundle));
                    latest.put(bundle.hardware(), bundle);
                  })
              .onUndecodable(
                  record -> log.warn("{} is set aside: {}", record.source(), record.message()));
      opened.open();
      reader = Optional.of(opened);
    }
    try {
      reader.get().readToEnd();
    } finally {
      latest.forEach(this::replace);
      latest.clear();
    }
  }

  private void replace(String hardware, ModelBundle bundle) {
    ReplaceablePredictor before = current.get(hardware);
    if (before != null && before.modelId().equals(bundle.modelId())) {
      return;
    }
    try {
      current.put(hardware, new ReplaceablePredictor(bundle, predictors));
      changes.incrementAndGet();
    } catch (RuntimeException e) {
      // Any error: it must not prevent other models of the topic from becoming current.
      log.warn("Model {} is set aside: {}", bundle.modelId(), e.getMessage());
      return;
    }
    if (before != null) {
      before.close();
    }
  }

  @Override
  public void close() {
    refresher.shutdown();
    try {
      refresher.awaitTermination(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      closed = true;
      reader.ifPresent(TopicReader::close);
      current.values().forEach(TowerPredictor::close);
    }
  }
}
