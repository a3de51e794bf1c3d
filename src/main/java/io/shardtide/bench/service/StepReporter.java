package io.shardtide.bench.service;

/** Hears how far a measurement is. */
@FunctionalInterface
public interface StepReporter {
  /**
   * Says how far it is.
   *
   * @param what what is being done, in a few words
   * @param done how much of it is done
   * @param of how much there is to do
   */
  void at(String what, long done, long of);
}
