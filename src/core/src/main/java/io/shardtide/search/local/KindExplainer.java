package io.shardtide.search.local;

import io.shardtide.domain.Explanation;
import io.shardtide.domain.Explanation.Cause;
import io.shardtide.domain.Explanation.ExplainedAction;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Explains why the rows of a table are split or copied: takes the table out of the plan, places it
 * by columns instead, and predicts the step. A table that was split or copied and is now on single
 * devices goes back to where it was.
 */
final class KindExplainer {
  /** Tables that are explained; each takes about two evaluations of every device. */
  static final int MAX_TABLES = 32;

  private final Assignment assignment;
  private final Objective objective;
  private final CurrentPlan running;
  private final ShapeCosts costs;
  private final Places places;

  /**
   * A plan with the table sharded in another way.
   *
   * @param costMs its predicted step in milliseconds
   * @param computeMs the computation of its last device in milliseconds
   */
  private record Alternative(double costMs, double computeMs) {}

  /**
   * @param assignment the plan; every change to it is undone
   * @param objective its cost, without the price of moves
   * @param running what was running
   */
  KindExplainer(Assignment assignment, Objective objective, CurrentPlan running) {
    this.assignment = assignment;
    this.objective = objective;
    this.running = running;
    costs = assignment.costs();
    places = assignment.places();
  }

  private ShardScope scope(int table) {
    return places.scope(assignment.place(table, 0));
  }

  /**
   * Returns whether a table's rows are split or copied, or no longer are, other than in the part of
   * the running plan that can be kept.
   */
  private boolean isNew(int table) {
    if (!isKept(table)) {
      return scope(table) != ShardScope.DEVICE || lostRows(table);
    }
    return places.scope(running.parts(table).get(0).place()) != scope(table);
  }

  /**
   * Returns whether the search chooses a device or a node for each part of a table, as the running
   * plan's search did.
   *
   * @param before where the running plan has the rows of the table's parts
   */
  boolean isPlaced(int table, ShardScope before) {
    return before == scope(table)
        && (before == ShardScope.DEVICE || (before == ShardScope.NODE && isKept(table)));
  }

  /** Returns whether a table's parts can be kept; of one that is split over nodes, all of them. */
  private boolean isKept(int table) {
    List<CurrentPlan.RunningPart> parts = running.parts(table);
    return !parts.isEmpty()
        && (running.scope(table) == ShardScope.DEVICE
            || parts.size() == running.partsBefore(table));
  }

  /** Returns whether rows of a table, split before, were on a device that is gone. */
  private boolean lostRows(int table) {
    return running.ran(table)
        && running.scope(table) != ShardScope.DEVICE
        && running.shards(table).shards().stream()
            .anyMatch(shard -> shard.device() >= assignment.devices());
  }

  /** Returns explanations of those tables whose kind {@linkplain #isNew is new}, and was chosen. */
  List<Explanation> explain(List<TableGroup> tables) {
    IntPredicate wasChosen = t -> !tables.get(t).isAlwaysCopied() && isNew(t);
    return TableGroup.largest(tables, wasChosen, MAX_TABLES).stream()
        .map(t -> explain(t, tables.get(t)))
        .toList();
  }

  private Explanation explain(int table, TableGroup spec) {
    double costMs = objective.costMs();
    double computeMs = objective.computeMs(objective.lastDevice());
    boolean goesBack = scope(table) == ShardScope.DEVICE;
    if (goesBack && !isKept(table)) {
      return new Explanation(ExplainedAction.KIND, spec.name(), -1, -1, Cause.DEVICE_LOST, 0);
    }
    SearchMove removal = new SearchMove(costs);
    removal.begin();
    removal.removeAll(table, assignment);
    objective.apply(removal);
    Optional<Alternative> best = goesBack ? asBefore(table) : byColumns(table, spec);
    objective.apply(removal.reverse());
    if (best.isEmpty()) {
      return new Explanation(ExplainedAction.KIND, spec.name(), -1, -1, Cause.MEMORY, 0);
    }
    double gain = best.get().costMs() - costMs;
    Cause cause = Explainer.cause(best.get().computeMs() - computeMs, gain);
    return new Explanation(ExplainedAction.KIND, spec.name(), -1, -1, cause, gain);
  }

  /** Returns the best plan with the table's columns cut into equal parts, if one of them fits. */
  private Optional<Alternative> byColumns(int table, TableGroup spec) {
    int units = spec.columns() / TableSpec.COLUMN_UNIT;
    List<Integer> readyFirst =
        IntStream.range(0, assignment.devices())
            .boxed()
            .sorted(Comparator.comparingDouble(objective::startMs).thenComparingInt(d -> d))
            .toList();
    List<Alternative> found = new ArrayList<>();
    for (int count = 1; count <= Math.min(units, assignment.devices()); count++) {
      if (units % count == 0) {
        int shape = costs.shape(table, units / count * TableSpec.COLUMN_UNIT);
        List<Integer> devices =
            readyFirst.stream().filter(d -> assignment.hasRoom(d, shape)).limit(count).toList();
        if (devices.size() == count) {
          found.add(with(table, devices, shape));
        }
      }
    }
    return found.stream().min(Comparator.comparingDouble(Alternative::costMs));
  }

  /** Returns the plan with the table where it was, if there is room for it. */
  private Optional<Alternative> asBefore(int table) {
    List<CurrentPlan.RunningPart> parts = running.parts(table);
    int shape = costs.shape(table, parts.get(0).part(places));
    List<Integer> before = parts.stream().map(CurrentPlan.RunningPart::place).toList();
    return shape != ShapeCosts.NONE && before.stream().allMatch(p -> assignment.hasRoom(p, shape))
        ? Optional.of(with(table, before, shape))
        : Optional.empty();
  }

  /** Evaluates the plan with parts of a shape at places, and takes them away again. */
  private Alternative with(int table, List<Integer> atPlaces, int shape) {
    SearchMove addition = new SearchMove(costs);
    addition.begin();
    atPlaces.forEach(place -> addition.replace(table, place, ShapeCosts.NONE, shape));
    objective.apply(addition);
    Alternative alternative =
        new Alternative(objective.costMs(), objective.computeMs(objective.lastDevice()));
    objective.apply(addition.reverse());
    return alternative;
  }
}
