package io.shardtide.search.local;

/** Draws devices between which a search moves parts. */
final class RandomDevices {
  private final Assignment assignment;
  private final Objective objective;
  private final SeededRandom random;

  RandomDevices(Assignment assignment, Objective objective, SeededRandom random) {
    this.assignment = assignment;
    this.objective = objective;
    this.random = random;
  }

  /**
   * Returns a device to take load from: often the last one, or the later of two.
   *
   * @param isRepair whether the search begins at a running plan: the last one more often
   */
  int donor(boolean isRepair) {
    int which = random.below(isRepair ? 3 : 8);
    if (which == 0) {
      return objective.lastDevice();
    }
    if (which == 1) {
      return objective.largestSender();
    }
    int a = random.below(assignment.devices());
    if (which < 4) {
      return a;
    }
    int b = random.below(assignment.devices());
    return objective.startMs(a) >= objective.startMs(b) ? a : b;
  }

  /** Returns a device to give load to: the earlier of two. */
  int recipient(int not) {
    int a = random.below(assignment.devices());
    int b = random.below(assignment.devices());
    if (a == not) {
      return b;
    }
    return b == not || objective.startMs(a) <= objective.startMs(b) ? a : b;
  }
}
