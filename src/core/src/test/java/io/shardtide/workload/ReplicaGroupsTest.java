package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Transfer;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplicaGroupsTest {
  private static ClusterSpec cluster(int devices, int perNode, Integer... groups) {
    return ClusterSpecBuilder.builder(
            new ClusterSpec(devices, Fixtures.GIB, 1_000, perNode, "simulated"))
        .replicaGroups(List.of(groups))
        .synchronizationSteps(10)
        .build();
  }

  /** Returns the ranks of the devices with a position in their groups. */
  private static List<Integer> ranks(ReplicaGroups groups, int position, int groupSize) {
    return IntStream.range(0, groups.count())
        .mapToObj(group -> groups.rank(position, group, groupSize))
        .toList();
  }

  @Test
  void groups_are_whole_nodes_or_a_share_of_each() {
    ClusterSpec cluster = cluster(16, 8, 4, 1, 2, 2);
    assertThat(cluster.replicaGroups()).containsExactly(1, 2, 4);
    assertThat(cluster.groupings())
        .containsExactly(
            ReplicaGroups.ONE,
            new ReplicaGroups(2, GroupLayout.CONSECUTIVE),
            new ReplicaGroups(2, GroupLayout.STRIDED),
            new ReplicaGroups(4, GroupLayout.CONSECUTIVE),
            new ReplicaGroups(4, GroupLayout.STRIDED));
    ClusterSpec node = cluster.group(new ReplicaGroups(2, GroupLayout.CONSECUTIVE));
    assertThat(node.devices()).isEqualTo(8);
    assertThat(node.devicesPerNode()).isEqualTo(8);
    assertThat(node.batchSize()).isEqualTo(500);
    assertThat(node.groupings()).containsExactly(ReplicaGroups.ONE);
    assertThat(cluster.group(new ReplicaGroups(4, GroupLayout.CONSECUTIVE)).devicesPerNode())
        .isEqualTo(4);
    ClusterSpec shares = cluster.group(new ReplicaGroups(4, GroupLayout.STRIDED));
    assertThat(shares.devices()).isEqualTo(4);
    assertThat(shares.devicesPerNode()).isEqualTo(2);
    assertThat(cluster.group(ReplicaGroups.ONE).devices()).isEqualTo(16);
    assertThat(ranks(new ReplicaGroups(4, GroupLayout.STRIDED), 3, 4))
        .containsExactly(12, 13, 14, 15);
    assertThat(ranks(new ReplicaGroups(4, GroupLayout.CONSECUTIVE), 3, 4))
        .containsExactly(3, 7, 11, 15);
  }

  /** The devices of a position that share a node decide how fast groups are synchronized. */
  @ParameterizedTest
  @CsvSource({
    "16, 8, 2, CONSECUTIVE, 1", "16, 8, 4, CONSECUTIVE, 2", "16, 8, 2, STRIDED, 2",
    "16, 8, 16, CONSECUTIVE, 8", "8, 8, 4, CONSECUTIVE, 4", "32, 4, 8, STRIDED, 4"
  })
  void devices_of_a_position_share_nodes(
      int devices, int perNode, int count, GroupLayout layout, int expected) {
    ReplicaGroups groups = new ReplicaGroups(count, layout);
    ClusterSpec cluster = cluster(devices, perNode, count);
    assertThat(groups.peersPerNode(cluster)).isEqualTo(expected);
    TreeSet<Integer> nodes = new TreeSet<>();
    ranks(groups, 0, devices / count).forEach(rank -> nodes.add(cluster.node(rank)));
    assertThat(nodes).hasSize(count / expected);
  }

  /**
   * Each rank is one device of one group, whose devices are on as many nodes as it is planned for.
   */
  @Property(tries = 200)
  void each_rank_is_in_one_group(
      @ForAll @IntRange(min = 1, max = 6) int nodes,
      @ForAll @IntRange(min = 1, max = 8) int perNode,
      @ForAll @IntRange(min = 0, max = 7) int missing,
      @ForAll @IntRange(min = 0, max = 9) int which) {
    // The last node may be smaller.
    int devices = nodes * perNode - missing % perNode;
    List<Integer> divisors =
        IntStream.rangeClosed(1, devices).filter(n -> devices % n == 0).boxed().toList();
    int count = divisors.get(which % divisors.size());
    List<ReplicaGroups> groupings;
    try {
      groupings = cluster(devices, perNode, count).groupings();
    } catch (RejectedException e) {
      assertThat(e).hasMessageContaining("whole nodes, equal parts of nodes, or an equal share");
      return;
    }
    ClusterSpec cluster = cluster(devices, perNode, count);
    for (ReplicaGroups groups : groupings) {
      ClusterSpec group = cluster.group(groups);
      List<Integer> ranks = new ArrayList<>();
      for (int g = 0; g < count; g++) {
        for (int position = 0; position < group.devices(); position++) {
          int rank = groups.rank(position, g, group.devices());
          ranks.add(rank);
          assertThat(groups.groupOf(rank, group.devices())).isEqualTo(g);
          int first = groups.rank(position - position % group.devicesPerNode(), g, group.devices());
          assertThat(cluster.node(rank)).as("the node of its group").isEqualTo(cluster.node(first));
        }
      }
      assertThat(ranks)
          .containsExactlyInAnyOrderElementsOf(IntStream.range(0, devices).boxed().toList());
    }
  }

  @Test
  void groups_that_cannot_be_are_rejected() {
    assertThatThrownBy(() -> cluster(16, 8, 1, 3))
        .isInstanceOf(RejectedException.class)
        .hasMessage("replica groups of a cluster must be divisors of its 16 devices, got 3");
    assertThatThrownBy(() -> cluster(60, 6, 15))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("got 15 groups of 4 devices with 6 devices per node");
    assertThatThrownBy(() -> cluster(16, 8))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("at least one number");
    assertThatThrownBy(() -> cluster(2_000, 8, 2_000))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("at most its 1000 samples per batch, got 2000");
    assertThatThrownBy(() -> new ReplicaGroups(0, GroupLayout.CONSECUTIVE))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> ClusterSpecBuilder.builder(cluster(16, 8, 2)).synchronizationSteps(0).build())
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("steps between synchronizations");
  }

  /** Four devices: t is cut in two parts. Two groups of two devices each hold both parts. */
  @Test
  void each_rank_takes_what_it_lacks_from_its_old_group() {
    TableSpec table = Fixtures.table("t", 10, 8, 1);
    Shard left = new Shard("t", new Region(0, 4, 0, 10), 0, ShardKind.COLUMN_WISE);
    Shard right = new Shard("t", new Region(4, 4, 0, 10), 1, ShardKind.COLUMN_WISE);
    PlanShards two =
        new PlanShards(List.of(left, right), 2, new ReplicaGroups(2, GroupLayout.CONSECUTIVE));
    Shard whole = new Shard("t", new Region(0, 8, 0, 10), 1, ShardKind.TABLE_WISE);
    PlanShards one = new PlanShards(List.of(whole), 2, two.groups());
    assertThat(Overlap.between(two, one))
        .filteredOn(Overlap::changesDevice)
        .containsExactly(
            new Overlap("t", left.region(), 0, 1), new Overlap("t", left.region(), 2, 3));
    List<Transfer> moves = Overlap.moves(Overlap.between(two, one), Map.of("t", table), one);
    assertThat(moves).extracting(Transfer::bytes).containsExactly(160L, 160L);
    assertThat(new PlanMoves(moves, List.of()).shards(one)).isEqualTo(1);
    assertThat(Overlap.moveOrder(two, one, Map.of("t", table), cluster(4, 4, 2))).hasSize(2);

    PlanShards all = new PlanShards(List.of(left, right), 4);
    assertThat(Overlap.between(all, two))
        .as("from one group: its only copy")
        .filteredOn(Overlap::changesDevice)
        .containsExactly(
            new Overlap("t", left.region(), 0, 2), new Overlap("t", right.region(), 1, 3));
    assertThat(Overlap.between(two, all)).filteredOn(Overlap::changesDevice).isEmpty();
    assertThat(Overlap.moveOrder(all, two, Map.of("t", table), cluster(4, 4, 1, 2))).isEmpty();

    PlanShards copies =
        new PlanShards(
            List.of(new Shard("t", Region.of(table), Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL)),
            2,
            two.groups());
    List<Transfer> copied = Overlap.moves(Overlap.between(one, copies), Map.of("t", table), copies);
    assertThat(copied)
        .extracting(move -> move.overlap())
        .containsExactly(
            new Overlap("t", whole.region(), 1, Shard.EVERY_DEVICE),
            new Overlap("t", whole.region(), 3, Shard.EVERY_DEVICE));
    assertThat(copied).extracting(Transfer::bytes).containsExactly(320L, 320L);
  }
}
