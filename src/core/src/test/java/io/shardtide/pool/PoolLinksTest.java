package io.shardtide.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class PoolLinksTest {
  private static final PoolNode A = new PoolNode("a", "r");
  private static final PoolNode B = new PoolNode("b", "r");
  private static final PoolNode C = new PoolNode("c", "s");
  private static final List<List<Double>> MATRIX =
      List.of(List.of(0.0, 9.0, 2.0), List.of(9.0, 0.0, 3.0), List.of(2.0, 3.0, 0.0));

  private static NodeLinks matrix(String... nodes) {
    return new NodeLinks(List.of(nodes), MATRIX);
  }

  private static Pool pool(PoolLinks links) {
    return Pool.of(8, 1L << 36, 0, "h100", List.of(A, B, C)).withLinks(links);
  }

  private static void rejects(String message, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_POOL))
        .hasMessage(message);
  }

  @Test
  void a_matrix_has_the_bandwidth_of_pairs_in_any_order_of_names() {
    NodeLinks links = matrix("c", "a", "b");
    assertThat(links.gigabytesPerSecond(C, A)).isEqualTo(9);
    assertThat(links.gigabytesPerSecond(B, C)).isEqualTo(2);
    assertThat(links.gigabytesPerSecond(A, B)).isEqualTo(3);
    assertThat(pool(links).links()).contains(matrix("c", "a", "b"));
    assertThat(links.nodes()).containsExactly("c", "a", "b");
  }

  @Test
  void an_added_node_is_far_from_all_until_it_is_measured_and_a_lost_one_is_remembered() {
    PoolNode added = new PoolNode("d", "r");
    Pool after = pool(matrix("a", "b", "c")).without("a").with(added);
    assertThat(after.links().orElseThrow().gigabytesPerSecond(added, B)).isEqualTo(2);
    assertThat(after.with(A).links().orElseThrow().gigabytesPerSecond(A, B)).isEqualTo(9);
  }

  @Test
  void racks_have_a_bandwidth_of_their_own_or_that_of_all() {
    Map<RackPair, Double> measured = new TreeMap<>();
    RackLinks.put(measured, RackPair.of("s", "r"), 4);
    RackLinks.put(measured, RackPair.of("s", "s"), 30);
    RackLinks.put(measured, RackPair.of("r", "s"), 4);
    RackLinks links = new RackLinks(20, 5, new TreeMap<>(measured));
    assertThat(links.gigabytesPerSecond(A, B)).isEqualTo(20);
    assertThat(links.gigabytesPerSecond(C, A)).isEqualTo(4);
    assertThat(links.gigabytesPerSecond(C, new PoolNode("d", "s"))).isEqualTo(30);
    assertThat(links.gigabytesPerSecond(C, new PoolNode("d", ""))).isEqualTo(5);
  }

  @Test
  void links_that_contradict_each_other_are_rejected() {
    Map<RackPair, Double> measured = new TreeMap<>(Map.of(RackPair.of("r", "s"), 5.0));
    rejects(
        "racks \"r\" and \"s\" must have one bandwidth, got 5.0 and 6.0 GB/s",
        () -> RackLinks.put(measured, RackPair.of("s", "r"), 6));
    rejects(
        "bandwidth of \"a\" and \"b\" must be equal in both directions, got 9.0 and 8.0 GB/s",
        () -> new NodeLinks(List.of("a", "b"), List.of(List.of(0.0, 9.0), List.of(8.0, 0.0))));
    rejects("nodes of a matrix must be different, got \"a\" twice", () -> matrix("a", "b", "a"));
  }

  @Test
  void links_of_other_nodes_are_rejected() {
    rejects(
        "nodes of a matrix must be those of the pool, got \"d\"",
        () -> pool(matrix("a", "b", "d")));
    rejects(
        "nodes of a matrix must be all of the pool, got none for \"c\"",
        () ->
            pool(new NodeLinks(List.of("a", "b"), List.of(List.of(0.0, 9.0), List.of(9.0, 0.0)))));
    rejects(
        "racks of links must be those of the pool's nodes, got \"t\"",
        () -> pool(new RackLinks(20, 5, new TreeMap<>(Map.of(RackPair.of("t", "r"), 1.0)))));
  }

  @Test
  void a_matrix_that_is_not_square_or_out_of_range_is_rejected() {
    rejects("a matrix of 2 nodes must have as many rows, got 3", () -> matrix("a", "b"));
    rejects(
        "rows of a matrix of 2 nodes must have as many numbers, got 1 for \"b\"",
        () -> new NodeLinks(List.of("a", "b"), List.of(List.of(0.0, 9.0), List.of(9.0))));
    rejects(
        "nodes of a matrix must be between 2 and 512, got 1",
        () -> new NodeLinks(List.of("a"), List.of(List.of(0.0))));
    for (double value : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
      rejects(
          "bandwidth from \"a\" to \"b\" must be above 0 to 1000000 GB/s, got " + value,
          () ->
              new NodeLinks(
                  List.of("a", "b"), List.of(Arrays.asList(0.0, value), List.of(value, 0.0))));
      rejects(
          "bandwidth from \"a rack\" to \"another one\" must be above 0 to 1000000 GB/s, got "
              + value,
          () -> new RackLinks(1, value, new TreeMap<>()));
    }
  }
}
