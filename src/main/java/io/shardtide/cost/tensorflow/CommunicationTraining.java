package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllNet;
import io.shardtide.cost.AllToAllTerms;
import io.shardtide.cost.CommunicationFeatures;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.SampleSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Trains the model of one direction of the all-to-all: fits the coefficients of the terms, then
 * trains the net that corrects their sum. All numbers of devices have the same weight, however many
 * samples each has.
 */
final class CommunicationTraining {
  private static final int BATCH = 1024;

  /**
   * Maximum rows of an epoch. They are drawn with equal probability of each number of devices; in a
   * pass over all rows, those of the largest clusters would dominate.
   */
  private static final int ROWS_PER_EPOCH = 500 * BATCH;

  private final boolean forward;
  private final List<Feature> features;
  private final Random random;
  private final SortedMap<Integer, List<TrainingRow>> train = new TreeMap<>();
  private final SortedMap<Integer, List<TrainingRow>> validation = new TreeMap<>();
  private final SortedMap<Integer, List<TrainingRow>> test = new TreeMap<>();
  private final List<Double> coefficients;

  /** One device of a sample: features, terms, idle time, cost. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record TrainingRow(float[] features, double[] terms, double idleMs, double costMs) {}

  private CommunicationTraining(
      SampleSet samples, List<Feature> features, boolean forward, long seed) {
    this.forward = forward;
    this.features = features;
    random = new Random(seed);
    samples
        .communication()
        .forEach(
            (devices, list) -> {
              DataSplit<CommunicationSample> split = DataSplit.of(list, random);
              train.put(devices, rows(split.train()));
              validation.put(devices, rows(split.validation()));
              test.put(devices, rows(split.test()));
            });
    coefficients = fit();
  }

  /** Returns the normalization of the features, the same for both directions. */
  static List<Feature> features(SampleSet samples) {
    List<double[]> raw = new ArrayList<>();
    samples
        .communication()
        .values()
        .forEach(
            list ->
                list.forEach(
                    sample -> {
                      for (int d = 0; d < sample.devices(); d++) {
                        raw.add(features(sample, d));
                      }
                    }));
    return Normalization.of(CommunicationFeatures.NAMES, raw);
  }

  static AllToAllNet train(
      SampleSet samples,
      List<Feature> features,
      boolean forward,
      TrainingSettings settings,
      TrainingProgress progress,
      SortedMap<String, Double> errors) {
    return new CommunicationTraining(samples, features, forward, settings.seed())
        .train(settings, progress, errors);
  }

  private AllToAllNet train(
      TrainingSettings settings, TrainingProgress progress, SortedMap<String, Double> errors) {
    String name = forward ? "forward" : "backward";
    List<CommunicationNet.CommunicationBatch> held =
        validation.values().stream().filter(rows -> !rows.isEmpty()).map(this::batch).toList();
    try (CommunicationNet net = CommunicationNet.random(features.size(), random)) {
      EarlyStopping.EpochRunner<TrainingRow, List<DenseLayer>> runner =
          new EarlyStopping.EpochRunner<>() {
            @Override
            public double train(List<TrainingRow> rows, double learningRate) {
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
          new EarlyStopping<TrainingRow, List<DenseLayer>>(
                  name, settings.communicationEpochs(), BATCH, settings, progress)
              .run(this::draw, runner);
      net.set(best);
      measure(errors, net, "train", train, name);
      measure(errors, net, "validation", validation, name);
      measure(errors, net, "test", test, name);
      return new AllToAllNet(coefficients, best);
    }
  }

  private void measure(
      SortedMap<String, Double> errors,
      CommunicationNet net,
      String part,
      SortedMap<Integer, List<TrainingRow>> parts,
      String name) {
    parts.forEach(
        (devices, rows) -> {
          if (!rows.isEmpty()) {
            CommunicationNet.CommunicationBatch batch = batch(rows);
            errors.put(
                "%s.comm.%d.%s_mape".formatted(part, devices, name),
                DataSplit.mape(net.predict(batch), batch.labels()));
          }
        });
  }

  private List<TrainingRow> draw() {
    List<List<TrainingRow>> byDevices = List.copyOf(train.values());
    int count = (int) Math.min(ROWS_PER_EPOCH, byDevices.stream().mapToLong(List::size).sum());
    List<TrainingRow> drawn = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      List<TrainingRow> rows = byDevices.get(random.nextInt(byDevices.size()));
      drawn.add(rows.get(random.nextInt(rows.size())));
    }
    return drawn;
  }

  private List<Double> fit() {
    NonNegativeLeastSquares fit = new NonNegativeLeastSquares(AllToAllTerms.NAMES.size());
    for (List<TrainingRow> rows : train.values()) {
      for (TrainingRow row : rows) {
        fit.add(row.terms(), row.costMs() - row.idleMs(), row.costMs(), 1.0 / rows.size());
      }
    }
    return fit.fit();
  }

  private List<TrainingRow> rows(List<CommunicationSample> samples) {
    List<TrainingRow> rows = new ArrayList<>();
    for (CommunicationSample sample : samples) {
      for (int d = 0; d < sample.devices(); d++) {
        rows.add(
            new TrainingRow(
                Normalization.apply(features, features(sample, d)),
                AllToAllTerms.of(
                    sample.columns()[d], mean(sample), Math.max(1, max(sample)), sample.devices()),
                forward ? sample.waitMs(d) : 0,
                forward ? sample.forwardMs()[d] : sample.backwardMs()[d]));
      }
    }
    return rows;
  }

  private CommunicationNet.CommunicationBatch batch(List<TrainingRow> rows) {
    int width = features.size();
    CommunicationNet.CommunicationBatch batch =
        CommunicationNet.CommunicationBatch.of(rows.size(), width);
    for (int i = 0; i < rows.size(); i++) {
      TrainingRow row = rows.get(i);
      System.arraycopy(row.features(), 0, batch.features(), i * width, width);
      batch.baselines()[i] = (float) NonNegativeLeastSquares.weightedSum(coefficients, row.terms());
      batch.idleTimes()[i] = (float) row.idleMs();
      batch.labels()[i] = (float) row.costMs();
    }
    return batch;
  }

  private static double[] features(CommunicationSample sample, int device) {
    return CommunicationFeatures.of(
        sample.columns()[device], mean(sample), Math.max(1, max(sample)), sample.devices());
  }

  private static double mean(CommunicationSample sample) {
    return Arrays.stream(sample.columns()).average().orElse(0);
  }

  private static int max(CommunicationSample sample) {
    return Arrays.stream(sample.columns()).max().orElse(0);
  }
}
