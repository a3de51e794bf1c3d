package io.shardtide.cost.tensorflow;

import io.shardtide.cost.Feature;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Normalization of features by mean and standard deviation. */
final class Normalization {
  private Normalization() {}

  /** Returns the statistics of each feature in the rows; missing values (NaN) are ignored. */
  static List<Feature> of(List<String> names, List<double[]> rows) {
    return IntStream.range(0, names.size())
        .mapToObj(
            f -> {
              double[] values =
                  rows.stream().mapToDouble(r -> r[f]).filter(v -> !Double.isNaN(v)).toArray();
              double mean = Arrays.stream(values).average().orElse(0);
              double variance =
                  Arrays.stream(values).map(v -> (v - mean) * (v - mean)).average().orElse(0);
              // With a scale of 1, a constant feature is normalized to 0.
              double scale = variance > 1e-12 ? Math.sqrt(variance) : 1;
              return new Feature(
                  names.get(f),
                  mean,
                  scale,
                  Arrays.stream(values).min().orElse(0),
                  Arrays.stream(values).max().orElse(0));
            })
        .toList();
  }

  static float[] apply(List<Feature> features, double[] raw) {
    float[] normalized = new float[raw.length];
    for (int f = 0; f < raw.length; f++) {
      normalized[f] = features.get(f).normalize(raw[f]);
    }
    return normalized;
  }
}
