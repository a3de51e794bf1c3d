package io.shardtide.testing;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TablePredictions;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;

/**
 * The table tower in plain Java, as ModelBundle writes it down: what TensorFlow computes, for tests
 * that are not about it.
 */
public final class PlainTowers implements TowerPredictor {
  private final CostModel model;
  private final ModelBundle bundle;

  public PlainTowers(ModelBundle bundle) {
    this.bundle = bundle;
    model = new CostModel(bundle);
  }

  @Override
  public String modelId() {
    return bundle.modelId();
  }

  @Override
  public Optional<String> proxyHardware() {
    return bundle.proxyHardware();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    return TablePredictions.ofColumns(model, this::towers, tables, batchSize);
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return TablePredictions.ofAllKinds(model, this::towers, tables, cluster);
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    return shapes.stream().map(this::tower).toList();
  }

  private float[] tower(ShardShape shape) {
    double[] raw = ShardFeatures.of(shape);
    double[] x = new double[bundle.features().size()];
    for (int f = 0; f < x.length; f++) {
      x[f] = bundle.features().get(f).normalize(raw[f]);
    }
    double[] h = x;
    int last = bundle.tower().size() - 1;
    for (DenseLayer layer : bundle.tower().subList(0, last)) {
      h = dense(layer, h);
      for (int i = 0; i < h.length; i++) {
        h[i] = h[i] / (1 + StrictMath.exp(-h[i]));
      }
    }
    double[] both = new double[h.length + x.length];
    System.arraycopy(h, 0, both, 0, h.length);
    System.arraycopy(x, 0, both, h.length, x.length);
    double[] y = dense(bundle.tower().get(last), both);
    double[] terms = ComputeTerms.of(shape);
    double forward = sum(bundle.forwardCoefficients(), terms);
    double backward = sum(bundle.backwardCoefficients(), terms);
    int components = bundle.latencyComponents();
    float[] tower = new float[y.length];
    for (int i = 0; i < y.length; i++) {
      tower[i] =
          (float)
              (i < components
                  ? (i < components / 2 ? forward : backward) * StrictMath.exp(y[i])
                  : Math.max(0, y[i]));
    }
    return model.corrected(shape, tower);
  }

  private static double sum(List<Double> coefficients, double[] terms) {
    double sum = 0;
    for (int i = 0; i < coefficients.size(); i++) {
      sum += coefficients.get(i) * terms[i];
    }
    return sum;
  }

  private static double[] dense(DenseLayer layer, double[] x) {
    double[] y = new double[layer.outputs()];
    for (int j = 0; j < y.length; j++) {
      y[j] = layer.biases()[j];
      for (int i = 0; i < x.length; i++) {
        y[j] += x[i] * layer.weights()[i * layer.outputs() + j];
      }
    }
    return y;
  }

  @Override
  public void close() {}
}
