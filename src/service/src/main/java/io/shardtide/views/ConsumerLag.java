package io.shardtide.views;

import io.shardtide.client.Endpoint;
import io.shardtide.log.EndOffsets;
import io.shardtide.wire.Topics;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Consumer lag of the planner on workload-changes; queried without blocking. */
final class ConsumerLag implements AutoCloseable {
  private static final int TIMEOUT_MS = 10_000;

  private final EndOffsets endOffsets;
  private final String group;
  private CompletableFuture<OptionalLong> pending =
      CompletableFuture.completedFuture(OptionalLong.empty());
  private OptionalLong last = OptionalLong.empty();

  ConsumerLag(Endpoint endpoint) {
    endOffsets = new EndOffsets(endpoint.clients(Map.of(), Map.of()));
    group = endpoint.prefix() + Topics.WORKLOAD_APPLICATION;
  }

  /**
   * Returns the lag in records that the cluster reported last, and queries it again; empty while
   * the cluster does not answer.
   */
  OptionalLong now() {
    if (pending.isDone()) {
      last = pending.exceptionally(e -> OptionalLong.empty()).join();
      pending =
          CompletableFuture.supplyAsync(this::query).orTimeout(TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }
    return last;
  }

  private OptionalLong query() {
    Map<TopicPartition, OffsetAndMetadata> committed = endOffsets.committed(group, TIMEOUT_MS);
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    committed.forEach(
        (partition, offset) -> {
          if (offset != null && partition.topic().endsWith("workload-changes")) {
            ends.put(partition, OffsetSpec.latest());
          }
        });
    return ends.isEmpty()
        ? OptionalLong.empty()
        : OptionalLong.of(
            endOffsets.list(ends, new ListOffsetsOptions()).entrySet().stream()
                .mapToLong(e -> e.getValue().offset() - committed.get(e.getKey()).offset())
                .map(lag -> Math.max(0, lag))
                .sum());
  }

  @Override
  public void close() {
    endOffsets.close();
  }
}
