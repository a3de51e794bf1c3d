package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Where the weights of a table's ids come from, if they have some (FBGEMM's {@code
 * per_sample_weights}): a number in single precision for each lookup, by which its row is
 * multiplied.
 */
public enum IdWeights {
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

  /**
   * Returns the weights with a name.
   *
   * @throws RejectedException if there are none
   */
  public static IdWeights of(String name) {
    return Arrays.stream(values())
        .filter(weights -> weights.fileName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_FEATURES,
                    "weights of ids must be one of %s, got %s"
                        .formatted(String.join(", ", names()), Names.quote(name))));
  }

  private static List<String> names() {
    return Arrays.stream(values()).map(IdWeights::fileName).toList();
  }

  /** Returns the name in files and events: {@code given}, say. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the bytes that the weight of a lookup, and its gradient if it has one, take. */
  public int bytesPerLookup() {
    return bytesPerLookup;
  }
}
