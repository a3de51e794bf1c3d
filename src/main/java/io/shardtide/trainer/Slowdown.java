package io.shardtide.trainer;

/**
 * An injected slowdown of the machine, for drift experiments. Work is repeated, so that costs
 * really increase; results do not change.
 *
 * @param wideColumns minimum columns of a wide shard
 * @param wideFactor repetitions of the computation of wide shards, 1 to 100; 1 for no slowdown
 * @param device the slow device
 * @param deviceFactor repetitions of that device's computation, 1 to 100
 * @param linkFactor repetitions of that device's all-to-all copies, 1 to 100
 */
public record Slowdown(
    int wideColumns, int wideFactor, int device, int deviceFactor, int linkFactor) {
  private static final int MAX_FACTOR = 100;

  /** No slowdown. */
  public static final Slowdown NONE = new Slowdown(0, 1, 0, 1, 1);

  /** Checks the ranges. */
  public Slowdown {
    check("wide shards", wideFactor);
    check("a device", deviceFactor);
    check("a link", linkFactor);
  }

  private static void check(String what, int factor) {
    if (factor < 1 || factor > MAX_FACTOR) {
      throw new IllegalArgumentException(
          "slowdown factor of %s must be between 1 and %d, got %d"
              .formatted(what, MAX_FACTOR, factor));
    }
  }

  /** Returns a slowdown of wide shards. */
  public static Slowdown ofWide(int columns, int factor) {
    return new Slowdown(columns, factor, 0, 1, 1);
  }

  /** Returns a slowdown of one device's computation. */
  public static Slowdown ofDevice(int device, int factor) {
    return new Slowdown(0, 1, device, factor, 1);
  }

  /** Returns a slowdown of one device's link. */
  public static Slowdown ofLink(int device, int factor) {
    return new Slowdown(0, 1, device, 1, factor);
  }

  /** Returns the repetitions of a shard's computation. */
  int computeRepeats(int onDevice, int columns) {
    return (columns >= wideColumns ? wideFactor : 1) * (onDevice == device ? deviceFactor : 1);
  }

  /** Returns the repetitions of a device's all-to-all copies. */
  int copyRepeats(int onDevice) {
    return onDevice == device ? linkFactor : 1;
  }
}
