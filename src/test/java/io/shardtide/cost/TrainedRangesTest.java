package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class TrainedRangesTest {
  private static final List<TableSpec> TABLES =
      List.of(
          new TableSpec("small", 1_000, 64, 2, Fixtures.reuse(), 4),
          new TableSpec("large", 1_000_000, 64, 20, Fixtures.reuse(), 4),
          new TableSpec("huge", 9_000_000, 64, 20, Fixtures.reuse(), 4));

  private static SampleSet samples() {
    TreeMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    double[] ones = {1, 1, 1, 1};
    communication.put(
        4, List.of(new CommunicationSample(new int[] {64, 128, 64, 96}, ones, ones, ones)));
    return new SampleSet(
        TABLES,
        1000,
        List.of(
            new ComputeSample(
                List.of(
                    new ComputeSample.SampledShard(0, 8), new ComputeSample.SampledShard(1, 32)),
                1),
            new ComputeSample(List.of(new ComputeSample.SampledShard(2, 64)), 3)),
        communication);
  }

  @Test
  void the_ranges_of_samples_are_found() {
    List<TrainedRange> ranges = TrainedRanges.of(samples(), Set.of());
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    assertThat(ranges)
        .containsExactly(
            new TrainedRange("rows", 1_000, 9_000_000),
            new TrainedRange("columns", 8, 64),
            new TrainedRange("lookups_per_batch", 2_000, 20_000),
            new TrainedRange("uses_per_touched_row", uses, uses),
            new TrainedRange("samples_per_batch", 1_000, 1_000),
            new TrainedRange("devices", 1, 4),
            new TrainedRange("columns_per_device", 64, 128),
            new TrainedRange("shards_per_device", 1, 2));
    assertThat(TrainedRanges.of(samples(), Set.of(2)).get(0))
        .isEqualTo(new TrainedRange("rows", 1_000, 1_000_000));
  }

  @Test
  void what_is_outside_is_named_with_its_value_and_the_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    assertThat(limits.ofTable(TABLES.get(1), 1000)).isEmpty();
    assertThat(limits.ofTable(Fixtures.table("x", 27_000_000, 64, 1), 1000))
        .containsExactly(
            new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000),
            new OutOfRange("x", "lookups_per_batch", 1_000, 2_000, 20_000));
    assertThat(limits.ofCluster(Fixtures.cluster(8, Fixtures.GIB)))
        .containsExactly(
            new OutOfRange("cluster", "devices", 8, 1, 4),
            new OutOfRange("cluster", "samples_per_batch", 65_536, 1_000, 1_000));
    assertThat(limits.ofDevice(3, 256, 1))
        .containsExactly(new OutOfRange("device 3", "columns_per_device", 256, 64, 128));
    assertThat(limits.ofDevice(3, 64, 3))
        .containsExactly(new OutOfRange("device 3", "shards_per_device", 3, 1, 2));
    assertThat(limits.ofDevice(3, 0, 0)).isEmpty();
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    List<Double> shares = new ArrayList<>(Collections.nCopies(ReuseHistogram.SIZE, 0.0));
    shares.set(0, 1.0);
    ReuseHistogram once = new ReuseHistogram(shares);
    assertThat(limits.ofTable(new TableSpec("x", 1_000, 4, 2, once, 4), 1000))
        .containsExactly(
            new OutOfRange("x", "columns", 4, 8, 64),
            new OutOfRange("x", "uses_per_touched_row", 1, uses, uses));
    assertThat(new OutOfRange("x", "rows", 27_000_000, 1_000, 9_000_000).factor()).isEqualTo(3);
    assertThat(new OutOfRange("x", "rows", 10, 1_000, 9_000_000).factor()).isEqualTo(100);
  }

  private static SampleSet withoutHistogram() {
    TreeMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    double[] ones = {1, 1};
    communication.put(2, List.of(new CommunicationSample(new int[] {64, 64}, ones, ones, ones)));
    return new SampleSet(
        List.of(Fixtures.table("tiny", 10, 64, 1)),
        2_000,
        List.of(new ComputeSample(List.of(new ComputeSample.SampledShard(0, 16)), 1)),
        communication);
  }

  @Test
  void ranges_grow_with_further_samples() {
    List<TrainedRange> ranges = TrainedRanges.of(samples(), Set.of());
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    assertThat(TrainedRanges.with(ranges, withoutHistogram()))
        .containsExactly(
            new TrainedRange("rows", 10, 9_000_000),
            new TrainedRange("columns", 8, 64),
            new TrainedRange("lookups_per_batch", 2_000, 20_000),
            new TrainedRange("uses_per_touched_row", uses, uses),
            new TrainedRange("samples_per_batch", 1_000, 2_000),
            new TrainedRange("devices", 1, 4),
            new TrainedRange("columns_per_device", 64, 128),
            new TrainedRange("shards_per_device", 1, 2));
    // Without a histogram, no use of rows is known.
    List<TrainedRange> unknown = TrainedRanges.of(withoutHistogram(), Set.of());
    assertThat(unknown).contains(new TrainedRange("uses_per_touched_row", 0, 0));
    assertThat(TrainedRanges.with(unknown, withoutHistogram())).isEqualTo(unknown);
    assertThat(TrainedRanges.with(unknown, samples()))
        .contains(new TrainedRange("uses_per_touched_row", uses, uses));
  }

  @Test
  void a_measurement_is_compared_with_the_training_range() {
    TrainedRanges limits = new TrainedRanges(TrainedRanges.of(samples(), Set.of()));
    List<ComputeSample.SampledShard> shards =
        Collections.nCopies(3, new ComputeSample.SampledShard(0, 4));
    ComputeSample sample = new ComputeSample(shards, 1);
    assertThat(
            limits.ofComputation(new SampleSet(TABLES, 2_000, List.of(), new TreeMap<>()), sample))
        .startsWith(
            new OutOfRange("sample", "samples_per_batch", 2_000, 1_000, 1_000),
            new OutOfRange("sample", "shards_per_device", 3, 1, 2),
            new OutOfRange("small", "columns", 4, 8, 64))
        .hasSize(5);
    double[] ones = {1, 1, 1, 1, 1};
    assertThat(
            limits.ofAllToAll(
                new CommunicationSample(new int[] {64, 128, 0, 100, 200}, ones, ones, ones), 2_000))
        .containsExactly(
            new OutOfRange("sample", "samples_per_batch", 2_000, 1_000, 1_000),
            new OutOfRange("sample", "devices", 5, 1, 4),
            new OutOfRange("device 2", "columns_per_device", 0, 64, 128),
            new OutOfRange("device 4", "columns_per_device", 200, 64, 128));
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
