package io.shardtide.workload;

/**
 * How a training program overlaps batches, which says how many of them are in device memory at
 * once: TorchRec's {@code PipelineType}. Numbers of batches are those of its classes in release
 * 1.6.1; of {@link #NONE} and {@link #SPARSE_DIST} they were measured (docs/MODELS.md).
 */
public enum TrainingPipeline implements Named {
  /** One batch after another: a loop in the program, or {@code TrainPipelineBase} on a CPU. */
  NONE(1, 1, 1),
  /**
   * {@code TrainPipelineSparseDist}: while a batch trains, the ids of the next one are at their
   * shards already, and a third one has been copied to the device.
   */
  SPARSE_DIST(3, 2, 2),
  /**
   * {@code PrefetchTrainPipelineSparseDist}: also fetches the next batch's rows into caches.
   * TorchRec's estimator counts the ids at shards three times.
   */
  PREFETCH(3, 2, 3);

  private final int batches;
  private final int sentBatches;
  private final int distributedBatches;

  TrainingPipeline(int batches, int sentBatches, int distributedBatches) {
    this.batches = batches;
    this.sentBatches = sentBatches;
    this.distributedBatches = distributedBatches;
  }

  /**
   * Returns how many batches of a device's own samples its memory holds, as the program has them.
   */
  public int batches() {
    return batches;
  }

  /**
   * Returns of how many batches of its own samples a device also holds the ids as it sends them, at
   * most: until the forward pass has taken those of its batch. In the backward pass it is one.
   */
  public int sentBatches() {
    return sentBatches;
  }

  /**
   * Returns the rows of how many batches a cache holds at once: prefetching fetches the next
   * batch's before those of the current one are no longer used.
   */
  public int cachedBatches() {
    return this == PREFETCH ? 2 : 1;
  }

  /** Returns of how many batches a device holds the ids that its shards look up. */
  public int distributedBatches() {
    return distributedBatches;
  }

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static TrainingPipeline of(String label) {
    return Named.parse(
        TrainingPipeline.class, label, "pipeline of a cluster", RejectionReason.INVALID_CLUSTER);
  }
}
