package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;

import io.shardtide.cost.ModelBundle;
import io.shardtide.state.ModelDecision;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the first model of hardware, and the decision that says where it comes from, in one
 * transaction. All instances use one transactional id for a kind of hardware: an instance that
 * begins fences those that began before it, so that none of them publishes what it looked up
 * earlier, when another instance's model may have been retrained meanwhile.
 *
 * @param clientConfig settings of Kafka's clients
 * @param registry looks schemas up
 */
record ColdStartPublisher(Map<String, Object> clientConfig, Registry registry, Topics topics) {
  private static final Logger log = LoggerFactory.getLogger(ColdStartPublisher.class);

  /** A stream thread waits: less than its own transaction may last. */
  private static final int TIMEOUT_MS = 5_000;

  /**
   * Publishes the first model of a cluster's hardware, unless another instance begins later;
   * returns when it is committed.
   *
   * @param cluster the first cluster of the hardware
   * @param first reads the topic and returns the model; empty if none is to be published. Called
   *     when no other instance can publish one any more
   * @throws IllegalStateException if the cluster does not take the records; none is written
   */
  @SuppressWarnings("FutureReturnValueIgnored") // The commit throws the error of any record.
  void publish(ClusterSpec cluster, Supplier<Optional<ModelBundle>> first) {
    String hardware = cluster.hardware();
    Map<String, Object> config = new HashMap<>(clientConfig);
    config.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT_MS);
    config.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, TIMEOUT_MS);
    config.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, topics.prefix() + "cold-start-" + hardware);
    try (KafkaProducer<String, byte[]> producer =
        new KafkaProducer<>(config, new StringSerializer(), new ByteArraySerializer())) {
      producer.initTransactions();
      Optional<ModelBundle> model = first.get();
      if (model.isPresent()) {
        producer.beginTransaction();
        producer.send(bytes(topics.of(COST_MODELS), hardware, model.get()));
        producer.send(bytes(topics.of(MODEL_DECISIONS), hardware, decision(model.get(), cluster)));
        producer.commitTransaction();
      }
    } catch (ProducerFencedException | InvalidProducerEpochException e) {
      log.info("Another instance publishes the first model of \"{}\"", hardware);
    } catch (KafkaException e) {
      // Not as it is: Kafka Streams deletes a task's state after a TimeoutException.
      throw new IllegalStateException(
          "The first model of \"%s\" cannot be published: %s".formatted(hardware, e.getMessage()),
          e);
    }
  }

  private static ModelDecision decision(ModelBundle model, ClusterSpec cluster) {
    return ModelDecision.withoutEvaluation(
        model.hardware(),
        ModelDecision.Trigger.COLD_START,
        model.card().beganAs().orElseThrow().modelId(),
        Optional.of(model.modelId()),
        "Begins with the model of %s: its training range is nearest to the first cluster, of %d devices and batches of %d"
            .formatted(model.proxyHardware().orElseThrow(), cluster.devices(), cluster.batchSize()),
        Instant.now());
  }

  private <V> ProducerRecord<String, byte[]> bytes(Topic<V> topic, String key, V value) {
    return new ProducerRecord<>(
        topic.name(), key, registry.serde(topic).serializer().serialize(topic.name(), value));
  }
}
