package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.OutOfRange;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Collective;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TrainedRangesTest {
  private static final List<TableSpec> TABLES =
      List.of(
          new TableSpec("small", 1_000, 64, 2, Fixtures.reuse(), 4),
          new TableSpec("large", 1_000_000, 64, 20, Fixtures.reuse(), 4),
          new TableSpec("huge", 9_000_000, 64, 20, Fixtures.reuse(), 4));

  private static CollectiveSample allToAll(int devicesPerNode, double... bytes) {
    double[] ms = new double[bytes.length];
    Arrays.fill(ms, 1);
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.empty(), bytes.length, devicesPerNode, bytes, ms);
  }

  private static CollectiveSample buffer(int devices, double bytes) {
    return new CollectiveSample(
        Collective.ALL_REDUCE,
        Optional.empty(),
        devices,
        devices,
        new double[] {bytes},
        new double[] {1});
  }

  private static DeviceShard shard(int table, int columns, double samples) {
    return new DeviceShard(
        TABLES.get(table).withColumns(columns), samples, 1, false, OptionalDouble.empty(), 1_000);
  }

  private static SampleSet samples() {
    return new SampleSet(
        List.of(
            new ComputeSample(List.of(shard(0, 8, 1_000), shard(1, 32, 1_000)), 1),
            new ComputeSample(List.of(shard(2, 64, 1_000)), 3)),
        List.of(allToAll(2, 64_000, 128_000, 64_000, 96_000), buffer(3, 1e6), buffer(2, 1e3)));
  }

  /** Returns the uses of a touched row in a batch of 1,000 samples. */
  private static double uses(TableSpec table) {
    ShardShape shape = new Shapes(table, 1_000).ofColumns(4);
    return shape.lookups() / shape.distinctRows();
  }

  private static final double LEAST_USES =
      TABLES.stream().mapToDouble(TrainedRangesTest::uses).min().orElseThrow();
  private static final double MOST_USES =
      TABLES.stream().mapToDouble(TrainedRangesTest::uses).max().orElseThrow();

  @Test
  void the_ranges_of_samples_are_found() {
    List<TrainedRange> ranges = TrainedRanges.of(samples(), Set.of());
    assertThat(LEAST_USES).isGreaterThan(1).isLessThan(MOST_USES);
    assertThat(ranges)
        .containsExactly(
            new TrainedRange("rows", 1_000, 9_000_000),
            new TrainedRange("columns", 8, 64),
            new TrainedRange("lookups_per_batch", 2_000, 20_000),
            new TrainedRange("samples_per_batch", 1_000, 1_000),
            new TrainedRange("uses_per_touched_row", LEAST_USES, MOST_USES),
            new TrainedRange("bytes_per_element", 4, 4),
            new TrainedRange("devices", 1, 4),
            new TrainedRange("devices_per_node", 2, 3),
            new TrainedRange("all_to_all_bytes_per_peer", 64_000, 128_000),
            new TrainedRange("buffer_bytes", 1e3, 1e6),
            new TrainedRange("shards_per_device", 1, 2));
    assertThat(TrainedRanges.of(samples(), Set.of(TABLES.get(2).name())).get(0))
        .isEqualTo(new TrainedRange("rows", 1_000, 1_000_000));
  }

  private static List<OutOfRange> ofTable(TrainedRanges limits, TableSpec table) {
    return limits.ofShape(table.name(), new Shapes(table, 1_000).ofColumns(table.columns()));
  }

  @Test
  void what_is_outside_is_named_with_its_value_and_the_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    assertThat(ofTable(limits, TABLES.get(1))).isEmpty();
    assertThat(ofTable(limits, Fixtures.table("x", 27_000_000, 64, 1)))
        .containsExactly(
            new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000),
            new OutOfRange("x", "lookups_per_batch", 1_000, 2_000, 20_000));
    ShardShape copy = new Shapes(Fixtures.table("x", 1_000, 64, 20), 1_000).ofCopy(64, 4);
    assertThat(limits.ofShape("x", copy))
        .containsExactly(new OutOfRange("x", "samples_per_batch", 250, 1_000, 1_000));
    assertThat(limits.ofCluster(Fixtures.cluster(8, Fixtures.GIB)))
        .containsExactly(
            new OutOfRange("cluster", "samples_per_batch", 65_536, 1_000, 1_000),
            new OutOfRange("cluster", "devices", 8, 1, 4),
            new OutOfRange("cluster", "devices_per_node", 8, 2, 3));
    assertThat(limits.ofCluster(new ClusterSpec(1, Fixtures.GIB, 1_000, 1, "test"))).isEmpty();
    ClusterSpec four =
        ClusterSpecBuilder.builder(new ClusterSpec(4, Fixtures.GIB, 1_000, 2, "test"))
            .forwardBytesPerElement(2)
            .build();
    assertThat(limits.ofCluster(four)).isEmpty();
    assertThat(limits.ofDevice(StepCollectives.of(four), 3, 400, 1))
        .containsExactly(
            new OutOfRange("device 3", "all_to_all_bytes_per_peer", 200_000, 64_000, 128_000));
    assertThat(limits.ofDevice(StepCollectives.of(four), 3, 200, 3))
        .containsExactly(new OutOfRange("device 3", "shards_per_device", 3, 1, 2));
    assertThat(limits.ofDevice(StepCollectives.of(four), 3, 0, 0)).isEmpty();
    ReuseHistogram once = once();
    TableSpec narrow = new TableSpec("x", 1_000_000, 4, 2, once, 4);
    assertThat(uses(narrow)).isLessThan(LEAST_USES);
    assertThat(ofTable(limits, narrow))
        .containsExactly(
            new OutOfRange("x", "columns", 4, 8, 64),
            new OutOfRange("x", "uses_per_touched_row", uses(narrow), LEAST_USES, MOST_USES));
    assertThat(ofTable(limits, new TableSpec("x", 1_000, 8, 2, Fixtures.reuse(), 2)))
        .containsExactly(new OutOfRange("x", "bytes_per_element", 2, 4, 4));
    assertThat(new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000).factor()).isEqualTo(3);
    assertThat(new OutOfRange("x", "rows", 10, 1_000, 9_000_000).factor()).isEqualTo(100);
  }

  private static ReuseHistogram once() {
    List<Double> shares = new ArrayList<>(Collections.nCopies(ReuseHistogram.SIZE, 0.0));
    shares.set(0, 1.0);
    return new ReuseHistogram(shares);
  }

  private static SampleSet withoutHistogram() {
    return new SampleSet(
        List.of(
            new ComputeSample(
                List.of(DeviceShard.ofColumns(Fixtures.table("tiny", 10, 16, 1), 2_000)), 1)),
        List.of(allToAll(1, 64_000, 640_000)));
  }

  @Test
  void ranges_grow_with_further_samples() {
    List<TrainedRange> ranges = TrainedRanges.of(samples(), Set.of());
    assertThat(TrainedRanges.with(ranges, withoutHistogram()))
        .contains(
            new TrainedRange("rows", 10, 9_000_000),
            new TrainedRange("columns", 8, 64),
            new TrainedRange("lookups_per_batch", 2_000, 20_000),
            new TrainedRange("samples_per_batch", 1_000, 2_000),
            new TrainedRange("uses_per_touched_row", LEAST_USES, MOST_USES),
            new TrainedRange("bytes_per_element", 4, 4),
            new TrainedRange("devices", 1, 4),
            new TrainedRange("devices_per_node", 1, 3),
            new TrainedRange("all_to_all_bytes_per_peer", 64_000, 640_000),
            new TrainedRange("buffer_bytes", 1e3, 1e6),
            new TrainedRange("shards_per_device", 1, 2));
    // Without a histogram, no use of rows is known, and without a buffer, no size of one.
    List<TrainedRange> unknown = TrainedRanges.of(withoutHistogram(), Set.of());
    assertThat(unknown)
        .contains(
            new TrainedRange("uses_per_touched_row", 0, 0), new TrainedRange("buffer_bytes", 0, 0));
    assertThat(TrainedRanges.with(unknown, withoutHistogram())).isEqualTo(unknown);
    assertThat(TrainedRanges.with(unknown, samples()))
        .contains(
            new TrainedRange("uses_per_touched_row", LEAST_USES, MOST_USES),
            new TrainedRange("buffer_bytes", 1e3, 1e6));
  }

  @Test
  void a_measurement_is_compared_with_the_training_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    DeviceShard narrow = shard(0, 4, 1_000);
    DeviceShard large = shard(1, 32, 2_000);
    ComputeSample sample = new ComputeSample(List.of(narrow, large, large), 1);
    OutOfRange lookups = new OutOfRange("large", "lookups_per_batch", 40_000, 2_000, 20_000);
    OutOfRange samples = new OutOfRange("large", "samples_per_batch", 2_000, 1_000, 1_000);
    ShardShape shape = TableShapes.of(large);
    Map<DeviceShard, ShardShape> shapes = Map.of(narrow, TableShapes.of(narrow), large, shape);
    OutOfRange uses =
        new OutOfRange(
            "large",
            "uses_per_touched_row",
            shape.lookups() / shape.distinctRows(),
            LEAST_USES,
            MOST_USES);
    assertThat(limits.ofComputation(sample, shapes))
        .containsExactly(
            new OutOfRange("sample", "shards_per_device", 3, 1, 2),
            new OutOfRange("small", "columns", 4, 8, 64),
            lookups,
            samples,
            uses,
            lookups,
            samples,
            uses);
    assertThat(limits.ofCollective(allToAll(2, 64_000, 128_000, 0, 100_000, 200_000)))
        .containsExactly(
            new OutOfRange("sample", "devices", 5, 1, 4),
            new OutOfRange("sample", "all_to_all_bytes_per_peer", 0, 64_000, 128_000),
            new OutOfRange("sample", "all_to_all_bytes_per_peer", 200_000, 64_000, 128_000));
    assertThat(limits.ofCollective(buffer(3, 1e7)))
        .containsExactly(new OutOfRange("sample", "buffer_bytes", 1e7, 1e3, 1e6));
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
