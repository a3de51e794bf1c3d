package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.testing.ModelText;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import java.io.IOException;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class TinyModelsTest {
  /** Another processor may round otherwise than the one that the files were trained on. */
  private static final Percentage ROUNDING = Percentage.withPercentage(1);

  private static double sumMs(ModelBundle bundle) throws IOException {
    SampleSet set = TinyModels.columns(100, 0);
    try (TowerPredictor towers = new PlainTowers(bundle)) {
      return Evaluation.of(new CostModel(bundle), towers, set).computations().stream()
          .mapToDouble(Evaluation.ComputePrediction::predictedMs)
          .sum();
    }
  }

  private static void check(ModelBundle file, ModelBundle trained) throws IOException {
    ModelBundle read = ModelText.read(ModelText.write(trained));
    assertThat(read.hardware()).isEqualTo(file.hardware());
    assertThat(read.ranges()).isEqualTo(file.ranges());
    assertThat(read.features()).isEqualTo(file.features());
    assertThat(read.forwardCoefficients()).isEqualTo(file.forwardCoefficients());
    assertThat(read.launches()).isEqualTo(file.launches());
    assertThat(read.card().collectiveSamples()).isEqualTo(file.card().collectiveSamples());
    assertThat(sumMs(read)).isCloseTo(sumMs(file), ROUNDING);
  }

  @Test
  void the_file_of_columns_is_what_is_trained() throws IOException {
    check(TestModels.bundle(), TinyModels.simulated());
  }

  @Test
  @Tag("nightly")
  void the_file_of_nodes_is_what_is_trained() throws IOException {
    check(TestModels.nodes(), TinyModels.nodes());
  }

  @Test
  @Tag("nightly")
  void the_file_of_a_gpu_is_what_is_trained() throws IOException {
    check(TestModels.h200(), TinyModels.h200());
  }

  /** Near enough to the shipped one for plans that people would expect. */
  @Test
  void a_model_of_some_kilobytes_says_much_the_same_as_the_shipped_one() throws IOException {
    double shipped =
        TinyModels.columns(100, 0).compute().stream().mapToDouble(s -> s.computeMs()).sum();
    assertThat(sumMs(TestModels.bundle())).isCloseTo(shipped, Percentage.withPercentage(20));
  }
}
