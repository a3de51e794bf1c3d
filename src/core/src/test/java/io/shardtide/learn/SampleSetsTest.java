package io.shardtide.learn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.RejectedException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SampleSetsTest {
  /** Samples of each of two devices. */
  private static final double SHARE = Machine.BATCH / 2.0;

  /** The second device begins its forward all-to-all 2 ms earlier. */
  private static final List<MeasuredDevice> MEASURED =
      List.of(new MeasuredDevice(4, 1, 0.5), new MeasuredDevice(2, 3.5, 0.5));

  private static CostSample sample(CostSample.Cost cost) {
    return MeasuredMachine.sample("m", "p", "a", cost);
  }

  private static CostSample.StepCommunication allToAll(
      List<Double> forwardMs, List<Double> backwardMs) {
    return new CostSample.StepCommunication(
        List.of(8, 4), 8, 4, 2, MEASURED, MEASURED, forwardMs, backwardMs, List.of(), true);
  }

  private static CostSample.Computation computation(double ms, OptionalDouble forwardMs) {
    return new CostSample.Computation(
        0, List.of(DeviceShard.ofColumns(Fixtures.table("t", 10, 4, 1), 100)), ms, forwardMs, 1);
  }

  private static List<CollectiveSample> collectives(CostSample.Cost cost) {
    return SampleSet.of(List.of(sample(cost))).collectives();
  }

  @Test
  void idle_time_is_subtracted_if_the_durations_are_not_known() {
    List<CollectiveSample> samples = collectives(allToAll(List.of(), List.of()));
    assertThat(samples)
        .extracting(CollectiveSample::direction)
        .containsExactly(Optional.of(Direction.FORWARD), Optional.of(Direction.BACKWARD));
    assertThat(samples.get(0).ms()).containsExactly(1, 1.5);
    assertThat(samples.get(1).ms()).containsExactly(0.5, 0.5);
  }

  @Test
  void durations_that_are_known_are_used() {
    List<CollectiveSample> samples =
        collectives(allToAll(List.of(0.75, 1.25), List.of(0.375, 0.625)));
    assertThat(samples.get(0).ms()).containsExactly(0.75, 1.25);
    assertThat(samples.get(0).bytes()).containsExactly(8 * 4 * SHARE, 4 * 4 * SHARE);
    assertThat(samples.get(1).ms()).containsExactly(0.375, 0.625);
    assertThat(samples.get(1).bytes()).containsExactly(8 * 2 * SHARE, 4 * 2 * SHARE);
    assertThatThrownBy(() -> allToAll(List.of(), List.of(0.5)))
        .hasMessage(
            "a communication sample must have no backward durations or one for each of 2 devices,"
                + " got 1");
  }

  @Test
  void the_forward_part_of_a_computation_is_kept() {
    SampleSet set =
        SampleSet.of(
            List.of(
                sample(computation(2, OptionalDouble.of(0.5))),
                sample(computation(2, OptionalDouble.empty()))));
    assertThat(set.compute())
        .extracting(sample -> sample.forwardMs())
        .containsExactly(OptionalDouble.of(0.5), OptionalDouble.empty());
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, 0, 2, Double.NaN})
  void implausible_parts_are_rejected(double ms) {
    SampleCheck.check(sample(computation(2, OptionalDouble.of(1.5))));
    SampleCheck.check(sample(allToAll(List.of(1.0, 1.0), List.of(1.0, 1.0))));
    assertThatThrownBy(() -> SampleCheck.check(sample(computation(2, OptionalDouble.of(ms)))))
        .isInstanceOf(RejectedException.class)
        .hasMessage(
            "Invalid training sample: forward computation must be above 0 and below the computation of 2.0 ms, got %s ms"
                .formatted(ms));
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, 0, 1.5, Double.NaN})
  void implausible_row_shares_are_rejected(double share) {
    DeviceShard shard =
        new DeviceShard(
            Fixtures.table("t", 10, 4, 1), 100, share, false, OptionalDouble.empty(), 100);
    assertThatThrownBy(
            () ->
                SampleCheck.check(
                    sample(
                        new CostSample.Computation(
                            0, List.of(shard), 2, OptionalDouble.empty(), 1))))
        .isInstanceOf(RejectedException.class)
        .hasMessage(
            "Invalid training sample: rowShare of a shard must be above 0 and at most 1, got %s"
                .formatted(share));
  }

  private static CostSample.StepCommunication withReduceScatter(double bytes, double ms) {
    return new CostSample.StepCommunication(
        List.of(0, 0),
        8,
        4,
        2,
        List.of(new MeasuredDevice(4, 0, 0), new MeasuredDevice(2, 2, 0)),
        MEASURED,
        List.of(),
        List.of(),
        List.of(
            new CostSample.GroupCollective(
                Collective.REDUCE_SCATTER, Direction.FORWARD, 2, 2, List.of(bytes), List.of(ms))),
        false);
  }

  @Test
  void a_collective_of_row_shards_is_a_sample_of_its_own() {
    SampleCheck.check(sample(withReduceScatter(800, 0.25)));
    assertThat(collectives(withReduceScatter(800, 0.25)))
        .singleElement()
        .satisfies(
            collective -> {
              assertThat(collective.shown()).isEqualTo("reduce_scatter.forward");
              assertThat(collective.bytes()).containsExactly(800);
              assertThat(collective.ms()).containsExactly(0.25);
            });
    assertThatThrownBy(() -> SampleCheck.check(sample(withReduceScatter(-1, 0.25))))
        .isInstanceOf(RejectedException.class)
        .hasMessage("Invalid training sample: bytes of a collective must be at least 0, got -1.0");
    assertThatThrownBy(() -> SampleCheck.check(sample(withReduceScatter(800, 0))))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("reduce_scatter must be above 0 and at most 600000 ms, got 0.0 ms");
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, 0, 600_001, Double.NaN})
  void implausible_durations_are_rejected(double ms) {
    assertThatThrownBy(
            () -> SampleCheck.check(sample(allToAll(List.of(1.0, ms), List.of(1.0, 1.0)))))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("forward all-to-all must be above 0")
        .hasMessageEndingWith("got %s ms".formatted(ms));
    assertThatThrownBy(
            () -> SampleCheck.check(sample(allToAll(List.of(1.0, 1.0), List.of(ms, 1.0)))))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("backward all-to-all must be above 0");
  }
}
