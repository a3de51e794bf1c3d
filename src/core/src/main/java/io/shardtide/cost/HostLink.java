package io.shardtide.cost;

import io.shardtide.workload.TableKernel;

/**
 * What rows in host memory add to the computation of a device, which reads and writes them over its
 * link to the host while it computes.
 *
 * <p>Without a cache (FBGEMM's {@code fused_uvm}), each lookup of the forward pass reads its row,
 * however often it was read before. The backward pass sums the gradients of a row first (FBGEMM
 * sorts them), then reads and writes each distinct row and its optimizer state once:
 *
 * <pre>
 *   forward  = lookups x bytes of a row / link
 *   backward = 1.5 x distinct rows x (bytes of a row + bytes of its state in host memory) / link
 * </pre>
 *
 * <p>A link reads and writes at the same time, in part: the table below took 1.6 times one way, and
 * ten tables of 128 columns on an H100 (models/samples/h100-published) 1.4 times with SGD as with
 * Adam.
 *
 * <p>A cache has a least size: the distinct rows that it must hold at once ({@link
 * io.shardtide.workload.ClusterSpec#cachedBatches}). In a smaller one, rows are evicted before they
 * are used and read again over the link, so that it costs this, too, beside its misses.
 *
 * <p>Published (pytorch/torchrec issues 3946, 3899 and 4099): 100.7 GB of looked-up rows a device
 * took 1,803 ms longer forward than in device memory; a row-wise table of 10 million rows of 512
 * columns on two devices, 30 lookups a sample, 32,768 samples a device, a step of 374.4 ms instead
 * of 285.5, with a cache of 0.4 of the rows 312.2, and of 0.2, which holds 1.1 batches where rows
 * are prefetched, 467.3.
 */
final class HostLink {
  /** What the published runs had of a device's link, in 10^9 bytes a second. */
  static final double PUBLISHED_GBS = 56;

  /** How long reading and writing takes, over one of them. */
  private static final double READ_AND_WRITE = 1.5;

  /** Bytes that a device moves in a millisecond at 1 GB/s. */
  private static final double BYTES_PER_MS = 1e6;

  private HostLink() {}

  /**
   * Returns what a shard adds.
   *
   * @param leastCacheShare share of its rows that a cache must hold
   * @param gigabytesPerSecond bandwidth of the device's link, in 10^9 bytes a second
   */
  static AddedMs ms(ShardShape shape, double leastCacheShare, double gigabytesPerSecond) {
    double share = shape.cacheShare().orElse(1);
    if (share != TableKernel.NO_CACHE && share >= leastCacheShare) {
      return AddedMs.NONE;
    }
    double bytesPerMs = gigabytesPerSecond * BYTES_PER_MS;
    double ofState = shape.isStateInHostMemory() ? shape.stateBytes() : 0;
    return new AddedMs(
        shape.lookups() * shape.rowBytes() / bytesPerMs,
        READ_AND_WRITE * (shape.distinctRows() * shape.rowBytes() + ofState) / bytesPerMs);
  }
}
