package io.shardtide.cost;

import java.util.List;

/** A {@link CollectiveNet}, ready to run. Not thread-safe. */
final class CollectiveCost {
  private final double[] coefficients;
  private final List<Feature> features;
  private final Mlp correction;
  private final float[] input;

  CollectiveCost(CollectiveNet net) {
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
    return base * StrictMath.exp(correction.apply(input)[0]);
  }
}
