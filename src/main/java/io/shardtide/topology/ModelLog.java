package io.shardtide.topology;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * The models on cost-models, by id. A prediction names the model that made it, and the model was
 * published before, so that an id that is not known here is found by reading the topic once more.
 */
final class ModelLog implements CostModels {
  private static final Duration POLL = Duration.ofMillis(200);

  private final Map<String, Object> clientConfig;
  private final Registry registry;
  private final Topics topics;
  private final Map<String, CostModel> models = new HashMap<>();

  ModelLog(Map<String, Object> clientConfig, Registry registry, Topics topics) {
    this.clientConfig = Map.copyOf(clientConfig);
    this.registry = registry;
    this.topics = topics;
  }

  /** Makes sure that a model is on the topic, and returns when it is. */
  synchronized void publish(ModelBundle bundle) throws InterruptedException, ExecutionException {
    readAll();
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
    models.put(bundle.modelId(), new CostModel(bundle));
  }

  @Override
  public synchronized CostModel get(String modelId) {
    if (!models.containsKey(modelId)) {
      readAll();
    }
    CostModel model = models.get(modelId);
    if (model == null) {
      throw new IllegalStateException(
          "No model with id %s is on %s; there are %s"
              .formatted(modelId, topics.costModels().name(), models.keySet()));
    }
    return model;
  }

  private void readAll() {
    Map<String, Object> config = new HashMap<>(clientConfig);
    config.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    config.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    try (KafkaConsumer<String, ModelBundle> consumer =
        new KafkaConsumer<>(
            config, new StringDeserializer(), registry.serde(topics.costModels()).deserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topics.costModels().name()).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        for (ConsumerRecord<String, ModelBundle> record : consumer.poll(POLL)) {
          models.put(record.value().modelId(), new CostModel(record.value()));
        }
      }
    }
  }
}
