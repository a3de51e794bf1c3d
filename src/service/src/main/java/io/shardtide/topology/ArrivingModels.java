package io.shardtide.topology;

import io.shardtide.workload.ClusterSpec;
import java.util.function.LongSupplier;

/**
 * Cost models as they arrive from the log. A record that names one which has not arrived waits,
 * with the later ones of its key; the thread goes on with the others.
 */
interface ArrivingModels {
  /** Returns how many times a model became current, the first of each hardware included. */
  long changes();

  /**
   * Returns whether a model was read, or the log does not have it. If neither is known, the log is
   * read, by another thread.
   */
  boolean isDecided(String modelId);

  /**
   * Returns whether a cluster's hardware has a model, or gets none. If neither is known, another
   * thread reads the log, and begins with the nearest model if hardware may.
   */
  boolean isDecided(ClusterSpec cluster);

  /** Models of which all that will ever be named are there. */
  static ArrivingModels allArrived(LongSupplier changes) {
    return new ArrivingModels() {
      @Override
      public long changes() {
        return changes.getAsLong();
      }

      @Override
      public boolean isDecided(String modelId) {
        return true;
      }

      @Override
      public boolean isDecided(ClusterSpec cluster) {
        return true;
      }
    };
  }
}
