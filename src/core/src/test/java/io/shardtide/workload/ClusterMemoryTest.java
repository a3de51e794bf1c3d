package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clusters whose devices have unequal memory, and hosts that are a part of a node. */
class ClusterMemoryTest {
  private static final ClusterSpec EQUAL = new ClusterSpec(8, 100, 64, 4, "h100");

  private static ClusterSpecBuilder cluster() {
    return ClusterSpecBuilder.builder(EQUAL);
  }

  /** Returns a cluster with the memory of devices that {@code device:bytes} name. */
  private static ClusterSpec with(String... memory) {
    return cluster()
        .memoryBytesByDevice(
            Arrays.stream(memory)
                .map(of -> of.split(":", -1))
                .map(of -> new DeviceMemory(Integer.parseInt(of[0]), Long.parseLong(of[1])))
                .toList())
        .build();
  }

  private static String id(ClusterSpec cluster) {
    return SpecHash.put(new CanonicalHash("cluster"), cluster).hex();
  }

  @Test
  void what_is_as_in_all_devices_is_no_exception() {
    assertThat(with("3:100", "5:100")).isEqualTo(EQUAL);
    assertThat(id(with("3:100"))).isEqualTo(id(EQUAL));
    assertThat(with("5:40", "3:100", "2:300")).isEqualTo(with("2:300", "5:40"));
    assertThat(cluster().devicesPerHost(4).build()).isEqualTo(EQUAL);
  }

  @Test
  void each_device_has_its_own_memory_less_what_is_reserved() {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(with("2:300", "5:40")).reservedMemoryBytesPerDevice(10).build();
    UsableMemory memory = cluster.usableMemory();
    assertThat(IntStream.range(0, 8).mapToObj(memory::bytes))
        .containsExactly(90L, 90L, 290L, 90L, 90L, 30L, 90L, 90L);
    assertThat(cluster.usableBytes()).isEqualTo(6 * 90 + 290 + 30);
    assertThat(cluster.leastUsableBytes()).isEqualTo(30);
    assertThat(cluster.mostUsableBytes()).isEqualTo(290);
    assertThat(cluster.describeUsableMemory()).isEqualTo("30 B to 290 B");
    assertThat(EQUAL.describeUsableMemory()).isEqualTo("100 B");
    assertThat(cluster().devices(1).memoryBytesByDevice(with("0:7").memoryBytesByDevice()).build())
        .satisfies(one -> assertThat(one.mostUsableBytes()).isEqualTo(7));
  }

  /** What no device has may be less than what is reserved on each. */
  @Test
  void memory_that_each_device_has_of_its_own_bounds_what_is_reserved() {
    ClusterSpecBuilder two =
        cluster().devices(2).memoryBytesByDevice(with("0:300", "1:400").memoryBytesByDevice());
    ClusterSpec cluster = two.reservedMemoryBytesPerDevice(250).build();
    assertThat(IntStream.range(0, 2).mapToObj(cluster.usableMemory()::bytes))
        .containsExactly(50L, 150L);
    assertThat(cluster.usableBytes()).isEqualTo(200);
    assertThatThrownBy(() -> two.reservedMemoryBytesPerDevice(300).build())
        .hasMessageContaining("must be between 0 and 299, got 300");
  }

  /** All groups have the same shards: the smallest device with a position limits it. */
  @Property(tries = 200)
  void a_position_has_the_least_memory_of_its_devices(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int nodes) {
    ClusterSpec plain = new ClusterSpec(4 * nodes, 1_000, 64, 4, "h100");
    List<Integer> counts =
        IntStream.rangeClosed(1, plain.devices())
            .filter(count -> Fixtures.canFormGroups(plain, count))
            .boxed()
            .toList();
    ClusterSpec cluster =
        Fixtures.withUnequalMemory(
            new Random(seed), ClusterSpecBuilder.builder(plain).replicaGroups(counts).build());
    UsableMemory ofRanks = cluster.usableMemory();
    for (ReplicaGroups groups : cluster.groupings()) {
      ClusterSpec group = cluster.group(groups);
      UsableMemory ofGroup = group.usableMemory();
      long[] least = new long[group.devices()];
      Arrays.fill(least, Long.MAX_VALUE);
      for (int rank = 0; rank < cluster.devices(); rank++) {
        int position = groups.position(rank, group.devices());
        least[position] = Math.min(least[position], ofRanks.bytes(rank));
      }
      assertThat(IntStream.range(0, least.length).mapToLong(ofGroup::bytes))
          .containsExactly(box(least));
    }
  }

  private static Long[] box(long[] numbers) {
    return Arrays.stream(numbers).boxed().toArray(Long[]::new);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          8:50      | device with memory of its own of a cluster must be between 0 and 7, got 8
          -1:50     | device with memory of its own of a cluster must be between 0 and 7, got -1
          2:0       | bytes of memory of device 2 of a cluster must be between 1 and 2^44, got 0
          2:50 2:60 | memory of a cluster's device must be given once, got device 2 twice
          """)
  void a_wrong_device_is_named(String memory, String message) {
    assertThatThrownBy(() -> with(memory.split(" ", -1)))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(message);
  }

  @Test
  void what_is_reserved_is_less_than_each_device_has() {
    ClusterSpecBuilder small =
        ClusterSpecBuilder.builder(with("2:40")).reservedMemoryBytesPerDevice(40);
    assertThatThrownBy(small::build)
        .hasMessage(
            "reserved bytes of memory per device of a cluster must be between 0 and 39, got 40");
  }

  @Test
  void hosts_are_equal_parts_of_a_node() {
    ClusterSpec hosts = cluster().devicesPerHost(2).build();
    assertThat(hosts.hostDevices()).isEqualTo(2);
    assertThat(EQUAL.hostDevices()).isEqualTo(4);
    assertThat(hosts.group(ReplicaGroups.ONE).devicesPerHost()).isEqualTo(2);
    assertThat(hosts.group(new ReplicaGroups(2, GroupLayout.STRIDED)).devicesPerHost()).isZero();
    for (int wrong : new int[] {3, -1, 8}) {
      assertThatThrownBy(cluster().devicesPerHost(wrong)::build)
          .hasMessage(
              "devices per host of a cluster must be a divisor of its 4 devices per node, or 0"
                  + " where a node is a host, got "
                  + wrong);
    }
  }
}
