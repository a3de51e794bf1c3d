package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Corrections of fine-tuned models, and what they do not know. */
class LogCorrectionTest {
  private static final ShardShape SHAPE =
      new Shapes(Fixtures.table("a", 100_000, 64, 5), 65_536).ofColumns(64);

  /** Returns a member that corrects every cost by the same logarithm. */
  private static LogCorrection.Member member(double phase, double mean, double draw) {
    double[] weights = new double[ShapeBasis.SIZE];
    double[] draws = new double[ShapeBasis.SIZE];
    weights[0] = mean;
    draws[0] = draw;
    return new LogCorrection.Member(phase, weights, draws);
  }

  private static ModelBundle corrected(LogCorrection correction) {
    return ModelBundleBuilder.builder(TestModels.bundle())
        .modelId("")
        .correction(Optional.of(correction))
        .build()
        .identified();
  }

  @Test
  void a_correction_is_the_mean_of_its_members_and_as_uncertain_as_their_draws() {
    LogCorrection correction =
        new LogCorrection(List.of(member(0, 0.2, 0.1), member(0.5, 0.4, 0.5)));
    LogCorrection.Estimate estimate = correction.of(phase -> ShapeBasis.of(SHAPE, phase));
    assertThat(estimate.mean()).isCloseTo(0.3, within(1e-12));
    assertThat(estimate.deviation()).isCloseTo(0.2, within(1e-12));
  }

  @Test
  void costs_are_corrected_and_a_search_pays_for_what_is_not_known() {
    LogCorrection correction =
        new LogCorrection(List.of(member(0, 0.2, 0.1), member(0.5, 0.4, 0.5)));
    CostModel trained = new CostModel(TestModels.bundle());
    CostModel tuned = new CostModel(corrected(correction));
    assertThat(tuned.towerSize()).isEqualTo(trained.towerSize() + 1);
    assertThat(tuned.id()).isNotEqualTo(trained.id());
    double[] before =
        trained
            .evaluator()
            .addend(
                new PlainTowers(trained.bundle()).towers(List.of(SHAPE)).get(0),
                false,
                4,
                AddedMs.NONE);
    double[] after =
        tuned
            .evaluator()
            .addend(
                new PlainTowers(tuned.bundle()).towers(List.of(SHAPE)).get(0),
                false,
                4,
                AddedMs.NONE);
    int last = tuned.towerSize() - 1;
    double ms = 0;
    for (int k = 0; k < tuned.bundle().latencyComponents(); k++) {
      assertThat(after[k]).isCloseTo(before[k] * Math.exp(0.3), within(1e-6));
      ms += after[k];
    }
    assertThat(after[last]).isCloseTo(0.2 * ms, within(1e-6));
    double expected = tuned.evaluator().computeMs(after);
    assertThat(tuned.evaluator(2).computeMs(after))
        .isCloseTo(expected + 2 * after[last], within(1e-9));
    assertThat(trained.evaluator(2).computeMs(before))
        .as("a trained model does not say what it does not know")
        .isEqualTo(trained.evaluator().computeMs(before));
  }

  /** The numbers of a launch group are not costs, and its uncertainty comes after them. */
  @Test
  void a_model_with_launch_groups_is_corrected_likewise() {
    ModelBundle bundle = TestModels.h200();
    LogCorrection correction =
        new LogCorrection(List.of(member(0, 0.2, 0.1), member(0.5, 0.4, 0.5)));
    ModelBundle corrected =
        ModelBundleBuilder.builder(bundle).correction(Optional.of(correction)).build();
    CostModel tuned = new CostModel(corrected);
    float[] before = new PlainTowers(bundle).towers(List.of(SHAPE)).get(0);
    float[] after = new PlainTowers(corrected).towers(List.of(SHAPE)).get(0);
    int components = bundle.latencyComponents();
    double ms = 0;
    for (int k = 0; k < before.length; k++) {
      double factor = k < components ? Math.exp(0.3) : 1;
      assertThat((double) after[k]).isCloseTo(before[k] * factor, within(1e-6));
      ms += k < components ? after[k] : 0;
    }
    assertThat(after).hasSize(before.length + 1);
    double deviation = after[after.length - 1];
    assertThat(deviation).isCloseTo(0.2 * ms, within(1e-6));
    CostEvaluator expected = tuned.evaluator();
    CostEvaluator cautious = tuned.evaluator(2);
    double[] both = expected.addend(after, false, 4, AddedMs.NONE);
    TowerSums.add(both, expected.addend(after, true, 2, AddedMs.NONE));
    assertThat(cautious.computeMs(both))
        .as("of both launch groups")
        .isCloseTo(expected.computeMs(both) + 4 * deviation, within(1e-6));
    assertThat(expected.computeMs(both))
        .isCloseTo(
            expected.computeMs(expected.addend(after, false, 4, AddedMs.NONE))
                + expected.computeMs(expected.addend(after, true, 2, AddedMs.NONE)),
            within(1e-9));
  }

  @Test
  void a_step_is_learned_wherever_it_is() {
    ShardShape wide = new Shapes(Fixtures.table("a", 100_000, 128, 5), 65_536).ofColumns(128);
    for (double phase : new double[] {0, 0.3, 0.9}) {
      double[] narrow = ShapeBasis.of(SHAPE, phase);
      double[] other = ShapeBasis.of(wide, phase);
      assertThat(narrow).hasSize(ShapeBasis.SIZE).hasSameSizeAs(ShapeBasis.scales());
      assertThat(narrow[0]).isEqualTo(1);
      double rise = 0;
      for (int j = 0; j < narrow.length; j++) {
        assertThat(narrow[j]).isBetween(0.0, 1.0);
        assertThat(other[j]).isGreaterThanOrEqualTo(narrow[j]);
        rise += other[j] - narrow[j];
      }
      assertThat(rise).as("an octave of columns is two ramps, and coarse ones").isGreaterThan(1.9);
    }
  }

  @Test
  void what_is_no_correction_is_rejected() {
    assertThatThrownBy(() -> new LogCorrection(List.of()))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage("members of a correction must be at least 1, got 0");
    assertThatThrownBy(() -> member(1, 0, 0))
        .hasMessage("phase of a correction must be at least 0 and below 1, got 1.0");
    assertThatThrownBy(() -> member(0, Double.NaN, 0))
        .hasMessage("weights of a correction must be finite, got NaN");
    LogCorrection small =
        new LogCorrection(List.of(new LogCorrection.Member(0, new double[] {1}, new double[] {1})));
    assertThatThrownBy(() -> corrected(small))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(
            "the correction of a model's tower must have %d weights, got 1 and 1"
                .formatted(ShapeBasis.SIZE));
  }
}
