package io.shardtide.growth;

import java.util.List;
import java.util.Optional;

/**
 * Which tables of a workload get other capacities, and whether memory will do.
 *
 * @param resizes in the order of the tables' names; none if all stay
 * @param memoryEnd when memory will not hold the tables; empty if it will for long enough
 */
public record CapacityDecision(List<Resize> resizes, Optional<MemoryEnd> memoryEnd) {
  /** Copies the list. */
  public CapacityDecision {
    resizes = List.copyOf(resizes);
  }
}
