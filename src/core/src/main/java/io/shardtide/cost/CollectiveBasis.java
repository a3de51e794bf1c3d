package io.shardtide.cost;

import java.util.Arrays;

/**
 * The functions of a collective that a {@link LogCorrection} of its duration is linear in: ramps
 * over the logarithm of its bytes and over the numbers of devices and nodes; of an all-to-all also
 * how evenly devices and nodes send.
 */
public final class CollectiveBasis {
  private static final Ramps BYTES = new Ramps(10, 2, 12);
  private static final Ramps NODES = new Ramps(0, 1, 5);
  private static final Ramps DEVICES = new Ramps(1, 1, 3);
  private static final int SHARES = 3;

  /** The number of functions. */
  public static final int SIZE = 1 + SHARES + BYTES.count() + NODES.count() + DEVICES.count();

  private CollectiveBasis() {}

  /**
   * Returns the functions. The first one is 1.
   *
   * @param features {@link CollectiveInputs#features} of the collective, not normalized
   * @param phase where the knots lie, as a share of their distance, 0 to below 1
   */
  public static double[] of(double[] features, double phase) {
    double[] basis = new double[SIZE];
    boolean isAllToAll = features.length == CollectiveInputs.ALL_TO_ALL_FEATURES.size();
    basis[0] = 1;
    if (isAllToAll) {
      basis[1] = features[2];
      basis[2] = features[3];
      basis[3] = features[4];
    }
    int sizes = isAllToAll ? 5 : 3;
    int at = BYTES.write(features[0], phase, basis, 1 + SHARES);
    at = NODES.write(features[sizes + 1], phase, basis, at);
    DEVICES.write(features[sizes], phase, basis, at);
    return basis;
  }

  /** Returns how likely each function is a reason, like {@link ShapeBasis#scales()}. */
  public static double[] scales() {
    double[] scales = new double[SIZE];
    Arrays.fill(scales, 0.3);
    scales[0] = 1;
    scales[1 + SHARES + BYTES.count()] = 1;
    return scales;
  }
}
