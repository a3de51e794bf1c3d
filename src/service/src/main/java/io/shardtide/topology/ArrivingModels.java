package io.shardtide.topology;

import io.shardtide.workload.ClusterSpec;

/**
 * Cost models as they arrive from the log. A record that names one which has not arrived waits,
 * with the later ones of its key; the thread goes on with the others. Unless an implementation says
 * more, all that will ever be named are there.
 */
@FunctionalInterface
interface ArrivingModels {
  /** Returns how many times a model became current, the first of each hardware included. */
  long changes();

  /**
   * Returns whether a model was read, or the log does not have it. If neither is known, the log is
   * read, by another thread.
   */
  default boolean isDecided(String modelId) {
    return true;
  }

  /**
   * Returns whether a cluster's hardware has a model, or gets none. If neither is known, another
   * thread reads the log, and begins with the nearest model if hardware may.
   */
  default boolean isDecided(ClusterSpec cluster) {
    return true;
  }
}
