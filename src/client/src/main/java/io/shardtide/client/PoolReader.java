package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;

import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolHistory;
import io.shardtide.pool.PoolState;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Reads what pools are: their nodes and claims, from the events on pool-changes, which it applies
 * as the planner does, and their latest allocations. Not safe for use by several threads.
 */
public final class PoolReader implements AutoCloseable {
  private final TopicReader reader;
  private final Map<String, PoolHistory> histories = new TreeMap<>();
  private final Map<String, Allocation> allocations;

  /**
   * A pool and its latest allocation.
   *
   * @param state the pool after all events
   * @param allocation the latest allocation; empty before the first. Its generation is below the
   *     state's while the planner has not allocated the latest events
   */
  public record AllocatedPool(PoolState state, Optional<Allocation> allocation) {}

  private PoolReader(Endpoint endpoint) {
    reader =
        endpoint
            .reader()
            .handle(
                endpoint.topics().of(POOL_CHANGES),
                StartPosition.BEGINNING,
                (position, writtenAt, event) ->
                    histories.computeIfAbsent(event.poolId(), PoolHistory::new).apply(event))
            // The planner rejects them too.
            .onUndecodable(record -> {});
    allocations = reader.latest(endpoint.topics().of(CURRENT_ALLOCATIONS));
    reader.open();
  }

  /**
   * Connects.
   *
   * @param endpoint the cluster and the registry
   * @throws io.shardtide.log.MissingTopicException if the cluster does not have the topics of
   *     pools: no planner with {@code pools.enabled=true} was started there
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public static PoolReader connect(Endpoint endpoint) {
    return new PoolReader(endpoint);
  }

  /**
   * Reads what was written since the last call.
   *
   * @return the pools that were set, by id
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   * @throws io.shardtide.wire.RegistryUnavailableException if the registry does not answer
   */
  public SortedMap<String, AllocatedPool> read() {
    reader.readToEnd();
    SortedMap<String, AllocatedPool> pools = new TreeMap<>();
    histories.forEach(
        (id, history) -> {
          if (history.state().pool().isPresent()) {
            pools.put(
                id, new AllocatedPool(history.state(), Optional.ofNullable(allocations.get(id))));
          }
        });
    return pools;
  }

  /** Closes the connections. */
  @Override
  public void close() {
    reader.close();
  }
}
