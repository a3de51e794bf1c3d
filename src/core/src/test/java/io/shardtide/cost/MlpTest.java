package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class MlpTest {
  /** The same bits as the plain double loop in the order of the inputs, whatever the sizes. */
  @Property
  void computes_what_a_plain_loop_computes(
      @ForAll long seed,
      @ForAll @IntRange(min = 1, max = 23) int inputs,
      @ForAll @IntRange(min = 1, max = 19) int hidden,
      @ForAll @IntRange(min = 1, max = 5) int outputs) {
    Random random = new Random(seed);
    List<DenseLayer> layers =
        List.of(layer(random, inputs, hidden), layer(random, hidden, outputs));
    float[] x = floats(random, inputs);
    assertThat(new Mlp(layers).apply(x)).startsWith(plain(layers, x));
  }

  private static float[] plain(List<DenseLayer> layers, float[] x) {
    float[] in = x;
    for (int l = 0; l < layers.size(); l++) {
      DenseLayer layer = layers.get(l);
      float[] out = layer.biases().clone();
      for (int j = 0; j < layer.outputs(); j++) {
        for (int i = 0; i < layer.inputs(); i++) {
          float xi = l > 0 ? Math.max(0f, in[i]) : in[i];
          out[j] += xi * layer.weights()[i * layer.outputs() + j];
        }
      }
      in = out;
    }
    return in;
  }

  @Test
  void layers_must_fit_together() {
    Random random = new Random(1);
    assertThatThrownBy(() -> new Mlp(List.of(layer(random, 2, 3), layer(random, 4, 1))))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage("inputs of a layer must be the 3 outputs of the one before, got 4");
    assertThatThrownBy(() -> new DenseLayer(2, 2, new float[3], new float[2]))
        .hasMessageContaining("got 3 and 2");
    assertThatThrownBy(() -> new DenseLayer(1, 1, new float[] {Float.NaN}, new float[1]))
        .hasMessage("weights of a layer must be finite, got NaN");
  }

  /** Additions that are exact have no order, and a removal is an addition taken back. */
  @Property
  void tower_sums_do_not_depend_on_the_order(
      @ForAll long seed, @ForAll @IntRange(min = 2, max = 40) int n) {
    Random random = new Random(seed);
    List<double[]> towers = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      float[] tower = floats(random, 8);
      for (int k = 0; k < tower.length; k++) {
        tower[k] *= (float) Math.pow(10, random.nextInt(8) - 4);
      }
      towers.add(TowerSums.exact(tower));
    }
    double[] forwards = new double[8];
    double[] backwards = new double[8];
    towers.forEach(tower -> TowerSums.add(forwards, tower));
    for (int i = n - 1; i >= 0; i--) {
      TowerSums.add(backwards, towers.get(i));
    }
    assertThat(forwards).containsExactly(backwards);
    double[] without = forwards.clone();
    double[] last = towers.get(n - 1);
    for (int k = 0; k < 8; k++) {
      without[k] -= last[k];
    }
    double[] never = new double[8];
    towers.subList(0, n - 1).forEach(tower -> TowerSums.add(never, tower));
    assertThat(without).containsExactly(never);
  }

  @Test
  void a_tower_that_is_not_a_number_is_expensive_and_not_an_error() {
    assertThat(TowerSums.exact(new float[] {Float.NaN, Float.POSITIVE_INFINITY, 3e30f, 0.1f}))
        .startsWith(1 << 20, 1 << 20, 1 << 20)
        .satisfies(exact -> assertThat(exact[3]).isCloseTo(0.1, within(6e-8)));
  }

  private static org.assertj.core.data.Offset<Double> within(double offset) {
    return org.assertj.core.data.Offset.offset(offset);
  }

  private static DenseLayer layer(Random random, int inputs, int outputs) {
    return new DenseLayer(
        inputs, outputs, floats(random, inputs * outputs), floats(random, outputs));
  }

  private static float[] floats(Random random, int n) {
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }
}
