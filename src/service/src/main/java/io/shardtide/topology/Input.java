package io.shardtide.topology;

import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SourcePosition;
import java.util.OptionalInt;
import java.util.function.Predicate;

/**
 * A source topic of a topology, and what is done with its records.
 *
 * @param <V> type of the values
 */
final class Input<V> {
  private final RecordDecoder<V> decoder;
  private final OptionalInt partitions;
  private final Topic<V> topic;
  private final Handler<V> handler;
  Predicate<V> deletes = value -> false;
  final boolean rejects;
  boolean gapless;
  Predicate<V> ready = value -> true;

  /**
   * Handles a value, which is of a record with this position and timestamp.
   *
   * @param <V> type of the values
   */
  @FunctionalInterface
  interface Handler<V> {
    /**
     * Handles a value.
     *
     * @throws RejectedException if the record is rejected; nothing was written
     */
    void handle(V value, SourcePosition source, long timestamp);
  }

  Input(Skeleton skeleton, TopicType<V> type, Handler<V> handler) {
    topic = skeleton.topics().of(type);
    decoder = new RecordDecoder<>(skeleton.registry(), topic);
    partitions = skeleton.topics().partitions(topic);
    rejects = skeleton.name().rejects(type);
    this.handler = handler;
  }

  /** Records build on those before them: none may be left out. */
  Input<V> gapless() {
    gapless = true;
    return this;
  }

  /** Such a record makes those before it of no account: it ends a quarantine. */
  Input<V> deletedBy(Predicate<V> newDeletes) {
    deletes = newDeletes;
    return this;
  }

  /** Records wait until this holds, with the later ones of their keys. */
  Input<V> when(Predicate<V> newReady) {
    ready = newReady;
    return this;
  }

  Decoded<V> decode(HeldRecord record) {
    return decoder.decode(
        record.source(),
        record.key().map(Bytes::toArray).orElse(null),
        record.value().map(Bytes::toArray).orElse(null),
        partitions);
  }

  String key(V value) {
    return topic.type().keyOf(value);
  }

  void handle(V value, HeldRecord record) {
    handler.handle(value, record.source(), record.timestamp());
  }
}
