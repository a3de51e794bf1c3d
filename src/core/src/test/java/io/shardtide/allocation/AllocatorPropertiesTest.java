package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.testing.PoolSamples;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** What holds for every allocation, along random series of changes. */
class AllocatorPropertiesTest {
  private static final int CHANGES = 8;

  /** Receives the allocation before, and the next one of the same pool. */
  private interface Check {
    void of(PoolState state, Optional<Allocation> before, Allocation after);
  }

  private static void along(long seed, Check check) {
    Random random = new Random(seed);
    Pools pools = Pools.random(random);
    for (int i = 0; i < CHANGES; i++) {
      Optional<Allocation> before = pools.last();
      check.of(pools.state(), before, pools.allocate());
      pools.change(random);
    }
  }

  private static int least(PoolState state, Claim claim) {
    return state.pool().orElseThrow().nodesFor(claim.leastDevices());
  }

  @Property(tries = 25)
  void nodes_are_of_the_pool_and_given_once(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          Set<String> given = new HashSet<>();
          for (WorkloadAllocation workload : after.workloads()) {
            workload.nodes().forEach(node -> assertThat(given.add(node)).isTrue());
          }
          assertThat(state.pool().orElseThrow().nodes().keySet()).containsAll(given);
        });
  }

  @Property(tries = 25)
  void every_workload_has_what_its_claim_allows_or_nothing(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          Pool pool = state.pool().orElseThrow();
          assertThat(after.workloads())
              .extracting(WorkloadAllocation::workloadId)
              .containsExactlyElementsOf(state.claims().keySet());
          for (WorkloadAllocation workload : after.workloads()) {
            Claim claim = state.claims().get(workload.workloadId());
            if (!workload.nodes().isEmpty()) {
              assertThat(workload.nodes().size())
                  .isBetween(least(state, claim), pool.nodesFor(claim.mostDevices()));
              assertThat(workload.devices())
                  .isEqualTo(
                      Math.min(
                          workload.nodes().size() * pool.devicesPerNode(), claim.mostDevices()));
            }
          }
        });
  }

  @Property(tries = 25)
  void who_gets_nothing_has_a_lower_priority_than_who_leaves_too_little(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          for (WorkloadAllocation refused : after.workloads()) {
            if (refused.nodes().isEmpty()) {
              Claim claim = state.claims().get(refused.workloadId());
              int taken = 0;
              for (WorkloadAllocation other : after.workloads()) {
                Claim has = state.claims().get(other.workloadId());
                if (!other.nodes().isEmpty() && has.priority() >= claim.priority()) {
                  taken += least(state, has);
                }
              }
              assertThat(state.pool().orElseThrow().nodes().size() - taken)
                  .isLessThan(least(state, claim));
            }
          }
        });
  }

  @Property(tries = 25)
  void no_more_workloads_are_adjusted_than_allowed_or_needed(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          assertThat(after.quality().adjusted())
              .isEqualTo(after.workloads().stream().filter(w -> w.change().isAdjustment()).count());
          if (before.isPresent()) {
            assertThat(after.quality().adjusted())
                .isLessThanOrEqualTo(
                    Math.max(Pools.POLICY.adjustedAtOnce(), fewest(state, before.get(), after)));
          }
        });
  }

  /** Returns how many workloads have to change so that the others can keep what they have. */
  private static int fewest(PoolState state, Allocation before, Allocation after) {
    Pool pool = state.pool().orElseThrow();
    List<int[]> keepers = new ArrayList<>();
    int needed = 0;
    int must = 0;
    for (WorkloadAllocation now : after.workloads()) {
      Claim claim = state.claims().get(now.workloadId());
      List<String> had =
          before.of(now.workloadId()).map(WorkloadAllocation::nodes).orElse(List.of());
      boolean mayKeep =
          pool.nodes().keySet().containsAll(had)
              && had.size() >= least(state, claim)
              && had.size() <= pool.nodesFor(claim.mostDevices());
      if (now.nodes().isEmpty()) {
        must += had.isEmpty() ? 0 : 1;
      } else if (had.isEmpty() || !mayKeep) {
        must += had.isEmpty() ? 0 : 1;
        needed += least(state, claim);
      } else {
        keepers.add(new int[] {had.size(), least(state, claim)});
      }
    }
    int fewest = Integer.MAX_VALUE;
    for (int changed = 0; changed < (1 << keepers.size()); changed++) {
      int nodes = needed;
      for (int k = 0; k < keepers.size(); k++) {
        nodes += keepers.get(k)[(changed >> k) & 1];
      }
      if (nodes <= pool.nodes().size()) {
        fewest = Math.min(fewest, must + Integer.bitCount(changed));
      }
    }
    return fewest;
  }

  @Property(tries = 40)
  void a_lost_node_adjusts_at_most_the_bound(@ForAll long seed) {
    Random random = new Random(seed);
    Pools pools = Pools.random(random);
    pools.allocate();
    while (!pools.state().pool().orElseThrow().nodes().isEmpty()) {
      List<String> nodes = List.copyOf(pools.state().pool().orElseThrow().nodes().keySet());
      pools.apply(new PoolUpdate.PoolNodeLost(nodes.get(random.nextInt(nodes.size()))));
      assertThat(pools.allocate().quality().adjusted())
          .isLessThanOrEqualTo(Pools.POLICY.adjustedAtOnce());
    }
    assertThat(pools.last().orElseThrow().workloads())
        .allSatisfy(workload -> assertThat(workload.nodes()).isEmpty());
  }

  @Property(tries = 25)
  void who_keeps_its_number_of_nodes_keeps_its_nodes(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          for (WorkloadAllocation now : after.workloads()) {
            List<String> had =
                before
                    .flatMap(b -> b.of(now.workloadId()))
                    .map(WorkloadAllocation::nodes)
                    .orElse(List.of());
            List<String> held =
                had.stream()
                    .filter(node -> state.pool().orElseThrow().nodes().containsKey(node))
                    .toList();
            if (now.nodes().size() >= held.size()) {
              assertThat(now.nodes()).containsAll(held);
            } else {
              assertThat(held).containsAll(now.nodes());
            }
          }
        });
  }

  @Property(tries = 25)
  void every_node_that_a_workload_loses_has_a_reason(@ForAll long seed) {
    along(
        seed,
        (state, before, after) -> {
          for (WorkloadAllocation had : before.map(Allocation::workloads).orElse(List.of())) {
            for (String node : had.nodes()) {
              boolean keeps =
                  after.of(had.workloadId()).map(now -> now.nodes().contains(node)).orElse(false);
              assertThat(PoolSamples.transfer(after, had.workloadId(), node).isPresent())
                  .isEqualTo(!keeps);
            }
          }
        });
  }

  @Property(tries = 25)
  void a_first_allocation_is_as_fair_as_whole_nodes_allow(@ForAll long seed) {
    Pools pools = Pools.random(new Random(seed));
    Allocation first = pools.allocate();
    double rounding =
        first.workloads().size() / (2.0 * pools.state().pool().orElseThrow().nodes().size());
    assertThat(first.quality().fairnessLoss())
        .isLessThanOrEqualTo(Math.max(Pools.POLICY.fairnessLoss(), rounding) + 1e-9);
  }

  @Property(tries = 12)
  void the_order_of_inputs_does_not_matter(@ForAll long seed) {
    Pools pools = Pools.random(new Random(seed));
    AllocationRequest request = pools.request(Pools.POLICY);
    List<Map.Entry<String, ThroughputCurve>> shuffled = new ArrayList<>(pools.curves().entrySet());
    Collections.shuffle(shuffled, new Random(seed + 1));
    Map<String, ThroughputCurve> curves = new LinkedHashMap<>();
    shuffled.forEach(entry -> curves.put(entry.getKey(), entry.getValue()));
    Allocation first = Allocator.allocate(request);
    assertThat(
            Allocator.allocate(
                new AllocationRequest(pools.state(), curves, Optional.empty(), Pools.POLICY)))
        .isEqualTo(first);
    assertThat(first.allocationId()).matches("[0-9a-f]{64}");
  }

  /** Where each workload may have any number of nodes, all numbers can be tried. */
  @Property(tries = 12)
  void a_small_pool_is_allocated_to_the_optimum(@ForAll long seed) {
    Random random = new Random(seed);
    int nodes = 6 + random.nextInt(4);
    Pools pools = new Pools(nodes);
    double[] fixed = new double[3];
    double[] weight = new double[3];
    for (int w = 0; w < 3; w++) {
      fixed[w] = random.nextDouble() / 4;
      weight[w] = 0.5 + random.nextDouble();
      pools.claim("w" + w, 1, nodes, weight[w], 0, fixed[w]);
    }
    Allocation allocation = pools.allocate(new AllocationPolicy(2, 1, 60, 86_400, 20_000));
    double best = 0;
    for (int a = 1; a < nodes; a++) {
      for (int b = 1; a + b < nodes; b++) {
        int[] counts = {a, b, nodes - a - b};
        double sum = 0;
        for (int w = 0; w < 3; w++) {
          sum += weight[w] * samples(fixed[w], counts[w]);
        }
        best = Math.max(best, sum);
      }
    }
    assertThat(allocation.quality().weightedThroughput()).isCloseTo(best, within(1e-9 * best));
    assertThat(allocation.quality().gap()).isZero();
    assertThat(allocation.workloads())
        .allSatisfy(w -> assertThat(w.change()).isEqualTo(AllocationChange.STARTED));
  }

  private static double samples(double fixed, int nodes) {
    return 1e6 / (100 * (fixed + (1 - fixed) / (nodes * Pools.DEVICES_PER_NODE)));
  }
}
