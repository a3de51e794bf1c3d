package io.shardtide.views;

import io.shardtide.client.Endpoint;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.log.OffsetRange;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.Topic;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** Reads single plans by their positions, and keeps the ones that were read last. */
final class PlanReader implements AutoCloseable {
  /** Plans that are kept: a plan of 612 tables on 128 devices takes a few hundred kilobytes. */
  private static final int KEPT = 64;

  /** How long a request of the dashboard waits for the cluster. */
  private static final int TIMEOUT_MS = 5_000;

  private final TopicReader reader;
  private final Map<String, ShardingPlan> kept =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, ShardingPlan> eldest) {
          return size() > KEPT;
        }
      };

  /** The plan that was read last. */
  private Optional<ShardingPlan> found = Optional.empty();

  PlanReader(Endpoint endpoint, Registry registry) {
    reader =
        new TopicReader(
            endpoint.clients(
                Map.of(),
                Map.of(
                    ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                    1,
                    ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                    TIMEOUT_MS)),
            registry);
    for (Topic<ShardingPlan> topic :
        List.of(endpoint.topics().shardingPlans(), endpoint.topics().currentPlans())) {
      reader.handle(
          topic,
          StartPosition.BEGINNING,
          Optional.of(ShardingPlan::workloadId),
          (position, writtenAt, plan) -> found = Optional.of(plan));
    }
  }

  /**
   * Returns a plan.
   *
   * @param planId its id
   * @param position its position on sharding-plans or current-plans
   * @throws IOException if it is not there any more, or the cluster or the registry does not answer
   */
  synchronized ShardingPlan read(String planId, SourcePosition position) throws IOException {
    ShardingPlan known = kept.get(planId);
    if (known != null) {
      return known;
    }
    found = Optional.empty();
    try {
      reader.readRange(
          new TopicPartition(position.topic(), position.partition()),
          new OffsetRange(position.offset(), position.offset() + 1));
    } catch (KafkaException | ClusterUnavailableException | RegistryUnavailableException e) {
      throw new IOException("Plan %s cannot be read: %s".formatted(planId, e.getMessage()), e);
    }
    ShardingPlan plan =
        found
            .filter(p -> p.planId().equals(planId))
            .orElseThrow(
                () -> new IOException("Plan %s is no longer at %s".formatted(planId, position)));
    kept.put(planId, plan);
    return plan;
  }

  @Override
  public void close() {
    reader.close();
  }
}
