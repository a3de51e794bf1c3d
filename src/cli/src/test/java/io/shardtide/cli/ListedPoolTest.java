package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ListedPoolTest {
  private static final List<PoolNode> NODES =
      List.of(new PoolNode("n1", "r1"), new PoolNode("n2", "r1"), new PoolNode("n3", ""));
  private static final PoolState SET =
      PoolState.empty("gpus")
          .apply(
              PoolSamples.event(
                  new PoolUpdate.PoolSet(Pool.of(8, 80 * Fixtures.GIB, 0, "h100", NODES)),
                  new PoolUpdate.ClaimSet(new Claim("ads", 8, 64, 1, 0)),
                  new PoolUpdate.ClaimSet(new Claim("feed", 32, 32, 2.5, 3))));

  /** Of the first event: the first workload has two nodes, the second one waits. */
  private static final Allocation ALLOCATION =
      new Allocation(
              "",
              "gpus",
              1,
              Optional.empty(),
              AllocationPolicy.DEFAULTS,
              new TreeMap<>(),
              List.of(
                  new WorkloadAllocation(
                      "ads",
                      List.of("n1", "n2"),
                      16,
                      9,
                      3,
                      AllocationChange.STARTED,
                      "starts",
                      Optional.empty()),
                  new WorkloadAllocation(
                      "feed",
                      List.of(),
                      0,
                      0,
                      0,
                      AllocationChange.WAITS,
                      "4 nodes at least",
                      Optional.empty())),
              List.of(),
              new AllocationQuality(9, 0, 0, 1))
          .identified();

  /** A held node was lost, and a workload came, since the allocation; another pool has none yet. */
  private static List<ListedPool> pools() {
    PoolState later =
        SET.apply(PoolSamples.event(new PoolUpdate.PoolNodeLost("n2")))
            .apply(PoolSamples.event(PoolSamples.claim("new", 1, 8, 1)));
    return List.of(
        ListedPool.of(new AllocatedPool(SET, Optional.of(ALLOCATION))),
        ListedPool.of(new AllocatedPool(later, Optional.of(ALLOCATION))),
        ListedPool.of(new AllocatedPool(SET, Optional.empty())));
  }

  @Test
  void pools_are_listed_with_their_free_nodes() {
    assertThat(ListedPool.table(pools()))
        .hasToString(
            """
            pool  generation  nodes  free  devices  claims  waiting  hardware
            gpus           1      3     1       24       2        1  h100
            gpus           3      2     1       16       3        1  h100
            gpus           1      3     3       24       2        0  h100
            """);
  }

  @Test
  void json_has_an_object_a_line() {
    assertThat(pools().stream().map(JsonText::line).map(String::strip))
        .containsExactly(
            "{\"poolId\":\"gpus\",\"generation\":1,\"allocatedGeneration\":1,\"hardware\":\"h100\","
                + "\"devicesPerNode\":8,\"nodes\":3,\"freeNodes\":1,\"devices\":24,\"claims\":2,\"waiting\":1}",
            "{\"poolId\":\"gpus\",\"generation\":3,\"allocatedGeneration\":1,\"hardware\":\"h100\","
                + "\"devicesPerNode\":8,\"nodes\":2,\"freeNodes\":1,\"devices\":16,\"claims\":3,\"waiting\":1}",
            "{\"poolId\":\"gpus\",\"generation\":1,\"allocatedGeneration\":0,\"hardware\":\"h100\","
                + "\"devicesPerNode\":8,\"nodes\":3,\"freeNodes\":3,\"devices\":24,\"claims\":2,\"waiting\":0}");
  }
}
