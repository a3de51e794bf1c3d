package io.shardtide.views;

import io.shardtide.client.Endpoint;
import io.shardtide.log.EndOffsets;
import io.shardtide.wire.Topics;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/** Consumer lag of the planner on workload-changes; queried without blocking. */
final class ConsumerLag implements AutoCloseable {
  private static final long TIMEOUT_SECONDS = 10;

  private final Admin admin;
  private final EndOffsets endOffsets;
  private final String group;
  private CompletableFuture<OptionalLong> pending =
      CompletableFuture.completedFuture(OptionalLong.empty());
  private OptionalLong last = OptionalLong.empty();

  ConsumerLag(Endpoint endpoint) {
    admin = Admin.create(endpoint.clients(Map.of(), Map.of()));
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
      pending = query();
    }
    return last;
  }

  private CompletableFuture<OptionalLong> query() {
    return future(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata())
        .thenCompose(this::lag);
  }

  private CompletableFuture<OptionalLong> lag(Map<TopicPartition, OffsetAndMetadata> committed) {
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    committed.forEach(
        (partition, offset) -> {
          if (offset != null && partition.topic().endsWith("workload-changes")) {
            ends.put(partition, OffsetSpec.latest());
          }
        });
    if (ends.isEmpty()) {
      return CompletableFuture.completedFuture(OptionalLong.empty());
    }
    return CompletableFuture.supplyAsync(() -> endOffsets.list(ends, new ListOffsetsOptions()))
        .orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS)
        .thenApply(
            offsets ->
                OptionalLong.of(
                    offsets.entrySet().stream()
                        .mapToLong(e -> lag(e.getValue(), committed.get(e.getKey())))
                        .sum()));
  }

  private static long lag(
      ListOffsetsResult.ListOffsetsResultInfo end, OffsetAndMetadata committed) {
    return Math.max(0, end.offset() - committed.offset());
  }

  private static <T> CompletableFuture<T> future(KafkaFuture<T> query) {
    return query
        .toCompletionStage()
        .toCompletableFuture()
        .orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    endOffsets.close();
    admin.close(java.time.Duration.ofSeconds(1));
  }
}
