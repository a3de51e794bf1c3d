package io.shardtide.cost;

import java.util.List;

/**
 * A measured computation of a device.
 *
 * @param shards the device's shards, at least one
 * @param computeMs computation, forward and backward, in milliseconds; above 0
 */
public record ComputeSample(List<SampledShard> shards, double computeMs) {
  /** Copies what may change and checks the cost. */
  public ComputeSample {
    shards = List.copyOf(shards);
    if (shards.isEmpty()) {
      throw new IllegalArgumentException("a compute sample must have shards, got none");
    }
    if (!(computeMs > 0 && Double.isFinite(computeMs))) {
      throw new IllegalArgumentException(
          "cost of a compute sample must be above 0 ms, got " + computeMs + " ms");
    }
  }

  /**
   * A shard in a sample.
   *
   * @param table position of the table in {@link SampleSet#tables}
   * @param width columns of the shard
   */
  public record SampledShard(int table, int width) {}
}
