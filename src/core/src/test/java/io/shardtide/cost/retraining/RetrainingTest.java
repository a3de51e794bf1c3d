package io.shardtide.cost.retraining;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.testing.Machine;
import io.shardtide.testing.Machine.CostChange;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Direction;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Fine-tunes the shipped model on a few measurements of a changed machine, with 3% noise, and
 * evaluates it on others without noise.
 */
class RetrainingTest {
  private static final double NOISE = 0.03;
  private static final SampleSet NO_SAMPLES = new SampleSet(List.of(), List.of());

  private static ModelBundle retrain(SampleSet samples) {
    try (TowerPredictor towers = new PlainTowers(TestModels.bundle())) {
      return Retraining.retrain(
          TestModels.bundle(),
          towers,
          samples,
          new Machine(0, CostChange.NONE, NOISE).measure(20, 6),
          List.of("trainer"),
          1);
    }
  }

  private static double error(ModelBundle bundle, SampleSet samples) {
    return Accuracy.ofComputations(evaluation(bundle, samples).computations()).mape();
  }

  private static Evaluation evaluation(ModelBundle bundle, SampleSet samples) {
    try (TowerPredictor towers = new PlainTowers(bundle)) {
      return Evaluation.of(new CostModel(bundle), towers, samples);
    }
  }

  @Test
  void sixty_computations_suffice_to_learn_a_common_factor() {
    CostChange slower = new CostChange(1, 1.6, 1.5);
    ModelBundle after = retrain(new Machine(0, slower, NOISE).measure(15, 5));
    SampleSet same = new Machine(0, slower, 0).measure(60, 99);
    SampleSet others = new Machine(100, slower, 0).measure(60, 98);
    assertThat(error(TestModels.bundle(), same)).isGreaterThan(0.35);
    // 1.5 times the mean absolute error of the noise, which is 0.024.
    assertThat(error(after, same)).isLessThan(0.036);
    assertThat(error(after, others)).as("tables without measurements").isLessThan(0.036);
    List<Evaluation.CollectivePrediction> allToAlls = evaluation(after, same).collectives();
    assertThat(allToAlls).hasSize(120);
    for (Direction direction : Direction.values()) {
      assertThat(
              Accuracy.ofCollectives(
                      allToAlls.stream()
                          .filter(c -> c.sample().direction().equals(Optional.of(direction)))
                          .toList())
                  .mape())
          .as(direction.label())
          .isLessThan(0.036);
    }
  }

  @Test
  @Tag("nightly")
  void sixty_computations_teach_most_of_a_change_of_wide_shards() {
    ModelBundle after = retrain(new Machine(0, CostChange.WIDE, NOISE).measure(15, 5));
    SampleSet same = new Machine(0, CostChange.WIDE, 0).measure(60, 99);
    assertThat(error(after, same)).isLessThan(0.5 * error(TestModels.bundle(), same));
    SampleSet others = new Machine(100, CostChange.WIDE, 0).measure(60, 98);
    assertThat(error(after, others)).isLessThan(0.75 * error(TestModels.bundle(), others));
  }

  @Test
  @Tag("nightly")
  void without_a_change_predictions_stay_accurate() {
    ModelBundle after = retrain(new Machine(0, CostChange.NONE, NOISE).measure(15, 5));
    assertThat(error(after, new Machine(0, CostChange.NONE, 0).measure(60, 99))).isLessThan(0.02);
    assertThat(error(after, new Machine(100, CostChange.NONE, 0).measure(60, 98))).isLessThan(0.02);
  }

  /** A fifth of the labels is 2 to 10 times too large or too small. */
  @Test
  @Tag("nightly")
  void the_influence_of_wrong_labels_is_bounded() {
    SampleSet right = new Machine(0, CostChange.WIDE, NOISE).measure(40, 5);
    SampleSet clean = new Machine(0, CostChange.WIDE, 0).measure(60, 99);
    double fromRight = error(retrain(right), clean);
    double fromCorrupted = error(retrain(Machine.corrupted(right, 0.2, 3)), clean);
    assertThat(fromCorrupted).isLessThan(fromRight * 4 / 3);
  }

  @Test
  void the_same_samples_and_seed_give_the_same_model_with_its_provenance_on_the_card() {
    SampleSet samples = new Machine(0, CostChange.ALL, NOISE).measure(15, 5);
    ModelBundle one = retrain(samples);
    assertThat(retrain(samples).modelId()).isEqualTo(one.modelId());
    assertThat(one.card().description())
        .contains("Fine-tuned from model " + TestModels.bundle().modelId())
        .contains("60 recent and 80 older computations, 30 recent and 40 older collectives")
        .contains("simulated");
    assertThat(one.card().simulated()).isTrue();
    assertThat(one.card().sources()).containsExactly("trainer");
    assertThat(one.card().errors().get("learned.compute.mape"))
        .isLessThan(one.card().errors().get("champion.compute.mape"));
    assertThat(one.hardware()).isEqualTo(TestModels.bundle().hardware());
  }

  @Test
  void too_few_samples_are_rejected() {
    SampleSet few = new Machine(0, CostChange.ALL, NOISE).measure(3, 5);
    TowerPredictor towers = new PlainTowers(TestModels.bundle());
    assertThatThrownBy(
            () -> Retraining.retrain(TestModels.bundle(), towers, few, NO_SAMPLES, List.of(), 1))
        .hasMessage("there must be at least 16 recent computations, got 12");
  }
}
