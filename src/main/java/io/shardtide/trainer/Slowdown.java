package io.shardtide.trainer;

/**
 * What makes a machine slower than it was, by real extra work that changes no result: for
 * experiments with drift.
 *
 * @param wideColumns shards of at least so many columns are wide
 * @param wideFactor how many times the computation of wide shards is done, 1 to 100; 1 for as
 *     always
 * @param device number of a device that is slow
 * @param deviceFactor how many times its computation is done, 1 to 100
 * @param linkFactor how many times the exchanges' copies of that device are made, 1 to 100
 */
public record Slowdown(
    int wideColumns, int wideFactor, int device, int deviceFactor, int linkFactor) {
  private static final int MAX_FACTOR = 100;

  /** A machine as it is. */
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
          "A slowdown of %s by %d; legal are 1 to %d".formatted(what, factor, MAX_FACTOR));
    }
  }

  /** Returns a machine whose wide shards take longer. */
  public static Slowdown ofWide(int columns, int factor) {
    return new Slowdown(columns, factor, 0, 1, 1);
  }

  /** Returns a machine with one slow device. */
  public static Slowdown ofDevice(int device, int factor) {
    return new Slowdown(0, 1, device, factor, 1);
  }

  /** Returns a machine with one slow link. */
  public static Slowdown ofLink(int device, int factor) {
    return new Slowdown(0, 1, device, 1, factor);
  }

  /** Returns how often a shard's computation is done. */
  int computations(int onDevice, int columns) {
    return (columns >= wideColumns ? wideFactor : 1) * (onDevice == device ? deviceFactor : 1);
  }

  /** Returns how often a device's copies are made. */
  int copies(int onDevice) {
    return onDevice == device ? linkFactor : 1;
  }
}
