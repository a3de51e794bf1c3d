package io.shardtide.search.local;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.PlanCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Explanation;
import io.shardtide.domain.Insight;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.Feasibility;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.ShardCosts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;

/**
 * Searches plans by local changes, from scratch or from the plan that runs.
 *
 * <p>From scratch: a dozen placements that differ in how finely dear tables are cut and how evenly
 * columns are spread, each annealed for a while; then the best few go on in turn, kicked out of
 * their optimum and annealed again. From a running plan: what has no place is placed, what is too
 * much for a device's memory leaves it, and changes are made that are worth their bytes.
 *
 * <p>No clock, no thread and no hash order has a say: the same problem and settings give the same
 * plan, and a larger budget goes on where a smaller one stopped.
 */
public final class LocalSearch {
  /** How many ways of cutting tables are tried, and the factor between two of them. */
  private static final int GRAINS = 6;

  private static final double GRAINS_APART = 1.25;

  /** Columns on a device, at first: so many times the mean. */
  private static final double[] CAPS = {1, 1.2};

  /** Searches that go on after the first round. */
  private static final int KEPT = 5;

  private static final List<Placer.PlacementStrategy> FITS =
      List.of(
          Placer.PlacementStrategy.FIRST,
          Placer.PlacementStrategy.BEST,
          Placer.PlacementStrategy.WORST);

  /** Packings by bytes that are tried where no placement by cost fits. */
  private static final int PACKINGS = 64;

  /** How much more each packing shuffles the order of tables than the one before it. */
  private static final double DISORDER = 0.02;

  /** Tables beyond these add no budget: a first plan must not take minutes. */
  private static final int MOST_TABLES = 1_000;

  /** Of two searches; see {@link #fromScratch(SearchProblem, SearchSettings, boolean)}. */
  private static final long[] SEEDS = {1, 2};

  private static final Comparator<Annealing> CHEAPEST_FIRST =
      Comparator.comparingDouble(Annealing::bestMs);

  private final SearchProblem problem;
  private final ClusterSpec cluster;
  private final List<TableSpec> tables;
  private final CostEvaluator evaluator;
  private final ShardCosts costs;
  private final AllToAllCosts exchange;
  private final Placer placer;
  private final SearchSettings settings;
  private final CurrentPlan running;
  private final double[] msPerColumn;
  private final boolean checked;
  private final SeededRandom chance;
  private long unplacedBytes;

  private LocalSearch(SearchProblem problem, SearchSettings settings, long seed, boolean checked) {
    this.checked = checked;
    chance = new SeededRandom(seed);
    this.problem = problem;
    this.settings = settings;
    cluster = problem.cluster();
    tables = problem.tables().stream().map(TablePrediction::table).toList();
    evaluator = problem.model().evaluator();
    costs = new ShardCosts(problem.tables(), evaluator);
    exchange =
        new AllToAllCosts(evaluator, cluster, tables.stream().mapToInt(TableSpec::columns).sum());
    placer = new Placer(tables, cluster, costs, evaluator, exchange);
    running = new CurrentPlan(tables, problem.running(), cluster.devices());
    msPerColumn =
        problem.running().isEmpty()
            ? new double[0]
            : tables.stream()
                .mapToDouble(t -> settings.moveMs((double) t.bytes() / t.columns()))
                .toArray();
  }

  /**
   * Searches a problem: from the running plan if there is one, otherwise from scratch.
   *
   * @param problem what is to be sharded
   * @param settings how long, and what moves cost
   */
  public static SearchResult search(SearchProblem problem, SearchSettings settings) {
    return search(problem, settings, false);
  }

  /** Searches a problem, and maybe compares every cost with one from scratch, which takes long. */
  static SearchResult search(SearchProblem problem, SearchSettings settings, boolean checked) {
    Shortfall impossible =
        Feasibility.refute(
            problem.tables().stream().map(TablePrediction::table).toList(), problem.cluster());
    if (impossible != null) {
      return new SearchResult.NotFound(impossible, 0);
    }
    if (!problem.running().isEmpty() && !problem.tables().isEmpty()) {
      LocalSearch search = new LocalSearch(problem, settings, SEEDS[0], checked);
      Assignment repaired = search.repair();
      if (repaired != null) {
        return search.found(repaired, search.evaluator.evaluations());
      }
    }
    return fromScratch(problem, settings, checked);
  }

  /**
   * Runs two searches that share nothing, so that whether they run at the same time or one after
   * the other has no say, and returns the better one's plan.
   */
  private static SearchResult fromScratch(
      SearchProblem problem, SearchSettings settings, boolean checked) {
    LocalSearch first = new LocalSearch(problem, settings, SEEDS[0], checked);
    LocalSearch second = new LocalSearch(problem, settings, SEEDS[1], checked);
    FutureTask<Annealing> other = new FutureTask<>(second::fromScratch);
    ForkJoinPool.commonPool().execute(other);
    Annealing one = first.fromScratch();
    // Runs here if no other thread has begun it: it never waits for what else the pool is busy
    // with.
    other.run();
    Annealing two = result(other);
    long evaluations = first.evaluator.evaluations() + second.evaluator.evaluations();
    if (one == null && two == null) {
      long unplaced = Math.min(first.unplacedBytes, second.unplacedBytes);
      return new SearchResult.NotFound(
          Feasibility.notFound(first.tables, first.cluster, unplaced), evaluations);
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
      throw new CancellationException("Interrupted while another thread searched");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  /** Returns the running plan with everything placed and improved, or null if it cannot hold it. */
  private Assignment repair() {
    Assignment assignment = empty();
    for (int t = 0; t < tables.size(); t++) {
      for (Shard shard : running.shards(t)) {
        assignment.edit(t, shard.device(), 0, shard.columns());
      }
    }
    placer.evict(assignment);
    if (!placer.place(assignment, 1, 1.1)) {
      return null;
    }
    Annealing annealing = annealing(assignment);
    annealing.repair(evaluator.evaluations() + settings.repairEvaluations());
    return assignment;
  }

  /** Returns the best search that was found, or null if nothing fits. */
  private Annealing fromScratch() {
    long budget =
        settings.evaluationsPerTable() * Math.min(tables.size(), MOST_TABLES) / SEEDS.length;
    List<Annealing> searches = new ArrayList<>();
    for (double grain : placer.grains(GRAINS, GRAINS_APART)) {
      for (double cap : CAPS) {
        Assignment assignment = empty();
        if (placer.place(assignment, grain, cap)) {
          searches.add(annealing(assignment));
        }
      }
    }
    unplacedBytes = Long.MAX_VALUE;
    for (int attempt = 0; attempt < PACKINGS && searches.isEmpty(); attempt++) {
      Assignment assignment = empty();
      double disorder = attempt < FITS.size() ? 0 : DISORDER * attempt;
      long left = placer.pack(assignment, FITS.get(attempt % FITS.size()), disorder, chance);
      unplacedBytes = Math.min(unplacedBytes, left);
      if (left == 0) {
        searches.add(annealing(assignment));
      }
    }
    if (searches.isEmpty()) {
      return null;
    }
    searches.forEach(search -> search.begin(budget));
    searches.sort(CHEAPEST_FIRST);
    int kept = Math.min(KEPT, searches.size());
    while (evaluator.evaluations() < budget && cluster.devices() > 1) {
      int i = 0;
      while (i < kept - 1 && chance.below(2) == 0) {
        i++;
      }
      searches.get(i).cycle(budget);
      searches.sort(CHEAPEST_FIRST);
    }
    return searches.get(0);
  }

  private Annealing annealing(Assignment assignment) {
    Objective objective =
        new Objective(
            assignment,
            evaluator,
            exchange,
            new MovePrice(running, msPerColumn, settings.moveOverheadMsPerStep()),
            checked ? problem.model().evaluator() : null);
    return new Annealing(assignment, objective, evaluator, cluster.memoryBytesPerDevice(), chance);
  }

  private Assignment empty() {
    return new Assignment(costs, problem.model().towerSize(), tables.size(), cluster.devices());
  }

  private SearchResult.Found found(Assignment assignment, long evaluations) {
    int devices = cluster.devices();
    double[] computeMs = new double[devices];
    int[] columns = new int[devices];
    for (int d = 0; d < devices; d++) {
      columns[d] = assignment.columns(d);
      computeMs[d] = columns[d] == 0 ? 0 : evaluator.computeMs(assignment.sum(d));
    }
    PlanCost cost = evaluator.planCost(computeMs, columns, cluster.batchSize());
    List<DeviceCost> deviceCosts = new ArrayList<>();
    for (int d = 0; d < devices; d++) {
      deviceCosts.add(
          new DeviceCost(
              cost.computeMs()[d],
              cost.forwardCommMs()[d],
              cost.backwardCommMs()[d],
              assignment.bytes(d)));
    }
    List<Shard> shards = ShardLayout.of(assignment, tables, cluster, running);
    return new SearchResult.Found(
        shards,
        deviceCosts,
        cost.predictedMs(),
        Optional.of(insight(assignment, shards)),
        evaluations);
  }

  private Insight insight(Assignment assignment, List<Shard> shards) {
    List<String> names = tables.stream().map(TableSpec::name).toList();
    Map<String, Integer> positions = new HashMap<>();
    for (int t = 0; t < names.size(); t++) {
      positions.put(names.get(t), t);
    }
    Objective objective =
        new Objective(
            assignment, evaluator, exchange, new MovePrice(running, new double[0], 0), null);
    Explainer explainer = new Explainer(assignment, objective, exchange, cluster);
    // Cuts that were there before have been explained before.
    List<Integer> newlyCut =
        IntStream.range(0, tables.size())
            .filter(t -> running.shards(t).size() != assignment.shardsOfTable(t))
            .boxed()
            .toList();
    List<Explanation> explanations = new ArrayList<>(explainer.splits(newlyCut, names));
    explanations.addAll(explainer.moves(Overlap.between(problem.running(), shards), positions));
    explanations.sort(Explanation.ORDER);
    return new Insight(
        LowerBound.of(problem.tables(), cluster, evaluator, exchange),
        explainer.bottleneck(names),
        explanations.stream().limit(Insight.MAX_EXPLANATIONS).toList());
  }
}
