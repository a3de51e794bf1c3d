package io.shardtide.topology;

import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.util.Optional;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Serializes the values of a topic, and refuses those that the topic does not take. A broker would
 * refuse them later, when it is not known any more which record they came from.
 *
 * @param <V> type of the values
 */
final class SizeLimit<V> implements Serializer<V> {
  /** Size of a record, and of the batch around it, beside key and value; generous. */
  private static final int OVERHEAD_BYTES = 4_096;

  private final Topic<V> topic;
  private final Serializer<V> serializer;

  SizeLimit(Registry registry, Topic<V> topic) {
    this.topic = topic;
    serializer = registry.serde(topic).serializer();
  }

  @Override
  public byte[] serialize(String name, V value) {
    byte[] bytes = serializer.serialize(name, value);
    if (bytes != null) {
      excess(value, bytes)
          .ifPresent(
              excess -> {
                throw new RecordTooLargeException(excess);
              });
    }
    return bytes;
  }

  /**
   * Returns how a value exceeds the limit; empty if it does not.
   *
   * @param atLeast bytes that it has at least, and at most four times as many: a value that is
   *     certainly small is not serialized
   */
  Optional<String> excess(V value, long atLeast) {
    return 4 * atLeast <= limit()
        ? Optional.empty()
        : excess(value, serializer.serialize(topic.name(), value));
  }

  private Optional<String> excess(V value, byte[] bytes) {
    return bytes.length <= limit()
        ? Optional.empty()
        : Optional.of(
            "a %s must have at most %,d bytes, the limit of %s, got %,d"
                .formatted(value.getClass().getSimpleName(), limit(), topic.name(), bytes.length));
  }

  /** Returns how many bytes a value may have. */
  private int limit() {
    return topic.maxMessageBytes() - OVERHEAD_BYTES;
  }

  @Override
  public void close() {
    serializer.close();
  }
}
