package io.shardtide.bench.learning;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.bench.learning.LearningBenchmark.Scenario;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What learned models are worth. A row takes minutes; {@code -Dbench.change=WIDE,KERNEL}, {@code
 * -Dbench.nodes=2}, {@code -Dbench.reporters=ONE_LIES} and {@code -Dbench.seed=2} choose others.
 */
@Tag("nightly")
class LearningTest {
  private static final int NODES = Integer.getInteger("bench.nodes", 1);

  static Stream<MachineChange> changes() {
    return Arrays.stream(System.getProperty("bench.change", "WIDE").split(",", -1))
        .map(MachineChange::valueOf);
  }

  @ParameterizedTest
  @MethodSource("changes")
  void plans_of_a_learned_model_are_nearly_those_of_one_that_knows(MachineChange change) {
    WorkloadShape shape =
        new WorkloadShape(
            NODES == 1 ? 40 : 75 * NODES, NODES, change == MachineChange.CACHED ? 0.6 : 2.5);
    LearningResult result =
        new LearningBenchmark()
            .run(
                new Scenario(
                    change,
                    shape,
                    Reporters.valueOf(System.getProperty("bench.reporters", "RIGHT")),
                    change.isColdStart() ? 0 : 40,
                    Integer.getInteger("bench.reports", 240),
                    4,
                    Integer.getInteger("bench.others", 24),
                    Long.getLong("bench.seed", 1)));
    Figures figures =
        new Figures(
            "%s, %d tables, %d devices".formatted(change.shown(), shape.tables(), 8 * NODES),
            "value");
    figures.add("error of the old model's steps", "%.1f %%", 100 * result.errorBefore());
    figures.add("of the learned one's", "%.1f %%", 100 * result.errorAfter());
    figures.add("steps of learned plans (worst)", "%.3f (%.3f)", result.learned(), result.worst());
    figures.add("of plans that know", "%.3f", result.known());
    figures.add("share of the gain", "%.0f %%", 100 * result.shareOfGain());
    figures.add("alarms", "%d", result.alarms());
    figures.add("models, took over", "%d, %d", result.decisions().size(), result.takeovers());
    figures.add("reshards", "%d", result.reshards());
    System.out.println(figures);
    result.decisions().forEach(made -> System.out.println(made.trigger() + ": " + made.reason()));
    assertThat(result.errorAfter()).isLessThan(0.025);
    assertThat(result.worst()).isLessThan(1.1);
    // Where a model that knows gains more than the noise of what is measured.
    if (result.known() < 0.95) {
      assertThat(result.shareOfGain()).isGreaterThan(0.8);
    }
  }
}
