package io.shardtide.cost.tensorflow;

import io.shardtide.cost.Feature;
import java.util.Arrays;
import java.util.List;
import java.util.function.ObjDoubleConsumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Normalization of features by mean and standard deviation. */
final class Normalization {
  private final double[] least;
  private final double[] greatest;
  private final double[] mean;
  private final double[] scale;

  /** Normalizes as {@link Feature#normalize} does. */
  Normalization(List<Feature> features) {
    least = array(features, Feature::least);
    greatest = array(features, Feature::greatest);
    mean = array(features, Feature::mean);
    scale = array(features, Feature::scale);
  }

  private static double[] array(List<Feature> features, ToDoubleFunction<Feature> value) {
    return features.stream().mapToDouble(value).toArray();
  }

  /**
   * Returns the statistics of each feature; missing values (NaN) are ignored.
   *
   * @param rows streams the rows, the same ones each time: they are read twice
   */
  static List<Feature> of(List<String> names, Supplier<Stream<double[]>> rows) {
    FeatureStatistics[] statistics = new FeatureStatistics[names.size()];
    Arrays.setAll(statistics, f -> new FeatureStatistics());
    addAll(rows.get(), (f, value) -> statistics[f].addToMean(value));
    addAll(rows.get(), (f, value) -> statistics[f].addToVariance(value));
    return IntStream.range(0, names.size())
        .mapToObj(f -> statistics[f].feature(names.get(f)))
        .toList();
  }

  private static void addAll(Stream<double[]> rows, ObjDoubleConsumer<Integer> add) {
    rows.forEach(
        row ->
            IntStream.range(0, row.length)
                .filter(f -> !Double.isNaN(row[f]))
                .forEach(f -> add.accept(f, row[f])));
  }

  /** Mean, variance and range of a feature. */
  private static final class FeatureStatistics {
    private long count;
    private double sum;
    private double squares;
    private double min = Double.POSITIVE_INFINITY;
    private double max = Double.NEGATIVE_INFINITY;

    void addToMean(double value) {
      count++;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }

    void addToVariance(double value) {
      squares += (value - sum / count) * (value - sum / count);
    }

    Feature feature(String name) {
      if (count == 0) {
        return new Feature(name, 0, 1, 0, 0);
      }
      double variance = squares / count;
      // With a scale of 1, a constant feature is normalized to 0.
      return new Feature(name, sum / count, variance > 1e-12 ? Math.sqrt(variance) : 1, min, max);
    }
  }

  /** Writes normalized values from a position on. */
  void apply(double[] raw, float[] normalized, int at) {
    for (int f = 0; f < least.length; f++) {
      double bounded = Math.max(least[f], Math.min(greatest[f], raw[f]));
      normalized[at + f] = Double.isNaN(bounded) ? 0f : (float) ((bounded - mean[f]) / scale[f]);
    }
  }
}
