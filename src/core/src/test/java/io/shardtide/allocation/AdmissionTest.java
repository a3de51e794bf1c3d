package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.WorkloadAllocation;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Who has nodes where the least claims exceed the pool, in the order that docs/POOLS.md states. */
class AdmissionTest {
  private static final double TOLERANCE = 1e-9;

  private static AllocationChange change(Allocation allocation, String workload) {
    return allocation.of(workload).orElseThrow().change();
  }

  private static String node(Allocation allocation, String workload) {
    return allocation.of(workload).orElseThrow().nodes().get(0);
  }

  private static Allocation lose(Pools pools, String node) {
    return pools.apply(new PoolUpdate.PoolNodeLost(node)).allocate();
  }

  /** The ids say the opposite. */
  @Test
  void of_equal_priority_the_workload_stops_that_adds_the_least() {
    Pools pools = new Pools(2).claim("za", 1, 2, 100, 0, 0).claim("ab", 1, 2, 1, 0, 0);
    Allocation before = pools.allocate();
    Allocation after = lose(pools, node(before, "ab"));
    assertThat(change(after, "za")).isEqualTo(AllocationChange.KEPT);
    assertThat(change(after, "ab")).isEqualTo(AllocationChange.STOPPED);
    assertThat(after.quality().adjusted()).isEqualTo(1);
    assertThat(after.quality().gap()).isZero();

    Pools others = new Pools(2).claim("za", 1, 2, 100, 0, 0).claim("ab", 1, 2, 1, 0, 0);
    after = lose(others, node(others.allocate(), "za"));
    assertThat(change(after, "za")).as("it is worth a restart").isEqualTo(AllocationChange.MOVED);
    assertThat(change(after, "ab")).isEqualTo(AllocationChange.STOPPED);
  }

  @Test
  void of_equal_workloads_the_one_stops_that_lost_its_node() {
    for (String loser : List.of("a", "b", "c")) {
      Pools pools = new Pools(3).claim("a", 1, 1, 0).claim("b", 1, 1, 0).claim("c", 1, 1, 0);
      Allocation after = lose(pools, node(pools.allocate(), loser));
      assertThat(change(after, loser)).isEqualTo(AllocationChange.STOPPED);
      assertThat(after.quality().adjusted()).isEqualTo(1);
    }
  }

  @Test
  void ids_break_ties_only() {
    Pools pools = new Pools(2);
    for (String id : List.of("c", "a", "d", "b")) {
      pools.claim(id, 1, 1, 0);
    }
    pools.claim("z", 1, 1, 2, 0, 0);
    Allocation allocation = pools.allocate();
    assertThat(change(allocation, "z")).isEqualTo(AllocationChange.STARTED);
    assertThat(change(allocation, "a")).isEqualTo(AllocationChange.STARTED);
    assertThat(allocation.quality().weightedThroughput()).isEqualTo(3 * 40_000.0);
  }

  @Test
  void more_ranks_than_are_chosen_among_are_not_called_optimal() {
    Pools pools = new Pools(110);
    for (int rank = 0; rank < 10; rank++) {
      pools.claim("small-%d".formatted(rank), 1, 20, 1, 20 - rank, 0);
      pools.claim("large-%d".formatted(rank), 110 - rank, 120, 1, 20 - rank, 0);
    }
    Allocation allocation = pools.allocate();
    assertThat(allocation.workloads()).filteredOn(w -> !w.nodes().isEmpty()).hasSize(10);
    assertThat(allocation.quality().gap()).isBetween(0.001, 1.0);
  }

  /** All numbers of nodes of all workloads are tried. */
  @Property(tries = 150)
  void nothing_is_better_in_the_documented_order(@ForAll long seed) {
    Random random = new Random(seed);
    Pools pools = new Pools(2 + random.nextInt(5));
    int workloads = 2 + random.nextInt(4);
    for (int w = 0; w < workloads; w++) {
      claim(pools, (char) ('a' + w) + "", random);
    }
    AllocationPolicy policy = new AllocationPolicy(2, 1, random.nextInt(3) * 300, 3_600, 20_000);
    check(pools, policy);
    for (int step = 0; step < 3; step++) {
      for (int lost = 1 + random.nextInt(2); lost > 0; lost--) {
        List<String> nodes = List.copyOf(pools.state().pool().orElseThrow().nodes().keySet());
        if (nodes.size() > 1) {
          pools.apply(new PoolUpdate.PoolNodeLost(nodes.get(random.nextInt(nodes.size()))));
        }
      }
      if (random.nextBoolean()) {
        claim(pools, (char) ('a' + random.nextInt(6)) + "", random);
      }
      check(pools, policy);
    }
  }

  private static void claim(Pools pools, String id, Random random) {
    int least = 1 + random.nextInt(3);
    double[] weights = {1, 1, 2, 100};
    pools.claim(
        id,
        least,
        least + random.nextInt(3),
        weights[random.nextInt(weights.length)],
        random.nextInt(2),
        random.nextInt(3) / 4.0);
  }

  /** One workload of the pool, as the enumeration sees it. */
  private record Candidate(Claim claim, List<Double> samples, int had, int held, int least) {
    double value(int nodes, AllocationPolicy policy) {
      if (nodes == 0) {
        return 0;
      }
      double price =
          isAdjusted(nodes)
              ? policy.adjustmentPrice() * claim.weight() * samples.get(Math.max(held, least))
              : 0;
      return claim.weight() * samples.get(nodes) - price;
    }

    boolean isAdjusted(int nodes) {
      return had > 0 && (nodes != had || held < had);
    }
  }

  private static void check(Pools pools, AllocationPolicy policy) {
    Optional<Allocation> before = pools.last();
    Pool pool = pools.state().pool().orElseThrow();
    List<Candidate> candidates = new ArrayList<>();
    for (Claim claim : pools.state().claims().values()) {
      List<String> had =
          before
              .flatMap(b -> b.of(claim.workloadId()))
              .map(WorkloadAllocation::nodes)
              .orElse(List.of());
      List<Double> samples = new ArrayList<>();
      for (int nodes = 0; nodes <= pool.nodesFor(claim.mostDevices()); nodes++) {
        samples.add(
            nodes == 0
                ? 0
                : pools
                    .curves()
                    .get(claim.workloadId())
                    .samplesPerSecond(nodes * Pools.DEVICES_PER_NODE)
                    .orElseThrow());
      }
      int held = (int) had.stream().filter(node -> pool.nodes().containsKey(node)).count();
      candidates.add(
          new Candidate(
              claim,
              samples,
              had.size(),
              Math.min(held, samples.size() - 1),
              pool.nodesFor(claim.leastDevices())));
    }
    Allocation allocation = pools.allocate(policy);
    int[] counts = allocation.workloads().stream().mapToInt(w -> w.nodes().size()).toArray();
    double[] best = enumerate(candidates, new int[counts.length], 0, pool.nodes().size(), policy);
    double[] found = objective(candidates, counts, policy);
    for (int i = 0; i < best.length; i++) {
      assertThat(found[i])
          .as("%d of %s: %s", i, candidates, allocation.workloads())
          .isCloseTo(best[i], within(TOLERANCE * (1 + Math.abs(best[i]))));
    }
    assertThat(allocation.quality().gap()).isZero();
  }

  private static double[] enumerate(
      List<Candidate> candidates, int[] counts, int next, int free, AllocationPolicy policy) {
    if (next == counts.length) {
      return objective(candidates, counts, policy);
    }
    Candidate candidate = candidates.get(next);
    double[] best = null;
    for (int nodes = 0; nodes <= Math.min(free, candidate.samples().size() - 1); nodes++) {
      if (nodes == 0 || nodes >= candidate.least()) {
        counts[next] = nodes;
        double[] found = enumerate(candidates, counts, next + 1, free - nodes, policy);
        if (best == null || isBetter(found, best)) {
          best = found;
        }
      }
    }
    counts[next] = 0;
    return best;
  }

  private static boolean isBetter(double[] found, double[] than) {
    for (int i = 0; i < found.length; i++) {
      if (Math.abs(found[i] - than[i]) > TOLERANCE * (1 + Math.abs(than[i]))) {
        return found[i] > than[i];
      }
    }
    return false;
  }

  /**
   * By priority, the greatest first, how many run on and how many start; then adjustments beyond
   * the bound; then the weighted throughput, less the price of adjustments.
   */
  private static double[] objective(
      List<Candidate> candidates, int[] counts, AllocationPolicy policy) {
    List<Integer> priorities =
        new ArrayList<>(
            new TreeSet<>(candidates.stream().map(c -> -c.claim().priority()).toList()));
    double[] objective = new double[2 * priorities.size() + 2];
    int adjusted = 0;
    for (int c = 0; c < counts.length; c++) {
      Candidate candidate = candidates.get(c);
      int rank = 2 * priorities.indexOf(-candidate.claim().priority());
      objective[rank + (candidate.had() > 0 ? 0 : 1)] += counts[c] > 0 ? 1 : 0;
      adjusted += candidate.isAdjusted(counts[c]) ? 1 : 0;
      objective[objective.length - 1] += candidate.value(counts[c], policy);
    }
    objective[objective.length - 2] = -Math.max(0, adjusted - policy.adjustedAtOnce());
    return objective;
  }
}
