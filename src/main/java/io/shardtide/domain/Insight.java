package io.shardtide.domain;

import java.util.List;
import java.util.Objects;

/**
 * What a search knows of its plan.
 *
 * @param lowerBoundMs no plan of these tables on this cluster has a smaller predicted cost, in
 *     milliseconds; how it is derived is in the search's RATIONALE.md
 * @param bottleneck what a step waits for
 * @param explanations why tables were cut and columns moved, in {@link Explanation#ORDER}; the
 *     first {@value #MAX_EXPLANATIONS}
 */
public record Insight(double lowerBoundMs, Bottleneck bottleneck, List<Explanation> explanations) {
  /** More than a person reads, few enough for a record. */
  public static final int MAX_EXPLANATIONS = 100;

  /** Copies what may change. */
  public Insight {
    Objects.requireNonNull(bottleneck, "bottleneck");
    explanations = List.copyOf(explanations);
  }
}
