package io.shardtide.step;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TableShapes;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Effort;
import io.shardtide.plan.HotOwner;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.OutOfRange;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanOrigin;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.SearchRun;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.PlanningState.PredictedGeneration;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * Makes a plan: a function of the tables with their recorded predictions, the model, the settings,
 * and the running plan. The clocks set {@code createdAt} and {@code searchMillis}, which are not
 * part of a plan's id. Thread-safe.
 *
 * @param clock gives the time of a plan
 * @param nanoTime measures the duration of a search, in nanoseconds from any origin
 * @param search searches a problem
 */
public record Planner(
    InstantSource clock,
    LongSupplier nanoTime,
    BiFunction<GroupedProblem, SearchSettings, SearchResult> search) {
  /**
   * The largest plan, in bytes as {@link #checkSize} counts them: it fits a record of 16 MiB with
   * its explanations, and has some 50,000 shards of tables with names of 50 characters that all
   * move.
   */
  static final long MAX_SIZE = 15L << 20;

  /**
   * Everything that shapes a plan.
   *
   * @param workloadId the workload
   * @param firstGeneration the first generation that the plan answers
   * @param predicted the generation, its cluster, and the model
   * @param tables the workload's tables with their predictions, sorted by name
   * @param running the running plan, if there is one
   * @param effort budget of the search
   * @param settings settings of the search
   * @param model the model that predicted
   * @param slow the slow devices, in {@link DeviceSpeed#ORDER}
   */
  @RecordBuilder
  public record Request(
      String workloadId,
      long firstGeneration,
      PredictedGeneration predicted,
      List<VersionedPrediction> tables,
      Optional<ShardingPlan> running,
      Effort effort,
      SearchSettings settings,
      CostModel model,
      List<DeviceSpeed> slow) {
    /** The order of tables breaks ties: it must not depend on the store. */
    private static final Comparator<VersionedPrediction> BY_NAME =
        Comparator.comparing(table -> table.prediction().table().name());

    /** Standard deviations that a search for plans that teach subtracts from each cost. */
    private static final double CURIOSITY = 1;

    /** Sorts the tables. */
    public Request {
      tables = tables.stream().sorted(BY_NAME).toList();
      slow = List.copyOf(slow);
    }

    /** Returns a request of a plan whose costs are not known yet. */
    Request teaching() {
      SearchSettings curious = SearchSettingsBuilder.builder(settings).risk(-CURIOSITY).build();
      return PlannerRequestBuilder.builder(this).settings(curious).build();
    }

    List<TablePrediction> predictions() {
      return tables.stream().map(VersionedPrediction::prediction).toList();
    }

    PlanShards placed() {
      return running.map(ShardingPlan::placed).orElse(PlanShards.NONE);
    }
  }

  /** A planner that searches groups too. */
  public Planner(InstantSource clock, LongSupplier nanoTime) {
    this(clock, nanoTime, GroupSearch::search);
  }

  /** Searches a plan; an error is returned, so that it affects one workload only. */
  public PlanningOutcome plan(Request request) {
    try {
      return search(request);
    } catch (RuntimeException e) {
      return new PlanningOutcome.Failed(request.predicted().source(), e);
    }
  }

  private PlanningOutcome search(Request request) {
    GroupedProblem problem =
        new GroupedProblem(
            request.predictions(),
            request.predicted().cluster(),
            request.model(),
            request.placed(),
            request.effort() == Effort.QUICK,
            request.slow());
    long start = nanoTime.getAsLong();
    SearchResult result = search.apply(problem, request.settings());
    double searchMillis = (nanoTime.getAsLong() - start) / 1e6;
    return result instanceof SearchResult.Found found
        ? new PlanningOutcome.Planned(plan(request, found, searchMillis).identified())
        : new PlanningOutcome.Infeasible(
            new InfeasibleWorkload(
                request.workloadId(),
                request.predicted().generation(),
                request.predicted().source(),
                request.predicted().modelId(),
                ((SearchResult.NotFound) result).shortfall(),
                Optional.empty()));
  }

  private ShardingPlan plan(Request request, SearchResult.Found found, double searchMillis) {
    Map<String, TableSpec> tables =
        TableSpec.byName(request.predictions().stream().map(TablePrediction::table).toList());
    PlanMoves transition = transition(request, found, tables);
    List<PlannedKernel> kernels = PlannedKernel.of(tables.values());
    checkSize(found.shards(), kernels, transition.moves(), tables.size());
    return new ShardingPlan(
        "",
        origin(request),
        Reasons.describe(request, found, transition),
        found.shards(),
        found.replication(),
        found.collectives().codecs(),
        kernels,
        prediction(request, found, tables),
        transition,
        new SearchRun(found.evaluations(), searchMillis, clock.instant()));
  }

  private static PlanMoves transition(
      Request request, SearchResult.Found found, Map<String, TableSpec> tables) {
    PlanShards running = request.placed();
    PlanShards planned = found.placed();
    return new PlanMoves(
        Overlap.moves(Overlap.between(running, planned), tables, planned),
        Overlap.moveOrder(running, planned, tables, request.predicted().cluster()));
  }

  private static PlanOrigin origin(Request request) {
    PredictedGeneration predicted = request.predicted();
    return new PlanOrigin(
        request.workloadId(),
        predicted.generation(),
        request.firstGeneration(),
        request.effort(),
        predicted.source(),
        predicted.modelId(),
        request.settings(),
        request.running().map(ShardingPlan::planId),
        request.slow());
  }

  private static PlanPrediction prediction(
      Request request, SearchResult.Found found, Map<String, TableSpec> tables) {
    List<OutOfRange> outside = outOfRange(request, found.collectives(), found.shards());
    return new PlanPrediction(
        found.deviceCosts(),
        found.predictedMs(),
        found.insight().orElseThrow(),
        outside.stream().limit(PlanPrediction.MAX_OUT_OF_RANGE).toList(),
        outside.size(),
        TableShapes.cacheMisses(
            List.copyOf(tables.values()), found.shards(), found.collectives().cluster()),
        HotOwner.of(tables, found.shards()));
  }

  /** Checks an upper bound of the bytes of shards, kernels and moves in a record. */
  private static void checkSize(
      List<Shard> shards, List<PlannedKernel> kernels, List<Transfer> moves, int tables) {
    long size =
        size(40, shards.stream().map(Shard::table))
            + size(60, kernels.stream().map(PlannedKernel::table))
            + size(60, moves.stream().map(Transfer::table));
    if (size > MAX_SIZE) {
      throw new IllegalStateException(
          String.format(
              Locale.ROOT,
              "a plan must be at most %,d bytes, moves included, got about %,d with %,d tables and %,d shards. Maybe split the workload",
              MAX_SIZE,
              size,
              tables,
              shards.size()));
    }
  }

  private static long size(int bytesOfEach, Stream<String> tables) {
    return tables
        .mapToLong(name -> bytesOfEach + name.getBytes(StandardCharsets.UTF_8).length)
        .sum();
  }

  /** Returns values outside the model's training range, the farthest out first. */
  private static List<OutOfRange> outOfRange(
      Request request, StepCollectives collectives, List<Shard> shards) {
    TrainedRanges limits = request.model().limits();
    ClusterSpec cluster = collectives.cluster();
    List<OutOfRange> outside = new ArrayList<>(limits.ofCluster(cluster));
    Map<String, Double> outputs = new HashMap<>();
    for (TablePrediction table : request.predictions()) {
      outside.addAll(table.outOfRange());
      outputs.put(table.table().name(), table.table().outputsPerSample());
    }
    double[] columns = new double[cluster.devices()];
    int[] counts = new int[cluster.devices()];
    for (Shard shard : shards) {
      shard
          .holders(cluster.devices())
          .forEach(
              d -> {
                columns[d] += shard.columns() * outputs.getOrDefault(shard.table(), 1.0);
                counts[d]++;
              });
    }
    for (int d = 0; d < columns.length; d++) {
      outside.addAll(limits.ofDevice(collectives, d, columns[d], counts[d]));
    }
    outside.sort(OutOfRange.ORDER);
    return outside;
  }
}
