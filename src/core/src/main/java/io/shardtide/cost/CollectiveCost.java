package io.shardtide.cost;

import java.util.List;
import java.util.Optional;

/** A {@link CollectiveNet}, ready to run. Not thread-safe. */
final class CollectiveCost {
  /** A search that subtracts what is not known leaves this share of a cost. */
  private static final double LEAST_SHARE = 0.1;

  private final double[] coefficients;
  private final List<Feature> features;
  private final Mlp correction;
  private final float[] input;
  private final Optional<LogCorrection> measured;
  private final double risk;

  /**
   * @param net the net
   * @param risk standard deviations that are added to a prediction
   */
  CollectiveCost(CollectiveNet net, double risk) {
    this.risk = risk;
    measured = net.correction();
    coefficients = net.coefficients().stream().mapToDouble(Double::doubleValue).toArray();
    features = net.features();
    correction = new Mlp(net.layers());
    input = new float[features.size()];
  }

  double allToAllMs(double bytes, AllToAllLoad load) {
    return ms(
        CollectiveInputs.allToAllTerms(bytes, load),
        CollectiveInputs.allToAllFeatures(bytes, load));
  }

  double bufferMs(double bytes, DeviceGroup group) {
    return ms(
        CollectiveInputs.bufferTerms(bytes, group), CollectiveInputs.bufferFeatures(bytes, group));
  }

  private double ms(double[] terms, double[] raw) {
    double base = 0;
    for (int i = 0; i < coefficients.length; i++) {
      base += coefficients[i] * terms[i];
    }
    for (int f = 0; f < raw.length; f++) {
      input[f] = features.get(f).normalize(raw[f]);
    }
    double log = correction.apply(input)[0];
    if (measured.isEmpty()) {
      return base * StrictMath.exp(log);
    }
    LogCorrection.Estimate estimate = measured.get().of(phase -> CollectiveBasis.of(raw, phase));
    return base
        * StrictMath.exp(log + estimate.mean())
        * Math.max(LEAST_SHARE, 1 + risk * estimate.deviation());
  }
}
