package io.shardtide.search;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Searches from many starts that share a budget: the cheaper the plan of one, the more it gets. The
 * share of the search with rank r, from 1, is proportional to {@code r^-1.5} at any time, so that a
 * larger budget continues where a smaller one stopped. Powers of 0.5, 1, 1.5 and 2 were tried.
 */
final class Race {
  /** Rounds that evaluate no move, because nothing can move, after which a race ends. */
  private static final int MAX_IDLE = 8;

  private final List<Entrant> entrants = new ArrayList<>();
  private final SearchWork work;

  /** Costs of all searches that have cooled once, and what they were before. */
  private double cooledMs;

  private double startMs;

  /** How many have cooled once, and what that has taken. */
  private int cooled;

  private long cooledEvaluations;

  /** A search, and what it has got. */
  private static final class Entrant {
    static final Comparator<Entrant> CHEAPEST_FIRST =
        Comparator.comparingDouble((Entrant e) -> e.expectedMs).thenComparingInt(e -> e.number);

    final Annealing search;
    final int number;
    boolean hasCooled;
    double expectedMs;
    double evaluations;

    Entrant(Annealing search, int number) {
      this.search = search;
      this.number = number;
    }
  }

  /**
   * @param searches at least one
   * @param work what they have spent together
   */
  Race(List<Annealing> searches, SearchWork work) {
    this.work = work;
    for (Annealing search : searches) {
      entrants.add(new Entrant(search, entrants.size()));
    }
  }

  /** Runs until a budget is spent, and returns the search with the cheapest plan. */
  Annealing run(long budget) {
    int idle = 0;
    while (!work.isSpent(budget) && idle < MAX_IDLE) {
      double gain = startMs > 0 ? cooledMs / startMs : 1;
      for (Entrant entrant : entrants) {
        entrant.expectedMs = entrant.search.bestMs * (entrant.hasCooled ? 1 : gain);
      }
      entrants.sort(Entrant.CHEAPEST_FIRST);
      // What the first cooling of a search takes: each has that in advance.
      double advance = cooled == 0 ? 0 : (double) cooledEvaluations / cooled;
      Entrant next = entrants.get(0);
      double least = Double.POSITIVE_INFINITY;
      for (int rank = 0; rank < entrants.size(); rank++) {
        double deserved =
            (entrants.get(rank).evaluations + advance) * (rank + 1) * Math.sqrt(rank + 1.0);
        if (deserved < least) {
          next = entrants.get(rank);
          least = deserved;
        }
      }
      long moves = work.moves;
      long before = work.evaluations();
      if (next.hasCooled) {
        next.search.cycle(budget);
      } else {
        startMs += next.search.bestMs;
        next.search.begin(budget);
        cooledMs += next.search.bestMs;
        next.hasCooled = true;
        cooled++;
        cooledEvaluations += work.evaluations() - before;
      }
      next.evaluations += 1 + work.evaluations() - before;
      idle = work.moves == moves ? idle + 1 : 0;
    }
    return entrants.stream()
        .map(entrant -> entrant.search)
        .min(Comparator.comparingDouble((Annealing search) -> search.bestMs))
        .orElseThrow();
  }
}
