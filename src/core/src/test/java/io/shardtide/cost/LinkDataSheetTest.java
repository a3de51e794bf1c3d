package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.workload.Collective;
import java.util.List;
import java.util.Map;
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
      LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0));

  private static final List<DeviceGroup> GROUPS =
      Stream.of(2, 4, 8, 16, 32, 128).map(n -> new DeviceGroup(n, Math.min(n, 8))).toList();

  private static double allToAllBusGbs(DeviceGroup group, double bytesPerDevice) {
    double perPeer = bytesPerDevice / group.devices();
    return perPeer * (group.devices() - 1) / (H100.allToAllMs(perPeer, group) * 1e6);
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
    double ms = H100.bufferMs(Collective.ALL_REDUCE, 16e9, group);
    assertThat(2 * 16e9 * (devices - 1) / devices / (ms * 1e6)).isBetween(440 * .95, 480 * 1.05);
  }

  /** Over nodes of one device, only the network card counts. */
  @ParameterizedTest
  @EnumSource(
      value = Collective.class,
      names = {"REDUCE_SCATTER", "ALL_GATHER"})
  void between_nodes_the_network_card_decides(Collective collective) {
    double ms = H100.bufferMs(collective, 4.8e9, new DeviceGroup(2, 1));
    assertThat(2.4e9 / (ms * 1e6)).isCloseTo(48, within(0.1));
    assertThat(H100.bufferMs(collective, 8e9, new DeviceGroup(8, 8)))
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
    assertThat(H100.allToAllMs(bytes / devices, group)).isCloseTo(ms, within(1e-6));
  }

  private static double ms(Collective collective, double bytes, DeviceGroup group) {
    return collective == Collective.ALL_TO_ALL
        ? H100.allToAllMs(bytes, group)
        : H100.bufferMs(collective, bytes, group);
  }

  @ParameterizedTest
  @EnumSource(Collective.class)
  void more_bytes_and_more_nodes_take_longer_and_one_device_nothing(Collective collective) {
    for (DeviceGroup group : GROUPS) {
      for (double bytes = 1; bytes < 1e9; bytes *= 3) {
        assertThat(ms(collective, 3 * bytes, group)).isGreaterThan(ms(collective, bytes, group));
      }
    }
    for (double bytes : new double[] {0, 1e3, 1e6, 1e9}) {
      assertThat(ms(collective, bytes, new DeviceGroup(1, 1))).isZero();
      double before = 0;
      for (DeviceGroup group : GROUPS) {
        double ms = ms(collective, bytes, group);
        assertThat(ms).isGreaterThanOrEqualTo(before);
        before = ms;
      }
    }
  }

  @Test
  void figures_have_defaults() {
    assertThat(LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0)))
        .isEqualTo(new LinkDataSheet(370, 370, 48, 20, 15, OptionalDouble.empty()));
    assertThat(
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
                    5.0)))
        .isEqualTo(new LinkDataSheet(1, 2, 3, 4, 5, OptionalDouble.empty()));
    LinkDataSheet withHost =
        LinkDataSheet.of(Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "host-gbs", 64.0));
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
            + " expected nvlink-gbs, nvls-gbs, nic-gbs, nvlink-us, nic-us, host-gbs");
    assertRejected(
        Map.of("nvlink-gbs", 370.0, "nic-gbs", 48.0, "host-gbs", 0.0),
        "host-gbs must be a finite number above 0, got 0.0");
    assertRejected(Map.of("nvlink-gbs", 370.0), "links must have nic-gbs, got {nvlink-gbs=370.0}");
    assertRejected(Map.of(), "links must have nvlink-gbs and nic-gbs, got {}");
  }

  private static void assertRejected(Map<String, Double> figures, String message) {
    assertThatThrownBy(() -> LinkDataSheet.of(figures))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
