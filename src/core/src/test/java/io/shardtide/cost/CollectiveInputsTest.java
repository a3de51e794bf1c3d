package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.workload.Collective;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Loads of all-to-alls, and what the models of collectives read. */
class CollectiveInputsTest {
  /** Nodes of 4, 4 and 2 devices. */
  private static final DeviceGroup TEN = new DeviceGroup(10, 4);

  private static Map<String, Double> named(List<String> names, double[] values) {
    assertThat(values).hasSameSizeAs(names.toArray());
    Map<String, Double> named = new HashMap<>();
    for (int i = 0; i < values.length; i++) {
      named.put(names.get(i), values[i]);
    }
    return named;
  }

  private static double log2(double x) {
    return Math.log(x) / Math.log(2);
  }

  private static void assertClose(Map<String, Double> actual, Map<String, Double> expected) {
    assertThat(actual).containsOnlyKeys(expected.keySet());
    expected.forEach(
        (name, value) ->
            assertThat(actual.get(name)).as(name).isCloseTo(value, within(1e-9 * (1 + value))));
  }

  @Test
  void a_load_tells_the_busiest_device_and_the_busiest_node() {
    AllToAllLoad load =
        AllToAllLoad.of(TEN, new double[] {100, 300, 100, 100, 200, 200, 200, 200, 0, 600});
    assertThat(load.maxBytes()).isEqualTo(600);
    assertThat(load.meanBytes()).isEqualTo(200);
    // The last node: two devices of 300 on average.
    assertThat(load.nodeLevel()).isEqualTo(96);
    assertThat(load.maxNodeBytes()).isEqualTo(300);
    assertThat(AllToAllLoad.of(TEN, new double[10]).nodeLevel()).isEqualTo(AllToAllLoad.LEVELS);
  }

  /** Levels are rounded up, by less than a 64th of the mean; equal nodes have the least level. */
  @Property(tries = 300)
  void the_level_of_a_node_is_rounded_up(
      @ForAll Random random,
      @ForAll @IntRange(min = 1, max = 50) int devices,
      @ForAll @IntRange(min = 1, max = 10) int devicesPerNode) {
    DeviceGroup group = new DeviceGroup(devices, Math.min(devices, devicesPerNode));
    double[] bytes = new double[devices];
    Arrays.setAll(bytes, d -> 4.0 * random.nextInt(1_000));
    bytes[0]++;
    AllToAllLoad load = AllToAllLoad.of(group, bytes);
    double largest = 0;
    for (int first = 0; first < devices; first += group.devicesPerNode()) {
      largest =
          Math.max(
              largest,
              Arrays.stream(bytes, first, Math.min(devices, first + group.devicesPerNode()))
                  .average()
                  .orElseThrow());
    }
    assertThat(load.maxNodeBytes())
        .isBetween(largest * (1 - 1e-6), largest + load.meanBytes() / AllToAllLoad.LEVELS + 1e-6);
    assertThat(load.nodeLevel()).isGreaterThanOrEqualTo(AllToAllLoad.LEVELS);
    Arrays.fill(bytes, random.nextInt(1_000));
    assertThat(AllToAllLoad.of(group, bytes).nodeLevel()).isEqualTo(AllToAllLoad.LEVELS);
  }

  @Test
  void an_all_to_all_has_terms_of_links_in_and_between_nodes() {
    AllToAllLoad load = new AllToAllLoad(TEN, 600, 200, 96);
    assertClose(
        named(CollectiveInputs.ALL_TO_ALL_TERMS, CollectiveInputs.allToAllTerms(100, load)),
        Map.ofEntries(
            Map.entry("start", 1.0),
            Map.entry("log2_devices_per_node", 2.0),
            Map.entry("peers_in_node", 3.0),
            Map.entry("log2_nodes", log2(3)),
            Map.entry("other_nodes", 2.0),
            Map.entry("peers_in_other_nodes", 6.0),
            Map.entry("several_nodes", 1.0),
            Map.entry("bytes_in_node", 300.0),
            Map.entry("bytes_in_node_of_busiest", 1_800.0),
            Map.entry("bytes_in_node_on_average", 600.0),
            Map.entry("bytes_between_nodes", 600.0),
            Map.entry("bytes_between_nodes_of_busiest", 3_600.0),
            Map.entry("bytes_between_nodes_on_average", 1_200.0),
            Map.entry("bytes_between_nodes_of_busiest_node", 1_800.0)));
    assertClose(
        named(CollectiveInputs.ALL_TO_ALL_FEATURES, CollectiveInputs.allToAllFeatures(100, load)),
        Map.ofEntries(
            Map.entry("log2_bytes_of_busiest", log2(5_401)),
            Map.entry("log2_bytes_between_nodes_of_busiest", log2(3_601)),
            Map.entry("bytes_over_busiest", 1 / 6.0),
            Map.entry("mean_over_busiest", 1 / 3.0),
            Map.entry("busiest_node_over_busiest", 0.5),
            Map.entry("log2_devices_per_node", 2.0),
            Map.entry("log2_nodes", log2(3)),
            Map.entry("log2_devices", log2(10)),
            Map.entry("share_in_node", 0.75),
            Map.entry("share_of_other_nodes", 2 / 3.0),
            Map.entry("share_of_peers_in_other_nodes", 6 / 9.0)));
  }

  @Test
  void a_buffer_has_terms_of_links_in_and_between_nodes() {
    assertClose(
        named(CollectiveInputs.BUFFER_TERMS, CollectiveInputs.bufferTerms(1_000, TEN)),
        Map.ofEntries(
            Map.entry("start", 1.0),
            Map.entry("log2_devices_per_node", 2.0),
            Map.entry("peers_in_node", 3.0),
            Map.entry("log2_nodes", log2(3)),
            Map.entry("other_nodes", 2.0),
            Map.entry("peers", 9.0),
            Map.entry("several_nodes", 1.0),
            Map.entry("bytes_in_node", 750.0),
            Map.entry("bytes_between_nodes_of_device", 1_000 * 2 / 3.0 / 4),
            Map.entry("bytes_that_leave", 900.0),
            Map.entry("bytes_between_nodes", 1_000 * 2 / 3.0)));
    assertClose(
        named(CollectiveInputs.BUFFER_FEATURES, CollectiveInputs.bufferFeatures(1_000, TEN)),
        Map.of(
            "log2_bytes",
            log2(1_001),
            "log2_bytes_per_device",
            log2(101),
            "log2_bytes_per_device_of_node",
            log2(251),
            "log2_devices_per_node",
            2.0,
            "log2_nodes",
            log2(3),
            "log2_devices",
            log2(10),
            "share_in_node",
            0.75,
            "share_of_other_nodes",
            2 / 3.0));
  }

  @Test
  void one_node_has_no_links_between_nodes() {
    DeviceGroup four = new DeviceGroup(4, 4);
    assertThat(
            named(
                CollectiveInputs.terms(Collective.ALL_TO_ALL),
                CollectiveInputs.allToAllTerms(1, new AllToAllLoad(four, 2, 1, 64))))
        .containsEntry("several_nodes", 0.0)
        .containsEntry("bytes_between_nodes", 0.0)
        .containsEntry("bytes_between_nodes_of_busiest_node", 0.0);
    assertThat(
            named(
                CollectiveInputs.terms(Collective.ALL_REDUCE),
                CollectiveInputs.bufferTerms(1, four)))
        .containsEntry("log2_nodes", 0.0)
        .containsEntry("bytes_between_nodes", 0.0);
  }

  @Test
  void a_group_has_a_node_or_more() {
    assertThat(TEN.nodes()).isEqualTo(3);
    assertThatThrownBy(() -> new DeviceGroup(4, 5))
        .hasMessage("devices per node of a group must be between 1 and 4, got 5");
    assertThatThrownBy(() -> new DeviceGroup(0, 0))
        .hasMessage("devices per node of a group must be between 1 and 0, got 0");
  }
}
