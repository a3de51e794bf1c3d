package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.pool.Claim;
import io.shardtide.domain.pool.PoolNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class NodeChoiceTest {
  private final Map<String, PoolNode> nodes = new TreeMap<>();
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
    return NodeChoice.choose(nodes, demands, counts);
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
}
