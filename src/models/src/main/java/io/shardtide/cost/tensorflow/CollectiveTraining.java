package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Trains the model of a collective: fits the coefficients of the terms, then trains the net that
 * corrects their sum. All numbers of devices have the same weight, however many samples each has.
 */
final class CollectiveTraining {
  private static final int BATCH = 512;

  /**
   * A twentieth of the samples of a collective is a hundred: their error varies by this much. With
   * 0, the all-gather of simulated nodes was off by 0.49% instead of 0.28%.
   */
  private static final double TOLERANCE = 0.05;

  /**
   * Rows of an epoch, drawn with equal probability of each number of devices; in a pass over all
   * rows, those of the largest clusters would dominate. At least so many, because a collective with
   * one buffer has one row for each sample; at most so many, because an all-to-all has one for each
   * device.
   */
  private static final int MIN_ROWS_PER_EPOCH = 60 * BATCH;

  private static final int MAX_ROWS_PER_EPOCH = 400 * BATCH;

  private final Collective collective;
  private final List<CollectiveSample> samples;
  private final Random random;
  private final List<CollectiveRow> train;
  private final List<CollectiveRow> validation;
  private final List<CollectiveRow> test;
  private final List<Feature> features;
  private final List<Double> coefficients;

  /**
   * @param samples samples of one collective and direction
   */
  CollectiveTraining(List<CollectiveSample> samples, long seed) {
    this.samples = samples;
    collective = samples.get(0).collective();
    random = new Random(seed);
    DataSplit<CollectiveSample> split = DataSplit.of(samples, random);
    train = rows(split.train());
    validation = rows(split.validation());
    test = rows(split.test());
    features =
        Normalization.of(
            CollectiveInputs.features(collective),
            () -> train.stream().map(CollectiveRow::features));
    coefficients = fit();
  }

  CollectiveNet train(
      TrainingSettings settings, TrainingProgress progress, SortedMap<String, Double> errors) {
    CollectiveSample first = samples.get(0);
    String name = first.shown();
    List<CorrectionNet.CorrectionBatch> held =
        byDevices(validation).values().stream().map(this::batch).toList();
    SortedMap<Integer, List<CollectiveRow>> drawnFrom = byDevices(train);
    try (CorrectionNet net = new CorrectionNet(features.size(), settings.width(), random)) {
      EarlyStopping.EpochRunner<CollectiveRow, List<DenseLayer>> runner =
          new EarlyStopping.EpochRunner<>() {
            @Override
            public double train(List<CollectiveRow> rows, double learningRate) {
              return net.train(batch(rows), learningRate);
            }

            @Override
            public double validate() {
              return held.stream()
                  .mapToDouble(b -> DataSplit.mape(net.predict(b), b.labels()))
                  .average()
                  .orElse(0);
            }

            @Override
            public List<DenseLayer> weights() {
              return net.layers();
            }
          };
      List<DenseLayer> best =
          new EarlyStopping<CollectiveRow, List<DenseLayer>>(
                  name, settings.collectiveEpochs(), BATCH, TOLERANCE, settings, progress)
              .run(() -> draw(List.copyOf(drawnFrom.values())), runner);
      net.set(best);
      measure(errors, net, "train." + name, train);
      measure(errors, net, "validation." + name, validation);
      measure(errors, net, "test." + name, test);
      return new CollectiveNet(collective, first.direction(), features, coefficients, best);
    }
  }

  private void measure(
      SortedMap<String, Double> errors, CorrectionNet net, String name, List<CollectiveRow> rows) {
    byDevices(rows)
        .forEach(
            (devices, some) -> {
              CorrectionNet.CorrectionBatch batch = batch(some);
              errors.put(
                  "%s.%s.mape".formatted(name, devices),
                  DataSplit.mape(net.predict(batch), batch.labels()));
            });
  }

  private List<CollectiveRow> draw(List<List<CollectiveRow>> byDevices) {
    int count = Math.max(MIN_ROWS_PER_EPOCH, Math.min(MAX_ROWS_PER_EPOCH, train.size()));
    List<CollectiveRow> drawn = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      List<CollectiveRow> rows = byDevices.get(random.nextInt(byDevices.size()));
      drawn.add(rows.get(random.nextInt(rows.size())));
    }
    return drawn;
  }

  private List<Double> fit() {
    NonNegativeLeastSquares fit =
        new NonNegativeLeastSquares(CollectiveInputs.terms(collective).size());
    for (List<CollectiveRow> rows : byDevices(train).values()) {
      for (CollectiveRow row : rows) {
        fit.add(row.terms(), row.ms(), row.ms(), 1.0 / rows.size());
      }
    }
    return fit.fit();
  }

  private static SortedMap<Integer, List<CollectiveRow>> byDevices(List<CollectiveRow> rows) {
    return rows.stream()
        .collect(Collectors.groupingBy(CollectiveRow::devices, TreeMap::new, Collectors.toList()));
  }

  private static List<CollectiveRow> rows(List<CollectiveSample> samples) {
    return samples.stream().flatMap(sample -> CollectiveRow.of(sample).stream()).toList();
  }

  private CorrectionNet.CorrectionBatch batch(List<CollectiveRow> rows) {
    return CollectiveRow.batch(rows, features, coefficients);
  }
}
