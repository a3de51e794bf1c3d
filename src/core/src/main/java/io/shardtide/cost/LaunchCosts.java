package io.shardtide.cost;

import java.util.List;

/**
 * What a launch group costs beside its shards, in milliseconds for one of each of {@link
 * LaunchGroups}' terms, at least 0.
 *
 * @param forwardMs in the forward pass: for a launch, for a launch of shards that are not copies,
 *     and for the square root of a million (2^20) lookups
 * @param backwardMs in the backward pass, likewise
 */
public record LaunchCosts(List<Double> forwardMs, List<Double> backwardMs) {
  /** The terms, with their units. */
  public static final List<String> TERMS = LaunchGroups.TERMS;

  /**
   * Copies what may change and checks the coefficients.
   *
   * @throws InvalidModelException if they are not one for each term, at least 0
   */
  public LaunchCosts {
    forwardMs = List.copyOf(forwardMs);
    backwardMs = List.copyOf(backwardMs);
    ModelChecks.nonNegative("forward launch", forwardMs, TERMS);
    ModelChecks.nonNegative("backward launch", backwardMs, TERMS);
  }
}
