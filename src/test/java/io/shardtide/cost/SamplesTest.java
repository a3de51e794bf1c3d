package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.domain.Collective;
import io.shardtide.domain.MeasuredDevice;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Samples, predictions and features at and beyond the ends of their ranges. */
class SamplesTest {
  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
  void a_computation_takes_time(double ms) {
    List<SampledShard> shards = List.of(SampledShard.ofColumns(0, 4, 100));
    assertThat(new ComputeSample(shards, Double.MIN_VALUE).shards()).isEqualTo(shards);
    assertThatThrownBy(() -> new ComputeSample(shards, ms))
        .hasMessage("cost of a compute sample must be above 0 ms, got " + ms + " ms");
    assertThatThrownBy(() -> new ComputeSample(List.of(), 1))
        .hasMessage("a compute sample must have shards, got none");
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, 3, Double.NaN})
  void forward_is_a_part_of_a_computation(double forwardMs) {
    List<SampledShard> shards = List.of(SampledShard.ofColumns(0, 4, 100));
    assertThat(ComputeSample.of(shards, 1, 2).forwardMs()).hasValue(1);
    assertThatThrownBy(() -> new ComputeSample(shards, 3, OptionalDouble.of(forwardMs)))
        .hasMessageEndingWith("above 0 and below its 3.0 ms, got " + forwardMs + " ms");
  }

  @ParameterizedTest
  @CsvSource({
    "-1, 4, 9, 1, 4",
    "0, 0, 9, 1, 4",
    "0, 4, 0, 1, 4",
    "0, 4, 9, 0, 4",
    "0, 4, 9, 1.5, 4",
    "0, 4, 9, 1, 0"
  })
  void a_sampled_shard_has_ranges(
      int table, int columns, double samples, double rowShare, double bytes) {
    assertThatThrownBy(
            () ->
                new SampledShard(
                    table, columns, samples, rowShare, false, OptionalDouble.empty(), bytes))
        .hasMessageContaining(" of a shard must be ");
    assertThatThrownBy(() -> new SampledShard(0, 4, 9, 1, false, OptionalDouble.of(1.1), 4))
        .hasMessage("cacheShare of a shard must be between 0 and 1, got 1.1");
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 4, 1, devices must be at least 2",
    "2, 3, 4, 1, devicesPerNode must be between 1 and the 2 devices",
    "2, 0, 4, 1, devicesPerNode must be between 1 and the 2 devices",
    "2, 2, -1, 1, bytes of a collective must be at least 0",
    "2, 2, Infinity, 1, bytes of a collective must be at least 0",
    "2, 2, 4, 0, ms of a collective must be above 0",
    "2, 2, 4, NaN, ms of a collective must be above 0"
  })
  void a_collective_takes_time_on_its_devices(
      int devices, int devicesPerNode, double bytes, double ms, String expected) {
    assertThatThrownBy(
            () ->
                new CollectiveSample(
                    Collective.ALL_REDUCE,
                    Optional.empty(),
                    devices,
                    devicesPerNode,
                    new double[] {bytes},
                    new double[] {ms}))
        .hasMessageStartingWith(expected);
  }

  @ParameterizedTest
  @CsvSource({"ALL_TO_ALL, 1, 2", "ALL_TO_ALL, 2, 1", "ALL_GATHER, 2, 1", "ALL_GATHER, 1, 2"})
  void an_all_to_all_has_numbers_for_each_device(Collective collective, int bytes, int ms) {
    assertThatThrownBy(
            () ->
                new CollectiveSample(
                    collective, Optional.empty(), 2, 2, new double[bytes], new double[ms]))
        .hasMessageEndingWith("got %d and %d".formatted(bytes, ms));
  }

  /** A device that began first waited for the last one, which is no part of the sample. */
  @Test
  void a_measured_step_has_two_all_to_alls() {
    List<MeasuredDevice> measured =
        List.of(new MeasuredDevice(3, 9, 2), new MeasuredDevice(1, 11, 1));
    List<CollectiveSample> samples =
        new CostSample.AllToAll(List.of(8, 4), 8, 2, 4, measured, measured).samples(100);
    assertThat(samples.stream().map(CollectiveSample::shown))
        .containsExactly("all_to_all.forward", "all_to_all.backward");
    assertThat(samples).allMatch(sample -> sample.devicesPerNode() == 2);
    assertThat(samples.get(0).bytes()).containsExactly(800, 400);
    assertThat(samples.get(0).ms()).containsExactly(9, 8);
    assertThat(samples.get(1).bytes()).containsExactly(1_600, 800);
    assertThat(samples.get(1).ms()).containsExactly(2, 1);
    assertThat(new CostSample.AllToAll(List.of(0, 0), 8, 4, 4, measured, measured).samples(100))
        .isEmpty();
    assertThatThrownBy(() -> new CostSample.AllToAll(List.of(8), 8, 4, 4, measured, measured))
        .hasMessageEndingWith("got 1 columns, 2 measured and 2 predicted costs");
    assertThatThrownBy(() -> new CostSample.AllToAll(List.of(8, 4), 8, 4, 4, measured, List.of()))
        .hasMessageEndingWith("got 2 columns, 2 measured and 0 predicted costs");
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
      @ForAll @Size(64) List<@DoubleRange(min = 0, max = 1_000) Double> sums) {
    CostEvaluator evaluator = Fixtures.model().evaluator();
    double[] sum = new double[evaluator.towerSize()];
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
    ModelBundle shipped = Fixtures.bundle();
    int inputs = HeadInputs.size(shipped.towerSize());
    float[] first = new float[2 * inputs];
    first[0] = 1;
    first[1] = -1;
    first[2] = 1;
    DenseLayer hidden = new DenseLayer(inputs, 2, first, new float[] {0, 0.5f});
    DenseLayer last = new DenseLayer(2, 2, new float[] {-1, 0, 1, 2}, new float[] {0.5f, 1});
    double[] factors =
        new CostEvaluator(ModelBundleBuilder.builder(shipped).head(List.of(hidden, last)).build())
            .leastFactors();
    // Hidden: 0 to 2, and 0 to 0.5. Outputs: 0.5 - 2 = -1.5 at least, and 1 at least.
    assertThat(factors).containsExactly(new double[] {1 / 2.5, 2}, within(1e-12));
  }

  @Test
  void errors_of_an_all_to_all_count_once_for_each_sample() {
    Accuracy.Collectives accuracy =
        Accuracy.ofCollectives(List.of(predicted(2, 0.5), predicted(6, 0.1)));
    assertThat(accuracy.samples()).isEqualTo(2);
    assertThat(accuracy.mape()).isCloseTo(0.3, within(1e-12));
    assertThat(accuracy.p99RelativeError()).isEqualTo(0.5);
  }

  private static Evaluation.CollectivePrediction predicted(int devices, double error) {
    double[] ones = new double[devices];
    Arrays.fill(ones, 1);
    return new Evaluation.CollectivePrediction(
        0,
        new CollectiveSample(Collective.ALL_TO_ALL, Optional.empty(), devices, devices, ones, ones),
        Collections.nCopies(devices, error),
        List.of());
  }
}
