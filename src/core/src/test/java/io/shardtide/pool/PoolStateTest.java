package io.shardtide.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class PoolStateTest {
  private static final long GIB = 1L << 30;
  private static final PoolNode A = new PoolNode("a", "rack 1");
  private static final PoolNode B = new PoolNode("b", "rack 1");

  private static Pool pool(PoolNode... nodes) {
    return Pool.of(8, 80 * GIB, 0, "h100", List.of(nodes));
  }

  private static PoolChange event(PoolUpdate... updates) {
    return new PoolChange(new UUID(0, 1), "p", Instant.EPOCH, "test", List.of(updates));
  }

  private static PoolState state(PoolUpdate... updates) {
    return PoolState.empty("p").apply(event(updates));
  }

  private static void rejects(RejectionReason reason, String message, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessage(message);
  }

  @Test
  void updates_of_an_event_are_applied_in_order() {
    PoolState state =
        state(
            new PoolUpdate.PoolSet(pool(A)),
            new PoolUpdate.PoolNodeAdded(B),
            new PoolUpdate.PoolNodeLost("a"),
            new PoolUpdate.ClaimSet(new Claim("w", 1, 8, 1, 0)),
            new PoolUpdate.ClaimSet(new Claim("w", 8, 16, 2, 3)),
            new PoolUpdate.ClaimSet(new Claim("v", 1, 8, 1, 0)),
            new PoolUpdate.ClaimWithdrawn("v"));
    assertThat(state.generation()).isEqualTo(1);
    assertThat(state.pool().orElseThrow().nodes().keySet()).containsExactly("b");
    assertThat(state.pool().orElseThrow().devices()).isEqualTo(8);
    assertThat(state.claims().values()).containsExactly(new Claim("w", 8, 16, 2, 3));
    assertThat(state.apply(event(new PoolUpdate.PoolSet(pool(A)))).claims()).hasSize(1);
  }

  @Test
  void a_pool_may_lose_all_nodes() {
    PoolState state = state(new PoolUpdate.PoolSet(pool(A)), new PoolUpdate.PoolNodeLost("a"));
    assertThat(state.pool().orElseThrow().devices()).isZero();
  }

  @Test
  void what_is_not_there_is_rejected() {
    rejects(
        RejectionReason.UNKNOWN_POOL,
        "pool \"p\" must be set before its nodes and claims change. Maybe publish a PoolSet first",
        () -> state(new PoolUpdate.PoolNodeLost("a")));
    rejects(
        RejectionReason.UNKNOWN_POOL,
        "pool \"p\" must be set before its nodes and claims change. Maybe publish a PoolSet first",
        () -> state(new PoolUpdate.ClaimSet(new Claim("w", 1, 1, 1, 0))));
    rejects(
        RejectionReason.UNKNOWN_NODE,
        "a lost node must be one of the pool's 1, got \"b\"",
        () -> state(new PoolUpdate.PoolSet(pool(A)), new PoolUpdate.PoolNodeLost("b")));
    rejects(
        RejectionReason.DUPLICATE_NODE,
        "names of nodes must differ, got \"a\" twice",
        () -> state(new PoolUpdate.PoolSet(pool(A)), new PoolUpdate.PoolNodeAdded(A)));
    rejects(
        RejectionReason.DUPLICATE_NODE,
        "names of nodes must differ, got \"a\" twice",
        () -> pool(A, A));
    rejects(
        RejectionReason.UNKNOWN_CLAIM,
        "a withdrawn claim must be one of the 0 on pool \"p\", got that of workload \"w\"",
        () -> state(new PoolUpdate.PoolSet(pool(A)), new PoolUpdate.ClaimWithdrawn("w")));
  }

  @Test
  void values_outside_their_range_are_rejected() {
    rejects(
        RejectionReason.INVALID_POOL,
        "nodes of a pool must be between 1 and 16384, got 0",
        () -> pool());
    rejects(
        RejectionReason.INVALID_POOL,
        "devices per node of a pool must be between 1 and 16384, got 0",
        () -> Pool.of(0, GIB, 0, "h100", List.of(A)));
    rejects(
        RejectionReason.INVALID_POOL,
        "devices of a pool must be between 0 and 16384, got 20000",
        () -> Pool.of(10_000, GIB, 0, "h100", List.of(A, B)));
    rejects(
        RejectionReason.INVALID_POOL,
        "bytes of memory per device of a pool must be between 1 and 2^44, got 0",
        () -> Pool.of(8, 0, 0, "h100", List.of(A)));
    rejects(
        RejectionReason.INVALID_POOL,
        "bytes of host memory per device of a pool must be between 0 and 2^44, got -1",
        () -> Pool.of(8, GIB, -1, "h100", List.of(A)));
    rejects(
        RejectionReason.INVALID_POOL,
        "name of a node must have 1 to 255 characters, none of them a control character, got \"\":"
            + " it is empty",
        () -> new PoolNode("", ""));
    rejects(
        RejectionReason.INVALID_CLAIM,
        "least devices of the claim of workload \"w\" must be between 1 and 8, got 9",
        () -> new Claim("w", 9, 8, 1, 0));
    rejects(
        RejectionReason.INVALID_CLAIM,
        "most devices of the claim of workload \"w\" must be between 1 and 16384, got 16385",
        () -> new Claim("w", 1, 16_385, 1, 0));
    rejects(
        RejectionReason.INVALID_CLAIM,
        "weight of the claim of workload \"w\" must be between 0.001 and 1000, got NaN",
        () -> new Claim("w", 1, 8, Double.NaN, 0));
    rejects(
        RejectionReason.INVALID_CLAIM,
        "priority of the claim of workload \"w\" must be between 0 and 1000, got -1",
        () -> new Claim("w", 1, 8, 1, -1));
    rejects(
        RejectionReason.NO_CHANGES,
        "changes of a pool's event must be between 1 and 1000, got 0",
        () -> event());
    rejects(
        RejectionReason.TOO_MANY_CHANGES,
        "changes of a pool's event must be between 1 and 1000, got 1001",
        () ->
            new PoolChange(
                new UUID(0, 1),
                "p",
                Instant.EPOCH,
                "test",
                Collections.nCopies(1_001, new PoolUpdate.PoolNodeLost("a"))));
  }

  @Test
  void claims_are_limited() {
    List<PoolUpdate> updates = new ArrayList<>();
    for (int w = 0; w < PoolState.MAX_CLAIMS; w++) {
      updates.add(new PoolUpdate.ClaimSet(new Claim("w" + w, 1, 1, 1, 0)));
    }
    PoolState full =
        state(new PoolUpdate.PoolSet(pool(A)))
            .apply(new PoolChange(new UUID(0, 2), "p", Instant.EPOCH, "test", updates));
    assertThat(full.claims()).hasSize(1_000);
    rejects(
        RejectionReason.INVALID_CLAIM,
        "number of claims of pool \"p\" must be between 0 and 1000, got 1001",
        () -> full.apply(event(new PoolUpdate.ClaimSet(new Claim("more", 1, 1, 1, 0)))));
  }

  @Test
  void a_workload_has_the_pool_s_devices_in_its_cluster() {
    ClusterSpec own = new ClusterSpec(4, GIB, 4_096, 4, "other");
    ClusterSpec cluster = pool(A, B).cluster(own, 12);
    assertThat(cluster).isEqualTo(new ClusterSpec(12, 80 * GIB, 4_096, 8, "h100"));
    assertThat(pool(A, B).nodesFor(8)).isEqualTo(1);
    assertThat(pool(A, B).nodesFor(9)).isEqualTo(2);
  }
}
