package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.WorkloadAllocation;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Pools of two racks, whose nodes take turns in the order of their names. */
class RankedAllocationTest {
  private static final RackLinks QUARTER = new RackLinks(20, 5, new TreeMap<>());

  private static PoolNode node(int number) {
    return new PoolNode("n" + number, "r" + number % 2);
  }

  private static PoolUpdate set(int nodes, PoolLinks links) {
    List<PoolNode> all = new ArrayList<>();
    for (int n = 0; n < nodes; n++) {
      all.add(node(n));
    }
    Pool pool = Pool.of(Pools.DEVICES_PER_NODE, 1L << 34, 0, "h100", all);
    return new PoolUpdate.PoolSet(links == null ? pool : pool.withLinks(links));
  }

  private static Pools pools(int nodes, PoolLinks links) {
    return new Pools(1).apply(set(nodes, links)).claim("ads", nodes, nodes + 4, 0);
  }

  private static WorkloadAllocation ads(Allocation allocation) {
    return allocation.of("ads").orElseThrow();
  }

  @Test
  void an_allocation_names_nodes_in_the_order_of_ranks_and_says_what_it_gains() {
    Allocation allocation = pools(6, QUARTER).allocate();
    assertThat(ads(allocation).nodes()).containsExactly("n0", "n2", "n4", "n1", "n3", "n5");
    assertThat(ads(allocation).reason())
        .isEqualTo(
            "starts on 6 nodes, 24 devices; its fair share is 6.0;"
                + " a ring of its nodes is 3.0 times as fast in this order as by name, 5.0 GB/s");
    assertThat(ads(allocation).ring().orElseThrow().gain()).isCloseTo(3, within(1e-9));
    assertThat(allocation.hasValidId()).isTrue();
  }

  @Test
  void without_links_nodes_are_in_the_order_of_names_and_nothing_is_predicted() {
    Allocation allocation = pools(6, null).allocate();
    assertThat(ads(allocation).nodes()).isSorted();
    assertThat(ads(allocation).ring()).isEmpty();
    assertThat(ads(allocation).reason()).endsWith("its fair share is 6.0");
  }

  /** To number ranks otherwise is an adjustment: it waits until the nodes change. */
  @Test
  void a_workload_that_keeps_its_nodes_keeps_its_ranks() {
    Pools pools = pools(6, null);
    pools.allocate();
    Allocation measured = pools.apply(set(6, QUARTER)).allocate();
    assertThat(ads(measured).change()).isEqualTo(AllocationChange.KEPT);
    assertThat(ads(measured).nodes()).isSorted();
    assertThat(ads(measured).ring().orElseThrow().gain()).isEqualTo(1);
    assertThat(ads(measured).ring().orElseThrow().mostGigabytesPerSecond())
        .isCloseTo(5, within(1e-9));
    pools.apply(new PoolUpdate.PoolNodeAdded(node(6)));
    Allocation grown = pools.allocate();
    assertThat(ads(grown).change()).isEqualTo(AllocationChange.GREW);
    assertThat(ads(grown).nodes()).containsExactly("n0", "n2", "n4", "n6", "n1", "n3", "n5");
    pools.apply(set(7, null));
    Allocation kept = pools.allocate();
    assertThat(ads(kept).change()).isEqualTo(AllocationChange.KEPT);
    assertThat(ads(kept).nodes()).isEqualTo(ads(grown).nodes());
  }

  @Test
  void a_lost_node_moves_a_workload_and_numbers_its_ranks_again() {
    Pools pools = new Pools(1).apply(set(7, QUARTER)).claim("ads", 6, 6, 0);
    assertThat(ads(pools.allocate()).nodes()).hasSize(6);
    Allocation after = pools.apply(new PoolUpdate.PoolNodeLost("n2")).allocate();
    assertThat(ads(after).nodes()).containsExactly("n0", "n4", "n6", "n1", "n3", "n5");
    assertThat(ads(after).change()).isEqualTo(AllocationChange.MOVED);
  }
}
