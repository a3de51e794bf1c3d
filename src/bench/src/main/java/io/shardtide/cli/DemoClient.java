package io.shardtide.cli;

import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.client.Endpoint;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes the demo's events, malformed ones included, and receives what follows from them. */
final class DemoClient implements AutoCloseable {
  private static final byte[] MALFORMED = "not an event".getBytes(StandardCharsets.UTF_8);

  private final String changes;
  private final WorkloadPublisher publisher;
  private final KafkaProducer<String, byte[]> foreign;
  private final TopicReader reader;
  private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
  private final BlockingQueue<Object> learned = new LinkedBlockingQueue<>();

  private DemoClient(Endpoint endpoint, Registry registry) {
    changes = endpoint.topics().of(WORKLOAD_CHANGES).name();
    publisher = WorkloadPublisher.connect(endpoint, DemoScript.SOURCE);
    foreign =
        new KafkaProducer<>(
            endpoint.clients(Map.of(), Map.of()),
            new StringSerializer(),
            new ByteArraySerializer());
    reader = endpoint.reader(registry);
    read(endpoint.topics().of(SHARDING_PLANS), plan -> receive(plan.workloadId(), plan));
    read(endpoint.topics().of(INFEASIBLE_WORKLOADS), of -> receive(of.workloadId(), of));
    read(endpoint.topics().of(REJECTED_EVENTS), this::receive);
    read(endpoint.topics().of(DRIFT_ALARMS), learned::add);
    read(endpoint.topics().of(MODEL_DECISIONS), learned::add);
  }

  private <V> void read(Topic<V> topic, Consumer<? super V> each) {
    reader.handle(topic, StartPosition.END, (position, writtenAt, value) -> each.accept(value));
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
    if (event.isPresent()) {
      publisher.publish(event.get()).get();
    } else {
      foreign.send(new ProducerRecord<>(changes, DemoScript.WORKLOAD, MALFORMED)).get();
    }
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
    if (rejected.source().topic().equals(changes)) {
      receive(rejected.workloadId().orElse(DemoScript.WORKLOAD), rejected);
    }
  }

  @Override
  public void close() {
    publisher.close();
    foreign.close();
    reader.close();
  }
}
