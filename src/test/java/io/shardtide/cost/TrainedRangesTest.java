package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrainedRangesTest {
  private static final List<TableSpec> TABLES =
      List.of(
          new TableSpec("small", 1_000, 64, 2, Fixtures.reuse(), 4),
          new TableSpec("large", 1_000_000, 64, 20, Fixtures.reuse(), 4),
          new TableSpec("huge", 9_000_000, 64, 20, Fixtures.reuse(), 4));

  private static SampledShard shard(int table, int columns) {
    return SampledShard.ofColumns(table, columns, 1_000);
  }

  private static CollectiveSample allToAll(double... bytes) {
    double[] ones = new double[bytes.length];
    Arrays.fill(ones, 1);
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.empty(), bytes.length, 2, bytes, ones);
  }

  private static SampleSet samples() {
    return new SampleSet(
        TABLES,
        1_000,
        List.of(
            new ComputeSample(List.of(shard(0, 8), shard(1, 32)), 1),
            new ComputeSample(List.of(shard(2, 64)), 3)),
        List.of(allToAll(64, 128, 64, 96)));
  }

  private static double uses(ShardShape shape) {
    return shape.lookups() / shape.distinctRows();
  }

  private static ShardShape shape(TableSpec table, int columns) {
    return new TableShapes(table, 1_000).ofColumns(columns);
  }

  @Test
  void the_ranges_of_samples_are_found() {
    double[] uses = TABLES.stream().mapToDouble(table -> uses(shape(table, 8))).sorted().toArray();

    assertThat(TrainedRanges.of(samples(), Set.of()))
        .containsExactly(
            new TrainedRange("rows", 1_000, 9_000_000),
            new TrainedRange("columns", 8, 64),
            new TrainedRange("lookups_per_batch", 2_000, 20_000),
            new TrainedRange("samples_per_batch", 1_000, 1_000),
            new TrainedRange("uses_per_touched_row", uses[0], uses[2]),
            new TrainedRange("bytes_per_element", 4, 4),
            new TrainedRange("devices", 1, 4),
            new TrainedRange("devices_per_node", 2, 2),
            new TrainedRange("all_to_all_bytes_per_peer", 64, 128),
            new TrainedRange("buffer_bytes", 0, 0),
            new TrainedRange("shards_per_device", 1, 2));
    assertThat(TrainedRanges.of(samples(), Set.of(2)).get(0))
        .isEqualTo(new TrainedRange("rows", 1_000, 1_000_000));
  }

  @Test
  void what_is_outside_is_named_with_its_value_and_the_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    assertThat(limits.ofShape("large", shape(TABLES.get(1), 64))).isEmpty();
    assertThat(limits.ofShape("x", shape(Fixtures.table("x", 27_000_000, 64, 1), 64)))
        .containsExactly(
            new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000),
            new OutOfRange("x", "lookups_per_batch", 1_000, 2_000, 20_000));
    assertThat(limits.ofCluster(new ClusterSpec(8, Fixtures.GIB, 65_536, 4, "x")))
        .containsExactly(
            new OutOfRange("cluster", "samples_per_batch", 65_536, 1_000, 1_000),
            new OutOfRange("cluster", "devices", 8, 1, 4),
            new OutOfRange("cluster", "devices_per_node", 4, 2, 2));
    // 256 columns of 2,000 samples on 8 devices are 64,000 numbers of 4 bytes.
    ClusterSpec cluster = new ClusterSpec(8, Fixtures.GIB, 2_000, 2, "x");
    assertThat(limits.ofDevice(cluster, 3, 256, 1))
        .containsExactly(new OutOfRange("device 3", "all_to_all_bytes_per_peer", 256_000, 64, 128));
    ClusterSpec one = new ClusterSpec(1, Fixtures.GIB, 1_000, 1, "x");
    assertThat(limits.ofDevice(one, 0, 64, 3))
        .containsExactly(new OutOfRange("device 0", "shards_per_device", 3, 1, 2));
    assertThat(limits.ofDevice(cluster, 3, 0, 0)).isEmpty();
    assertThat(new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000).factor()).isEqualTo(3);
    assertThat(new OutOfRange("x", "rows", 10, 1_000, 9_000_000).factor()).isEqualTo(100);
  }

  @Test
  void the_use_of_rows_is_outside_where_it_is_known() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    List<Double> shares = new ArrayList<>(Collections.nCopies(ReuseHistogram.SIZE, 0.0));
    shares.set(0, 1.0);
    TableSpec once = new TableSpec("x", 100_000, 8, 2, new ReuseHistogram(shares), 4);
    assertThat(limits.ofShape("x", shape(once, 8)))
        .singleElement()
        .satisfies(
            outside -> {
              assertThat(outside.quantity()).isEqualTo("uses_per_touched_row");
              assertThat(outside.value()).isBetween(1.0, 1.2);
            });
    assertThat(limits.ofShape("x", shape(once.withoutUse(), 8))).isEmpty();
  }

  private static SampleSet withoutHistogram() {
    return new SampleSet(
        List.of(Fixtures.table("tiny", 10, 64, 1)),
        2_000,
        List.of(new ComputeSample(List.of(SampledShard.ofColumns(0, 16, 2_000)), 1)),
        List.of(
            allToAll(64, 64),
            new CollectiveSample(
                Collective.ALL_REDUCE,
                Optional.empty(),
                2,
                1,
                new double[] {7},
                new double[] {1})));
  }

  @Test
  void ranges_grow_with_further_samples() {
    List<TrainedRange> ranges = TrainedRanges.of(samples(), Set.of());
    assertThat(TrainedRanges.with(ranges, withoutHistogram()))
        .contains(
            new TrainedRange("rows", 10, 9_000_000),
            new TrainedRange("samples_per_batch", 1_000, 2_000),
            ranges.get(4),
            new TrainedRange("devices_per_node", 1, 2),
            new TrainedRange("buffer_bytes", 7, 7));
    // Without a histogram, no use of rows is known.
    List<TrainedRange> unknown = TrainedRanges.of(withoutHistogram(), Set.of());
    assertThat(unknown).contains(new TrainedRange("uses_per_touched_row", 0, 0));
    assertThat(TrainedRanges.with(unknown, withoutHistogram())).isEqualTo(unknown);
    assertThat(TrainedRanges.with(unknown, samples())).contains(ranges.get(4));
  }

  @Test
  void a_measurement_is_compared_with_the_training_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    ComputeSample sample = new ComputeSample(Collections.nCopies(3, shard(0, 4)), 1);
    SampleSet set = new SampleSet(TABLES, 1_000, List.of(sample), List.of());
    assertThat(limits.ofComputation(set, new SampleShapes(set), sample))
        .startsWith(
            new OutOfRange("sample", "shards_per_device", 3, 1, 2),
            new OutOfRange("small", "columns", 4, 8, 64))
        .hasSize(4);
    assertThat(limits.ofCollective(allToAll(64, 128, 0, 100, 200)))
        .containsExactly(
            new OutOfRange("sample", "devices", 5, 1, 4),
            new OutOfRange("sample", "all_to_all_bytes_per_peer", 0, 64, 128),
            new OutOfRange("sample", "all_to_all_bytes_per_peer", 200, 64, 128));
  }

  /** Numbers in files have been rounded: an edge that is off by a millionth is no news. */
  @Test
  void a_rounded_edge_is_inside() {
    TrainedRange range = new TrainedRange("rows", 1000, 2000);
    assertThat(range.check("x", 2000.0001)).isEmpty();
    assertThat(range.check("x", 2000.1)).isPresent();
    assertThat(range.check("x", 999.9)).isPresent();
    assertThatThrownBy(() -> new TrainedRange("rows", 2, 1))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining(
            "range of rows must be finite, the smaller value first, got 2.0 to 1.0");
  }
}
