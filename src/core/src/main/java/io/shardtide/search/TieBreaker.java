package io.shardtide.search;

/**
 * What a search follows where the largest cost stays as it is: the root mean square of the devices'
 * costs, and of their all-to-all loads in milliseconds.
 *
 * @param devices number of devices
 * @param msPerUnit milliseconds of both all-to-alls for each unit of load
 */
record TieBreaker(int devices, double msPerUnit) {
  /**
   * Weight of the root mean square of costs, for each device: with one for all, 128 devices drift
   * apart and tables end up in thousands of shards.
   */
  private static final double COST_WEIGHT = 1.0 / 16;

  /** Weight of the root mean square of all-to-all loads in milliseconds, for each device. */
  private static final double ALL_TO_ALL_WEIGHT = 1.0 / 32;

  /** Returns the part of the slope that a sum of the devices' squared costs makes. */
  double ofCosts(double squaredMs) {
    return devices * COST_WEIGHT * Math.sqrt(squaredMs / devices);
  }

  /** Returns the part of the slope that a sum of the devices' squared loads makes. */
  double ofUnits(double squaredUnits) {
    return devices * ALL_TO_ALL_WEIGHT * msPerUnit * Math.sqrt(squaredUnits / devices);
  }

  static double square(double x) {
    return x * x;
  }
}
