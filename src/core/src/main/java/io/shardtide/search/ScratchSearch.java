package io.shardtide.search;

import io.shardtide.plan.SearchSettings;
import io.shardtide.search.problem.Feasibility;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.function.BiConsumer;

/**
 * A search from scratch that can be continued: two searches with two seeds, on two threads where
 * there are two cores, of which the better plan counts. They share nothing, so that the result does
 * not depend on whether they run at the same time. Single-threaded for its callers.
 */
public final class ScratchSearch {
  private final SearchProblem problem;
  private final SearchSettings settings;
  private final Half first;
  private final Half second;

  /** One of the two searches. */
  private static final class Half {
    final LocalSearch search;
    Race race;
    Annealing best;
    boolean hasBegun;

    Half(LocalSearch search) {
      this.search = search;
    }

    /** Goes on until a budget is spent; without a plan if none is found. */
    void advance(long budget) {
      if (!hasBegun) {
        hasBegun = true;
        List<Annealing> starts = search.starts();
        if (starts.isEmpty()) {
          return;
        }
        best = starts.get(0);
        race = search.hasOnePlan() ? null : new Race(starts, search.work);
      }
      best = race == null ? best : race.run(budget);
    }

    double bestMs() {
      return best == null ? Double.POSITIVE_INFINITY : best.bestMs;
    }
  }

  /** Prepares a search of a problem that may fit; nothing is searched yet. */
  public ScratchSearch(SearchProblem problem, SearchSettings settings) {
    this(problem, settings, LocalSearch.NOTHING);
  }

  ScratchSearch(
      SearchProblem problem,
      SearchSettings settings,
      BiConsumer<LocalSearch, Objective> afterMove) {
    this.problem = problem;
    this.settings = settings;
    first = new Half(new LocalSearch(problem, settings, 1, afterMove));
    second = new Half(new LocalSearch(problem, settings, 2, afterMove));
  }

  /**
   * Goes on until a part of the settings' budget is spent, from the beginning.
   *
   * @param part the part, above 0 and at most 1
   */
  public void advance(double part) {
    long budget = (long) (part * settings.evaluationsFromScratch(first.search.tables.size()) / 2);
    boolean isOne = first.search.hasOnePlan();
    FutureTask<Void> other =
        new FutureTask<>(isOne ? () -> {} : () -> second.advance(budget), null);
    ForkJoinPool.commonPool().execute(other);
    try {
      first.advance(budget);
      // Runs in this thread if no other one has begun it, so that it never waits for the pool's
      // other tasks.
      other.run();
      other.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted while waiting for the second search");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    } finally {
      if (!other.isDone()) {
        second.search.work.stop(); // This thread was interrupted, or failed.
      }
    }
  }

  /** Returns how often a computation was predicted until now. */
  public long evaluations() {
    return first.search.evaluator.evaluations() + second.search.evaluator.evaluations();
  }

  /** Returns the best plan found, without an analysis, or why there is none. */
  public SearchResult result() {
    return result(LocalSearch::found);
  }

  /** Ends the search: returns the best plan found with its analysis, or why there is none. */
  public SearchResult explained() {
    return result(LocalSearch::explained);
  }

  /** How a search makes a result of its best plan. */
  private interface Summary {
    SearchResult of(LocalSearch search, State best, long evaluations);
  }

  private SearchResult result(Summary summary) {
    Half better = first.bestMs() <= second.bestMs() ? first : second;
    if (better.best != null) {
      return summary.of(better.search, better.best.best(), evaluations());
    }
    long unplaced = Math.min(first.search.unplacedBytes, second.search.unplacedBytes);
    return Relaxations.notFound(
        problem, Feasibility.notFound(problem.specs(), problem.cluster(), unplaced), evaluations());
  }
}
