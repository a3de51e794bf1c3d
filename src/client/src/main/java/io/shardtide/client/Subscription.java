package io.shardtide.client;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * Receives the values of a compacted topic: first the latest of each key, in the order of the keys,
 * then each new one. It keeps no offsets.
 *
 * @param <V> type of the values
 */
public abstract sealed class Subscription<V> implements AutoCloseable
    permits PlanSubscriber, AllocationSubscriber {
  final Registry registry;
  private final TopicReader reader;
  private final SubscriptionListener listener;
  private final BiConsumer<V, Optional<V>> received;
  private final Map<String, V> latest = new TreeMap<>();
  private boolean caughtUp;

  /**
   * Connects and starts to receive.
   *
   * @param endpoint the cluster and the registry
   * @param type a compacted topic
   * @param key only records of this key; empty for all
   * @param listener what happens to the subscription
   * @param received takes each value, with the one of the same key before
   */
  Subscription(
      Endpoint endpoint,
      TopicType<V> type,
      Optional<String> key,
      SubscriptionListener listener,
      BiConsumer<V, Optional<V>> received) {
    this.listener = listener;
    this.received = received;
    Topic<V> topic = endpoint.topics().of(type);
    registry = endpoint.connectRegistry();
    reader =
        endpoint
            .reader(registry)
            .onlyKey(key)
            .handle(
                topic,
                StartPosition.BEGINNING,
                (position, writtenAt, value) -> receive(type.keyOf(value), value))
            .onTombstone(topic, (position, deleted) -> delete(deleted))
            .onCaughtUp(this::catchUp)
            .onUndecodable(listener::undecodable)
            .onWaiting(listener::waiting)
            .onFailure(listener::failed);
    try {
      reader.open();
    } catch (RuntimeException e) {
      registry.close();
      throw e;
    }
    reader.start(topic.name());
  }

  private void receive(String key, V value) {
    Optional<V> previous = Optional.ofNullable(latest.put(key, value));
    if (caughtUp) {
      received.accept(value, previous);
    }
  }

  private void delete(String key) {
    if (latest.remove(key) != null && caughtUp) {
      listener.deleted(key);
    }
  }

  private void catchUp() {
    caughtUp = true;
    latest.values().forEach(value -> received.accept(value, Optional.empty()));
    listener.caughtUp();
  }

  /** Ends the subscription. Returns when a call of the listener that runs has returned. */
  @Override
  public final void close() {
    reader.close();
    registry.close();
  }
}
