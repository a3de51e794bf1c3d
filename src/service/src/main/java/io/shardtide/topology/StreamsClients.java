package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.EndOffsets;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.KafkaClientSupplier;

/**
 * The clients of a topology. They do not create a changelog again that somebody deleted: Kafka
 * Streams would, at its next rebalance, and then delete the stores of all instances, because they
 * are ahead of the empty changelog. They list offsets with {@link EndOffsets}: otherwise the next
 * rebalance, or the next store that is restored, waits for a broker that is away. And they send no
 * record with an old timestamp.
 */
record StreamsClients(TopologyName topology, ServiceSettings settings)
    implements KafkaClientSupplier {
  /** Greatest age of a record by its timestamp; it may then wait for a broker as long again. */
  private static final long OLDEST_MS = TopicRules.RECORD_AGE_MS / 2;

  @Override
  public Admin getAdmin(Map<String, Object> config) {
    Admin admin = Admin.create(config);
    EndOffsets offsets = new EndOffsets(config);
    // Of Kafka's own class for this, ForwardingAdmin, two methods always fail.
    return (Admin)
        Proxy.newProxyInstance(
            Admin.class.getClassLoader(),
            new Class<?>[] {Admin.class},
            (proxy, method, arguments) -> {
              switch (method.getName()) {
                case "listOffsets" -> {
                  try {
                    return list(offsets, arguments);
                  } catch (KafkaException e) {
                    // The client itself reports why, in the result's futures.
                  }
                }
                case "createTopics" -> check(admin, (Collection<?>) arguments[0]);
                case "close" -> offsets.close();
                default -> {}
              }
              try {
                return method.invoke(admin, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  @SuppressWarnings("unchecked") // The only parameter types of Admin.listOffsets.
  private static ListOffsetsResult list(EndOffsets offsets, Object[] arguments) {
    var asked = (Map<TopicPartition, OffsetSpec>) arguments[0];
    var options =
        arguments.length > 1 ? (ListOffsetsOptions) arguments[1] : new ListOffsetsOptions();
    Map<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> answers = new HashMap<>();
    offsets
        .list(asked, new ListOffsetsOptions(options.isolationLevel()))
        .forEach((partition, info) -> answers.put(partition, KafkaFuture.completedFuture(info)));
    return new ListOffsetsResult(answers);
  }

  /** Throws if one of the topics is a changelog that the topology has had before. */
  private void check(Admin admin, Collection<?> topics) {
    Set<String> names =
        topics.stream().map(topic -> ((NewTopic) topic).name()).collect(Collectors.toSet());
    try {
      for (StoreName store : StoreName.of(topology)) {
        String changelog = store.changelog(settings.endpoint().prefix());
        if (names.contains(changelog)) {
          StateCheck.requireUnused(admin, settings, topology, changelog);
        }
      }
    } catch (ExecutionException e) {
      throw new KafkaException(
          "Whether %s were there before is not known: %s".formatted(names, Retry.describe(e)), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KafkaException("Interrupted before topics were created", e);
    }
  }

  @Override
  public Producer<byte[], byte[]> getProducer(Map<String, Object> config) {
    return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer()) {
      @Override
      public Future<RecordMetadata> send(ProducerRecord<byte[], byte[]> record, Callback sent) {
        return super.send(notOlder(record, System.currentTimeMillis() - OLDEST_MS), sent);
      }
    };
  }

  /**
   * Returns the record with a timestamp of at least {@code least}. Outputs and changelogs take that
   * of their input, however long it waited, and a broker refuses what exceeds its limit: the
   * partition would stop for good.
   */
  static ProducerRecord<byte[], byte[]> notOlder(
      ProducerRecord<byte[], byte[]> record, long least) {
    return record.timestamp() == null || record.timestamp() >= least
        ? record
        : new ProducerRecord<>(
            record.topic(),
            record.partition(),
            least,
            record.key(),
            record.value(),
            record.headers());
  }

  @Override
  public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
    return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  @Override
  public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> config) {
    return getConsumer(config);
  }

  @Override
  public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> config) {
    return getConsumer(config);
  }
}
