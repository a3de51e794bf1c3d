package io.shardtide.allocation.choice;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.ojalgo.OjAlgoUtils;
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Optimisation;
import org.ojalgo.optimisation.Variable;
import org.ojalgo.optimisation.integer.IntegerStrategy;
import org.ojalgo.type.context.NumberContext;

/**
 * Solves a choice problem with ojAlgo's branch and bound, over the options that a Lagrangian bound
 * does not rule out: the core of the problem (Pisinger 1995). First over the most promising
 * options; the value found rules out most others. Deterministic: one thread, and a limit of
 * iterations instead of time.
 */
public final class ChoiceSolver {
  /**
   * Options of the first core: few, as its value rules out most of the others. Of random pools of
   * 20 workloads, cores of 60, 100 and 200 lead to the same optimum where it is proven; where it is
   * not, smaller ones find more within the limit of iterations.
   */
  private static final int FIRST_CORE = 60;

  /** Options of the largest core: ojAlgo takes a second and more beyond. */
  private static final int LARGEST_CORE = 1_200;

  /** Relative difference of values that counts as none. */
  private static final double TOLERANCE = 1e-9;

  /** Prove the optimum to the digits of {@link #TOLERANCE}; ojAlgo's default are 6. */
  private static final NumberContext GAP = NumberContext.of(10, 12);

  /** With this property, ojAlgo prints no notice when it is loaded on an unknown machine. */
  private static final String NO_NOTICE = "shut.up.ojAlgo";

  static {
    String before = System.getProperty(NO_NOTICE);
    System.setProperty(NO_NOTICE, "true");
    Objects.requireNonNull(OjAlgoUtils.ENVIRONMENT, "ojAlgo is loaded here");
    if (before == null) {
      System.clearProperty(NO_NOTICE);
    } else {
      System.setProperty(NO_NOTICE, before);
    }
  }

  private final ChoiceProblem problem;
  private final int iterations;
  private final ChoiceBound bound;
  private final List<CoreOption> byReduction = new ArrayList<>();

  private ChoiceSolver(ChoiceProblem problem, int iterations) {
    this.problem = problem;
    this.iterations = iterations;
    bound = new ChoiceBound(problem);
    double[][] reductions = bound.reductions();
    for (int g = 0; g < reductions.length; g++) {
      for (int o = 0; o < reductions[g].length; o++) {
        byReduction.add(
            new CoreOption(g, o, o == problem.fallback()[g] ? -1 : Math.max(0, reductions[g][o])));
      }
    }
    byReduction.sort(CoreOption.ORDER);
  }

  /** An option; those of the fallback have a negative reduction, and are in every core. */
  private record CoreOption(int group, int option, double reduction) {
    static final Comparator<CoreOption> ORDER =
        Comparator.comparingDouble(CoreOption::reduction)
            .thenComparingInt(CoreOption::group)
            .thenComparingInt(CoreOption::option);
  }

  /** A choice, and whether none of the same core is better. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record CoreResult(int[] choice, boolean isOptimal) {}

  /**
   * Solves a problem.
   *
   * @param problem the problem
   * @param iterations iterations of branch and bound, and of each linear problem in it, at most; at
   *     least 1
   * @return a choice at least as good as the fallback
   */
  public static ChoiceResult solve(ChoiceProblem problem, int iterations) {
    return new ChoiceSolver(problem, iterations).solve();
  }

  private ChoiceResult solve() {
    if (problem.values().length == 0) {
      return new ChoiceResult(new int[0], 0, 0);
    }
    int[] best = problem.fallback();
    int size = core(0, FIRST_CORE);
    while (true) {
      CoreResult result = solve(byReduction.subList(0, size));
      if (problem.value(result.choice()) > problem.value(best)) {
        best = result.choice();
      }
      double value = problem.value(best);
      int needed = core(bound.bound - value, 0);
      if (needed <= size) {
        return new ChoiceResult(best, value, result.isOptimal() ? value : bound.bound);
      }
      int next = Math.min(needed, LARGEST_CORE);
      if (next <= size) {
        return new ChoiceResult(best, value, bound.bound);
      }
      size = next;
    }
  }

  /** Returns how many options have a reduction up to a limit, and at least some number of them. */
  private int core(double reduction, int least) {
    double limit = reduction + TOLERANCE * (1 + Math.abs(bound.bound));
    int size = 0;
    while (size < byReduction.size()
        && (size < least || byReduction.get(size).reduction() <= limit)) {
      size++;
    }
    return size;
  }

  private CoreResult solve(List<CoreOption> core) {
    ExpressionsBasedModel model = new ExpressionsBasedModel();
    model.options.integer(
        IntegerStrategy.newConfigurable().withParallelism(() -> 1).withGapTolerance(GAP));
    model.options.iterations_abort = iterations;
    model.options.iterations_suffice = iterations;
    List<Expression> limits = new ArrayList<>();
    for (int q = 0; q < problem.limits().length; q++) {
      limits.add(model.newExpression("limit " + q).upper(problem.limits()[q]));
    }
    List<Expression> one = new ArrayList<>();
    for (int g = 0; g < problem.values().length; g++) {
      one.add(model.newExpression("group " + g).level(1));
    }
    for (CoreOption of : core) {
      Variable chosen =
          model
              .newVariable("%s of %s".formatted(of.option(), of.group()))
              .binary()
              .weight(problem.values()[of.group()][of.option()]);
      one.get(of.group()).set(chosen, 1);
      for (int q = 0; q < limits.size(); q++) {
        double use = problem.uses()[q][of.group()][of.option()];
        if (use != 0) {
          limits.get(q).set(chosen, use);
        }
      }
    }
    Optimisation.Result result = model.maximise();
    int[] choice = read(result, core);
    return problem.allows(choice)
        ? new CoreResult(choice, result.getState().isOptimal())
        : new CoreResult(problem.fallback(), false);
  }

  /** An interrupted solver's result may choose nothing of a group: the fallback is chosen there. */
  private int[] read(Optimisation.Result result, List<CoreOption> core) {
    int[] choice = problem.fallback().clone();
    for (int i = 0; i < core.size(); i++) {
      if (result.doubleValue(i) > 0.5) {
        choice[core.get(i).group()] = core.get(i).option();
      }
    }
    return choice;
  }
}
