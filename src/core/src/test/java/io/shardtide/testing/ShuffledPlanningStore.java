package io.shardtide.testing;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.planning.MemoryPlanningStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Gives tables back in an order of its own, which no plan may depend on. */
public final class ShuffledPlanningStore extends MemoryPlanningStore {
  private final Random order;

  /**
   * @param seed of the order
   */
  public ShuffledPlanningStore(long seed) {
    order = new Random(seed);
  }

  @Override
  public List<VersionedPrediction> tables(String workloadId) {
    List<VersionedPrediction> all = new ArrayList<>(super.tables(workloadId));
    Collections.shuffle(all, order);
    return all;
  }
}
