package io.shardtide.replay;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How recomputed records compare with the recorded ones: allocations of pools, or forecasts.
 *
 * @param equal number of records that are equal
 * @param different number of records that differ
 * @param notReproduced number of records that miss an input
 * @param first the first one that is not equal, in the order of the log, of the owner (pool or
 *     workload) whose id comes first
 * @param notes what else a person should know
 */
public record Recomputed(
    int equal, int different, int notReproduced, Optional<Difference> first, List<String> notes) {
  /** Copies the list. */
  public Recomputed {
    notes = List.copyOf(notes);
  }

  /** Returns the number of recorded records. */
  public int size() {
    return equal + different + notReproduced;
  }

  /** Returns whether every record was reproduced. */
  public boolean isEqual() {
    return different == 0 && notReproduced == 0;
  }

  /** Counts records as they are compared. */
  static final class Tally {
    private final Map<String, Difference> firsts = new TreeMap<>();
    private final List<String> notes = new ArrayList<>();
    private int equal;
    private int different;
    private int notReproduced;

    void equal() {
      equal++;
    }

    void different(Difference difference) {
      different++;
      firsts.putIfAbsent(difference.owner(), difference);
    }

    /** Counts a record that misses an input. */
    void notReproduced(Difference difference) {
      notReproduced++;
      firsts.putIfAbsent(difference.owner(), difference);
    }

    void note(String note) {
      notes.add(note);
    }

    Recomputed result() {
      return new Recomputed(
          equal, different, notReproduced, firsts.values().stream().findFirst(), notes);
    }
  }
}
