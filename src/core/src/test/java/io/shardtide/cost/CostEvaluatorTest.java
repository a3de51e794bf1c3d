package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class CostEvaluatorTest {
  private final CostEvaluator evaluator = TestModels.model().evaluator();

  private StepCost cost(double[] computeMs, int[] columns, int batchSize) {
    return cost(
        computeMs,
        columns,
        new ClusterSpec(columns.length, Fixtures.GIB, batchSize, columns.length, "test"));
  }

  private StepCost cost(double[] computeMs, int[] columns, ClusterSpec cluster) {
    return StepCost.of(
        computeMs,
        StepCollectives.of(cluster)
            .allToAll(evaluator, Plans.elements(columns, cluster.batchSize())));
  }

  /**
   * Nodes are a set, and so are the devices of each: numbering them otherwise gives each the cost
   * it had, bit for bit.
   */
  @Property(tries = 200)
  void costs_do_not_depend_on_the_numbers_of_devices(
      @ForAll Random random,
      @ForAll @IntRange(min = 1, max = 40) int devices,
      @ForAll @IntRange(min = 1, max = 12) int devicesPerNode) {
    ClusterSpec cluster = new ClusterSpec(devices, Fixtures.GIB, 65_536, devicesPerNode, "test");
    List<Integer> order = renumbered(cluster, random);
    double[] compute = new double[devices];
    int[] columns = new int[devices];
    for (int d = 0; d < devices; d++) {
      compute[d] = 10 * random.nextDouble();
      columns[d] = 4 * random.nextInt(200);
    }
    double[] otherCompute = new double[devices];
    int[] otherColumns = new int[devices];
    for (int d = 0; d < devices; d++) {
      otherCompute[order.get(d)] = compute[d];
      otherColumns[order.get(d)] = columns[d];
    }
    StepCost cost = cost(compute, columns, cluster);
    StepCost other = cost(otherCompute, otherColumns, cluster);
    assertThat(other.predictedMs()).isEqualTo(cost.predictedMs());
    for (int d = 0; d < devices; d++) {
      assertThat(other.forwardCommMs()[order.get(d)]).isEqualTo(cost.forwardCommMs()[d]);
      assertThat(other.backwardCommMs()[order.get(d)]).isEqualTo(cost.backwardCommMs()[d]);
    }
  }

  /** Returns the new number of each device; a smaller last node stays the last one. */
  private static List<Integer> renumbered(ClusterSpec cluster, Random random) {
    List<List<Integer>> nodes = new ArrayList<>();
    for (int node = 0; node < cluster.nodes(); node++) {
      List<Integer> ofNode = new ArrayList<>(cluster.devicesOfNode(node));
      Collections.shuffle(ofNode, random);
      nodes.add(ofNode);
    }
    Collections.shuffle(nodes.subList(0, cluster.devices() / cluster.devicesPerNode()), random);
    return nodes.stream().flatMap(List::stream).toList();
  }

  @Test
  void a_device_waits_for_the_last_one_before_the_forward_all_to_all() {
    int[] columns = {128, 128, 128, 128};
    StepCost even = cost(new double[] {2, 2, 2, 2}, columns, 65_536);
    StepCost skewed = cost(new double[] {2, 7, 2, 2}, columns, 65_536);
    assertThat(skewed.forwardCommMs()[0]).isCloseTo(even.forwardCommMs()[0] + 5, within(1e-9));
    assertThat(skewed.forwardCommMs()[1]).isCloseTo(even.forwardCommMs()[1], within(1e-9));
    assertThat(skewed.predictedMs()).isCloseTo(even.predictedMs() + 5, within(1e-9));
  }

  @Test
  void one_device_sends_nothing_and_neither_do_devices_without_columns() {
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
    try (PlainTowers towers = new PlainTowers(TestModels.bundle())) {
      TableSpec light = Fixtures.table("a", rows, 64, lookups);
      TableSpec heavy = Fixtures.table("b", rows, 64, 3.0 * lookups);
      List<TablePrediction> predictions = towers.predict(List.of(light, heavy), 65_536);
      assertThat(evaluator.aloneMs(heavy, predictions.get(1).tower(64)))
          .isGreaterThan(evaluator.aloneMs(light, predictions.get(0).tower(64)));
    }
  }

  /** Two prediction paths of a device: what a search keeps, and the formula of ModelBundle. */
  @Property(tries = 200)
  void the_head_is_what_the_bundle_says(@ForAll long seed) {
    Random random = new Random(seed);
    ModelBundle bundle = TestModels.bundle();
    double[] sum = new double[bundle.sumSize()];
    for (int i = 0; i < sum.length; i++) {
      sum[i] = 30 * random.nextDouble();
    }
    int size = bundle.towerSize();
    int components = bundle.latencyComponents();
    double forward = Arrays.stream(sum, 0, components / 2).sum();
    double backward = Arrays.stream(sum, components / 2, components).sum();
    double[] x = new double[size + 6];
    for (int i = 0; i < size; i++) {
      double divisor = i < components / 2 ? forward : i < components ? backward : 1 + sum[i];
      x[i] = sum[i] / divisor;
    }
    double[] scales = {0.03, 0.3, 3};
    for (int s = 0; s < 3; s++) {
      x[size + s] = forward / (forward + scales[s]);
      x[size + 3 + s] = backward / (backward + scales[s]);
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
    double forwardMs = 0;
    for (int k = 0; k < components; k++) {
      ms += sum[k] * (1 + Math.max(0, x[k])) / (1 + Math.max(0, -x[k]));
      forwardMs = k < components / 2 ? ms : forwardMs;
    }
    double addedMs = sum[size];
    assertThat(evaluator.forwardComputeMs(sum)).isCloseTo(forwardMs + addedMs, within(1e-5 * ms));
    addedMs += sum[size + 1];
    assertThat(evaluator.computeMs(sum)).isCloseTo(ms + addedMs, within(1e-5 * ms));
  }

  /** A sum of terms times a correction: the formula of CollectiveNet, from the bundle's numbers. */
  @Property(tries = 100)
  void a_collective_is_what_the_bundle_says(
      @ForAll @IntRange(min = 1, max = 400) int columns,
      @ForAll @IntRange(min = 400, max = 800) int max,
      @ForAll @IntRange(min = 2, max = 16) int devices,
      @ForAll @IntRange(min = 1, max = 8) int devicesPerNode) {
    ModelBundle bundle = TestModels.allCollectives();
    CostEvaluator ofAll = new CostModel(bundle).evaluator();
    DeviceGroup group = new DeviceGroup(devices, Math.min(devices, devicesPerNode));
    double[] bytes = new double[devices];
    Arrays.fill(bytes, columns * 4096.0);
    bytes[devices - 1] = max * 4096.0;
    AllToAllLoad load = AllToAllLoad.of(group, bytes);
    for (CollectiveNet net : bundle.collectives()) {
      Direction direction = net.direction().orElseThrow();
      boolean isAllToAll = net.collective() == Collective.ALL_TO_ALL;
      double ms =
          isAllToAll
              ? ofAll.allToAllMs(direction, bytes[0], load)
              : ofAll.bufferMs(new BufferCollective(net.collective(), direction, bytes[0]), group);
      double[] terms =
          isAllToAll
              ? CollectiveInputs.allToAllTerms(bytes[0], load)
              : CollectiveInputs.bufferTerms(bytes[0], group);
      double[] features =
          isAllToAll
              ? CollectiveInputs.allToAllFeatures(bytes[0], load)
              : CollectiveInputs.bufferFeatures(bytes[0], group);
      assertThat(ms).isPositive().isCloseTo(ms(net, terms, features), within(1e-6 * ms));
    }
  }

  private static double ms(CollectiveNet net, double[] terms, double[] features) {
    double base = 0;
    for (int i = 0; i < terms.length; i++) {
      base += net.coefficients().get(i) * terms[i];
    }
    // One layer: a bias and a weight for each normalized feature.
    DenseLayer layer = net.layers().get(0);
    double correction = layer.biases()[0];
    for (int f = 0; f < features.length; f++) {
      correction += layer.weights()[f] * net.features().get(f).normalize(features[f]);
    }
    return base * Math.exp(correction);
  }
}
