package io.shardtide.bench.service;

import java.util.List;

/**
 * Measured latencies.
 *
 * @param millis all of them, so that quantiles are exact
 */
record LatencySample(List<Double> millis) {
  LatencySample {
    millis = millis.stream().sorted().toList();
  }

  int count() {
    return millis.size();
  }

  double mean() {
    return millis.stream().mapToDouble(ms -> ms).average().orElse(Double.NaN);
  }

  /**
   * Returns a quantile; NaN of nothing.
   *
   * @param share above 0 to 1; 0.5 for the median
   */
  double quantile(double share) {
    return millis.isEmpty() ? Double.NaN : millis.get((int) Math.ceil(share * count()) - 1);
  }
}
