package io.shardtide.bench.service;

/** Receives the progress of a benchmark. */
@FunctionalInterface
public interface StepReporter {
  /**
   * Called after each step.
   *
   * @param phase name of the current phase
   * @param done number of steps done in the phase
   * @param total total number of steps in the phase, or -1 if unknown
   */
  void at(String phase, long done, long total);
}
