package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What updates the weights of a table, and the state that it keeps for them, in single precision:
 * FBGEMM's {@code EmbOptimType}.
 */
public enum Optimizer {
  /** Stochastic gradient descent, without state. */
  SGD(0, 0),
  /** Adagrad with one sum for each row. */
  ROWWISE_ADAGRAD(0, 4),
  /** Adagrad with a sum for each element. */
  ADAGRAD(4, 0),
  /** Adam: two moments for each element. */
  ADAM(8, 0),
  /** Adam whose second moment is one for each row. */
  PARTIAL_ROWWISE_ADAM(4, 4),
  /** LAMB: Adam's moments, and norms of each row. */
  LAMB(8, 0);

  /** Tables are taken to have it if neither they nor their cluster name one, as in TorchRec. */
  public static final Optimizer DEFAULT = ROWWISE_ADAGRAD;

  /** Bytes of a number of the state. */
  static final int NUMBER_BYTES = 4;

  private final int bytesPerElement;
  private final int bytesPerRow;

  Optimizer(int bytesPerElement, int bytesPerRow) {
    this.bytesPerElement = bytesPerElement;
    this.bytesPerRow = bytesPerRow;
  }

  /**
   * Returns the optimizer with a name.
   *
   * @throws RejectedException if there is none
   */
  public static Optimizer of(String name) {
    return Arrays.stream(values())
        .filter(optimizer -> optimizer.fileName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new RejectedException(
                    RejectionReason.INVALID_OPTIMIZER,
                    "optimizer must be one of %s, got %s"
                        .formatted(String.join(", ", names()), Names.quote(name))));
  }

  /** Returns the names of all optimizers. */
  public static List<String> names() {
    return Arrays.stream(values()).map(Optimizer::fileName).toList();
  }

  /** Returns the names of optimizers for people, joined by commas. */
  public static String describe(List<Optimizer> optimizers) {
    return optimizers.stream().map(Optimizer::fileName).collect(Collectors.joining(", "));
  }

  /** Returns an optimizer's name for people, {@code (none named)} without one. */
  public static String describe(Optional<Optimizer> optimizer) {
    return optimizer.map(Optimizer::fileName).orElse("(none named)");
  }

  /** Returns the name in files and events: {@code rowwise_adagrad}, say. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the bytes of state of each element. */
  public int bytesPerElement() {
    return bytesPerElement;
  }

  /** Returns the bytes of state of each row of each shard. */
  public int bytesPerRow() {
    return bytesPerRow;
  }
}
