package io.shardtide.cost;

import io.shardtide.workload.Limits;

/**
 * Milliseconds that a shard adds to the computation of its device beside what the nets predict: no
 * net reads or corrects them. They follow the tower's output in a device's sum of towers.
 *
 * @param forward of the forward pass, at least 0
 * @param backward of the backward pass, at least 0
 */
public record AddedMs(double forward, double backward) {
  /** Nothing beside what the nets predict. */
  public static final AddedMs NONE = new AddedMs(0, 0);

  /** Numbers that a sum of towers has of it in each launch group. */
  static final int NUMBERS = 2;

  /** Checks the ranges. */
  public AddedMs {
    Limits.of(IllegalArgumentException::new, "added milliseconds")
        .check(forward >= 0, "forward", "at least 0", forward)
        .check(backward >= 0, "backward", "at least 0", backward);
  }

  /** Writes them where sums of them are exact. */
  void write(double[] sum, int at) {
    sum[at] = TowerSums.exact(forward);
    sum[at + 1] = TowerSums.exact(backward);
  }

  /** Returns the milliseconds of both passes. */
  public static double ms(double[] sum, int at) {
    return sum[at] + sum[at + 1];
  }
}
