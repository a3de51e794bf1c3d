package io.shardtide.cost;

/**
 * The model that another one began as: that of other hardware.
 *
 * @param hardware the other hardware
 * @param modelId its model
 */
public record ModelOrigin(String hardware, String modelId) {

  /**
   * Returns what is to be known of predictions of hardware that nobody has measured.
   *
   * @param proxyHardware the hardware whose costs the predictions are
   * @param hardware the hardware that is predicted
   */
  public static String describe(String proxyHardware, String hardware) {
    return "costs of " + proxyHardware + " until " + hardware + " is measured";
  }
}
