package io.shardtide.views;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.client.Endpoint;
import io.shardtide.log.ClusterUnavailableException;
import io.shardtide.log.OffsetRange;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.wire.RegistryUnavailableException;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** Reads single plans by their positions, and keeps the ones that were read last. */
final class PlanReader implements AutoCloseable {
  /** Plans that are kept: a plan of 612 tables on 128 devices takes a few hundred kilobytes. */
  private static final int KEPT = 64;

  /** How long a request of the dashboard waits for the cluster. */
  private static final int TIMEOUT_MS = 5_000;

  /** How long no other request waits for a cluster or registry that did not answer. */
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Function<SourcePosition, Optional<ShardingPlan>> reading;
  private final LongSupplier nanoTime;
  private final Runnable close;
  private final Map<String, ShardingPlan> kept =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, ShardingPlan> eldest) {
              return size() > KEPT;
            }
          });

  private Optional<RuntimeException> failure = Optional.empty();
  private long failedNanos;

  /**
   * @param reading returns the plan at a position; empty if it is not there any more
   * @param nanoTime monotonic time, in nanoseconds from any origin
   * @param close runs when this is closed
   */
  PlanReader(
      Function<SourcePosition, Optional<ShardingPlan>> reading,
      LongSupplier nanoTime,
      Runnable close) {
    this.reading = reading;
    this.nanoTime = nanoTime;
    this.close = close;
  }

  /** Returns a reader of the plans on Kafka. */
  static PlanReader of(Endpoint endpoint, Registry registry) {
    Map<String, Object> clients =
        endpoint.clients(
            Map.of(),
            Map.of(
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG,
                1,
                ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                TIMEOUT_MS));
    TopicReader reader = new TopicReader(clients, registry);
    List<ShardingPlan> found = new ArrayList<>();
    for (TopicType<ShardingPlan> type : List.of(SHARDING_PLANS, CURRENT_PLANS)) {
      reader.handle(
          endpoint.topics().of(type),
          StartPosition.BEGINNING,
          (position, writtenAt, plan) -> found.add(plan));
    }
    return new PlanReader(
        position -> {
          found.clear();
          reader.readRange(
              new TopicPartition(position.topic(), position.partition()),
              new OffsetRange(position.offset(), position.offset() + 1));
          return found.stream().findFirst();
        },
        System::nanoTime,
        reader::close);
  }

  /**
   * Returns a plan. A request that waited while another one got no answer gets none either.
   *
   * @param planId its id
   * @param position its position on sharding-plans or current-plans
   * @throws IOException if it is not there any more, or the cluster or the registry does not answer
   */
  ShardingPlan read(String planId, SourcePosition position) throws IOException {
    ShardingPlan known = kept.get(planId);
    return known == null ? readNext(planId, position) : known;
  }

  private synchronized ShardingPlan readNext(String planId, SourcePosition position)
      throws IOException {
    ShardingPlan known = kept.get(planId);
    if (known != null) {
      return known;
    }
    if (failure.isPresent() && nanoTime.getAsLong() - failedNanos < PAUSE_NANOS) {
      throw unreadable(planId, failure.get());
    }
    Optional<ShardingPlan> found;
    try {
      found = reading.apply(position);
      failure = Optional.empty();
    } catch (KafkaException | ClusterUnavailableException | RegistryUnavailableException e) {
      failure = Optional.of(e);
      failedNanos = nanoTime.getAsLong();
      throw unreadable(planId, e);
    }
    ShardingPlan plan =
        found
            .filter(p -> p.planId().equals(planId))
            .orElseThrow(
                () -> new IOException("Plan %s is no longer at %s".formatted(planId, position)));
    kept.put(planId, plan);
    return plan;
  }

  private static IOException unreadable(String planId, RuntimeException cause) {
    return new IOException(
        "Plan %s cannot be read: %s".formatted(planId, cause.getMessage()), cause);
  }

  @Override
  public void close() {
    close.run();
  }
}
