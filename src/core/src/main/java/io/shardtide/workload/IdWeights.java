package io.shardtide.workload;

/**
 * Where the weights of a table's ids come from, if they have some (FBGEMM's {@code
 * per_sample_weights}): a number in single precision for each lookup, by which its row is
 * multiplied.
 */
public enum IdWeights implements Named {
  /** A batch has them, as with TorchRec's {@code EmbeddingBagCollection(is_weighted=True)}. */
  GIVEN(4),
  /**
   * A feature processor computes them, as in TorchRec's {@code
   * FeatureProcessedEmbeddingBagCollection}: a backward pass computes a gradient for each.
   */
  LEARNED(8);

  private final int bytesPerLookup;

  IdWeights(int bytesPerLookup) {
    this.bytesPerLookup = bytesPerLookup;
  }

  /** Returns the bytes that the weight of a lookup, and its gradient if it has one, take. */
  public int bytesPerLookup() {
    return bytesPerLookup;
  }

  /**
   * Returns the constant with a label.
   *
   * @throws RejectedException if there is none
   */
  public static IdWeights of(String label) {
    return Named.parse(IdWeights.class, label, "weights of ids", RejectionReason.INVALID_FEATURES);
  }
}
