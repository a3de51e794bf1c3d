package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.SharedCluster;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a publisher of a pool's events receives; the test writes what a planner would. */
class PoolOutcomesIT {
  private static final int PATIENCE_S = 60;
  private static final String POOL = PoolSamples.POOL;

  private final String prefix = SharedCluster.freshPrefix();
  private EmbeddedKafka kafka;
  private DevelopmentRegistry registry;
  private LogClient log;
  private PoolPublisher publisher;

  @BeforeEach
  void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    log = new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
    try (Admin admin =
        Admin.create(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers()))) {
      admin
          .createTopics(
              List.of(
                      log.topics().of(POOL_CHANGES),
                      log.topics().of(CURRENT_ALLOCATIONS),
                      log.topics().of(REJECTED_EVENTS))
                  .stream()
                  .map(topic -> new NewTopic(topic.name(), 1, (short) 1))
                  .toList())
          .all()
          .get();
    }
    log.registry().register(log.topics());
    publisher =
        PoolPublisher.connect(
            Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix(prefix), "test");
  }

  @AfterEach
  void stop() throws Exception {
    publisher.close();
    log.close();
  }

  /** An allocation of a generation, which differs from others of it by the curve. */
  private void allocate(long generation, String curve) throws Exception {
    log.publishValue(
        log.topics().of(CURRENT_ALLOCATIONS),
        POOL,
        new Allocation(
                "",
                POOL,
                generation,
                Optional.empty(),
                AllocationPolicy.DEFAULTS,
                new TreeMap<>(Map.of("ads", curve)),
                List.of(),
                List.of(),
                new AllocationQuality(1, 0, 0, 0))
            .identified());
  }

  private static Outcome get(CompletableFuture<Outcome> outcome) throws Exception {
    return outcome.get(PATIENCE_S, TimeUnit.SECONDS);
  }

  private static Allocation allocation(CompletableFuture<Outcome> outcome) throws Exception {
    return ((Outcome.Accepted) get(outcome)).allocation().orElseThrow();
  }

  /** New curves lead to another allocation of the generation, maybe before the first is read. */
  @Test
  void an_event_is_answered_by_the_first_allocation_that_contains_it() throws Exception {
    CompletableFuture<Outcome> set =
        publisher.change(POOL).set(PoolSamples.pool(3, 1L << 30)).sendAndAwait();
    CompletableFuture<Outcome> lost = publisher.change(POOL).nodeLost("n1").sendAndAwait();
    CompletableFuture<Outcome> lostToo = publisher.change(POOL).nodeLost("n2").sendAndAwait();
    allocate(1, "curve 1");
    allocate(1, "curve 2");
    allocate(3, "curve 3");
    allocate(3, "curve 4");
    assertThat(allocation(set).curveIds()).containsValue("curve 1");
    assertThat(allocation(lost).curveIds()).containsValue("curve 3");
    assertThat(allocation(lostToo).curveIds()).containsValue("curve 3");
    assertThat(((Outcome.Accepted) get(lost)).generation()).hasValue(3);

    CompletableFuture<Outcome> later = publisher.change(POOL).nodeLost("n3").sendAndAwait();
    allocate(3, "curve 5");
    allocate(4, "curve 6");
    allocate(4, "curve 7");
    assertThat(allocation(later).curveIds()).containsValue("curve 6");
  }

  @Test
  void an_event_whose_allocation_failed_has_an_outcome() throws Exception {
    CompletableFuture<Outcome> set =
        publisher.change(POOL).set(PoolSamples.pool(3, 1L << 30)).sendAndAwait();
    log.publishValue(
        log.topics().of(REJECTED_EVENTS),
        POOL,
        new RejectedEvent(
            new SourcePosition(log.topics().of(POOL_CHANGES).name(), 0, 0),
            Optional.of(POOL),
            RejectionReason.PLANNING_FAILED,
            "The change was applied, but the pool could not be allocated",
            Optional.empty(),
            Optional.empty()));
    assertThat(get(set))
        .isEqualTo(
            new Outcome.Rejected(
                RejectionReason.PLANNING_FAILED,
                "The change was applied, but the pool could not be allocated"));
  }
}
