package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.testing.PoolSamples;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class AllocatorTest {
  /** Adjustments cost nothing, so that every gain is taken. */
  private static final AllocationPolicy FREE = new AllocationPolicy(2, 1, 0, 1, 20_000);

  private static WorkloadAllocation of(Allocation allocation, String workload) {
    return allocation.of(workload).orElseThrow();
  }

  @Test
  void devices_go_where_they_help_most() {
    Pools pools = new Pools(8).claim("scales", 1, 8, 0).claim("saturates", 1, 8, 0.9);
    Allocation allocation = pools.allocate(FREE);
    assertThat(of(allocation, "scales").nodes()).hasSize(7);
    assertThat(of(allocation, "saturates").nodes()).hasSize(1);
    assertThat(of(allocation, "scales").devices()).isEqualTo(7 * Pools.DEVICES_PER_NODE);
    assertThat(of(allocation, "scales").samplesPerSecond()).isEqualTo(280_000);
    assertThat(of(allocation, "scales").reason())
        .isEqualTo("starts on 7 nodes, 28 devices; its fair share is 4.0");
    assertThat(allocation.quality().weightedThroughput())
        .isGreaterThan(1.25 * EqualShares.weightedThroughput(pools.request(FREE)));
  }

  @Test
  void the_fairness_bound_limits_what_is_taken_from_a_workload() {
    Pools pools = new Pools(8).claim("scales", 1, 8, 0).claim("saturates", 1, 8, 0.9);
    Allocation fair = pools.allocate(new AllocationPolicy(2, 0, 0, 1, 20_000));
    assertThat(of(fair, "scales").nodes()).hasSize(4);
    assertThat(of(fair, "saturates").nodes()).hasSize(4);
    assertThat(fair.quality().fairnessLoss()).isZero();
    Pools quarter = new Pools(8).claim("scales", 1, 8, 0).claim("saturates", 1, 8, 0.9);
    assertThat(of(quarter.allocate(new AllocationPolicy(2, 0.25, 0, 1, 20_000)), "scales").nodes())
        .hasSize(6);
  }

  @Test
  void a_weight_attracts_devices() {
    Pools pools = new Pools(9).claim("a", 1, 9, 1, 0, 0.02).claim("b", 1, 9, 2, 0, 0.02);
    Allocation allocation = pools.allocate(FREE);
    assertThat(of(allocation, "b").nodes().size())
        .isGreaterThan(of(allocation, "a").nodes().size());
  }

  @Test
  void the_workload_with_the_lowest_priority_loses_when_the_pool_shrinks() {
    Pools pools =
        new Pools(6)
            .claim("ads", 3, 3, 1, 2, 0)
            .claim("feed", 2, 2, 1, 1, 0)
            .claim("test", 1, 1, 1, 0, 0);
    assertThat(pools.allocate().quality().adjusted()).isZero();
    Allocation after = pools.lose(0).allocate();
    assertThat(of(after, "test").change()).isEqualTo(AllocationChange.STOPPED);
    assertThat(of(after, "test").reason())
        .isEqualTo(
            "needs at least 1 node; workloads of priority 0 and above need 5 of the pool's 5 at"
                + " least");
    assertThat(of(after, "ads").nodes()).hasSize(3);
    assertThat(of(after, "feed").change()).isEqualTo(AllocationChange.KEPT);
    Allocation more = pools.lose(1).allocate();
    assertThat(of(more, "feed").change()).isEqualTo(AllocationChange.STOPPED);
    assertThat(of(more, "test").change()).isEqualTo(AllocationChange.STARTED);
    assertThat(of(more, "ads").nodes()).hasSize(3);
  }

  @Test
  void a_running_workload_precedes_a_new_one_of_the_same_priority() {
    Pools pools = new Pools(4).claim("old", 3, 3, 0);
    pools.allocate();
    Allocation after = pools.claim("new", 2, 2, 0).allocate();
    assertThat(of(after, "old").change()).isEqualTo(AllocationChange.KEPT);
    assertThat(of(after, "new").change()).isEqualTo(AllocationChange.WAITS);
  }

  @Test
  void a_lost_node_has_a_reason() {
    Pools pools = new Pools(4).claim("search-ads", 1, 4, 0);
    pools.allocate();
    Allocation after = pools.lose(2).allocate();
    assertThat(of(after, "search-ads").change()).isEqualTo(AllocationChange.SHRANK);
    assertThat(of(after, "search-ads").reason())
        .isEqualTo(
            "shrinks from 4 nodes to 3: its throughput falls by 25.0%; the pool lost 1 node of it;"
                + " its fair share is 3.0");
    assertThat(PoolSamples.transfer(after, "search-ads", "node-02"))
        .contains(
            new NodeTransfer(
                "node-02", "search-ads", Optional.empty(), "the pool no longer has the node"));
    assertThat(PoolSamples.transfer(after, "search-ads", "node-01")).isEmpty();
  }

  @Test
  void a_free_node_replaces_a_lost_one() {
    Pools pools = new Pools(4).claim("ads", 2, 2, 0);
    assertThat(of(pools.allocate(), "ads").nodes()).containsExactly("node-00", "node-01");
    Allocation after = pools.lose(0).allocate();
    assertThat(of(after, "ads").nodes()).containsExactly("node-01", "node-02");
    assertThat(of(after, "ads").change()).isEqualTo(AllocationChange.MOVED);
    assertThat(after.quality().adjusted()).isEqualTo(1);
  }

  @Test
  void a_node_that_goes_to_another_workload_names_both_sides() {
    Pools pools = new Pools(4).claim("search-ads", 1, 4, 0.5);
    pools.allocate(FREE);
    Allocation after = pools.claim("feed", 3, 3, 0).allocate(FREE);
    assertThat(of(after, "search-ads").change()).isEqualTo(AllocationChange.SHRANK);
    NodeTransfer transfer = PoolSamples.transfer(after, "search-ads", "node-02").orElseThrow();
    assertThat(transfer.to()).contains("feed");
    assertThat(transfer.reason())
        .isEqualTo(
            "search-ads shrinks from 4 nodes to 1: its throughput falls by 15.0%; its fair share is"
                + " 1.0; feed starts on 3 nodes, 12 devices; its fair share is 3.0");
  }

  @Test
  void a_withdrawn_claim_frees_its_nodes() {
    Pools pools = new Pools(4).claim("a", 2, 2, 0).claim("b", 2, 4, 0);
    pools.allocate(FREE);
    Allocation after = pools.apply(new PoolUpdate.ClaimWithdrawn("a")).allocate(FREE);
    assertThat(after.of("a")).isEmpty();
    assertThat(of(after, "b").nodes()).hasSize(4);
    assertThat(after.transfers())
        .hasSize(2)
        .allSatisfy(
            transfer -> {
              assertThat(transfer.to()).contains("b");
              assertThat(transfer.reason()).isEqualTo("a withdrew its claim");
            });
  }

  @Test
  void an_adjustment_must_pay() {
    Pools pools = new Pools(3).claim("a", 1, 3, 0.95).claim("b", 1, 1, 0);
    pools.allocate(FREE);
    pools.apply(new PoolUpdate.PoolNodeAdded(Pools.node(3)));
    AllocationPolicy expensive = new AllocationPolicy(2, 1, 3_600, 86_400, 20_000);
    assertThat(of(pools.allocate(expensive), "a").change()).isEqualTo(AllocationChange.KEPT);
    assertThat(of(pools.allocate(FREE), "a").change()).isEqualTo(AllocationChange.GREW);
  }

  @Test
  void a_claim_above_the_pool_waits_until_there_are_nodes() {
    Pools pools = new Pools(2).claim("large", 3, 4, 0);
    Allocation waits = pools.allocate();
    assertThat(of(waits, "large").change()).isEqualTo(AllocationChange.WAITS);
    assertThat(of(waits, "large").reason())
        .isEqualTo("claims at least 12 devices, 3 nodes; the pool has 2 nodes");
    pools.apply(new PoolUpdate.PoolNodeAdded(Pools.node(7)));
    assertThat(of(pools.allocate(), "large").change()).isEqualTo(AllocationChange.STARTED);
  }

  @Test
  void a_workload_without_predictions_waits_or_keeps_its_nodes() {
    Pools pools = new Pools(4).claim("a", 1, 2, 0);
    ThroughputCurve curve = pools.curves().remove("a");
    assertThat(of(pools.allocate(), "a").reason()).isEqualTo("has no predicted throughput yet");
    pools.curves().put("a", curve);
    assertThat(of(pools.allocate(), "a").change()).isEqualTo(AllocationChange.STARTED);
    pools.curves().remove("a");
    Allocation kept = pools.allocate();
    assertThat(of(kept, "a").change()).isEqualTo(AllocationChange.KEPT);
    assertThat(of(kept, "a").samplesPerSecond()).isZero();
  }

  @Test
  void a_workload_that_does_not_fit_says_so() {
    Pools pools = new Pools(3).claim("a", 1, 3, 0);
    pools.curves().put("a", Pools.curve("a", List.of(new CurvePoint(12, OptionalDouble.empty()))));
    assertThat(of(pools.allocate(), "a").reason())
        .isEqualTo("does not fit on 3 nodes, 12 devices, the most that it may have");
  }

  @Test
  void fewer_devices_than_a_node_are_a_node_of_which_the_rest_is_idle() {
    Pools pools = new Pools(2);
    pools.apply(new PoolUpdate.ClaimSet(new Claim("tiny", 1, 3, 1, 0)));
    pools.curves().put("tiny", Pools.curve("tiny", 0, 100));
    Allocation allocation = pools.allocate();
    assertThat(of(allocation, "tiny").nodes()).hasSize(1);
    assertThat(of(allocation, "tiny").devices()).isEqualTo(3);
  }

  private static ThroughputCurve steps(double oneNode, double twoNodes) {
    return Pools.curve(
        "ads",
        List.of(
            new CurvePoint(4, OptionalDouble.of(oneNode)),
            new CurvePoint(8, OptionalDouble.of(twoNodes))));
  }

  /** A curve changes often a little, as it is refined: devices must not change with it. */
  @Test
  void devices_that_add_nothing_are_idle_and_change_only_if_the_gain_pays() {
    AllocationPolicy fair = new AllocationPolicy(2, 0, 300, 86_400, 20_000);
    Pools pools = new Pools(2);
    pools.apply(new PoolUpdate.ClaimSet(new Claim("ads", 1, 8, 1, 0)));
    pools.curves().put("ads", steps(10, 10));
    assertThat(of(pools.allocate(fair), "ads").nodes()).hasSize(2);
    assertThat(of(pools.last().orElseThrow(), "ads").devices()).isEqualTo(4);
    pools.curves().put("ads", steps(10, 9.99));
    Allocation kept = pools.allocate(fair);
    assertThat(of(kept, "ads").devices()).isEqualTo(4);
    assertThat(of(kept, "ads").samplesPerSecond()).isEqualTo(100_000);
    pools.curves().put("ads", steps(10, 8));
    assertThat(of(pools.allocate(fair), "ads").devices()).isEqualTo(8);
    pools.curves().put("ads", steps(8, 8));
    Allocation again = pools.allocate(fair);
    assertThat(of(again, "ads").devices()).isEqualTo(8);
    assertThat(of(again, "ads").change()).isEqualTo(AllocationChange.KEPT);
  }

  @Test
  void a_pool_without_nodes_or_claims_is_allocated() {
    assertThat(new Pools(2).allocate().workloads()).isEmpty();
    Pools empty = new Pools(1).claim("a", 1, 1, 0).lose(0);
    assertThat(of(empty.allocate(), "a").change()).isEqualTo(AllocationChange.WAITS);
  }

  @Test
  void a_pool_must_be_set() {
    assertThatThrownBy(
            () ->
                new AllocationRequest(
                    PoolState.empty("p"), Map.of(), Optional.empty(), AllocationPolicy.DEFAULTS))
        .hasMessage("the pool must be set, got generation 0 of pool p without one");
  }
}
