package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.models.ModelFiles;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TensorFlowHeadTest {
  /** The search evaluates the head in plain Java; it was trained in TensorFlow. */
  @Test
  void the_head_in_tensorflow_and_in_plain_java_agree_to_1e_5() {
    Random random = new Random(1);
    CostModel model = new CostModel(ModelFiles.shipped());
    int devices = 5000;
    float[] sums = new float[devices * model.towerSize()];
    for (int i = 0; i < sums.length; i++) {
      sums[i] = (float) Math.pow(10, 4 * random.nextDouble() - 2);
    }
    try (TensorFlowHead head = new TensorFlowHead(ModelFiles.shipped())) {
      float[] expected = head.computeMs(sums);
      CostEvaluator evaluator = model.evaluator();
      for (int d = 0; d < devices; d++) {
        double[] sum = new double[model.sumSize()];
        for (int i = 0; i < model.towerSize(); i++) {
          sum[i] = sums[d * model.towerSize() + i];
        }
        assertThat(evaluator.computeMs(sum)).isCloseTo(expected[d], offset(1e-5 * expected[d]));
      }
    }
  }
}
