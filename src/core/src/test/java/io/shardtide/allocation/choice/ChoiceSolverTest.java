package io.shardtide.allocation.choice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.ojalgo.OjAlgoUtils;
import org.ojalgo.machine.Hardware;
import org.ojalgo.machine.VirtualMachine;

class ChoiceSolverTest {
  private static final int MANY = 20_000;

  /** Returns a problem whose first options together are within the limits. */
  private static ChoiceProblem random(long seed, int groups, int options) {
    Random random = new Random(seed);
    double[][] values = new double[groups][];
    double[][][] uses = new double[3][groups][];
    double[] limits = new double[3];
    for (int g = 0; g < groups; g++) {
      int count = 1 + random.nextInt(options);
      values[g] = new double[count];
      for (int q = 0; q < 3; q++) {
        uses[q][g] = new double[count];
      }
      for (int o = 0; o < count; o++) {
        values[g][o] = random.nextDouble() * (1 + o);
        uses[0][g][o] = 1 + o;
        uses[1][g][o] = 3 * random.nextDouble();
        uses[2][g][o] = random.nextInt(2);
      }
      for (int q = 0; q < 3; q++) {
        limits[q] += uses[q][g][0];
      }
    }
    limits[0] += random.nextInt(groups * options);
    limits[1] += random.nextDouble() * groups;
    limits[2] += random.nextInt(2);
    return new ChoiceProblem(values, uses, limits, new int[groups]);
  }

  /** Returns the greatest value of all choices within the limits. */
  private static double enumerate(ChoiceProblem problem, int[] choice, int group) {
    if (group == choice.length) {
      return problem.allows(choice) ? problem.value(choice) : Double.NEGATIVE_INFINITY;
    }
    double best = Double.NEGATIVE_INFINITY;
    for (int o = 0; o < problem.values()[group].length; o++) {
      choice[group] = o;
      best = Math.max(best, enumerate(problem, choice, group + 1));
    }
    return best;
  }

  @Property(tries = 200)
  void small_problems_are_solved_to_the_optimum(@ForAll long seed) {
    ChoiceProblem problem = random(seed, 5, 5);
    ChoiceResult result = ChoiceSolver.solve(problem, MANY);
    double optimum = enumerate(problem, new int[5], 0);
    assertThat(problem.allows(result.choice())).isTrue();
    assertThat(result.value()).isEqualTo(problem.value(result.choice()));
    assertThat(result.value()).isCloseTo(optimum, within(1e-6));
    assertThat(result.gap()).isZero();
  }

  @Property(tries = 100)
  void no_choice_exceeds_the_bound(@ForAll long seed) {
    ChoiceProblem problem = random(seed, 5, 5);
    double optimum = enumerate(problem, new int[5], 0);
    assertThat(new ChoiceBound(problem).bound).isGreaterThanOrEqualTo(optimum - 1e-9);
  }

  @Property(tries = 20)
  void an_interrupted_solver_says_how_far_the_optimum_may_be(@ForAll long seed) {
    ChoiceProblem problem = random(seed, 12, 12);
    ChoiceResult interrupted = ChoiceSolver.solve(problem, 1);
    ChoiceResult whole = ChoiceSolver.solve(problem, MANY);
    assertThat(problem.allows(interrupted.choice())).isTrue();
    assertThat(interrupted.value()).isGreaterThanOrEqualTo(problem.value(problem.fallback()));
    assertThat(interrupted.bound()).isGreaterThanOrEqualTo(whole.value() - 1e-6);
    assertThat(interrupted.gap()).isBetween(0.0, 1.0);
  }

  @Test
  void problems_with_more_options_than_the_first_core_are_solved_too() {
    ChoiceProblem problem = random(7, 20, 60);
    ChoiceResult result = ChoiceSolver.solve(problem, MANY);
    assertThat(problem.allows(result.choice())).isTrue();
    assertThat(result.gap()).isLessThan(0.001);
    assertThat(result.value()).isLessThanOrEqualTo(new ChoiceBound(problem).bound + 1e-9);
    assertThat(ChoiceSolver.solve(problem, MANY).choice()).isEqualTo(result.choice());
  }

  @Test
  void nothing_to_choose_is_no_error() {
    ChoiceProblem empty =
        new ChoiceProblem(new double[0][], new double[2][0][], new double[2], new int[0]);
    assertThat(ChoiceSolver.solve(empty, 1).gap()).isZero();
  }

  @Test
  void a_fallback_must_be_within_the_limits() {
    assertThatThrownBy(
            () ->
                new ChoiceProblem(
                    new double[][] {{1}},
                    new double[][][] {{{2}}},
                    new double[] {1},
                    new int[] {0}))
        .hasMessage("fallback must use at most 1.0 of quantity 0, got 2.0");
  }

  /** Another part of the program may use ojAlgo too. */
  @Test
  void settings_of_ojalgo_stay_as_they_are_and_change_no_choice() {
    VirtualMachine before = OjAlgoUtils.ENVIRONMENT;
    try {
      for (int seed = 0; seed < 20; seed++) {
        ChoiceProblem problem = random(seed, 12, 12);
        OjAlgoUtils.ENVIRONMENT = Hardware.makeSimple("small", 1L << 30, 1).virtualise();
        ChoiceResult one = ChoiceSolver.solve(problem, MANY);
        VirtualMachine large = Hardware.makeSimple("large", 1L << 40, 64).virtualise();
        OjAlgoUtils.ENVIRONMENT = large;
        assertThat(ChoiceSolver.solve(problem, MANY).choice()).isEqualTo(one.choice());
        assertThat(OjAlgoUtils.ENVIRONMENT).isSameAs(large);
      }
    } finally {
      OjAlgoUtils.ENVIRONMENT = before;
    }
    assertThat(System.getProperty("shut.up.ojAlgo")).isNull();
  }
}
