package io.shardtide.client;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Function;

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
   * @param topic a compacted topic
   * @param key only records of this key; empty for all
   * @param keyOf returns the key that a value must have
   * @param listener what happens to the subscription
   * @param received takes each value, with the one of the same key before
   */
  Subscription(
      Endpoint endpoint,
      Topic<V> topic,
      Optional<String> key,
      Function<V, String> keyOf,
      SubscriptionListener listener,
      BiConsumer<V, Optional<V>> received) {
    this.listener = listener;
    this.received = received;
    registry = endpoint.connectRegistry();
    reader =
        endpoint
            .reader(registry)
            .onlyKey(key)
            .handle(
                topic,
                StartPosition.BEGINNING,
                Optional.of(keyOf),
                (position, writtenAt, value) -> receive(keyOf.apply(value), value))
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
