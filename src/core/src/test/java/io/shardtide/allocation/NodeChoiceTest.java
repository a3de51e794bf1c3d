package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.Claim;
import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.RackPair;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class NodeChoiceTest {
  private final Map<String, PoolNode> nodes = new TreeMap<>();
  private PoolLinks links;
  private final List<Demand> demands = new ArrayList<>();
  private final List<NodeCount> counts = new ArrayList<>();

  private void rack(String rack, int size) {
    for (int n = 0; n < size; n++) {
      nodes.put(rack + n, new PoolNode(rack + n, rack));
    }
  }

  private void demand(int count, int priority, String... held) {
    demands.add(
        new Demand(
            new Claim("w" + demands.size(), 1, 100, 1, priority),
            List.of(new NodeCount(count, count, 1)),
            held.length,
            List.of(held),
            ""));
    counts.add(new NodeCount(count, count, 1));
  }

  private List<List<String>> choose() {
    return NodeChoice.choose(nodes, Optional.ofNullable(links), demands, counts);
  }

  @Test
  void a_workload_fills_the_smallest_rack_that_is_large_enough() {
    rack("a", 4);
    rack("b", 2);
    rack("c", 3);
    demand(2, 0);
    demand(3, 0);
    assertThat(choose()).containsExactly(List.of("b0", "b1"), List.of("c0", "c1", "c2"));
  }

  @Test
  void a_workload_larger_than_a_rack_is_in_as_few_as_possible() {
    rack("a", 2);
    rack("b", 4);
    rack("c", 1);
    demand(5, 0);
    assertThat(choose()).containsExactly(List.of("b0", "b1", "b2", "b3", "c0"));
  }

  @Test
  void a_workload_grows_in_its_own_racks() {
    rack("a", 3);
    rack("b", 3);
    demand(4, 0, "b0", "b1");
    demand(1, 0, "a0");
    assertThat(choose()).containsExactly(List.of("a1", "b0", "b1", "b2"), List.of("a0"));
  }

  @Test
  void a_workload_gives_up_nodes_where_it_has_few() {
    rack("a", 3);
    rack("b", 3);
    demand(2, 0, "a0", "b0", "b1");
    assertThat(choose()).containsExactly(List.of("b0", "b1"));
  }

  @Test
  void priority_chooses_first() {
    rack("a", 2);
    rack("b", 1);
    demand(2, 0);
    demand(1, 0, "a0");
    assertThat(choose()).containsExactly(List.of("a1", "b0"), List.of("a0"));
    demands.clear();
    counts.clear();
    rack("b", 2);
    demand(2, 0);
    demand(1, 1);
    demand(1, 0);
    assertThat(choose()).containsExactly(List.of("b0", "b1"), List.of("a0"), List.of("a1"));
  }

  private void measured(String first, String second, double gigabytesPerSecond) {
    Map<RackPair, Double> measured = new TreeMap<>();
    if (links instanceof RackLinks before) {
      measured.putAll(before.measured());
    }
    measured.put(RackPair.of(first, second), gigabytesPerSecond);
    links = new RackLinks(20, 5, new TreeMap<>(measured));
  }

  @Test
  void a_workload_larger_than_a_rack_goes_on_in_the_nearest_rack() {
    rack("a", 4);
    rack("b", 2);
    rack("c", 2);
    demand(6, 0);
    measured("a", "c", 10);
    assertThat(choose()).containsExactly(List.of("a0", "a1", "a2", "a3", "c0", "c1"));
  }

  @Test
  void a_workload_starts_where_its_nodes_are_near_one_another() {
    rack("a", 2);
    rack("b", 2);
    measured("a", "a", 2);
    demand(2, 0);
    assertThat(choose()).containsExactly(List.of("b0", "b1"));
    links = null;
    assertThat(choose()).containsExactly(List.of("a0", "a1"));
  }

  @Test
  void a_workload_gives_up_the_nodes_that_are_far_from_its_others() {
    rack("a", 1);
    rack("b", 1);
    rack("c", 1);
    demand(2, 0, "a0", "b0", "c0");
    measured("a", "c", 10);
    assertThat(choose()).containsExactly(List.of("a0", "c0"));
    links = null;
    assertThat(choose()).containsExactly(List.of("a0", "b0"));
  }

  /** Nodes a0 to a5 in a line: the nearer, the faster. */
  @Test
  void a_matrix_finds_neighbours_and_grows_beside_them() {
    rack("a", 6);
    List<List<Double>> matrix = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      List<Double> row = new ArrayList<>();
      for (int j = 0; j < 6; j++) {
        row.add(i == j ? 0 : 12.0 / Math.abs(i - j));
      }
      matrix.add(row);
    }
    links = new NodeLinks(List.copyOf(nodes.keySet()), matrix);
    demand(3, 1, "a4");
    demand(2, 0);
    assertThat(choose()).containsExactly(List.of("a2", "a3", "a4"), List.of("a0", "a1"));
  }

  /** What was found is not worse than any other set of nodes of two racks would be, if one fits. */
  @Property(tries = 100)
  void a_workload_that_fits_in_a_rack_is_in_one(@ForAll long seed) {
    Random random = new Random(seed);
    NodeChoiceTest pool = new NodeChoiceTest();
    int largest = 0;
    for (String rack : List.of("a", "b", "c", "d")) {
      int size = 1 + random.nextInt(6);
      pool.rack(rack, size);
      largest = Math.max(largest, size);
    }
    pool.demand(1 + random.nextInt(largest), 0);
    for (Optional<PoolLinks> of :
        List.<Optional<PoolLinks>>of(
            Optional.empty(), Optional.of(new RackLinks(20, 5, new TreeMap<>())))) {
      List<String> chosen = NodeChoice.choose(pool.nodes, of, pool.demands, pool.counts).get(0);
      assertThat(chosen).hasSize(pool.counts.get(0).nodes());
      assertThat(chosen)
          .extracting(node -> node.substring(0, 1))
          .containsOnly(chosen.get(0).substring(0, 1));
    }
  }
}
