package io.shardtide.views;

import static io.shardtide.testing.PoolSamples.POOL;
import static io.shardtide.testing.PoolSamples.claim;
import static io.shardtide.testing.PoolSamples.event;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import io.shardtide.views.PoolView.PoolRow;
import io.shardtide.views.PoolView.PoolShare;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The projection of pools, and its bounds. */
class PoolsProjectionTest {
  private static final Instant T = Fixtures.TIME;
  private static final SourcePosition AT = new SourcePosition("a-topic", 0, 0);

  private final PoolsProjection projection = new PoolsProjection("model"::equals);

  private void apply(PoolChange event) {
    projection.apply(AT, T, event);
  }

  private void apply(PoolUpdate... updates) {
    apply(event(updates));
  }

  private void apply(Allocation allocation) {
    projection.apply(AT, T.plusSeconds(allocation.generation()), allocation);
  }

  /** Sets a pool of nodes n1 to n4, of one device each, with a claim of workload w. */
  private void start() {
    apply(new PoolUpdate.PoolSet(PoolSamples.pool(4, Fixtures.GIB)), claim("w", 1, 3, 2));
  }

  private static WorkloadAllocation has(String workload, String... nodes) {
    return new WorkloadAllocation(
        workload,
        List.of(nodes),
        nodes.length,
        10 * nodes.length,
        1,
        nodes.length == 0 ? AllocationChange.WAITS : AllocationChange.STARTED,
        "a reason of " + workload,
        Optional.empty());
  }

  private static Allocation allocation(
      long generation, List<NodeTransfer> transfers, WorkloadAllocation... workloads) {
    return new Allocation(
            "",
            POOL,
            generation,
            Optional.empty(),
            AllocationPolicy.DEFAULTS,
            new TreeMap<>(Map.of("w", "curve")),
            List.of(workloads),
            transfers,
            new AllocationQuality(20, 0, 0.25, 0))
        .identified();
  }

  private PoolView view() {
    return projection.pool(POOL).orElseThrow();
  }

  private Map<String, String> holders() {
    return view().allocation().orElseThrow().holders();
  }

  private List<String> lost() {
    return view().lost().stream().map(lost -> lost.node().name()).toList();
  }

  @Test
  void nodes_are_taken_free_or_lost() {
    start();
    apply(allocation(1, List.of(), has("w", "n1", "n2")));
    apply(new PoolUpdate.PoolNodeLost("n2"));
    assertThat(holders()).isEqualTo(Map.of("n1", "w", "n2", "w"));
    SortedMap<String, PoolNode> nodes = view().state().pool().orElseThrow().nodes();
    assertThat(nodes).containsOnlyKeys("n1", "n3", "n4");
    assertThat(nodes.get("n4").rack()).isEqualTo("even");
    assertThat(view().lost()).containsExactly(new PoolView.LostNode(new PoolNode("n2", "even"), T));
    NodeTransfer transfer = new NodeTransfer("n2", "w", Optional.empty(), "n2 is lost");
    apply(allocation(2, List.of(transfer), has("w", "n1", "n3")));
    assertThat(holders()).isEqualTo(Map.of("n1", "w", "n3", "w"));
    assertThat(view().transfers()).isEqualTo(Map.of("n2", new PoolView.PastTransfer(2, transfer)));
    PoolRow row = view().row();
    assertThat(List.of(row.nodes(), row.freeNodes(), row.lostNodes())).containsExactly(3, 1, 1);
    apply(new PoolUpdate.PoolNodeAdded(new PoolNode("n2", "even")));
    assertThat(lost()).as("it returned").isEmpty();
    assertThat(view().row().lostNodes()).isZero();
    assertThat(view().row().freeNodes()).isEqualTo(2);
  }

  /** As the planner does: otherwise the generation would be another one. */
  @Test
  void events_that_the_planner_rejects_change_nothing() {
    start();
    PoolChange lost = event(new PoolUpdate.PoolNodeLost("n1"));
    apply(lost);
    apply(new PoolUpdate.PoolNodeAdded(new PoolNode("n1", "")));
    apply(lost);
    apply(new PoolUpdate.PoolNodeLost("nowhere"));
    assertThat(view().row().generation()).isEqualTo(3);
    assertThat(view().row().nodes()).isEqualTo(4);
  }

  @Test
  void a_share_has_the_claim_the_curve_and_the_reason() {
    start();
    projection.apply(AT, T, PoolSamples.report());
    apply(allocation(1, List.of(), has("w", "n1", "n2")));
    PoolShare share = projection.share("w").orElseThrow();
    assertThat(share.claim().orElseThrow().mostDevices()).isEqualTo(3);
    assertThat(share.allocation()).contains(has("w", "n1", "n2"));
    assertThat(view().state().claims()).isEqualTo(Map.of("w", share.claim().orElseThrow()));
    assertThat(view().allocation().orElseThrow().workloads())
        .containsExactly(share.allocation().orElseThrow());
    assertThat(view().curves()).containsExactly(PoolSamples.report().curve().orElseThrow());
    assertThat(view().simulatedModels()).containsExactly("model");
    assertThat(view().row().simulated()).isTrue();
    assertThat(projection.share("x")).isEmpty();
  }

  @Test
  void a_withdrawn_claim_keeps_its_nodes_until_the_next_allocation() {
    start();
    apply(allocation(1, List.of(), has("w", "n1")));
    apply(new PoolUpdate.ClaimWithdrawn("w"));
    assertThat(view().state().claims()).isEmpty();
    assertThat(holders()).isEqualTo(Map.of("n1", "w"));
    assertThat(projection.share("w").orElseThrow().claim()).isEmpty();
    apply(allocation(2, List.of()));
    assertThat(holders()).isEmpty();
    assertThat(projection.share("w")).isEmpty();
  }

  /** The two topics are read independently of one another. */
  @Test
  void the_current_allocation_is_the_latest_of_both_topics() {
    start();
    Allocation first = allocation(1, List.of(), has("w", "n1"));
    Allocation second = allocation(2, List.of(), has("w", "n2"));
    projection.applyCurrent(AT, T, second);
    apply(first);
    assertThat(holders()).isEqualTo(Map.of("n2", "w"));
    apply(second);
    projection.applyCurrent(AT, T, first);
    assertThat(view().row().allocationId()).contains(second.allocationId());
    assertThat(view().history()).extracting(PastAllocation::generation).containsExactly(1L, 2L);
  }

  @Test
  void the_history_has_the_devices_that_the_pool_had_then() {
    start();
    apply(allocation(1, List.of(), has("w", "n1"), has("x")));
    apply(new PoolUpdate.PoolNodeLost("n4"));
    apply(allocation(2, List.of(), has("w", "n1")));
    assertThat(view().history()).extracting(PastAllocation::generation).containsExactly(1L, 2L);
    assertThat(view().devices()).as("from its generations on").isEqualTo(Map.of(1L, 4, 2L, 3));
    assertThat(view().history().get(0).devices()).as("x waits").isEqualTo(Map.of("w", 1));
  }

  @Test
  void the_history_is_bounded_by_allocations_and_by_their_workloads() {
    start();
    for (long generation = 1; generation <= PoolProjection.HISTORY + 5; generation++) {
      apply(allocation(generation, List.of(), has("w", "n1")));
    }
    assertThat(view().history()).hasSize(PoolProjection.HISTORY);
    assertThat(view().history().get(0).generation()).isEqualTo(6);
    WorkloadAllocation[] many = new WorkloadAllocation[PoolState.MAX_CLAIMS];
    for (int w = 0; w < many.length; w++) {
      many[w] = has("w" + w, "node " + w);
    }
    for (long generation = 1_000; generation < 1_030; generation++) {
      apply(allocation(generation, List.of(), many));
    }
    assertThat(view().history()).hasSize(PoolProjection.HISTORY_SHARES / many.length);
  }

  @Test
  void the_latest_lost_nodes_are_kept() {
    List<PoolNode> nodes = new ArrayList<>(List.of(new PoolNode("stays", "")));
    for (int n = 0; n < PoolProjection.LOST + 5; n++) {
      nodes.add(new PoolNode("n%03d".formatted(n), ""));
    }
    apply(new PoolUpdate.PoolSet(Pool.of(1, Fixtures.GIB, 0, "hardware", nodes)));
    for (PoolNode node : nodes.subList(1, nodes.size())) {
      apply(new PoolUpdate.PoolNodeLost(node.name()));
    }
    assertThat(view().state().pool().orElseThrow().nodes()).containsOnlyKeys("stays");
    assertThat(lost()).hasSize(PoolProjection.LOST).startsWith("n005");
  }

  @Test
  void a_pool_that_changes_is_an_update_once_it_exists() {
    projection.apply(AT, T, PoolSamples.report());
    assertThat(projection.drainUpdates()).isEmpty();
    assertThat(projection.rows()).isEmpty();
    assertThat(projection.pool(POOL)).isEmpty();
    start();
    apply(new PoolUpdate.PoolNodeLost("n1"));
    assertThat(projection.drainUpdates())
        .containsExactly(ViewUpdate.ofRow("pool", "pool", POOL, projection.rows().get(0)));
    assertThat(projection.drainUpdates()).isEmpty();
    assertThat(projection.rows().get(0).generation()).isEqualTo(2);
  }
}
