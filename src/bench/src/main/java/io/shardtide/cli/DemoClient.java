package io.shardtide.cli;

import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.client.Endpoint;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes the demo's events, malformed ones included, and receives what follows from them. */
final class DemoClient implements AutoCloseable {
  private static final byte[] MALFORMED = "not an event".getBytes(StandardCharsets.UTF_8);

  private final Topics topics;
  private final Serializer<WorkloadChange> serializer;
  private final KafkaProducer<String, byte[]> producer;
  private final TopicReader reader;
  private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
  private final BlockingQueue<Object> learned = new LinkedBlockingQueue<>();

  private DemoClient(Endpoint endpoint, Registry registry) {
    topics = endpoint.topics();
    serializer = registry.serde(topics.of(WORKLOAD_CHANGES)).serializer();
    producer =
        new KafkaProducer<>(
            endpoint.clients(
                Map.of(),
                Map.of(ProducerConfig.ACKS_CONFIG, "all", ProducerConfig.LINGER_MS_CONFIG, 0)),
            new StringSerializer(),
            new ByteArraySerializer());
    reader =
        endpoint
            .reader(registry)
            .handle(
                topics.of(SHARDING_PLANS),
                StartPosition.END,
                (position, writtenAt, plan) -> receive(plan.workloadId(), plan))
            .handle(
                topics.of(INFEASIBLE_WORKLOADS),
                StartPosition.END,
                (position, writtenAt, infeasible) -> receive(infeasible.workloadId(), infeasible))
            .handle(
                topics.of(REJECTED_EVENTS),
                StartPosition.END,
                (position, writtenAt, rejected) -> receive(rejected))
            .handle(
                topics.of(DRIFT_ALARMS),
                StartPosition.END,
                (position, writtenAt, alarm) -> learned.add(alarm))
            .handle(
                topics.of(MODEL_DECISIONS),
                StartPosition.END,
                (position, writtenAt, decision) -> learned.add(decision));
  }

  /**
   * Connects, and receives what is written from now on.
   *
   * @param registry the endpoint's registry; not closed with this client
   */
  static DemoClient connect(Endpoint endpoint, Registry registry) {
    DemoClient client = new DemoClient(endpoint, registry);
    try {
      client.reader.open();
    } catch (RuntimeException e) {
      client.close();
      throw e;
    }
    client.reader.start("demo-client");
    return client;
  }

  /**
   * Publishes an event, or bytes that are not an event; returns when all in-sync replicas have it.
   */
  void publish(Optional<WorkloadChange> event) throws InterruptedException, ExecutionException {
    String topic = topics.of(WORKLOAD_CHANGES).name();
    byte[] value = event.map(e -> serializer.serialize(topic, e)).orElse(MALFORMED);
    String key = event.map(WorkloadChange::workloadId).orElse(DemoScript.WORKLOAD);
    producer.send(new ProducerRecord<>(topic, key, value)).get();
  }

  /**
   * Returns the plans, infeasible workloads and rejected events of the demo's workload, in the
   * order of their arrival.
   */
  BlockingQueue<Object> answers() {
    return answers;
  }

  /** Returns the drift alarms and the decisions about models, in the order of their arrival. */
  BlockingQueue<Object> learned() {
    return learned;
  }

  /** Returns how many records could not be decoded and were skipped. */
  long undecodableRecords() {
    return reader.undecodableRecords();
  }

  /** Passes an answer on, unless it is that of a workload that somebody else published. */
  private void receive(String workloadId, Object answer) {
    if (workloadId.equals(DemoScript.WORKLOAD)) {
      answers.add(answer);
    }
  }

  private void receive(RejectedEvent rejected) {
    // A measurement that was taken while tables changed is rejected as well; it is not of an event.
    if (rejected.source().topic().equals(topics.of(WORKLOAD_CHANGES).name())) {
      receive(rejected.workloadId().orElse(DemoScript.WORKLOAD), rejected);
    }
  }

  @Override
  public void close() {
    producer.close();
    reader.close();
  }
}
