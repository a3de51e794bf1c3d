package io.shardtide.search.local;

import io.shardtide.cost.CodecChoice;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.StepComm;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.Replication;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.Feasibility;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.local.OptionPlacer.PlacementStrategy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.function.Predicate;

/**
 * Searches plans by local moves, from scratch or from the running plan.
 *
 * <p>From scratch: a dozen initial placements differ in how finely expensive tables are cut and how
 * evenly all-to-all loads are spread. Each is annealed; then the best few are perturbed and
 * annealed again, in random turns. From a running plan: shards that exceed a device's memory are
 * removed from it, everything without a device is placed, and moves are made that are worth their
 * bytes.
 *
 * <p>The result does not depend on clocks, threads or hash order: the same problem and settings
 * give the same plan, and a larger budget continues where a smaller one stopped.
 */
public final class LocalSearch {
  /** Largest initial all-to-all load of a device, as multiples of the mean. */
  private static final double[] CAPS = {1, 1.2};

  /** The same with unpooled tables, whose loads differ more: finer parts are spread more evenly. */
  private static final double[] UNPOOLED_CAPS = {0.5, 1.2};

  /**
   * Starts that cost more than this times the cheapest one are left out: 1.02 to 1.15 are alike,
   * and plans of 64 and 128 devices 1 to 17% better than with all starts.
   */
  private static final double MOST_EXPENSIVE_START = 1.05;

  /** Searches that continue after the first round. */
  private static final int KEPT = 5;

  private static final List<PlacementStrategy> STRATEGIES = List.of(PlacementStrategy.values());

  /** Cycles that evaluate no move, because nothing can move, after which a search ends. */
  private static final int MAX_IDLE = 8;

  /** Packings by bytes that are tried if no placement by cost fits. */
  private static final int PACKINGS = 64;

  /** Tables times devices times parts of all packings, at most, but for one of each strategy. */
  private static final long PACKING_WORK = 50_000_000;

  /** How much more each packing shuffles the order of tables than the one before it. */
  private static final double DISORDER = 0.02;

  /** Seeds of two searches; see {@link #fromScratch(SearchProblem, SearchSettings, boolean)}. */
  private static final long[] SEEDS = {1, 2};

  private static final Comparator<Annealing> CHEAPEST_FIRST =
      Comparator.comparingDouble(Annealing::bestMs);

  private final SearchProblem problem;
  final ClusterSpec cluster;
  final List<TableGroup> tables;
  final CostEvaluator evaluator; // Includes what is not known, as the other does not.
  private final CostEvaluator expected;
  final ShapeCosts costs;
  private final AllToAllCosts allToAll;
  final Places places;
  final TableOptions options;
  final OptionPlacer optionPlacer;
  final SearchSettings settings;
  final CurrentPlan running;
  private final boolean checked;
  private final SeededRandom random;
  final SearchWork work;
  private long unplacedBytes = Long.MAX_VALUE;
  private double lowerBoundMs = Double.NaN;

  LocalSearch(SearchProblem problem, SearchSettings settings, long seed, boolean checked) {
    this.checked = checked;
    random = new SeededRandom(seed);
    this.problem = problem;
    this.settings = settings;
    cluster = problem.cluster();
    tables = TableGroup.of(problem.tables());
    evaluator = problem.model().evaluator(settings.risk());
    work = new SearchWork(evaluator);
    expected = problem.model().evaluator();
    costs = new ShapeCosts(tables, cluster, evaluator);
    places = new Places(cluster);
    allToAll = allToAll(problem.wire());
    OptionEstimates estimates =
        new OptionEstimates(costs, evaluator, problem.wire(), places, allToAll);
    options = new TableOptions(tables, cluster, costs, estimates);
    optionPlacer =
        new OptionPlacer(
            tables, cluster, costs, evaluator, problem.slowdowns(), estimates, options);
    running = new CurrentPlan(tables, problem.start(), places);
  }

  /**
   * Searches a problem: from the running plan if there is one, otherwise from scratch.
   *
   * @param problem what is to be sharded
   * @param settings the budget, and the price of moves
   */
  public static SearchResult search(SearchProblem problem, SearchSettings settings) {
    return search(problem, settings, false);
  }

  /** Searches a problem; if checked, compares every cost with one from scratch, which is slow. */
  static SearchResult search(SearchProblem problem, SearchSettings settings, boolean checked) {
    HotColdSplits cuts = HotColdSplits.of(problem);
    SearchResult best = cuts.join(searchTables(cuts.problem(), settings, checked));
    // The choice of hot rows leaves out what a search is there for, balance and memory.
    boolean isSure =
        cuts.isEmpty() || (best instanceof SearchResult.Found && !problem.start().isEmpty());
    if (!isSure) {
      SearchResult uncut = searchTables(HotColdSplits.none(problem).problem(), settings, checked);
      best = best instanceof SearchResult.Found found && !isCheaper(uncut, found) ? found : uncut;
    }
    return best instanceof SearchResult.NotFound none
        ? new SearchResult.NotFound(
            Relaxations.explain(problem, none.shortfall()), none.evaluations())
        : best;
  }

  private static boolean isCheaper(SearchResult result, SearchResult.Found than) {
    return result instanceof SearchResult.Found found && found.predictedMs() < than.predictedMs();
  }

  private static SearchResult searchTables(
      SearchProblem problem, SearchSettings settings, boolean checked) {
    Shortfall impossible = Feasibility.refutePredicted(problem.tables(), problem.cluster());
    if (impossible != null) {
      return new SearchResult.NotFound(impossible, 0);
    }
    if (!problem.start().isEmpty() && !problem.tables().isEmpty()) {
      LocalSearch search = new LocalSearch(problem, settings, SEEDS[0], checked);
      Assignment repaired = new Repair(search).run();
      if (repaired != null) {
        return search.found(repaired, search.evaluator.evaluations());
      }
    }
    return fromScratch(problem, settings, checked);
  }

  /**
   * Runs two searches and returns the better one's plan. They share nothing, so that the result
   * does not depend on whether they run at the same time.
   */
  private static SearchResult fromScratch(
      SearchProblem problem, SearchSettings settings, boolean checked) {
    LocalSearch first = new LocalSearch(problem, settings, SEEDS[0], checked);
    LocalSearch second = new LocalSearch(problem, settings, SEEDS[1], checked);
    FutureTask<Annealing> other =
        new FutureTask<>(first.hasOnePlan() ? () -> null : second::fromScratch);
    ForkJoinPool.commonPool().execute(other);
    Annealing one;
    Annealing two;
    try {
      one = first.fromScratch();
      // Runs in this thread if no other one has begun it, so that it never waits for the pool's
      // other tasks.
      other.run();
      two = result(other);
    } finally {
      second.work.stop(); // If this thread was interrupted.
    }
    long evaluations = first.evaluator.evaluations() + second.evaluator.evaluations();
    if (one == null && two == null) {
      long unplaced = Math.min(first.unplacedBytes, second.unplacedBytes);
      List<TableSpec> tables = problem.tables().stream().map(TablePrediction::table).toList();
      Shortfall shortfall = Feasibility.notFound(tables, first.cluster, unplaced);
      return new SearchResult.NotFound(shortfall, evaluations);
    }
    boolean isFirst = two == null || (one != null && one.bestMs() <= two.bestMs());
    return isFirst
        ? first.found(one.assignment(), evaluations)
        : second.found(two.assignment(), evaluations);
  }

  private static Annealing result(FutureTask<Annealing> task) {
    try {
      return task.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted while waiting for the second search");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Returns whether a placement is found without searching a good one. */
  static boolean fits(SearchProblem problem) {
    return Feasibility.refutePredicted(problem.tables(), problem.cluster()) == null
        && !new LocalSearch(problem, SearchSettings.DEFAULTS, SEEDS[0], false).starts().isEmpty();
  }

  /** Returns whether no table can be anywhere else than where it is placed first. */
  private boolean hasOnePlan() {
    return options.areFixed(places);
  }

  /** Returns the search with the best plan, or null if none fits. */
  Annealing fromScratch() {
    long budget = settings.evaluations(tables.size()) / SEEDS.length;
    List<Annealing> searches = starts();
    if (searches.isEmpty() || hasOnePlan()) {
      return searches.isEmpty() ? null : searches.get(0);
    }
    searches.sort(CHEAPEST_FIRST);
    double limitMs = searches.get(0).bestMs() * MOST_EXPENSIVE_START;
    searches.removeIf(search -> search.bestMs() > limitMs);
    searches.forEach(search -> search.begin(budget));
    searches.sort(CHEAPEST_FIRST);
    int kept = Math.min(KEPT, searches.size());
    int idle = 0;
    while (!work.isSpent(budget) && cluster.devices() > 1 && idle < MAX_IDLE) {
      long before = work.moves();
      int i = 0;
      while (i < kept - 1 && random.below(2) == 0) {
        i++;
      }
      searches.get(i).cycle(budget);
      searches.sort(CHEAPEST_FIRST);
      idle = work.moves() == before ? idle + 1 : 0;
    }
    return searches.get(0);
  }

  /** Returns searches from tables that are sharded in various ways; none if nothing fits. */
  private List<Annealing> starts() {
    List<Annealing> searches = new ArrayList<>();
    if (hasOnePlan()) {
      addStart(searches, optionPlacer::placeCopies);
      return searches;
    }
    for (double grain : OptionPlacer.GRAINS) {
      for (double cap : costs.arePooled() ? CAPS : UNPOOLED_CAPS) {
        addStart(searches, assignment -> optionPlacer.place(assignment, grain, cap));
      }
    }
    // The last table without a copy costs an all-to-all, whatever its size.
    addStart(searches, optionPlacer::placeCopies);
    for (int small = 1; searches.isEmpty() && small < 2 * tables.size(); small *= 2) {
      int smallest = small;
      addStart(searches, assignment -> optionPlacer.placeSmall(assignment, smallest));
    }
    for (int attempt = 0; attempt < packings() && searches.isEmpty(); attempt++) {
      PlacementStrategy strategy = STRATEGIES.get(attempt % STRATEGIES.size());
      double disorder = attempt < STRATEGIES.size() ? 0 : DISORDER * attempt;
      addStart(searches, assignment -> optionPlacer.pack(assignment, strategy, disorder, random));
    }
    return searches;
  }

  /** Returns how many packings may be tried: fewer of many tables on many devices. */
  private int packings() {
    long work = (long) tables.size() * cluster.devices() * cluster.devices();
    return (int) Math.max(STRATEGIES.size(), Math.min(PACKINGS, PACKING_WORK / work));
  }

  private void addStart(List<Annealing> searches, Predicate<Assignment> placer) {
    Assignment assignment = empty();
    if (placer.test(assignment)) {
      searches.add(annealing(assignment));
    } else {
      unplacedBytes = Math.min(unplacedBytes, optionPlacer.unplacedBytes(assignment));
    }
  }

  Annealing annealing(Assignment assignment) {
    CostEvaluator checker = checked ? problem.model().evaluator(settings.risk()) : null;
    Objective objective = objective(assignment, running, checker, problem.wire(), allToAll);
    return new Annealing(assignment, objective, work, options, random);
  }

  private AllToAllCosts allToAll(StepComm wire) {
    return new AllToAllCosts(evaluator, wire, ShardScope.DEVICE, costs.elementsPerAllToAllUnit());
  }

  private Objective objective(
      Assignment assignment,
      CurrentPlan before,
      CostEvaluator checker,
      StepComm wire,
      AllToAllCosts ofWire) {
    SplitCosts split = new SplitCosts(evaluator, wire, places, costs.elementsPerNodeUnit());
    return new Objective(
        assignment,
        evaluator,
        problem.slowdowns(),
        new Communication(assignment, ofWire, split, problem.slowdowns()),
        Prices.of(problem, tables, before, settings, evaluator),
        checker);
  }

  /** Returns a lower bound of the predicted cost of every plan of a problem, in milliseconds. */
  public static double lowerBoundMs(SearchProblem problem) {
    return PlanBound.of(problem);
  }

  double lowerBoundMs() {
    if (Double.isNaN(lowerBoundMs)) {
      lowerBoundMs = PlanBound.of(problem);
    }
    return lowerBoundMs;
  }

  Assignment empty() {
    return new Assignment(costs, problem.model().sumSize(), tables.size(), places, cluster);
  }

  private SearchResult.Found found(Assignment assignment, long evaluations) {
    List<DeviceLoad> loads = assignment.loads();
    List<CollectiveCodec> codecs = CodecChoice.of(expected, cluster, loads, problem.slowdowns());
    StepComm wire = new StepComm(cluster, codecs);
    StepCost cost = StepCost.of(expected, wire, loads, problem.slowdowns());
    Map<String, List<Shard>> byTable = ShardLayout.of(assignment, tables, cluster, running);
    List<Shard> shards =
        problem.tables().stream().flatMap(t -> byTable.get(t.table().name()).stream()).toList();
    Replication replication = problem.synchronization().of(expected, loads);
    StepCost worse = StepCost.of(problem.model().evaluator(1), wire, loads, problem.slowdowns());
    boolean isSame = wire.sendsAs(problem.wire());
    Objective objective =
        objective(
            assignment,
            new CurrentPlan(tables, PlanShards.NONE, places),
            null,
            wire,
            isSame ? allToAll : allToAll(wire));
    PlanAnalysis analysis = new PlanAnalysis(problem, tables, assignment, objective, running);
    return new SearchResult.Found(
        shards,
        cost.deviceCosts(loads),
        replication,
        codecs,
        cost.predictedMs() + replication.msPerStep(),
        Optional.of(
            analysis.insight(shards, lowerBoundMs(), worse.predictedMs() - cost.predictedMs())),
        evaluations);
  }
}
