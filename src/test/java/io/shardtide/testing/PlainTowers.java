package io.shardtide.testing;

import io.shardtide.cost.Feature;
import io.shardtide.cost.Mlp;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * The table tower in plain Java: what TensorFlow computes, for tests that are not about TensorFlow.
 */
public final class PlainTowers implements TowerPredictor {
  private final ModelBundle bundle;
  private final Mlp tower;

  public PlainTowers(ModelBundle bundle) {
    this.bundle = bundle;
    tower = new Mlp(bundle.tower());
  }

  @Override
  public String modelId() {
    return bundle.modelId();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    List<TablePrediction> predictions = new ArrayList<>();
    for (TableSpec table : tables) {
      List<float[]> towers = new ArrayList<>();
      for (int width = 4; width <= table.columns(); width += 4) {
        double[] raw = ShardFeatures.of(table, width, batchSize);
        float[] input = new float[raw.length];
        for (int f = 0; f < raw.length; f++) {
          Feature feature = bundle.features().get(f);
          input[f] = feature.normalize(raw[f]);
        }
        float[] output = tower.apply(input).clone();
        for (int i = 0; i < output.length; i++) {
          output[i] = Math.max(0f, output[i]);
        }
        towers.add(output);
      }
      predictions.add(new TablePrediction(table, towers));
    }
    return predictions;
  }

  @Override
  public void close() {}
}
