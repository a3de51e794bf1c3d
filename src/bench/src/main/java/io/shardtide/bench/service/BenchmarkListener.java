package io.shardtide.bench.service;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Topic;
import io.shardtide.workload.RejectedEvent;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.CommonClientConfigs;

/** Receives the values that are written to topics from now on, with the time of their arrival. */
final class BenchmarkListener implements AutoCloseable {
  private final TopicReader reader;
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();

  /** Receives values, on the listener's thread. */
  @FunctionalInterface
  interface ArrivalHandler {
    /**
     * Called with each value.
     *
     * @param value the value
     * @param nanos when its bytes arrived, by {@link System#nanoTime}
     */
    void onRecord(Object value, long nanos);
  }

  /** Connects, and starts at the ends of the topics. */
  BenchmarkListener(BenchmarkCluster cluster, List<Topic<?>> topics, ArrivalHandler handler) {
    reader =
        new TopicReader(
                Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrapServers()),
                cluster.registry())
            .onUndecodable(this::undecodable)
            .onFailure(failure::set);
    topics.forEach(topic -> handle(topic, handler));
    reader.open();
    reader.start("bench-listener");
  }

  private <V> void handle(Topic<V> topic, ArrivalHandler handler) {
    reader.handle(
        topic,
        StartPosition.END,
        (position, writtenAt, value) -> handler.onRecord(value, reader.receivedNanos()));
  }

  /** A benchmark has the cluster for itself: a foreign record is an error. */
  private void undecodable(RejectedEvent record) {
    failure.set(new IllegalStateException("%s: %s".formatted(record.source(), record.message())));
  }

  /** Throws the error that ended the reading, or a record that could not be decoded. */
  void check() {
    RuntimeException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("The results cannot be read: " + failed.getMessage(), failed);
    }
  }

  @Override
  public void close() {
    reader.close();
  }
}
