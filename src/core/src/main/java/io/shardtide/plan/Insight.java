package io.shardtide.plan;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * A search's analysis of its plan.
 *
 * @param lowerBoundMs lower bound of the predicted cost of all plans of these tables on this
 *     cluster, with the plan's replica groups, in milliseconds; derived in the RATIONALE.md of
 *     {@code search.bound}
 * @param uncertaintyMs how much longer a step is if each cost is one standard deviation above its
 *     prediction, in milliseconds; 0 of a model that was not fine-tuned, which does not say
 * @param bottleneck the device that all others wait for
 * @param explanations why tables were cut, split by rows or copied, and parts moved, in {@link
 *     Explanation#ORDER}; the first {@value #MAX_EXPLANATIONS}
 * @param deduplications deduplicated tables, by name, and what that saves
 */
@RecordBuilder
public record Insight(
    double lowerBoundMs,
    double uncertaintyMs,
    Bottleneck bottleneck,
    List<Explanation> explanations,
    List<Deduplication> deduplications) {
  /** More than a person reads, few enough for a record. */
  public static final int MAX_EXPLANATIONS = 100;

  /** Copies what may change. */
  public Insight {
    explanations = List.copyOf(explanations);
    deduplications = List.copyOf(deduplications);
  }
}
