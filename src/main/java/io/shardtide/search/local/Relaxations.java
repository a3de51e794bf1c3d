package io.shardtide.search.local;

import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.Shortfall;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchProblem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Names constraints without which a workload that does not fit would fit: those of one table if
 * that is enough, otherwise of the largest tables together. Each one named was tried: its workload
 * has a placement. Tries are few, so that a plan without constraints may exist where none is named.
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
      if (!table(t).constraints().isEmpty()) {
        constrained.add(t);
      }
    }
    constrained.sort(Comparator.comparingLong((Integer t) -> -table(t).bytes()));
  }

  /** Returns a shortfall whose message names constraints that cause it, if there are any. */
  static Shortfall explain(SearchProblem problem, Shortfall shortfall) {
    return new Relaxations(problem)
        .describe()
        .map(
            relaxation ->
                new Shortfall(
                    shortfall.bytesShort(),
                    shortfall.proven(),
                    shortfall.tablesToBlame(),
                    "%s. %s short; %s it would fit"
                        .formatted(
                            shortfall.message(),
                            ByteSizes.describe(shortfall.bytesShort()),
                            relaxation)))
        .orElse(shortfall);
  }

  private Optional<String> describe() {
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
            .formatted(names, others > 0 ? " and %d more".formatted(others) : ""));
  }

  /** Returns which one of a table's constraints is enough to drop, or all of them. */
  private String ofTable(int t) {
    TableConstraints constraints = table(t).constraints();
    String name = table(t).name();
    for (ShardKind kind : ShardKind.values()) {
      if (!constraints.allows(kind)) {
        Set<ShardKind> more = EnumSet.copyOf(constraints.kinds());
        more.add(kind);
        if (fitsWith(t, constraints.withKinds(more))) {
          return "with %s allowed for table %s".formatted(kind.torchRecName(), name);
        }
      }
    }
    if (constraints.leastColumns() > 0 && fitsWith(t, constraints.withLeastColumns(0))) {
      return "with column parts of fewer than %d columns allowed for table %s"
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
    return fits(i -> i == t, constraints);
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
                  table.parts(),
                  table.byUse(),
                  List.of(),
                  table.outOfRange())
              : table);
    }
    return LocalSearch.fits(
        new SearchProblem(
            tables, problem.cluster(), problem.model(), problem.running(), problem.columnCuts()));
  }
}
