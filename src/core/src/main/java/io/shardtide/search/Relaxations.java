package io.shardtide.search;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TablePredictions;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Shortfall;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Says what would make a workload fit that does not: host memory for cached tables, and constraints
 * that it could do without, those of one table if that is enough, otherwise of the largest tables
 * together. Each advice was tried: its workload has a placement. Tries are few, so that a plan may
 * exist where nothing is advised.
 */
final class Relaxations {
  /** Tables whose constraints are dropped alone, the largest ones. */
  private static final int MAX_TABLES = 16;

  /** Tables that a message names. */
  private static final int MAX_NAMED = 5;

  private final SearchProblem problem;

  /** Positions of the tables with constraints, the largest table first. */
  private final List<Integer> constrained = new ArrayList<>();

  private Relaxations(SearchProblem problem) {
    this.problem = problem;
    for (int t = 0; t < problem.tables().size(); t++) {
      if (changes(t, TableConstraints.NONE)) {
        constrained.add(t);
      }
    }
    constrained.sort(Comparator.comparingLong((Integer t) -> -table(t).bytes()));
  }

  /** Returns that there is no plan; the message says what would help, if anything was found. */
  static SearchResult.NotFound notFound(
      SearchProblem problem, Shortfall shortfall, long evaluations) {
    Relaxations relaxations = new Relaxations(problem);
    String constraints =
        relaxations.constraints().map(relaxation -> relaxation(shortfall, relaxation)).orElse("");
    return new SearchResult.NotFound(
        new Shortfall(
            shortfall.bytesShort(),
            shortfall.proven(),
            shortfall.tablesToBlame(),
            shortfall.message() + relaxations.hostMemory() + constraints),
        evaluations);
  }

  private static String relaxation(Shortfall shortfall, String relaxation) {
    return shortfall.bytesShort() == 0
        ? ". %s%s it would fit"
            .formatted(relaxation.substring(0, 1).toUpperCase(Locale.ROOT), relaxation.substring(1))
        : ". %s short; %s it would fit"
            .formatted(ByteSizes.describe(shortfall.bytesShort()), relaxation);
  }

  /**
   * Says how much host memory a device would do, if there is none: an even share of all tables that
   * may be cached, and their largest part, by which a device may get more.
   */
  private String hostMemory() {
    CostModel model = problem.model();
    if (problem.cluster().hostMemoryBytesPerDevice() > 0 || !model.predictsAllKinds()) {
      return "";
    }
    double bytes = 0;
    long narrowest = 0;
    for (TableSpec table : problem.specs()) {
      if (table.mayBeCached() && !table.constraints().isAlwaysCopied()) {
        bytes += table.bytes();
        narrowest = Math.max(narrowest, table.bytes(TableSpec.COLUMN_UNIT));
      }
    }
    double evenShare = Math.ceil(bytes / problem.cluster().devices());
    long perDevice = ByteSizes.roundedUp((long) evenShare + narrowest);
    if (perDevice == 0 || perDevice > ClusterSpec.MAX_MEMORY_BYTES) {
      return "";
    }
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(problem.cluster()).hostMemoryBytesPerDevice(perDevice).build();
    // Whether parts fit depends on their bytes, and the last placements that are tried on nothing
    // else: their costs need not be known.
    float[] unknown = new float[model.towerSize()];
    List<TablePrediction> tables =
        TablePredictions.ofAllKinds(
            model, shapes -> Collections.nCopies(shapes.size(), unknown), problem.specs(), cluster);
    return LocalSearch.fits(new SearchProblem(tables, cluster, model, PlanShards.NONE))
        ? ". With %s of host memory a device, cached tables would fit"
            .formatted(ByteSizes.describe(perDevice))
        : "";
  }

  private Optional<String> constraints() {
    if (constrained.isEmpty() || !fitsWithout(constrained)) {
      return Optional.empty();
    }
    for (int t : constrained.subList(0, Math.min(MAX_TABLES, constrained.size()))) {
      if (fitsWith(t, TableConstraints.NONE)) {
        return Optional.of(ofTable(t));
      }
    }
    int count = 2;
    while (count < constrained.size() && !fitsWithout(constrained.subList(0, count))) {
      count *= 2;
    }
    List<Integer> dropped = constrained.subList(0, Math.min(count, constrained.size()));
    String names =
        dropped.stream()
            .limit(MAX_NAMED)
            .map(t -> table(t).name())
            .collect(Collectors.joining(", "));
    int others = dropped.size() - MAX_NAMED;
    return Optional.of(
        "without the constraints of tables %s%s"
            .formatted(names, others > 0 ? " and %s more".formatted(others) : ""));
  }

  /** Returns which one of a table's constraints is enough to drop, or all of them. */
  private String ofTable(int t) {
    TableConstraints constraints = table(t).constraints();
    String name = table(t).name();
    for (ShardKind kind : constraints.excludedKinds()) {
      Set<ShardKind> more = EnumSet.copyOf(constraints.kinds());
      more.add(kind);
      if (fitsWith(t, constraints.withKinds(more))) {
        return "with %s allowed for table %s".formatted(kind.label(), name);
      }
    }
    if (constraints.leastColumns() > 0 && fitsWith(t, constraints.withLeastColumns(0))) {
      return "with column parts of fewer than %s columns allowed for table %s"
          .formatted(constraints.leastColumns(), name);
    }
    if (!constraints.mayBeCached() && fitsWith(t, constraints.withMayBeCached(true))) {
      return "with a cache allowed for table " + name;
    }
    if (constraints.sameDevicesAs().isPresent() && fitsWith(t, constraints.onAnyDevices())) {
      return "with other devices for table %s than those of table %s"
          .formatted(name, constraints.sameDevicesAs().get());
    }
    return "without the constraints of table " + name;
  }

  private TableSpec table(int t) {
    return problem.tables().get(t).table();
  }

  private boolean fitsWith(int t, TableConstraints constraints) {
    return changes(t, constraints) && fits(i -> i == t, constraints);
  }

  /** Returns whether a table can have other constraints: a hashed one never allows copies. */
  private boolean changes(int t, TableConstraints constraints) {
    return !table(t).withConstraints(constraints).equals(table(t));
  }

  private boolean fitsWithout(List<Integer> tables) {
    Set<Integer> dropped = Set.copyOf(tables);
    return fits(dropped::contains, TableConstraints.NONE);
  }

  private boolean fits(Predicate<Integer> which, TableConstraints constraints) {
    List<TablePrediction> tables = new ArrayList<>();
    for (int t = 0; t < problem.tables().size(); t++) {
      TablePrediction table = problem.tables().get(t);
      tables.add(
          which.test(t)
              ? new TablePrediction(
                  table.table().withConstraints(constraints),
                  table.towers(),
                  table.derived(),
                  Map.of(),
                  table.outOfRange())
              : table);
    }
    return LocalSearch.fits(
        new SearchProblem(tables, problem.cluster(), problem.model(), PlanShards.NONE));
  }
}
