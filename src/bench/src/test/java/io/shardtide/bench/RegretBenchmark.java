package io.shardtide.bench;

import io.shardtide.bench.BestKnownSteps.BestKnown;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The regret of searches from scratch: by how much the predicted step that each budget finds is
 * above the best known one.
 */
public final class RegretBenchmark {
  /**
   * Steps of one plan differ by less between machines, since TensorFlow adds in single precision in
   * an order of each processor's own; a share of the step.
   */
  private static final double NOISE = 1e-6;

  /** A search on more devices gets {@link RegretBudget#aboveSmall}. */
  private static final int SMALL_DEVICES = 16;

  private final Function<WorkloadTask, GroupedProblem> problems;
  private final BestKnownSteps known;
  private final Consumer<String> progress;

  /**
   * How long to search.
   *
   * @param name name, for people
   * @param small settings of searches on up to 16 devices
   * @param aboveSmall settings on more devices
   */
  public record RegretBudget(String name, SearchSettings small, SearchSettings aboveSmall) {
    /** The same settings on all clusters. */
    public RegretBudget(String name, SearchSettings settings) {
      this(name, settings, settings);
    }

    /** Returns the budgets that plans are usually searched with. */
    public static List<RegretBudget> usual() {
      return List.of(
          new RegretBudget("quick", SearchSettings.QUICK),
          new RegretBudget("default", SearchSettings.DEFAULTS));
    }

    /** Returns a budget by its evaluations a table. */
    public static RegretBudget of(long evaluationsPerTable) {
      return new RegretBudget("%,d".formatted(evaluationsPerTable), settings(evaluationsPerTable));
    }

    /**
     * Returns a budget for best known steps. A tenth on more than 16 devices, whose tables are
     * more, and whose evaluations take longer.
     *
     * @param evaluationsPerTable evaluations a table on up to 16 devices
     */
    public static RegretBudget best(long evaluationsPerTable) {
      return new RegretBudget(
          "best", settings(evaluationsPerTable), settings(Math.max(1, evaluationsPerTable / 10)));
    }

    private static SearchSettings settings(long evaluationsPerTable) {
      return SearchSettingsBuilder.builder(SearchSettings.DEFAULTS)
          .evaluationsPerTable(evaluationsPerTable)
          .build();
    }

    /** Returns the settings of searches on so many devices. */
    SearchSettings settings(int devices) {
      return devices <= SMALL_DEVICES ? small : aboveSmall;
    }
  }

  /**
   * What a budget found.
   *
   * @param budget name of the budget
   * @param evaluationsPerTable its evaluations a table
   * @param ms the predicted step in milliseconds; empty if there is no plan
   * @param seconds time of the search, without predictions of the tables
   * @param evaluations evaluations that the search took
   */
  public record BudgetResult(
      String budget,
      long evaluationsPerTable,
      OptionalDouble ms,
      double seconds,
      long evaluations) {}

  /**
   * What all budgets found for a workload.
   *
   * @param workload name of the workload
   * @param problem {@link BestKnownSteps#problem}
   * @param tables number of tables
   * @param devices number of devices
   * @param known the best known step before this run; empty if there is none
   * @param results one for each budget
   */
  public record RegretRow(
      String workload,
      String problem,
      int tables,
      int devices,
      Optional<BestKnown> known,
      List<BudgetResult> results) {
    /** Copies what may change. */
    public RegretRow {
      results = List.copyOf(results);
    }

    /** Returns the result with the shortest step, the first of equal ones. */
    public Optional<BudgetResult> least() {
      return results.stream()
          .filter(result -> result.ms().isPresent())
          .min(Comparator.comparingDouble(result -> result.ms().orElseThrow()));
    }

    /**
     * Returns the step that regrets are relative to: the best known one, or the least of this run
     * if none is known.
     */
    public OptionalDouble referenceMs() {
      return known.isPresent()
          ? OptionalDouble.of(known.get().ms())
          : least().map(BudgetResult::ms).orElse(OptionalDouble.empty());
    }

    /**
     * Returns by which share of the reference a result is above it: below 0 if it is better, 0 if
     * the two differ by less than machines do.
     */
    public OptionalDouble regret(BudgetResult result) {
      OptionalDouble reference = referenceMs();
      if (result.ms().isEmpty() || reference.isEmpty()) {
        return OptionalDouble.empty();
      }
      double regret = result.ms().getAsDouble() / reference.getAsDouble() - 1;
      return OptionalDouble.of(Math.abs(regret) < NOISE ? 0 : regret);
    }

    /** Returns the shortest step of all, to be kept. */
    Optional<BestKnown> best(String command) {
      Stream<BestKnown> found =
          least().stream()
              .map(
                  least ->
                      new BestKnown(
                          problem, least.ms().orElseThrow(), least.evaluationsPerTable(), command));
      return Stream.concat(known.stream(), found).min(Comparator.comparingDouble(BestKnown::ms));
    }
  }

  /**
   * @param problems predicts the tables of a workload
   * @param known the best known steps
   * @param progress receives the name of the next search
   */
  public RegretBenchmark(
      Function<WorkloadTask, GroupedProblem> problems,
      BestKnownSteps known,
      Consumer<String> progress) {
    this.problems = problems;
    this.known = known;
    this.progress = progress;
  }

  /** Searches each workload with each budget, after a search that is not measured. */
  public List<RegretRow> run(List<WorkloadTask> tasks, List<RegretBudget> budgets) {
    GroupSearch.search(problems.apply(RegretWorkloads.warmUp()), SearchSettings.DEFAULTS);
    List<RegretRow> rows = new ArrayList<>();
    for (WorkloadTask task : tasks) {
      GroupedProblem problem = problems.apply(task);
      String id = BestKnownSteps.problem(task, problem.model().bundle().modelId());
      List<BudgetResult> results = new ArrayList<>();
      for (RegretBudget budget : budgets) {
        progress.accept(task.name() + ", " + budget.name());
        results.add(search(problem, budget));
      }
      rows.add(
          new RegretRow(
              task.name(),
              id,
              task.tables().size(),
              task.cluster().devices(),
              known.of(task.name(), id),
              results));
    }
    return rows;
  }

  private static BudgetResult search(GroupedProblem problem, RegretBudget budget) {
    SearchSettings settings = budget.settings(problem.cluster().devices());
    long start = System.nanoTime();
    SearchResult result = GroupSearch.search(problem, settings);
    double seconds = (System.nanoTime() - start) / 1e9;
    return new BudgetResult(
        budget.name(),
        settings.evaluationsPerTable(),
        result instanceof SearchResult.Found found
            ? OptionalDouble.of(found.predictedMs())
            : OptionalDouble.empty(),
        seconds,
        result.evaluations());
  }

  /**
   * Adds the shortest step of each workload, known before or found, to others.
   *
   * @param command what was run
   */
  public static void addBest(List<RegretRow> rows, String command, BestKnownSteps to) {
    rows.forEach(row -> row.best(command).ifPresent(best -> to.add(row.workload(), best)));
  }

  /** Returns a line for each budget that found a better step than the best known one. */
  public static List<String> improvements(List<RegretRow> rows) {
    List<String> lines = new ArrayList<>();
    for (RegretRow row : rows) {
      for (BudgetResult result : row.results()) {
        if (row.known().isPresent() && row.regret(result).orElse(0) < 0) {
          lines.add(
              "better than the best known: %s, %s: %.6f ms instead of %.6f (%+.3f %%)"
                  .formatted(
                      row.workload(),
                      result.budget(),
                      result.ms().orElseThrow(),
                      row.known().get().ms(),
                      100 * row.regret(result).orElseThrow()));
        }
      }
    }
    return lines;
  }

  /** Returns the mean and the worst regret of each budget, as a line. */
  public static String summary(List<RegretRow> rows) {
    List<String> budgets = new ArrayList<>();
    int count = rows.stream().mapToInt(row -> row.results().size()).max().orElse(0);
    for (int b = 0; b < count; b++) {
      budgets.add(summary(rows, b));
    }
    return "regret over %d workload%s: %s"
        .formatted(rows.size(), rows.size() == 1 ? "" : "s", String.join("; ", budgets));
  }

  private static String summary(List<RegretRow> rows, int budget) {
    double sum = 0;
    int planned = 0;
    double worst = Double.NEGATIVE_INFINITY;
    String where = "";
    for (RegretRow row : rows) {
      OptionalDouble regret = row.regret(row.results().get(budget));
      if (regret.isPresent()) {
        sum += regret.getAsDouble();
        planned++;
        if (regret.getAsDouble() > worst) {
          worst = regret.getAsDouble();
          where = row.workload();
        }
      }
    }
    String name = rows.get(0).results().get(budget).budget();
    String missing =
        planned < rows.size() ? ", %d without a plan".formatted(rows.size() - planned) : "";
    return planned == 0
        ? name + missing
        : "%s mean %.2f %%, worst %.2f %% (%s)%s"
            .formatted(name, 100 * sum / planned, 100 * worst, where, missing);
  }
}
