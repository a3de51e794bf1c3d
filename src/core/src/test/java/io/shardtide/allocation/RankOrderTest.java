package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.RackPair;
import io.shardtide.pool.RingPrediction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class RankOrderTest {
  private static final RackLinks QUARTER = new RackLinks(20, 5, new TreeMap<>());

  /** Nodes n00, n01 and so on, in turns in so many racks. */
  private static List<PoolNode> nodes(int count, int racks) {
    List<PoolNode> nodes = new ArrayList<>();
    for (int n = 0; n < count; n++) {
      nodes.add(new PoolNode("n%02d".formatted(n), "r" + n % racks));
    }
    return nodes;
  }

  private static PoolLinks matrix(List<PoolNode> nodes, Random random) {
    List<List<Double>> matrix = new ArrayList<>();
    for (int i = 0; i < nodes.size(); i++) {
      matrix.add(new ArrayList<>(Collections.nCopies(nodes.size(), 0.0)));
      for (int j = 0; j < i; j++) {
        double value = 1 + random.nextInt(40);
        matrix.get(i).set(j, value);
        matrix.get(j).set(i, value);
      }
    }
    return new NodeLinks(nodes.stream().map(PoolNode::name).toList(), matrix);
  }

  private static PoolLinks racks(int racks, Random random) {
    Map<RackPair, Double> measured = new TreeMap<>();
    for (int r = 0; r < racks; r++) {
      RackPair pair = RackPair.of("r" + random.nextInt(racks), "r" + random.nextInt(racks));
      measured.put(pair, 1.0 + random.nextInt(40));
    }
    return new RackLinks(20, 5, new TreeMap<>(measured));
  }

  private static PoolLinks links(List<PoolNode> nodes, Random random) {
    return random.nextBoolean() ? matrix(nodes, random) : racks(3, random);
  }

  private static List<PoolNode> ordered(PoolLinks links, List<PoolNode> nodes) {
    Map<String, PoolNode> byName = new TreeMap<>();
    nodes.forEach(node -> byName.put(node.name(), node));
    return RankOrder.of(links, nodes).stream().map(byName::get).toList();
  }

  private static RingPrediction predict(PoolLinks links, List<PoolNode> order) {
    return RankOrder.predict(links, order).orElseThrow();
  }

  /** Bandwidth of a ring as the words define it, without the code that is tested. */
  private static double bandwidth(PoolLinks links, List<PoolNode> ring) {
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < ring.size(); i++) {
      PoolNode from = ring.get(i);
      PoolNode to = ring.get((i + 1) % ring.size());
      int sharing = 0;
      for (int k = 0; k < ring.size(); k++) {
        boolean shares =
            ring.get(k).rack().equals(from.rack())
                && ring.get((k + 1) % ring.size()).rack().equals(to.rack());
        sharing += shares ? 1 : 0;
      }
      boolean isShared = links instanceof RackLinks && !from.rack().equals(to.rack());
      least = Math.min(least, links.gigabytesPerSecond(from, to) / (isShared ? sharing : 1));
    }
    return least;
  }

  @Test
  void ranks_of_two_racks_cross_between_them_twice() {
    List<PoolNode> nodes = nodes(8, 2);
    assertThat(RankOrder.of(QUARTER, nodes))
        .containsExactly("n00", "n02", "n04", "n06", "n01", "n03", "n05", "n07");
    RingPrediction ring = predict(QUARTER, ordered(QUARTER, nodes));
    assertThat(ring.gigabytesPerSecond()).isCloseTo(5, within(1e-9));
    assertThat(ring.byNameGigabytesPerSecond()).isCloseTo(5.0 / 4, within(1e-9));
    assertThat(ring.mostGigabytesPerSecond()).isEqualTo(ring.gigabytesPerSecond());
    assertThat(ring.slowestPairGigabytesPerSecond()).isCloseTo(5, within(1e-9));
    assertThat(ring.gain()).isCloseTo(4, within(1e-9));
  }

  @Test
  void a_measured_chain_is_found_again() {
    List<PoolNode> nodes = nodes(12, 1);
    List<PoolNode> chain = new ArrayList<>(nodes);
    Collections.shuffle(chain, new Random(3));
    List<List<Double>> matrix = new ArrayList<>();
    for (PoolNode from : nodes) {
      List<Double> row = new ArrayList<>();
      for (PoolNode to : nodes) {
        int apart = Math.floorMod(chain.indexOf(from) - chain.indexOf(to), 12);
        row.add(apart == 1 || apart == 11 ? 10.0 : 1.0);
      }
      matrix.add(row);
    }
    PoolLinks links = new NodeLinks(nodes.stream().map(PoolNode::name).toList(), matrix);
    RingPrediction ring = predict(links, ordered(links, nodes));
    assertThat(ring.gigabytesPerSecond()).isEqualTo(10);
    assertThat(ring.mostGigabytesPerSecond()).isEqualTo(10);
    assertThat(ring.byNameGigabytesPerSecond()).isEqualTo(1);
  }

  @Test
  void few_nodes_have_one_ring_and_one_node_has_none() {
    assertThat(RankOrder.of(QUARTER, List.of())).isEmpty();
    assertThat(RankOrder.predict(QUARTER, nodes(1, 1))).isEmpty();
    assertThat(predict(QUARTER, nodes(2, 2)).gain()).isEqualTo(1);
    assertThat(RankOrder.of(QUARTER, nodes(3, 2))).containsExactly("n00", "n01", "n02");
  }

  @Test
  void very_many_nodes_are_ordered_by_rack() {
    List<PoolNode> nodes = nodes(RankOrder.MAX_NODES + 1, 2);
    assertThat(RankOrder.of(QUARTER, nodes).subList(0, 3)).containsExactly("n00", "n02", "n04");
    assertThat(RankOrder.predict(QUARTER, nodes)).isEmpty();
  }

  @Property(tries = 200)
  void an_order_is_a_permutation_and_not_worse_than_that_of_names(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 24) int size) {
    List<PoolNode> nodes = nodes(size, 3);
    PoolLinks links = links(nodes, new Random(seed));
    List<PoolNode> order = ordered(links, nodes);
    assertThat(order).containsExactlyInAnyOrderElementsOf(nodes);
    RingPrediction ring = predict(links, order);
    assertThat(ring.gain()).isGreaterThanOrEqualTo(1);
    assertThat(ring.gigabytesPerSecond())
        .isCloseTo(bandwidth(links, order), within(1e-9))
        .isLessThanOrEqualTo(ring.mostGigabytesPerSecond());
    assertThat(ring.byNameGigabytesPerSecond()).isCloseTo(bandwidth(links, nodes), within(1e-9));
  }

  @Property(tries = 200)
  void the_order_of_input_does_not_matter(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 24) int size) {
    List<PoolNode> nodes = nodes(size, 3);
    PoolLinks links = links(nodes, new Random(seed));
    List<PoolNode> shuffled = new ArrayList<>(nodes);
    Collections.shuffle(shuffled, new Random(seed + 1));
    assertThat(RankOrder.of(links, shuffled)).isEqualTo(RankOrder.of(links, nodes));
  }

  @Property(tries = 60)
  void few_nodes_are_in_an_optimal_order(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 7) int size) {
    List<PoolNode> nodes = nodes(size, 3);
    PoolLinks links = links(nodes, new Random(seed));
    double best = best(links, new ArrayList<>(nodes.subList(0, 1)), nodes);
    RingPrediction ring = predict(links, ordered(links, nodes));
    assertThat(ring.gigabytesPerSecond()).isCloseTo(best, within(1e-9));
    assertThat(ring.mostGigabytesPerSecond()).isEqualTo(ring.gigabytesPerSecond());
    assertThat(predict(links, nodes).mostGigabytesPerSecond()).isCloseTo(best, within(1e-9));
  }

  /** Returns the bandwidth of the best ring that begins so. */
  private static double best(PoolLinks links, List<PoolNode> begin, List<PoolNode> nodes) {
    if (begin.size() == nodes.size()) {
      return bandwidth(links, begin);
    }
    double best = 0;
    for (PoolNode node : nodes) {
      if (!begin.contains(node)) {
        begin.add(node);
        best = Math.max(best, best(links, begin, nodes));
        begin.remove(begin.size() - 1);
      }
    }
    return best;
  }

  /** The bound holds for every order, also where the search is a heuristic. */
  @Property(tries = 100)
  void no_order_has_more_than_the_bound(
      @ForAll long seed, @ForAll @IntRange(min = 10, max = 16) int size) {
    List<PoolNode> nodes = nodes(size, 3);
    Random random = new Random(seed);
    PoolLinks links = links(nodes, random);
    double most = predict(links, ordered(links, nodes)).mostGigabytesPerSecond();
    for (int i = 0; i < 50; i++) {
      List<PoolNode> shuffled = new ArrayList<>(nodes);
      Collections.shuffle(shuffled, random);
      assertThat(bandwidth(links, shuffled)).isLessThanOrEqualTo(most + 1e-9);
    }
  }
}
