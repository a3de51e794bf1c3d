package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class AllocationTextTest {
  private static final List<PoolNode> NODES =
      List.of(new PoolNode("n1", "r1"), new PoolNode("n2", "r1"), new PoolNode("n3", ""));
  private static final PoolState STATE =
      PoolState.empty("gpus")
          .apply(
              PoolSamples.event(
                  new PoolUpdate.PoolSet(Pool.of(8, 80 * Fixtures.GIB, 0, "h100", NODES)),
                  new PoolUpdate.ClaimSet(new Claim("ads", 8, 64, 1, 0)),
                  new PoolUpdate.ClaimSet(new Claim("feed", 32, 32, 2.5, 3))));
  private static final Allocation ALLOCATION =
      new Allocation(
              "",
              "gpus",
              1,
              Optional.empty(),
              AllocationPolicy.DEFAULTS,
              new TreeMap<>(Map.of("ads", "curve of ads")),
              List.of(
                  new WorkloadAllocation(
                      "ads",
                      List.of("n1", "n2"),
                      16,
                      1_234_567.4,
                      3,
                      AllocationChange.STARTED,
                      "starts on 2 nodes, 16 devices",
                      Optional.empty()),
                  new WorkloadAllocation(
                      "feed",
                      List.of(),
                      0,
                      0,
                      0,
                      AllocationChange.WAITS,
                      "claims at least 32 devices, 4 nodes; the pool has 3 nodes",
                      Optional.empty())),
              List.of(),
              new AllocationQuality(1_234_567.4, 0.0123, 0.25, 1))
          .identified();

  private static AllocationText view(PoolState state, boolean simulated) {
    return new AllocationText(
        new AllocatedPool(state, Optional.of(ALLOCATION)), curve -> simulated);
  }

  @Test
  void a_pool_is_shown_with_who_has_each_node_and_why() {
    assertThat(view(STATE, true).show())
        .isEqualTo(
            """
            pool gpus, generation 1: 3 nodes of 8 devices, 80.0 GiB each, hardware h100

            node  rack  workload
            n1    r1    ads
            n2    r1    ads
            n3          free

            workload  claim     weight  priority  devices  nodes  fair            samples/s  change
            ads       8 to 64      1.0         0       16      2   3.0  1,234,567 simulated  started
            feed      32 to 32     2.5         3        0      0   0.0                    -  waits

            ads: 16 devices on n1, n2; starts on 2 nodes, 16 devices (simulated costs)
            feed: no devices; claims at least 32 devices, 4 nodes; the pool has 3 nodes
            Weighted throughput: 1,234,567 samples/s (simulated costs), at most 1.23% below the optimum; 25.0%
            of the pool is in other hands than in the fair allocation; 1 running workload changed nodes.
            """);
  }

  @Test
  void costs_of_measured_models_are_not_called_simulated() {
    assertThat(view(STATE, false).show()).contains("1,234,567").doesNotContain("simulated");
  }

  @Test
  void events_after_the_allocation_are_visible() {
    PoolState later =
        STATE
            .apply(PoolSamples.event(new PoolUpdate.PoolNodeLost("n2")))
            .apply(PoolSamples.event(PoolSamples.claim("new", 1, 8, 1)));
    assertThat(view(later, true).show())
        .containsPattern("n2 +ads \\(node lost\\)")
        .containsPattern("new +1 to 8 +1.0 +0 +- +- +- +- +-\n")
        .contains("2 later events not allocated yet.");
    assertThat(new AllocationText(new AllocatedPool(later, Optional.empty()), curve -> true).show())
        .containsPattern("n1 +r1 +free")
        .contains("3 later events not allocated yet.");
  }

  @Test
  void the_answer_to_a_claim_says_what_it_got_and_what_it_cannot_have() {
    assertThat(view(STATE, false).answer(Optional.of("ads")))
        .isEqualTo(
            """
            The claim is above the pool: 64 devices at most, and pool gpus has 24. The rest counts once nodes
            are added.
            ads: 16 devices on n1, n2; starts on 2 nodes, 16 devices
            """);
    assertThat(view(STATE, false).answer(Optional.of("feed")))
        .contains("The claim is above the pool: 32 devices at most, and pool gpus has 24.")
        .contains(
            "feed: no devices; claims at least 32 devices, 4 nodes; the pool has 3 nodes\nads: ");
  }

  /** What a person may copy to a shell stays what it is there. */
  @Test
  void a_conflict_names_a_command_that_is_safe_to_copy() {
    PoolState other =
        PoolState.empty("it's; $HOME")
            .apply(
                PoolSamples.event(
                    new PoolUpdate.PoolSet(Pool.of(8, 80 * Fixtures.GIB, 0, "h100", NODES)),
                    new PoolUpdate.ClaimSet(new Claim("my ads", 8, 64, 1, 0))));
    Map<String, AllocatedPool> pools =
        Map.of(other.id(), new AllocatedPool(other, Optional.empty()));
    PoolUpdate claim = new PoolUpdate.ClaimSet(new Claim("my ads", 8, 16, 1, 0));
    assertThatThrownBy(() -> PoolEventOption.refuseConflict("gpus", claim, pools))
        .hasMessageEndingWith(": shardtide pool delete 'it'\\''s; $HOME' 'my ads'");
    PoolUpdate added = new PoolUpdate.PoolNodeAdded(NODES.get(0));
    assertThatThrownBy(() -> PoolEventOption.refuseConflict("gpus", added, pools))
        .hasMessageEndingWith(": shardtide pool node rm 'it'\\''s; $HOME' n1");
  }
}
