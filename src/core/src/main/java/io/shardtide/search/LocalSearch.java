package io.shardtide.search;

import io.shardtide.cost.CodecChoice;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceLoad;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.StepMemory;
import io.shardtide.plan.Insight;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Replication;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Shortfall;
import io.shardtide.search.Placer.PlacementStrategy;
import io.shardtide.search.bound.PlanBound;
import io.shardtide.search.problem.Feasibility;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.search.problem.SearchResultFoundBuilder;
import io.shardtide.search.problem.TableGroup;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Searches plans by local moves, from scratch or from the running plan.
 *
 * <p>From scratch: initial placements differ in how finely expensive tables are cut, how evenly
 * all-to-all loads are spread, and how many tables are copied. They are annealed, perturbed and
 * annealed again in a {@link Race}. From a running plan: shards that exceed a device's memory are
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

  /** Shares of the tables that may be copied which are, in further starts. */
  private static final double[] COPIED = {0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875};

  /** Granularities of those. */
  private static final double[] COPIED_GRAINS = {1, 0.5, 0.25};

  /**
   * A further start has nearly even all-to-all loads: the largest load of a part as a multiple of
   * the mean, and the share of the tables that are copied. Of other caps and shares none added
   * anything; this one is worth 6% of a step on 128 devices.
   */
  private static final double FINE_CAP = 0.25;

  private static final double FINE_COPIED = 0.75;

  private static final List<PlacementStrategy> STRATEGIES = List.of(PlacementStrategy.values());

  /** Packings by bytes that are tried if no placement by cost fits. */
  private static final int PACKINGS = 64;

  /** Tables times devices times parts of all packings, at most, but for one of each strategy. */
  private static final long PACKING_WORK = 50_000_000;

  /** How much more each packing shuffles the order of tables than the one before it. */
  private static final double DISORDER = 0.02;

  /**
   * The lower bound of all plans may bound a part once for so many evaluations of the search: it
   * takes a small share of its time, and is as close as that allows.
   */
  private static final int EVALUATIONS_PER_BOUND = 8;

  static final BiConsumer<LocalSearch, Objective> NOTHING = (search, objective) -> {};

  /** Seed of a search that is alone. */
  private static final long SEED = 1;

  final SearchProblem problem;
  final ClusterSpec cluster;
  final List<TableGroup> tables;

  /** Predicts mean + risk x standard deviation; {@code expected} is the mean. */
  final CostEvaluator evaluator;

  private final CostEvaluator expected;
  private final LoadUnits units;
  private final Communication communication;
  private final long stepBytes;
  final Places places;
  final TableWays ways;
  final Placer placer;
  final SearchSettings settings;
  final List<RunningTable> running;
  private final BiConsumer<LocalSearch, Objective> afterMove;
  private final SeededRandom random;
  final SearchWork work;

  /** The least bytes that a start has left without a device. */
  long unplacedBytes = Long.MAX_VALUE;

  /**
   * @param afterMove called after each move that is applied
   */
  LocalSearch(
      SearchProblem problem,
      SearchSettings settings,
      long seed,
      BiConsumer<LocalSearch, Objective> afterMove) {
    this.afterMove = afterMove;
    random = new SeededRandom(seed);
    this.problem = problem;
    this.settings = settings;
    cluster = problem.cluster();
    tables = TableGroup.of(problem.tables());
    evaluator = problem.model().evaluator(settings.risk());
    work = new SearchWork(evaluator);
    expected = problem.model().evaluator();
    units = LoadUnits.of(tables, cluster);
    stepBytes = StepMemory.ofDevice(problem.specs(), cluster);
    places = new Places(cluster);
    communication = new Communication(evaluator, cluster, units);
    ways = new TableWays(tables, cluster, evaluator, units, places, communication);
    placer = new Placer(tables, cluster, evaluator, problem.slowdowns(), ways);
    running = RunningTable.of(tables, problem.reusablePlan(), places);
  }

  /**
   * Searches a problem: from the running plan if there is one, otherwise from scratch.
   *
   * @param problem what is to be sharded
   * @param settings the budget, and the price of moves
   */
  public static SearchResult search(SearchProblem problem, SearchSettings settings) {
    return search(problem, settings, NOTHING);
  }

  static SearchResult search(
      SearchProblem problem,
      SearchSettings settings,
      BiConsumer<LocalSearch, Objective> afterMove) {
    Shortfall impossible = Feasibility.refutePredicted(problem.tables(), problem.cluster());
    if (impossible != null) {
      return Relaxations.notFound(problem, impossible, 0);
    }
    if (!problem.reusablePlan().isEmpty() && !problem.tables().isEmpty()) {
      LocalSearch search = new LocalSearch(problem, settings, SEED, afterMove);
      State repaired = new Repair(search).run();
      if (repaired != null) {
        return search.explained(repaired, search.evaluator.evaluations());
      }
    }
    ScratchSearch search = new ScratchSearch(problem, settings, afterMove);
    search.advance(1);
    return search.explained();
  }

  /** Returns whether a placement is found without searching a good one. */
  static boolean fits(SearchProblem problem) {
    if (Feasibility.isRefuted(problem)) {
      return false;
    }
    LocalSearch search = new LocalSearch(problem, SearchSettings.DEFAULTS, SEED, NOTHING);
    return Stream.concat(search.placements(), search.lastPlacements()).findFirst().isPresent();
  }

  /** Returns whether no table can be anywhere else than where it is placed first. */
  boolean hasOnePlan() {
    return ways.areFixed();
  }

  /** Returns searches from tables that are sharded in various ways; none if nothing fits. */
  List<Annealing> starts() {
    List<Annealing> searches = placements().map(state -> annealing(state, false)).toList();
    return searches.isEmpty()
        ? lastPlacements().limit(1).map(state -> annealing(state, false)).toList()
        : searches;
  }

  /** Returns the tables sharded in various ways, made one by one as they are asked for. */
  private Stream<State> placements() {
    // The last table without a copy costs an all-to-all, whatever its size.
    Stream<Predicate<State>> copies = Stream.of(placer::placeCopies);
    if (hasOnePlan()) {
      return placed(copies);
    }
    double[] caps = units.areExact() ? CAPS : UNPOOLED_CAPS;
    Stream<Predicate<State>> even =
        pairs(Placer.GRAINS, caps, (grain, cap) -> state -> placer.spread(state, grain, cap));
    Stream<Predicate<State>> partlyCopied =
        pairs(
            COPIED,
            COPIED_GRAINS,
            (copied, grain) -> state -> placer.spread(state, grain, 1, copied));
    Stream<Predicate<State>> fine =
        Stream.of(state -> placer.spread(state, 1, FINE_CAP, FINE_COPIED));
    return placed(Stream.of(even, partlyCopied, copies, fine).flatMap(s -> s));
  }

  private static Stream<Predicate<State>> pairs(
      double[] first, double[] second, BiFunction<Double, Double, Predicate<State>> placement) {
    return Arrays.stream(first)
        .boxed()
        .flatMap(a -> Arrays.stream(second).mapToObj(b -> placement.apply(a, b)));
  }

  /** Returns placements by bytes, for tables that find no room by cost. */
  private Stream<State> lastPlacements() {
    if (hasOnePlan()) {
      return Stream.empty();
    }
    Stream<Predicate<State>> small =
        IntStream.iterate(1, count -> count < 2 * tables.size(), count -> 2 * count)
            .mapToObj(count -> state -> placer.placeSmall(state, count));
    Stream<Predicate<State>> packed =
        IntStream.range(0, packings())
            .mapToObj(
                attempt -> {
                  PlacementStrategy strategy = STRATEGIES.get(attempt % STRATEGIES.size());
                  double disorder = attempt < STRATEGIES.size() ? 0 : DISORDER * attempt;
                  return state -> placer.pack(state, strategy, disorder, random);
                });
    return placed(Stream.concat(small, packed));
  }

  /** Returns how many packings may be tried: fewer of many tables on many devices. */
  private int packings() {
    long work = (long) tables.size() * cluster.devices() * cluster.devices();
    return (int) Math.max(STRATEGIES.size(), Math.min(PACKINGS, PACKING_WORK / work));
  }

  private Stream<State> placed(Stream<Predicate<State>> placements) {
    return placements.map(this::placed).flatMap(Optional::stream);
  }

  private Optional<State> placed(Predicate<State> placement) {
    State state = empty();
    if (placement.test(state)) {
      return Optional.of(state);
    }
    unplacedBytes = Math.min(unplacedBytes, placer.unplacedBytes(state));
    return Optional.empty();
  }

  Annealing annealing(State state, boolean isRepair) {
    work.check();
    state.choose(communication.chosen(collectives(state)));
    Objective objective =
        objective(state, running, evaluator, applied -> afterMove.accept(this, applied));
    Proposals proposals = new Proposals(state, objective, ways, communication, random, isRepair);
    return new Annealing(state, objective, work, proposals, random, isRepair);
  }

  /**
   * Returns the collectives to begin with: the best ones for a plan and, for scopes that it has no
   * shards of, those that would be best if all tables were there, spread evenly.
   */
  private StepCollectives collectives(State state) {
    if (!communication.hasChoices()) {
      return StepCollectives.of(cluster);
    }
    Set<ShardScope> present = EnumSet.noneOf(ShardScope.class);
    if (problem.model().predictsAllKinds()) {
      IntStream.range(0, tables.size()).forEach(t -> present.add(state.way[t].scope));
    } else {
      present.addAll(EnumSet.allOf(ShardScope.class));
    }
    double elements = units.total() * units.elementsPerUnit();
    StepCollectives best = CodecChoice.of(evaluator, cluster, state.loads(), problem.slowdowns());
    return CodecChoice.forSearch(evaluator, best, present, elements);
  }

  Objective objective(
      State state, List<RunningTable> before, CostEvaluator by, Consumer<Objective> afterMoves) {
    return new Objective(
        state,
        by,
        problem.slowdowns(),
        communication,
        new MovePrice(before, tables, cluster, settings, problem.synchronization().groups()),
        new SynchronizationPrice(problem.synchronization(), evaluator),
        ways.msPerUnit,
        afterMoves);
  }

  State empty() {
    return new State(tables.size(), problem.model().sumSize(), places, stepBytes, cluster);
  }

  /** Returns a plan, without an analysis. */
  SearchResult.Found found(State state, long evaluations) {
    List<DeviceLoad> loads = state.loads();
    StepCollectives collectives = collectives(loads);
    return found(state, evaluations, loads, collectives, cost(expected, collectives, loads));
  }

  private SearchResult.Found found(
      State state,
      long evaluations,
      List<DeviceLoad> loads,
      StepCollectives collectives,
      StepCost cost) {
    Map<String, List<Shard>> byTable = ShardLayout.of(state, tables, running);
    List<Shard> shards =
        problem.tables().stream().flatMap(t -> byTable.get(t.table().name()).stream()).toList();
    Replication replication = problem.synchronization().of(expected, loads);
    return new SearchResult.Found(
        shards,
        cost.deviceCosts(loads),
        replication,
        collectives,
        cost.predictedMs() + replication.msPerStep(),
        Optional.empty(),
        evaluations);
  }

  /** Returns a plan with its analysis; gives the state the collectives that are best for it. */
  SearchResult.Found explained(State state, long evaluations) {
    List<DeviceLoad> loads = state.loads();
    StepCollectives collectives = collectives(loads);
    StepCost cost = cost(expected, collectives, loads);
    StepCost worse = cost(problem.model().evaluator(1), collectives, loads);
    SearchResult.Found found = found(state, evaluations, loads, collectives, cost);
    List<RunningTable> nothing = RunningTable.of(tables, PlanShards.NONE, places);
    state.choose(communication.chosen(collectives));
    Objective objective = objective(state, nothing, evaluator, applied -> {});
    Explainer explainer = new Explainer(this, state, objective);
    Insight insight =
        explainer.insight(
            found.shards(),
            PlanBound.of(problem, evaluations / EVALUATIONS_PER_BOUND),
            worse.predictedMs() - cost.predictedMs());
    return SearchResultFoundBuilder.builder(found).insight(Optional.of(insight)).build();
  }

  private StepCollectives collectives(List<DeviceLoad> loads) {
    return CodecChoice.of(expected, cluster, loads, problem.slowdowns());
  }

  private StepCost cost(CostEvaluator by, StepCollectives collectives, List<DeviceLoad> loads) {
    return StepCost.of(by, collectives, loads, problem.slowdowns());
  }
}
