package io.shardtide.cost;

import java.util.List;

/**
 * A measured computation: shards that shared a device, and what a step took.
 *
 * @param shards the shards, at least one
 * @param computeMs computation, forward and backward, in milliseconds; above 0
 */
public record ComputeSample(List<SampledShard> shards, double computeMs) {
  /** Copies what may change and checks the cost. */
  public ComputeSample {
    shards = List.copyOf(shards);
    if (shards.isEmpty()) {
      throw new IllegalArgumentException("A compute sample without tables");
    }
    if (!(computeMs > 0 && Double.isFinite(computeMs))) {
      throw new IllegalArgumentException(
          "A compute sample of " + computeMs + " ms; legal are numbers above 0");
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
