package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.Scale;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Samples, predictions and features at and beyond the ends of their ranges. */
class SamplesTest {
  private static final List<DeviceShard> SHARDS =
      List.of(DeviceShard.ofColumns(Fixtures.table("t", 10, 4, 1), 10));

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
  void a_computation_takes_time(double ms) {
    assertThat(new ComputeSample(SHARDS, Double.MIN_VALUE).shards()).isEqualTo(SHARDS);
    assertThatThrownBy(() -> new ComputeSample(SHARDS, ms))
        .hasMessage("cost of a compute sample must be above 0 ms, got " + ms + " ms");
    assertThatThrownBy(() -> new ComputeSample(List.of(), 1))
        .hasMessage("a compute sample must have shards, got none");
  }

  @Test
  void a_part_of_a_computation_is_less_than_the_whole() {
    assertThat(ComputeSample.of(SHARDS, 1, 2))
        .isEqualTo(new ComputeSample(SHARDS, 3, OptionalDouble.of(1)));
    for (double forward : new double[] {0, 3, Double.NaN}) {
      assertThatThrownBy(() -> new ComputeSample(SHARDS, 3, OptionalDouble.of(forward)))
          .hasMessage(
              "forward part of a compute sample must be above 0 and below its 3.0 ms, got %s ms",
              forward);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 0.5, 1, samples of a shard must be above 0; got 0.0",
    "1, 0, 0.5, 1, rowShare of a shard must be above 0 and at most 1; got 0.0",
    "1, 1.1, 0.5, 1, rowShare of a shard must be above 0 and at most 1; got 1.1",
    "1, 1, -0.1, 1, cacheShare of a shard must be between 0 and 1; got -0.1",
    "1, 1, NaN, 1, cacheShare of a shard must be between 0 and 1; got NaN",
    "1, 1, 0.5, 0, reuseBatchSize of a shard must be at least 1; got 0"
  })
  void a_sampled_shard_has_ranges(
      double samples, double rowShare, double cacheShare, int reuseBatchSize, String message) {
    DeviceShard shard =
        new DeviceShard(
            Fixtures.table("t", 10, 4, 1),
            samples,
            rowShare,
            false,
            OptionalDouble.of(cacheShare),
            reuseBatchSize);
    assertThatThrownBy(() -> new ComputeSample(List.of(shard), 1))
        .hasMessage(message.replace(';', ','));
  }

  private static CollectiveSample sample(
      Collective collective, int devices, int devicesPerNode, double[] bytes, double[] ms) {
    return new CollectiveSample(collective, Optional.empty(), devices, devicesPerNode, bytes, ms);
  }

  @Test
  void a_collective_has_a_number_for_each_device_or_one_for_all() {
    double[] one = {1};
    double[] two = {1, 1};
    assertThat(sample(Collective.ALL_TO_ALL, 2, 1, two, two).shown()).isEqualTo("all_to_all");
    assertThat(sample(Collective.ALL_GATHER, 2, 2, one, one).shown()).isEqualTo("all_gather");
    assertThatThrownBy(() -> sample(Collective.ALL_TO_ALL, 2, 2, two, one))
        .hasMessage("all_to_all of 2 devices must have 2 numbers of bytes and of ms, got 2 and 1");
    assertThatThrownBy(() -> sample(Collective.ALL_REDUCE, 2, 2, two, two))
        .hasMessage("all_reduce of 2 devices must have 1 numbers of bytes and of ms, got 2 and 2");
    assertThatThrownBy(() -> sample(Collective.ALL_TO_ALL, 1, 1, one, one))
        .hasMessage("devices of a collective must be at least 2, got 1");
    for (int devicesPerNode : new int[] {0, 3}) {
      assertThatThrownBy(() -> sample(Collective.ALL_REDUCE, 2, devicesPerNode, one, one))
          .hasMessage(
              "devices per node of a collective must be between 1 and 2, got %d", devicesPerNode);
    }
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, Double.NaN, Double.POSITIVE_INFINITY})
  void a_collective_takes_time_and_sends_bytes_or_none(double invalid) {
    double[] one = {1};
    double[] wrong = {invalid};
    sample(Collective.ALL_REDUCE, 2, 2, new double[1], one);
    assertThatThrownBy(() -> sample(Collective.ALL_REDUCE, 2, 2, wrong, one))
        .hasMessage("bytes of a collective must be at least 0, got " + invalid);
    assertThatThrownBy(() -> sample(Collective.ALL_REDUCE, 2, 2, one, wrong))
        .hasMessage("ms of a collective must be above 0, got " + invalid);
    assertThatThrownBy(() -> sample(Collective.ALL_REDUCE, 2, 2, one, new double[1]))
        .hasMessage("ms of a collective must be above 0, got 0.0");
  }

  private static CostSample.StepCommunication allToAll(List<Integer> columns, int predicted) {
    // The first device begins the forward all-to-all at 5 ms, the second one at 2 ms.
    List<MeasuredDevice> measured =
        List.of(new MeasuredDevice(3, 9, 2), new MeasuredDevice(1, 11, 1));
    return new CostSample.StepCommunication(
        columns,
        4,
        2,
        1,
        measured,
        measured.subList(0, predicted),
        List.of(),
        List.of(),
        List.of(),
        true);
  }

  /** Idle time until the last device begins is no part of the forward all-to-all. */
  @Test
  void a_measured_step_has_an_all_to_all_in_each_direction() {
    List<CollectiveSample> samples = allToAll(List.of(8, 4), 2).samples(100);
    assertThat(samples)
        .extracting(CollectiveSample::shown)
        .containsExactly("all_to_all.forward", "all_to_all.backward");
    assertThat(samples).allMatch(s -> s.devices() == 2 && s.devicesPerNode() == 2);
    assertThat(samples.get(0).bytes()).containsExactly(8 * 50 * 2, 4 * 50 * 2);
    assertThat(samples.get(0).ms()).containsExactly(9, 8);
    assertThat(samples.get(1).bytes()).containsExactly(8 * 50, 4 * 50);
    assertThat(samples.get(1).ms()).containsExactly(2, 1);
    assertThat(allToAll(List.of(0, 0), 2).samples(100)).isEmpty();
    assertThatThrownBy(() -> allToAll(List.of(8), 2))
        .hasMessageEndingWith("got 1 columns, 2 measured and 2 predicted costs");
    assertThatThrownBy(() -> allToAll(List.of(8, 4), 0))
        .hasMessageEndingWith("got 2 columns, 2 measured and 0 predicted costs");
  }

  /** Clocks differ: a device that seems to wait for longer than it took still took time. */
  @Test
  void a_forward_all_to_all_takes_a_thousandth_of_what_was_measured_at_least() {
    List<MeasuredDevice> measured =
        List.of(new MeasuredDevice(10, 4, 1), new MeasuredDevice(1, 5, 1));
    assertThat(
            new CostSample.StepCommunication(
                    List.of(8, 4),
                    2,
                    4,
                    4,
                    measured,
                    measured,
                    List.of(),
                    List.of(),
                    List.of(),
                    true)
                .samples(100)
                .get(0)
                .ms())
        .containsExactly(4, 0.005);
  }

  private static CostPredictions part(int part, int parts) {
    return CostPredictionsBuilder.builder()
        .workloadId("w")
        .generation(3)
        .eventId(new UUID(1, 2))
        .source(Fixtures.at(3))
        .modelId("m")
        .part(part)
        .parts(parts)
        .cluster(Fixtures.cluster(2, 100))
        .proxyHardware(Optional.empty())
        .update(Optional.of(new Update.Dropped("gone")))
        .build();
  }

  @Test
  void predictions_are_complete_with_the_last_part() {
    assertThat(part(0, 2).isLast()).isFalse();
    assertThat(part(1, 2).isLast()).isTrue();
    assertThat(part(0, 2).withoutTable().isLast()).isTrue();
    assertThat(part(0, 2).withoutTable().update()).isEmpty();
    assertThat(part(0, 2).update().orElseThrow().table()).contains("gone");
    assertThatThrownBy(() -> part(2, 2)).hasMessage("part must be between 0 and 1, got 2");
    assertThatThrownBy(() -> part(-1, 2)).hasMessage("part must be between 0 and 1, got -1");
  }

  @Test
  void a_prediction_has_a_tower_for_each_width() {
    TableSpec table = Fixtures.table("a", 10, 8, 1);
    List<float[]> towers = List.of(new float[] {1}, new float[] {2});
    TablePrediction prediction = new TablePrediction(table, towers, List.of());
    assertThat(prediction.tower(4)).isSameAs(towers.get(0));
    assertThat(new Update.Predicted(prediction).table()).contains("a");
    assertThatThrownBy(() -> new TablePrediction(table, towers.subList(0, 1), List.of()))
        .hasMessage(
            "predictions of table a of 8 columns must be 2, one for each multiple of 4 columns, got"
                + " 1");
  }

  @ParameterizedTest
  @CsvSource({
    "NaN, 1, 0, 1",
    "0, 0, 0, 1",
    "0, Infinity, 0, 1",
    "0, 1, -Infinity, 1",
    "0, 1, 0, Infinity",
    "0, 1, 2, 1"
  })
  void a_feature_has_a_finite_range(double mean, double scale, double min, double max) {
    assertThat(new Feature("f", 0, 1, 1, 1).normalize(9)).isEqualTo(1f);
    assertThatThrownBy(() -> new Feature("f", mean, scale, min, max))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageStartingWith("mean, scale and range of feature f must be finite");
  }

  @ParameterizedTest
  @CsvSource({"0, 2, 0, 2", "2, 0, 0, 0", "2, 2, 4, 1", "2, 2, 3, 2"})
  void a_layer_has_inputs_and_outputs(int inputs, int outputs, int weights, int biases) {
    assertThat(new DenseLayer(1, 1, new float[1], new float[1]).outputs()).isEqualTo(1);
    assertThatThrownBy(() -> new DenseLayer(inputs, outputs, new float[weights], new float[biases]))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageEndingWith("got %d and %d".formatted(weights, biases));
  }

  @Test
  void biases_are_finite() {
    assertThatThrownBy(
            () -> new DenseLayer(1, 1, new float[1], new float[] {Float.POSITIVE_INFINITY}))
        .hasMessage("weights of a layer must be finite, got Infinity");
  }

  @Test
  void a_net_tells_its_size() {
    Mlp net =
        new Mlp(
            List.of(
                new DenseLayer(3, 2, new float[6], new float[2]),
                new DenseLayer(2, 5, new float[10], new float[5])));
    assertThat(net.inputs()).isEqualTo(3);
    assertThat(net.outputs()).isEqualTo(5);
  }

  /** Whatever a device holds: the factors are what the lower bound of a plan relies on. */
  @Property(tries = 200)
  void no_computation_is_below_its_least_factors(
      @ForAll @Size(64) List<@Scale(15) @DoubleRange(min = 0, max = 1_000) Double> sums) {
    CostEvaluator evaluator = TestModels.model().evaluator();
    double[] sum = new double[evaluator.sumSize()];
    for (int i = 0; i < sum.length; i++) {
      sum[i] = sums.get(i % sums.size());
    }
    double least = 0;
    double[] factors = evaluator.leastFactors();
    for (int k = 0; k < factors.length; k++) {
      assertThat(factors[k]).isPositive();
      least += factors[k] * sum[k];
    }
    assertThat(evaluator.computeMs(sum)).isGreaterThanOrEqualTo(least * (1 - 1e-6));
  }

  /** A head whose bounds can be read off: it scales by 1/(1+1.5) to 1+0.5. */
  @Test
  void least_factors_follow_from_the_weights() {
    ModelBundle shipped = TestModels.bundle();
    int inputs = HeadInputs.size(shipped.towerSize(), false);
    float[] first = new float[2 * inputs];
    first[0] = 1;
    first[1] = -1;
    first[2] = 1;
    DenseLayer hidden = new DenseLayer(inputs, 2, first, new float[] {0, 0.5f});
    DenseLayer last = new DenseLayer(2, 2, new float[] {-1, 0, 1, 2}, new float[] {0.5f, 1});
    double[] factors =
        new CostModel(ModelBundleBuilder.builder(shipped).head(List.of(hidden, last)).build())
            .evaluator()
            .leastFactors();
    // Hidden: 0 to 2, and 0 to 0.5. Outputs: 0.5 - 2 = -1.5 at least, and 1 at least.
    assertThat(factors).containsExactly(new double[] {1 / 2.5, 2}, within(1e-12));
  }
}
