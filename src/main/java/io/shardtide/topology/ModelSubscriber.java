package io.shardtide.topology;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.SourcePosition;
import io.shardtide.planning.Predictors;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The models on cost-models: all by id, and for each kind of hardware the one that was published
 * last, which predicts. Reads the topic again every second, and at once when an id is asked for
 * that is not known: a prediction names its model, which was published before it. A record that is
 * no model, or one that this version cannot run, is set aside, and the model before it stays.
 */
final class ModelSubscriber implements CostModels, Predictors, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ModelSubscriber.class);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration REFRESH = Duration.ofSeconds(1);

  private final Map<String, Object> clientConfig;
  private final Registry registry;
  private final Topics topics;
  private final Function<ModelBundle, TowerPredictor> predictorOf;
  private final RecordDecoder<ModelBundle> decoder;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final ScheduledExecutorService refresher =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "model-log");
            thread.setDaemon(true);
            return thread;
          });

  private final Map<String, CostModel> models = new ConcurrentHashMap<>();
  private final ConcurrentSkipListMap<String, TowerPredictor> current =
      new ConcurrentSkipListMap<>();
  private final List<TowerPredictor> opened = new ArrayList<>();
  private final AtomicLong changes = new AtomicLong();
  private ScheduledFuture<?> refreshing;
  private volatile Optional<RuntimeException> problem = Optional.empty();

  /**
   * @param clientConfig settings of Kafka's clients
   * @param registry schemas of the records
   * @param topics where the models are
   * @param predictorOf runs a model's table tower
   */
  ModelSubscriber(
      Map<String, Object> clientConfig,
      Registry registry,
      Topics topics,
      Function<ModelBundle, TowerPredictor> predictorOf) {
    this.clientConfig = Map.copyOf(clientConfig);
    this.registry = registry;
    this.topics = topics;
    this.predictorOf = predictorOf;
    decoder = new RecordDecoder<>(registry, topics.costModels(), ModelBundle::hardware);
    Map<String, Object> config = new HashMap<>(clientConfig);
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    consumer =
        new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  /** Begins to look for new models. */
  void start() {
    refreshing =
        refresher.scheduleWithFixedDelay(
            this::refresh, REFRESH.toMillis(), REFRESH.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void refresh() {
    try {
      readNew();
      problem = Optional.empty();
    } catch (RuntimeException e) {
      // Once for an outage; whatever it is, the models that are known predict on.
      if (problem.isEmpty()) {
        log.warn("New cost models cannot be read: {}; trying again", e.toString());
      }
      problem = Optional.of(e);
    }
  }

  /** Returns what keeps new models from being read; empty if nothing does. */
  Optional<RuntimeException> problem() {
    return problem;
  }

  /** Makes sure that a model is on the topic, and returns when it is. */
  void publish(ModelBundle bundle) throws InterruptedException, ExecutionException {
    readNew();
    if (models.containsKey(bundle.modelId())) {
      return;
    }
    Map<String, Object> config = new HashMap<>(clientConfig);
    config.put(ProducerConfig.ACKS_CONFIG, "all");
    try (KafkaProducer<String, ModelBundle> producer =
        new KafkaProducer<>(
            config, new StringSerializer(), registry.serde(topics.costModels()).serializer())) {
      producer
          .send(new ProducerRecord<>(topics.costModels().name(), bundle.hardware(), bundle))
          .get();
    }
    readNew();
  }

  @Override
  public CostModel get(String modelId) {
    if (!models.containsKey(modelId)) {
      readNew();
    }
    CostModel model = models.get(modelId);
    if (model == null) {
      throw new IllegalStateException(
          "No model with id %s is on %s; there are %s"
              .formatted(modelId, topics.costModels().name(), models.keySet()));
    }
    return model;
  }

  @Override
  public Optional<TowerPredictor> of(String hardware) {
    return Optional.ofNullable(current.get(hardware));
  }

  @Override
  public SortedSet<String> hardware() {
    return new TreeSet<>(current.keySet());
  }

  /** Returns how many times a model took over from another, or was the first of its hardware. */
  long changes() {
    return changes.get();
  }

  private synchronized void readNew() {
    if (consumer.assignment().isEmpty()) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topics.costModels().name()).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
    }
    Map<String, ModelBundle> latest = new HashMap<>();
    Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
    while (ends.keySet().stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
        SourcePosition source =
            new SourcePosition(record.topic(), record.partition(), record.offset());
        Decoded<ModelBundle> decoded = decode(record, source);
        if (decoded instanceof Decoded.Value<ModelBundle> value) {
          models.put(value.value().modelId(), new CostModel(value.value()));
          latest.put(value.value().hardware(), value.value());
        } else if (decoded instanceof Decoded.Invalid<ModelBundle> rejected) {
          log.warn("{} is set aside: {}", source, rejected.rejection().message());
        }
      }
    }
    latest.forEach(this::takeOver);
  }

  /** Reads a record; where the registry is away, the record is read again later. */
  private Decoded<ModelBundle> decode(
      ConsumerRecord<byte[], byte[]> record, SourcePosition source) {
    try {
      return decoder.decode(source, record.key(), record.value());
    } catch (RegistryUnavailableException e) {
      consumer.assign(List.of());
      throw e;
    }
  }

  private void takeOver(String hardware, ModelBundle bundle) {
    TowerPredictor before = current.get(hardware);
    if (before != null && before.modelId().equals(bundle.modelId())) {
      return;
    }
    try {
      TowerPredictor predictor = predictorOf.apply(bundle);
      opened.add(predictor);
      current.put(hardware, predictor);
      changes.incrementAndGet();
    } catch (RuntimeException e) {
      // Whatever it is, it must not keep the other models of the topic from taking over.
      log.warn("Model {} is set aside: {}", bundle.modelId(), e.getMessage());
    }
  }

  @Override
  public void close() {
    if (refreshing != null) {
      refreshing.cancel(false);
    }
    refresher.shutdown();
    try {
      refresher.awaitTermination(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      consumer.close();
      opened.forEach(TowerPredictor::close);
    }
  }
}
