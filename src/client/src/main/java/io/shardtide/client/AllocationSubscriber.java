package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;

import io.shardtide.pool.Allocation;
import java.util.Optional;

/**
 * Receives allocations of pools: first the latest of each pool, then each new one as it is
 * published. It keeps no offsets: after a restart it receives the latest again, from the compacted
 * topic current-allocations.
 *
 * <p>A trainer wants to know which nodes its workload has, or why it has none:
 *
 * <pre>{@code
 * Endpoint endpoint = Endpoint.of(bootstrapServers, registryUrl);
 * CountDownLatch received = new CountDownLatch(1);
 * try (AllocationSubscriber allocations =
 *     AllocationSubscriber.start(
 *         endpoint,
 *         Optional.of("gpus"),
 *         update ->
 *             update
 *                 .allocation()
 *                 .of("search-ads")
 *                 .ifPresent(
 *                     has -> {
 *                       System.out.println(
 *                           has.nodes().isEmpty()
 *                               ? "waits: " + has.reason()
 *                               : has.devices() + " devices on " + has.nodes());
 *                       received.countDown();
 *                     }))) {
 *   received.await(30, TimeUnit.SECONDS);
 * }
 * }</pre>
 *
 * <p>{@link AllocationUpdate#concerns} tells a change of its nodes from one of others'.
 */
public final class AllocationSubscriber extends Subscription<Allocation> {
  private AllocationSubscriber(
      Endpoint endpoint, Optional<String> poolId, AllocationListener listener) {
    super(
        endpoint,
        CURRENT_ALLOCATIONS,
        poolId,
        listener,
        (allocation, previous) -> listener.allocation(new AllocationUpdate(allocation, previous)));
  }

  /**
   * Connects and starts to receive.
   *
   * @param endpoint the cluster and the registry
   * @param poolId the pool whose allocations are received; empty for all pools
   * @param listener receives the allocations, on a thread of this subscriber
   * @throws io.shardtide.log.MissingTopicException if the cluster does not have the topic
   *     current-allocations: no planner with {@code pools.enabled=true} was started there, or it
   *     has another topic prefix
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer within the
   *     time-out: {@link Endpoint#withTimeout}
   */
  public static AllocationSubscriber start(
      Endpoint endpoint, Optional<String> poolId, AllocationListener listener) {
    return new AllocationSubscriber(endpoint, poolId, listener);
  }
}
