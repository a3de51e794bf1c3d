package io.shardtide.cost;

import java.util.List;
import java.util.OptionalDouble;

/**
 * A measured computation of a device.
 *
 * @param shards the device's shards, at least one
 * @param computeMs computation, forward and backward, in milliseconds; above 0
 * @param forwardMs the forward part in milliseconds, above 0 and below {@code computeMs}; empty if
 *     it was not measured apart
 */
public record ComputeSample(List<DeviceShard> shards, double computeMs, OptionalDouble forwardMs) {

  /** Copies what may change and checks the costs. */
  public ComputeSample {
    shards = List.copyOf(shards);
    if (shards.isEmpty()) {
      throw new IllegalArgumentException("a compute sample must have shards, got none");
    }
    shards.forEach(DeviceShard::check);
    if (!(computeMs > 0 && Double.isFinite(computeMs))) {
      throw new IllegalArgumentException(
          "cost of a compute sample must be above 0 ms, got " + computeMs + " ms");
    }
    if (forwardMs.isPresent()
        && !(forwardMs.getAsDouble() > 0 && forwardMs.getAsDouble() < computeMs)) {
      throw new IllegalArgumentException(
          "forward part of a compute sample must be above 0 and below its %s ms, got %s ms"
              .formatted(computeMs, forwardMs.getAsDouble()));
    }
  }

  /** A computation whose parts were not measured apart. */
  public ComputeSample(List<DeviceShard> shards, double computeMs) {
    this(shards, computeMs, OptionalDouble.empty());
  }

  /** Returns a computation with both parts. */
  public static ComputeSample of(List<DeviceShard> shards, double forwardMs, double backwardMs) {
    return new ComputeSample(shards, forwardMs + backwardMs, OptionalDouble.of(forwardMs));
  }

  /** Returns whether one of the shards has a cache. */
  public boolean hasCaches() {
    return shards.stream().anyMatch(shard -> shard.cacheShare().isPresent());
  }
}
