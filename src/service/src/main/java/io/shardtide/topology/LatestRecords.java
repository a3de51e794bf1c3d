package io.shardtide.topology;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Topic;
import io.shardtide.workload.SourcePosition;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The latest record of each key of a topic. Every instance reads the whole topic into a store of
 * its own, which is complete up to a moment before it started, and follows it. No partition is
 * assigned: the topic does not belong to the topology's group, see RATIONALE.md.
 *
 * @param <V> type of the values
 */
final class LatestRecords<V> {
  private final KeyValueStore<String, byte[]> store;
  private final RegistryRetry retry;
  private final RecordDecoder<V> decoder;
  private final SourcePosition anywhere;

  LatestRecords(ProcessorContext<?, ?> context, Skeleton skeleton, Topic<V> topic) {
    store = context.getStateStore(storeOf(topic));
    retry = skeleton.retry();
    decoder = new RecordDecoder<>(skeleton.registry(), topic);
    anywhere = new SourcePosition(topic.name(), 0, 0);
  }

  /** Adds the topic to a topology. */
  static void add(Topology topology, Topic<?> topic) {
    String store = storeOf(topic);
    topology.addGlobalStore(
        // Bytes, as the topic has them: Kafka Streams copies them at a start, past the processor.
        Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(store), Serdes.String(), Serdes.ByteArray())
            .withLoggingDisabled(),
        // After all others in the order of names, by which Kafka Streams numbers sub-topologies.
        "take-" + topic.type().name(),
        new StringDeserializer(),
        new ByteArrayDeserializer(),
        topic.name(),
        "store-" + store,
        () ->
            new ContextualProcessor<String, byte[], Void, Void>() {
              @Override
              public void process(Record<String, byte[]> record) {
                if (record.key() != null) {
                  context()
                      .<KeyValueStore<String, byte[]>>getStateStore(store)
                      .put(record.key(), record.value());
                }
              }
            });
  }

  private static String storeOf(Topic<?> topic) {
    return "latest-" + topic.type().codec().avroType().getSimpleName();
  }

  /** Returns the latest record of a key; empty if there is none, or it cannot be decoded. */
  Optional<V> of(String key) {
    byte[] value = store.get(key);
    return value != null
            && retry.call(
                    () -> decoder.decode(anywhere, key.getBytes(UTF_8), value, OptionalInt.empty()))
                instanceof Decoded.Value<V> decoded
        ? Optional.of(decoded.value())
        : Optional.empty();
  }
}
