package io.shardtide.search.reference;

import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Shortfall;
import io.shardtide.search.problem.Feasibility;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * NeuroShard's search, from scratch (Zha et al., MLSys 2023, algorithm 1): a beam over column
 * splits, each placed by {@link GreedyPlacer}. In each of L levels every split of the beam is tried
 * with one more shard halved, for each of the N costliest and the N largest shards, and the K
 * cheapest results are the next beam. The cheapest plan of all levels wins.
 *
 * <p>This is the slow and obvious search: the oracle that faster ones are held to. It departs from
 * the paper in three places, none of which costs quality: two orders of the same halvings are one
 * split; a shard that no device can hold is cut before the search begins, since no plan can have it
 * whole; and a beam without any complete placement is ordered by the bytes that found no room. See
 * RATIONALE.md.
 */
public final class BeamSearch {
  private final ReferenceSettings settings;
  private final ClusterSpec cluster;
  private final List<TablePrediction> predictions;
  private final List<TableSpec> tables;
  private final CostEvaluator evaluator;
  private final ShapeCosts costs;
  private final GreedyPlacer placer;

  private BeamSearch(SearchProblem problem, ReferenceSettings settings) {
    this.settings = settings;
    cluster = problem.cluster();
    predictions = problem.tables();
    tables = predictions.stream().map(TablePrediction::table).toList();
    evaluator = problem.model().evaluator();
    for (TableSpec table : tables) {
      if (!table.constraints().isEmpty()) {
        throw new IllegalArgumentException(
            "tables of the reference search must have no constraints, got some of table "
                + table.name());
      }
    }
    costs = new ShapeCosts(problem.tables(), cluster, evaluator);
    placer =
        new GreedyPlacer(
            cluster,
            costs,
            evaluator,
            problem.slowdowns(),
            problem.model().sumSize(),
            caps(settings));
  }

  /** Searches a problem. */
  public static SearchResult search(SearchProblem problem, ReferenceSettings settings) {
    return new BeamSearch(problem, settings).search();
  }

  private SearchResult search() {
    Shortfall impossible = Feasibility.refutePredicted(predictions, cluster);
    if (impossible != null) {
      return new SearchResult.NotFound(impossible, evaluator.evaluations());
    }
    Placement best = placer.place(fitting(ColumnSplit.whole(tables)));
    List<Placement> beam = List.of(best);
    for (int level = 0; level < settings.levels() && !beam.isEmpty(); level++) {
      List<Placement> next = new ArrayList<>();
      Set<ColumnSplit> seen = new HashSet<>();
      for (Placement parent : beam) {
        for (int shard : candidates(parent.split())) {
          if (parent.split().canHalve(shard)) {
            ColumnSplit split = parent.split().halve(shard);
            if (seen.add(split)) {
              next.add(placer.place(split));
            }
          }
        }
      }
      next.sort(Comparator.naturalOrder());
      beam = next.subList(0, Math.min(settings.beamWidth(), next.size()));
      if (!beam.isEmpty() && beam.get(0).compareTo(best) < 0) {
        best = beam.get(0);
      }
    }
    return best.isComplete()
        ? found(best)
        : new SearchResult.NotFound(
            Feasibility.notFound(tables, cluster, best.unplacedBytes()), evaluator.evaluations());
  }

  /** Returns M caps, evenly spaced. */
  private static double[] caps(ReferenceSettings settings) {
    int points = settings.gridPoints();
    double step = points == 1 ? 0 : (settings.gridEnd() - settings.gridStart()) / (points - 1);
    return IntStream.range(0, points).mapToDouble(i -> settings.gridStart() + i * step).toArray();
  }

  /** Cuts what no device can hold as evenly as widths allow. */
  private ColumnSplit fitting(ColumnSplit split) {
    ColumnSplit fits = split;
    for (int s = 0; s < fits.size(); ) {
      int width = fits.width(s);
      if (tables.get(fits.table(s)).bytes(width) > cluster.mostUsableBytes()) {
        int units = width / TableSpec.COLUMN_UNIT;
        fits = fits.cut(s, (units + 1) / 2 * TableSpec.COLUMN_UNIT);
      } else {
        s++;
      }
    }
    return fits;
  }

  /** Returns the N costliest and the N largest shards, in their order. */
  private Set<Integer> candidates(ColumnSplit split) {
    int[] shapes = split.shapes(costs);
    Set<Integer> chosen = new TreeSet<>();
    chosen.addAll(top(shapes.length, Comparator.comparingDouble(s -> -costs.aloneMs(shapes[s]))));
    chosen.addAll(
        top(shapes.length, Comparator.comparingLong(s -> -costs.load(shapes[s]).bytes())));
    return chosen;
  }

  private List<Integer> top(int shards, Comparator<Integer> order) {
    return IntStream.range(0, shards)
        .boxed()
        .sorted(order.thenComparing(Comparator.naturalOrder()))
        .limit(settings.candidates())
        .toList();
  }

  private SearchResult.Found found(Placement placement) {
    ColumnSplit split = placement.split();
    List<List<Shard>> parts = new ArrayList<>();
    tables.forEach(table -> parts.add(new ArrayList<>()));
    int[] columns = new int[tables.size()];
    for (int s = 0; s < split.size(); s++) {
      int t = split.table(s);
      TableSpec table = tables.get(t);
      Region region = Region.ofColumns(table, columns[t], split.width(s));
      ShardKind kind =
          region.columns() == table.columns() ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE;
      parts.get(t).add(new Shard(table.name(), region, placement.device()[s], kind));
      columns[t] += region.columns();
    }
    List<Shard> shards = parts.stream().flatMap(List::stream).toList();
    List<DeviceCost> deviceCosts = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      deviceCosts.add(
          new DeviceCost(
              placement.cost().computeMs()[d],
              placement.cost().forwardCommMs()[d],
              placement.cost().backwardCommMs()[d],
              placement.bytes()[d],
              0));
    }
    return new SearchResult.Found(
        shards,
        deviceCosts,
        Replication.NONE,
        StepCollectives.of(cluster),
        placement.predictedMs(),
        Optional.empty(),
        evaluator.evaluations());
  }
}
