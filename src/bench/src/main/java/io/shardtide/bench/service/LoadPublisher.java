package io.shardtide.bench.service;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes changes. */
final class LoadPublisher implements AutoCloseable {
  private static final long GIB = 1L << 30;
  private static final int BATCH_SIZE = 65_536;

  private final Registry registry;
  private final KafkaProducer<String, byte[]> producer;
  private final AtomicReference<Exception> failure = new AtomicReference<>();

  /**
   * Connects to the cluster.
   *
   * @param lingerMs the producer's {@code linger.ms}; 0 to measure latency
   */
  LoadPublisher(BenchmarkCluster cluster, int lingerMs) {
    registry = cluster.registry();
    producer =
        new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                cluster.bootstrapServers(),
                ProducerConfig.ACKS_CONFIG,
                "all",
                ProducerConfig.LINGER_MS_CONFIG,
                lingerMs,
                ProducerConfig.BATCH_SIZE_CONFIG,
                256 * 1024,
                ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                BenchmarkCluster.TOPICS.of(WORKLOAD_CHANGES).maxMessageBytes()),
            new StringSerializer(),
            new ByteArraySerializer());
  }

  /** Publishes changes as one event; does not wait for the acknowledgement. */
  void publish(String workloadId, List<Change> changes) {
    publish(
        BenchmarkCluster.TOPICS.of(WORKLOAD_CHANGES),
        workloadId,
        new WorkloadChange(
            UUID.randomUUID(), workloadId, Instant.now(), "bench", OptionalLong.empty(), changes));
  }

  /** Publishes a model, which takes over the predictions of its hardware. */
  void publish(ModelBundle model) {
    publish(BenchmarkCluster.TOPICS.of(COST_MODELS), model.hardware(), model);
  }

  private <V> void publish(Topic<V> to, String key, V value) {
    byte[] bytes = registry.serde(to).serializer().serialize(to.name(), value);
    send(new ProducerRecord<>(to.name(), key, bytes));
  }

  /** Publishes what may be no event. */
  void publishBytes(int partition, String key, byte[] value) {
    send(
        new ProducerRecord<>(
            BenchmarkCluster.TOPICS.of(WORKLOAD_CHANGES).name(), partition, key, value));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The callback handles failures.
  private void send(ProducerRecord<String, byte[]> record) {
    Exception failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("A change could not be published", failed);
    }
    producer.send(
        record,
        (metadata, error) -> {
          if (error != null) {
            failure.compareAndSet(null, error);
          }
        });
  }

  /** Waits until all events are acknowledged. */
  void flush() {
    producer.flush();
  }

  /**
   * Returns the changes that create a workload.
   *
   * @param devices number of devices, or 0 for no cluster
   */
  static List<Change> workload(List<TableSpec> tables, int devices) {
    List<Change> changes = new ArrayList<>();
    if (devices > 0) {
      changes.add(clusterSet(devices));
    }
    tables.forEach(table -> changes.add(new Change.TableUpserted(table)));
    return changes;
  }

  static Change clusterSet(int devices) {
    return new Change.ClusterSet(
        new ClusterSpec(devices, 80 * GIB, BATCH_SIZE, 8, BenchmarkCluster.MODEL.hardware()));
  }

  @Override
  public void close() {
    producer.close();
  }
}
