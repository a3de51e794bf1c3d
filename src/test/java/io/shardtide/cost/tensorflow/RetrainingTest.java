package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.Machine.Change;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * A few measurements of a machine that changed, with 3% of noise, train the shipped model on; it is
 * judged on others without noise.
 */
class RetrainingTest {
  private static final double NOISE = 0.03;
  private static final SampleSet NOTHING =
      new SampleSet(List.of(), Machine.BATCH, List.of(), new TreeMap<>());

  private static ModelBundle retrain(SampleSet samples) {
    return Retraining.retrain(
        Fixtures.bundle(),
        samples,
        new Machine(0, Change.NONE, NOISE).measure(20, 6),
        List.of("trainer"),
        1);
  }

  private static double error(ModelBundle bundle, SampleSet samples) {
    return Accuracy.ofComputations(evaluation(bundle, samples).computations()).mape();
  }

  private static Evaluation evaluation(ModelBundle bundle, SampleSet samples) {
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      return Evaluation.of(new CostModel(bundle), towers, samples);
    }
  }

  @Test
  void sixty_devices_teach_that_everything_became_slower() {
    Change slower = new Change(1, 1.6, 1.5);
    ModelBundle after = retrain(new Machine(0, slower, NOISE).measure(15, 5));
    SampleSet same = new Machine(0, slower, 0).measure(60, 99);
    SampleSet others = new Machine(100, slower, 0).measure(60, 98);
    assertThat(error(Fixtures.bundle(), same)).isGreaterThan(0.35);
    // The noise alone makes 0.024 of error on what is measured: 1.5 times that.
    assertThat(error(after, same)).isLessThan(0.036);
    assertThat(error(after, others)).as("tables that nobody measured").isLessThan(0.036);
    Accuracy.Communication exchange =
        Accuracy.ofAllToAlls(evaluation(after, same).allToAlls().get(4));
    assertThat(exchange.backwardMape()).isLessThan(0.036);
    assertThat(exchange.forwardMape()).isLessThan(0.036);
  }

  @Test
  void sixty_devices_teach_most_of_what_became_slower_for_some_tables() {
    ModelBundle after = retrain(new Machine(0, Change.WIDE, NOISE).measure(15, 5));
    SampleSet same = new Machine(0, Change.WIDE, 0).measure(60, 99);
    assertThat(error(after, same)).isLessThan(0.5 * error(Fixtures.bundle(), same));
    SampleSet others = new Machine(100, Change.WIDE, 0).measure(60, 98);
    assertThat(error(after, others)).isLessThan(0.75 * error(Fixtures.bundle(), others));
  }

  @Test
  void what_did_not_change_is_not_forgotten() {
    ModelBundle after = retrain(new Machine(0, Change.NONE, NOISE).measure(15, 5));
    assertThat(error(after, new Machine(0, Change.NONE, 0).measure(60, 99))).isLessThan(0.02);
    assertThat(error(after, new Machine(100, Change.NONE, 0).measure(60, 98))).isLessThan(0.02);
  }

  /** A fifth of the labels is 2 to 10 times too large or too small. */
  @Test
  void wrong_labels_lose_against_the_right_ones() {
    SampleSet right = new Machine(0, Change.WIDE, NOISE).measure(40, 5);
    SampleSet clean = new Machine(0, Change.WIDE, 0).measure(60, 99);
    double undisturbed = error(retrain(right), clean);
    double disturbed = error(retrain(Machine.corrupted(right, 0.2, 3)), clean);
    assertThat(disturbed).isLessThan(undisturbed * 4 / 3);
  }

  @Test
  void the_same_samples_and_seed_give_the_same_model_and_its_card_says_from_what() {
    SampleSet samples = new Machine(0, Change.ALL, NOISE).measure(15, 5);
    ModelBundle one = retrain(samples);
    assertThat(retrain(samples).modelId()).isEqualTo(one.modelId());
    assertThat(one.card().description())
        .contains("Retrained from model " + Fixtures.bundle().modelId())
        .contains("60 recent and 80 older computations, 15 recent and 20 older exchanges")
        .contains("simulated");
    assertThat(one.card().simulated()).isTrue();
    assertThat(one.card().sources()).containsExactly("trainer");
    assertThat(one.card().errors().get("learned.compute.mape"))
        .isLessThan(one.card().errors().get("champion.compute.mape"));
    assertThat(one.hardware()).isEqualTo(Fixtures.bundle().hardware());
  }

  @Test
  void too_little_to_learn_from_is_refused() {
    SampleSet few = new Machine(0, Change.ALL, NOISE).measure(3, 5);
    assertThatThrownBy(() -> Retraining.retrain(Fixtures.bundle(), few, NOTHING, List.of(), 1))
        .hasMessage("There are 12 measured computations to learn from; legal are 16 and more");
  }
}
