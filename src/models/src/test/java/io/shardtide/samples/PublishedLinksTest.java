package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.LinkDataSheet;
import io.shardtide.cost.Links;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which published measurements of links a data sheet misses by more than a third. */
class PublishedLinksTest {
  /** The sources stand beside the figures. */
  private static final Path PUBLISHED = Path.of("src/models/src/test/resources/published-links");

  private static List<String> misses(Map<String, Double> figures) throws IOException {
    Links links = new Links(LinkDataSheet.of(figures, List.of()), List.of());
    return links.misses(SampleFolderReader.read(PUBLISHED, Optional.empty()).collectives()).stream()
        .map(
            miss ->
                "%s of %d devices: %d of %d, at worst %.1f ms instead of %.1f"
                    .formatted(
                        miss.worst().shown(),
                        miss.worst().devices(),
                        miss.missed(),
                        miss.measured(),
                        miss.sheetMs(),
                        miss.worst().longestMs()))
        .toList();
  }

  /**
   * Its all-reduce in a node holds; NVLink of a GB200 is faster, and the network of the H20 not.
   */
  @Test
  void figures_of_an_h200_miss_other_machines() throws IOException {
    assertThat(misses(Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0)))
        .containsExactly(
            "all_reduce of 72 devices: 4 of 5, at worst 18.4 ms instead of 10.1",
            "all_to_all of 128 devices: 1 of 1, at worst 21.1 ms instead of 53.3");
  }

  /** 900 GB/s of NVLink 5 are not there yet at 512 MiB. */
  @Test
  void a_bandwidth_that_rises_over_sizes_is_two_regimes() throws IOException {
    assertThat(misses(Map.of("nvlink-gbs", 900.0, "nic-gbs", 20.0)))
        .contains("all_reduce of 72 devices: 1 of 5, at worst 1.2 ms instead of 1.8");
    assertThat(
            misses(
                Map.of("nvlink-gbs", 880.0, "nic-gbs", 20.0, "small-gbs", 220.0, "bulk-us", 600.0)))
        .noneMatch(miss -> miss.contains("72 devices"));
  }
}
