package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class LinkDataSheetTest {
  /** Nodes of 8 H100 with NVLink SHARP and a network card of 400 Gbit/s for each device. */
  private static final LinkDataSheet H100 =
      LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0), List.of());

  private static final List<DeviceGroup> GROUPS =
      Stream.of(2, 4, 8, 16, 32, 128).map(n -> new DeviceGroup(n, Math.min(n, 8))).toList();

  private static double allToAllBusGbs(DeviceGroup group, double bytesPerDevice) {
    double perPeer = bytesPerDevice / group.devices();
    return perPeer * (group.devices() - 1) / (H100.ms(Collective.ALL_TO_ALL, perPeer, group) * 1e6);
  }

  /** Public bus bandwidths of large all-to-alls: 370, 90 to 96 and 61 to 64 GB/s. */
  @ParameterizedTest
  @CsvSource({"8, 370, 370", "16, 90, 96", "32, 61, 64"})
  void large_all_to_alls_have_the_public_bus_bandwidth(int devices, double least, double most) {
    assertThat(allToAllBusGbs(new DeviceGroup(devices, 8), 16e9))
        .isBetween(least * .95, most * 1.05);
  }

  /** NCCL's bus bandwidth of an all-reduce: 2 (n - 1) / n bytes a byte of the buffer. */
  @ParameterizedTest
  @ValueSource(ints = {8, 16, 32})
  void large_all_reduces_have_the_public_bus_bandwidth(int devices) {
    DeviceGroup group = new DeviceGroup(devices, 8);
    double ms = H100.ms(Collective.ALL_REDUCE, 16e9, group);
    assertThat(2 * 16e9 * (devices - 1) / devices / (ms * 1e6)).isBetween(440 * .95, 480 * 1.05);
  }

  /** Over nodes of one device, only the network card counts. */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void between_nodes_the_network_card_decides(Collective collective) {
    double ms = H100.ms(collective, 4.8e9, new DeviceGroup(2, 1));
    assertThat(2.4e9 / (ms * 1e6)).isCloseTo(48, within(0.1));
    assertThat(H100.ms(collective, 8e9, new DeviceGroup(8, 8)))
        .isCloseTo(0.02 + 7e9 / 370e6, within(1e-9));
  }

  /** Bytes that a device sends in all, devices, and milliseconds by hand. */
  @ParameterizedTest
  @CsvSource({
    "8e3, 8, 0.020019",
    "8e6, 8, 0.038919",
    "8e9, 8, 18.938919",
    "16e3, 16, 0.035167",
    "16e6, 16, 0.201667",
    "32e6, 32, 0.55"
  })
  void small_all_to_alls_take_the_latency_and_large_ones_the_bandwidth(
      double bytes, int devices, double ms) {
    DeviceGroup group = new DeviceGroup(devices, 8);
    assertThat(H100.ms(Collective.ALL_TO_ALL, bytes / devices, group)).isCloseTo(ms, within(1e-6));
  }

  @ParameterizedTest
  @EnumSource(Collective.class)
  void more_bytes_and_more_nodes_take_longer_and_one_device_nothing(Collective collective) {
    for (DeviceGroup group : GROUPS) {
      for (double bytes = 1; bytes < 1e9; bytes *= 3) {
        assertThat(H100.ms(collective, 3 * bytes, group))
            .isGreaterThan(H100.ms(collective, bytes, group));
      }
    }
    for (double bytes : new double[] {0, 1e3, 1e6, 1e9}) {
      assertThat(H100.ms(collective, bytes, new DeviceGroup(1, 1))).isZero();
      double before = 0;
      for (DeviceGroup group : GROUPS) {
        double ms = H100.ms(collective, bytes, group);
        assertThat(ms).isGreaterThanOrEqualTo(before);
        before = ms;
      }
    }
  }

  /**
   * NVLink SHARP of 72 GB200 by figures of two regimes: an all-reduce of 4 KiB takes the latency,
   * one of 256 MiB the other protocol. A line through the origin of both is 22% off at 512 MiB.
   */
  @ParameterizedTest
  @CsvSource({
    "4096, 0.02004",
    "536870912, 1.8067",
    "1073741824, 3.1088",
    "2147483648, 5.5891",
    "4294967296, 10.094",
    "8589934592, 20.299"
  })
  void small_messages_have_a_regime_of_their_own(double bytes, double ms) {
    LinkDataSheet sheet = new LinkDataSheet(880, 880, 48, 20, 15, 220, 600, OptionalDouble.empty());
    assertThat(sheet.ms(Collective.ALL_REDUCE, bytes, new DeviceGroup(72, 72)))
        .isCloseTo(ms, withinPercentage(4));
  }

  /** Buffers from 8 B to 8 GiB, as nccl-tests with -b 8 -e 8G -f 2 has them. */
  private static List<CollectiveSample> table(
      LinkDataSheet machine, Collective collective, DeviceGroup group) {
    List<CollectiveSample> table = new ArrayList<>();
    for (double held = 8; held <= 1L << 33; held *= 2) {
      boolean isAllToAll = collective == Collective.ALL_TO_ALL;
      double[] bytes = new double[isAllToAll ? group.devices() : 1];
      double[] ms = new double[bytes.length];
      Arrays.fill(bytes, isAllToAll ? held / group.devices() : held);
      Arrays.fill(ms, machine.ms(collective, bytes[0], group));
      table.add(
          new CollectiveSample(
              collective, Optional.empty(), group.devices(), group.devicesPerNode(), bytes, ms));
    }
    return table;
  }

  @Test
  void figures_that_are_not_given_are_read_from_tables() {
    LinkDataSheet machine = new LinkDataSheet(360, 470, 45, 12, 9, 90, 30, OptionalDouble.empty());
    List<CollectiveSample> tables = new ArrayList<>();
    for (DeviceGroup group : List.of(new DeviceGroup(8, 8), new DeviceGroup(32, 8))) {
      for (Collective collective : Collective.values()) {
        tables.addAll(table(machine, collective, group));
      }
    }
    LinkDataSheet read = LinkDataSheet.of(Map.of(), tables);
    assertThat(
            List.of(
                read.nvlinkGbs() / 360,
                read.nvlsGbs() / 470,
                read.nicGbs() / 45,
                read.nvlinkUs() / 12,
                read.nicUs() / 9))
        .allSatisfy(ratio -> assertThat(ratio).isCloseTo(1, within(0.01)));
    assertThat(LinkDataSheet.of(Map.of("nic-gbs", 50.0, "nvlink-us", 6.0), tables))
        .extracting(LinkDataSheet::nicGbs, LinkDataSheet::nvlinkUs)
        .containsExactly(50.0, 6.0);
    assertThatThrownBy(
            () -> LinkDataSheet.of(Map.of(), table(machine, Collective.ALL_REDUCE, GROUPS.get(2))))
        .hasMessageStartingWith("links must have nvlink-gbs and nic-gbs, got {nvlink-us=12.0");
  }

  @Test
  void links_are_those_measured_and_in_between_near() {
    LinkDataSheet machine = new LinkDataSheet(360, 470, 45, 12, 9, 90, 30, OptionalDouble.empty());
    DeviceGroup node = new DeviceGroup(8, 8);
    List<CollectiveSample> table = table(machine, Collective.ALL_TO_ALL, node);
    Links links = new Links(H100, table);
    for (CollectiveSample sample : table) {
      double bytes = sample.mostBytes();
      assertThat(links.ms(Collective.ALL_TO_ALL, bytes, node))
          .isCloseTo(sample.longestMs(), withinPercentage(1e-6));
      assertThat(links.ms(Collective.ALL_TO_ALL, bytes * Math.sqrt(2), node))
          .as("at worst where the regime changes between two sizes")
          .isCloseTo(
              machine.ms(Collective.ALL_TO_ALL, bytes * Math.sqrt(2), node), withinPercentage(5));
    }
    assertThat(links.ms(Collective.ALL_TO_ALL, 64, new DeviceGroup(4, 4)))
        .as("the nearest group in a node: latencies are as far off")
        .isCloseTo(0.012, withinPercentage(1));
    for (DeviceGroup other : List.of(new DeviceGroup(16, 8), new DeviceGroup(4, 1))) {
      assertThat(links.ms(Collective.ALL_TO_ALL, 1e6, other))
          .as("nothing was measured over nodes")
          .isEqualTo(H100.ms(Collective.ALL_TO_ALL, 1e6, other));
    }
    assertThat(links.ms(Collective.ALL_REDUCE, 1e6, node))
        .isEqualTo(H100.ms(Collective.ALL_REDUCE, 1e6, node));
    assertThat(links.describe()).isEqualTo(H100.describe() + "; measured collectives: 31");
  }

  @Test
  void figures_have_defaults() {
    assertThat(LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0), List.of()))
        .isEqualTo(new LinkDataSheet(370, 370, 48, 20, 15, 370, 20, OptionalDouble.empty()));
    LinkDataSheet all =
        LinkDataSheet.of(
            Map.of(
                "nvlink-gbs",
                1.0,
                "nvls-gbs",
                2.0,
                "nic-gbs",
                3.0,
                "nvlink-us",
                4.0,
                "nic-us",
                5.0,
                "small-gbs",
                0.5,
                "bulk-us",
                6.0),
            List.of());
    assertThat(all).isEqualTo(new LinkDataSheet(1, 2, 3, 4, 5, 0.5, 6, OptionalDouble.empty()));
    assertThat(all.describe()).endsWith(", nic-us=5.0, small-gbs=0.5, bulk-us=6.0");
    LinkDataSheet withHost =
        LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "host-gbs", 64.0), List.of());
    assertThat(withHost.hostGbs()).hasValue(64);
    assertThat(withHost.describe()).endsWith("nic-us=15.0, host-gbs=64.0");
    assertThat(H100.describe())
        .isEqualTo(
            "data sheet: nvlink-gbs=370.0, nvls-gbs=460.0, nic-gbs=48.0, nvlink-us=20.0, nic-us=15.0");
  }

  @Test
  void an_error_names_the_figure_its_value_and_what_is_expected() {
    assertRejected(
        Map.of("nvlink-gbs", -1.0, "nic-gbs", 48.0),
        "nvlink-gbs must be a finite number above 0, got -1.0");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", Double.POSITIVE_INFINITY),
        "nic-gbs must be a finite number above 0, got Infinity");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "nic-us", Double.NaN),
        "nic-us must be a finite number above 0, got NaN");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gb", 48.0),
        "links have no nic-gb (its value is 48.0);"
            + " expected nvlink-gbs, nvls-gbs, nic-gbs, nvlink-us, nic-us, small-gbs, bulk-us, host-gbs");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "host-gbs", 0.0),
        "host-gbs must be a finite number above 0, got 0.0");
    assertRejected(Map.of("nvlink-gbs", 370.0), "links must have nic-gbs, got {nvlink-gbs=370.0}");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "small-gbs", 371.0, "bulk-us", 30.0),
        "small-gbs must be at most nvlink-gbs, got 371.0");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "small-gbs", 90.0, "bulk-us", 19.0),
        "bulk-us must be at least nvlink-us, got 19.0");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "bulk-us", 30.0),
        "small-gbs and bulk-us must be given both, or neither, got 370.0 and 30.0");
    assertRejected(Map.of(), "links must have nvlink-gbs and nic-gbs, got {}");
  }

  private static void assertRejected(Map<String, Double> figures, String message) {
    assertThatThrownBy(() -> LinkDataSheet.of(figures, List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
