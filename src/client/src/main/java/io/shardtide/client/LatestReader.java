package io.shardtide.client;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Reads a compacted topic: first the latest value of each key, in the order of the keys, then each
 * new value. It keeps no offsets.
 *
 * @param <V> type of the values
 */
final class LatestReader<V> implements AutoCloseable {
  private final Topic<V> topic;
  private final SubscriptionListener listener;
  private final BiConsumer<V, Optional<V>> received;
  private final Registry registry;
  private final TopicReader reader;
  private final Map<String, V> latest = new TreeMap<>();
  private Optional<Consumer<String>> deleted = Optional.empty();
  private boolean caughtUp;

  /**
   * Connects nowhere yet.
   *
   * @param endpoint the cluster and the registry
   * @param topic a compacted topic
   * @param key only records of this key; empty for all
   * @param listener what happens to the subscription
   * @param received takes each value, with the one of the same key before
   */
  LatestReader(
      Endpoint endpoint,
      Topic<V> topic,
      Optional<String> key,
      SubscriptionListener listener,
      BiConsumer<V, Optional<V>> received) {
    this.topic = topic;
    this.listener = listener;
    this.received = received;
    registry = endpoint.connectRegistry();
    reader =
        endpoint
            .reader(registry)
            .onlyKey(key)
            .handle(topic, StartPosition.BEGINNING, this::receive)
            .onCaughtUp(this::catchUp)
            .onUndecodable(listener::undecodable)
            .onWaiting(listener::waiting)
            .onFailure(listener::failed);
  }

  /** Takes tombstones, of keys with a value. Without this they are records without a value. */
  LatestReader<V> onDeleted(Consumer<String> handler) {
    deleted = Optional.of(handler);
    reader.onTombstone(topic, (position, key) -> delete(key));
    return this;
  }

  /**
   * Opens the reader and starts its thread. Closes everything if it fails.
   *
   * @param open opens the reader
   */
  LatestReader<V> start(String threadName, Consumer<TopicReader> open) {
    try {
      open.accept(reader);
    } catch (RuntimeException e) {
      registry.close();
      throw e;
    }
    reader.start(threadName);
    return this;
  }

  /** Returns the registry's client, which is closed with this. */
  Registry registry() {
    return registry;
  }

  private void receive(SourcePosition position, Instant writtenAt, V value) {
    Optional<V> previous = Optional.ofNullable(latest.put(topic.type().keyOf(value), value));
    if (caughtUp) {
      received.accept(value, previous);
    }
  }

  private void delete(String key) {
    if (latest.remove(key) != null && caughtUp) {
      deleted.orElseThrow().accept(key);
    }
  }

  private void catchUp() {
    caughtUp = true;
    latest.values().forEach(value -> received.accept(value, Optional.empty()));
    listener.caughtUp();
  }

  /** Ends reading. Returns when a call of the listener that runs has returned. */
  @Override
  public void close() {
    reader.close();
    registry.close();
  }
}
