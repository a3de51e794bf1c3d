package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class CostEvaluatorTest {
  private final CostEvaluator evaluator = Fixtures.model().evaluator();

  private StepCost cost(double[] computeMs, int[] columns, int batchSize) {
    return StepCost.of(computeMs, evaluator.allToAll(Plans.elements(columns, batchSize)));
  }

  /** Devices are a set: numbering them otherwise gives each the cost it had, bit for bit. */
  @Property(tries = 200)
  void costs_do_not_depend_on_the_numbers_of_devices(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 40) int devices) {
    Random random = new Random(seed);
    List<Integer> order = new ArrayList<>();
    double[] compute = new double[devices];
    int[] columns = new int[devices];
    for (int d = 0; d < devices; d++) {
      order.add(d);
      compute[d] = 10 * random.nextDouble();
      columns[d] = 4 * random.nextInt(200);
    }
    Collections.shuffle(order, random);
    double[] otherCompute = new double[devices];
    int[] otherColumns = new int[devices];
    for (int d = 0; d < devices; d++) {
      otherCompute[order.get(d)] = compute[d];
      otherColumns[order.get(d)] = columns[d];
    }
    StepCost cost = cost(compute, columns, 65_536);
    StepCost other = cost(otherCompute, otherColumns, 65_536);
    assertThat(other.predictedMs()).isEqualTo(cost.predictedMs());
    for (int d = 0; d < devices; d++) {
      assertThat(other.forwardCommMs()[order.get(d)]).isEqualTo(cost.forwardCommMs()[d]);
      assertThat(other.backwardCommMs()[order.get(d)]).isEqualTo(cost.backwardCommMs()[d]);
    }
  }

  @Test
  void a_device_waits_for_the_last_one_before_the_forward_exchange() {
    int[] columns = {128, 128, 128, 128};
    StepCost even = cost(new double[] {2, 2, 2, 2}, columns, 65_536);
    StepCost skewed = cost(new double[] {2, 7, 2, 2}, columns, 65_536);
    assertThat(skewed.forwardCommMs()[0]).isCloseTo(even.forwardCommMs()[0] + 5, within(1e-9));
    assertThat(skewed.forwardCommMs()[1]).isCloseTo(even.forwardCommMs()[1], within(1e-9));
    assertThat(skewed.predictedMs()).isCloseTo(even.predictedMs() + 5, within(1e-9));
  }

  @Test
  void one_device_exchanges_nothing_and_neither_do_devices_without_columns() {
    assertThat(cost(new double[] {3}, new int[] {512}, 65_536).predictedMs()).isEqualTo(3);
    assertThat(cost(new double[4], new int[4], 65_536).predictedMs()).isZero();
  }

  @Test
  void a_larger_batch_costs_more() {
    int[] columns = {256, 256, 256, 256};
    double small = cost(new double[4], columns, 16_384).predictedMs();
    double large = cost(new double[4], columns, 131_072).predictedMs();
    assertThat(large).isGreaterThan(4 * small);
  }

  /** Costs grow with what a device has to do, at widths and sizes that were sampled. */
  @Property(tries = 200)
  void computation_grows_with_lookups(
      @ForAll @IntRange(min = 100_000, max = 20_000_000) int rows,
      @ForAll @IntRange(min = 1, max = 50) int lookups) {
    try (PlainTowers towers = new PlainTowers(Fixtures.bundle())) {
      TableSpec light = Fixtures.table("a", rows, 64, lookups);
      TableSpec heavy = Fixtures.table("b", rows, 64, 3.0 * lookups);
      List<TablePrediction> predictions = towers.predict(List.of(light, heavy), 65_536);
      assertThat(evaluator.computeMs(TowerSums.exact(predictions.get(1).tower(64))))
          .isGreaterThan(evaluator.computeMs(TowerSums.exact(predictions.get(0).tower(64))));
    }
  }

  @Test
  void a_reuse_histogram_says_how_many_rows_a_batch_touches() {
    assertThat(ShardFeatures.NAMES).hasSize(10);
    TableSpec known = new TableSpec("a", 1_000_000, 64, 10, Fixtures.reuse(), 4);
    double[] features = ShardFeatures.of(ShardShape.ofColumns(known, 32, 65_536));
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    assertThat(uses).isGreaterThan(1);
    assertThat(features[0]).isCloseTo(Math.log(1_000_000) / Math.log(2), within(1e-12));
    assertThat(features[2]).isEqualTo(5);
    assertThat(features[3]).isEqualTo(1);
    assertThat(Math.pow(2, features[4])).isCloseTo(1 + 655_360 / uses, within(1e-6));
    double[] unknown =
        ShardFeatures.of(ShardShape.ofColumns(Fixtures.table("a", 1_000_000, 64, 10), 32, 65_536));
    assertThat(unknown[3]).isZero();
    assertThat(unknown[4]).isNaN();
    assertThat(new Feature("f", 3, 2, 0, 9).normalize(Double.NaN)).isZero();
    assertThat(new Feature("f", 3, 2, 0, 9).normalize(7)).isEqualTo(2f);
  }

  /** A net reads a value far outside its training as one that is half a range outside. */
  @Test
  void a_feature_is_bounded() {
    Feature feature = new Feature("f", 10, 2, 0, 20);
    assertThat(feature.normalize(20)).isEqualTo(5f);
    assertThat(feature.normalize(25)).isEqualTo(7.5f);
    assertThat(feature.normalize(31)).isEqualTo(feature.normalize(30)).isEqualTo(10f);
    assertThat(feature.normalize(-1e30)).isEqualTo(-10f);
    assertThat(feature.normalize(Double.POSITIVE_INFINITY)).isEqualTo(10f);
  }

  @Test
  void terms_count_what_a_shard_does() {
    TableSpec known = new TableSpec("a", 1_000_000, 64, 10, Fixtures.reuse(), 4);
    double uses = ShardFeatures.meanUses(Fixtures.reuse());
    assertThat(ComputeTerms.of(ShardShape.ofColumns(known, 32, 65_536)))
        .containsExactly(
            new double[] {
              1, 32 * 65_536, 655_360, 32 * 655_360, 655_360 / uses, 32 * 655_360 / uses
            },
            within(1e-6));
    // A batch touches no more rows than there are, and nearly all of them when it looks often.
    TableSpec small = new TableSpec("a", 100, 64, 10, Fixtures.reuse(), 4);
    assertThat(ComputeTerms.of(ShardShape.ofColumns(small, 32, 65_536))[4]).isEqualTo(100);
    assertThat(
            ComputeTerms.of(ShardShape.ofColumns(Fixtures.table("a", 100, 64, 10), 32, 65_536))[4])
        .isCloseTo(100, within(1e-9));
    // Without a histogram and with few lookups, hardly a row is touched twice.
    assertThat(
            ComputeTerms.of(
                ShardShape.ofColumns(Fixtures.table("a", 1_000_000_000, 64, 1), 4, 65_536))[4])
        .isCloseTo(65_536, within(3.0));
    assertThat(AllToAllTerms.of(100, 50, 200, 4))
        .containsExactly(new double[] {1, 3, 150, 75, 37.5}, within(1e-12));
  }

  /** Two prediction paths of a device: what a search keeps, and the formula of ModelBundle. */
  @Property(tries = 200)
  void the_head_is_what_the_bundle_says(@ForAll long seed) {
    Random random = new Random(seed);
    ModelBundle bundle = Fixtures.bundle();
    double[] sum = new double[bundle.towerSize()];
    for (int i = 0; i < sum.length; i++) {
      sum[i] = 30 * random.nextDouble();
    }
    double[] x = new double[sum.length];
    for (int i = 0; i < x.length; i++) {
      x[i] = sum[i] / (1 + sum[i]);
    }
    for (int l = 0; l < bundle.head().size(); l++) {
      DenseLayer layer = bundle.head().get(l);
      double[] y = new double[layer.outputs()];
      for (int j = 0; j < y.length; j++) {
        y[j] = layer.biases()[j];
        for (int i = 0; i < x.length; i++) {
          y[j] += x[i] * layer.weights()[i * layer.outputs() + j];
        }
        y[j] = l < bundle.head().size() - 1 ? Math.max(0, y[j]) : y[j];
      }
      x = y;
    }
    double ms = 0;
    for (int k = 0; k < bundle.latencyComponents(); k++) {
      ms += sum[k] * (1 + Math.max(0, x[k])) / (1 + Math.max(0, -x[k]));
    }
    assertThat(evaluator.computeMs(sum)).isCloseTo(ms, within(1e-5 * ms));
  }

  /** A sum of terms times a correction: the formula of AllToAllNet, from the bundle's numbers. */
  @Property(tries = 100)
  void an_all_to_all_is_what_the_bundle_says(
      @ForAll @IntRange(min = 1, max = 400) int columns,
      @ForAll @IntRange(min = 400, max = 800) int max,
      @ForAll @IntRange(min = 2, max = 16) int devices) {
    ModelBundle bundle = Fixtures.bundle();
    double total = max + (devices - 1.0) * columns;
    double mean = total / devices;
    double[] terms = AllToAllTerms.of(columns, mean, max, devices);
    double[] features = CommunicationFeatures.of(columns, mean, max, devices);
    float[] x = new float[features.length];
    for (int f = 0; f < x.length; f++) {
      x[f] = bundle.communicationFeatures().get(f).normalize(features[f]);
    }
    double batch = bundle.batchSize();
    assertThat(evaluator.forwardMs(columns * batch, max * batch, total * batch, devices))
        .isCloseTo(ms(bundle.forward(), terms, x), within(1e-9));
    assertThat(evaluator.backwardMs(columns * batch, max * batch, total * batch, devices))
        .isCloseTo(ms(bundle.backward(), terms, x), within(1e-9));
  }

  private static double ms(AllToAllNet net, double[] terms, float[] features) {
    double base = 0;
    for (int i = 0; i < terms.length; i++) {
      base += net.coefficients().get(i) * terms[i];
    }
    return base * Math.exp(new Mlp(net.layers()).apply(features)[0]);
  }
}
