package io.shardtide.search.problem;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class PartMemoryTest {
  @Test
  void parts_are_as_large_as_their_smallest_device_allows() {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(new ClusterSpec(5, 100, 64, 2, "h100"))
            .memoryBytesByDevice(List.of(new DeviceMemory(1, 300), new DeviceMemory(2, 40)))
            .build();
    PartMemory memory = new PartMemory(cluster);
    assertThat(memory.most(ShardScope.DEVICE, 1)).isEqualTo(300);
    assertThat(memory.most(ShardScope.DEVICE, 2)).isEqualTo(100);
    assertThat(memory.most(ShardScope.DEVICE, 5)).isEqualTo(40);
    assertThat(memory.most(ShardScope.DEVICE, 9)).as("more parts than devices").isEqualTo(40);
    assertThat(memory.most(ShardScope.NODE, 1)).isEqualTo(100);
    assertThat(memory.most(ShardScope.NODE, 3)).isEqualTo(40);
    assertThat(memory.most(ShardScope.CLUSTER, 1)).isEqualTo(40);
    assertThat(memory.most(ShardScope.COPIES, 1)).isEqualTo(40);
    assertThat(memory.isEqual()).isFalse();
    assertThat(new PartMemory(new ClusterSpec(5, 100, 64, 2, "h100")).isEqual()).isTrue();
  }

  /** Some devices, or nodes of which each device, have so much, and no more of them. */
  @Property(tries = 200)
  void as_many_places_have_so_much(
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 20) int devices,
      @ForAll @IntRange(min = 1, max = 8) int perNode,
      @ForAll @IntRange(min = 1, max = 5) int parts) {
    ClusterSpec cluster =
        Fixtures.withUnequalMemory(
            new Random(seed), new ClusterSpec(devices, 1_000, 64, perNode, "h100"));
    PartMemory memory = new PartMemory(cluster);
    List<Long> nodes = new ArrayList<>();
    for (int node = 0; node < cluster.nodes(); node++) {
      nodes.add(
          cluster.devicesOfNode(node).stream()
              .map(cluster.usableMemory()::bytes)
              .min(Comparator.naturalOrder())
              .orElseThrow());
    }
    nodes.sort(Comparator.reverseOrder());
    assertThat(memory.most(ShardScope.NODE, parts))
        .isEqualTo(nodes.get(Math.min(parts, nodes.size()) - 1));
  }
}
