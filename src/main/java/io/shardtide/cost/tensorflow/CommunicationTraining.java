package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CommunicationFeatures;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.ExchangeNet;
import io.shardtide.cost.ExchangeTerms;
import io.shardtide.cost.Feature;
import io.shardtide.cost.SampleSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Trains the net of one direction: first the coefficients of the terms, then the net that corrects
 * their sum. Every number of devices counts as much as another, however many samples there are of
 * it.
 */
final class CommunicationTraining {
  private static final int BATCH = 1024;

  /**
   * Rows that make an epoch, at most: they are drawn, since a pass over all would be a pass over
   * the largest clusters.
   */
  private static final int ROWS_PER_EPOCH = 500 * BATCH;

  private final boolean forward;
  private final List<Feature> features;
  private final Random random;
  private final SortedMap<Integer, List<Row>> train = new TreeMap<>();
  private final SortedMap<Integer, List<Row>> validation = new TreeMap<>();
  private final SortedMap<Integer, List<Row>> test = new TreeMap<>();
  private final List<Double> coefficients;

  /** One device of a sample: what the net reads, the terms, how long it waits, what it took. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Row(float[] features, double[] terms, double waitMs, double costMs) {}

  private CommunicationTraining(
      SampleSet samples, List<Feature> features, boolean forward, long seed) {
    this.forward = forward;
    this.features = features;
    random = new Random(seed);
    samples
        .communication()
        .forEach(
            (devices, list) -> {
              Split<CommunicationSample> split = Split.of(list, random);
              train.put(devices, rows(split.train()));
              validation.put(devices, rows(split.validation()));
              test.put(devices, rows(split.test()));
            });
    coefficients = fit();
  }

  /** Returns how features are normalised: the same for both directions. */
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

  static ExchangeNet train(
      SampleSet samples,
      List<Feature> features,
      boolean forward,
      TrainingSettings settings,
      TrainingProgress progress,
      SortedMap<String, Double> errors) {
    return new CommunicationTraining(samples, features, forward, settings.seed())
        .train(settings, progress, errors);
  }

  private ExchangeNet train(
      TrainingSettings settings, TrainingProgress progress, SortedMap<String, Double> errors) {
    String name = forward ? "forward" : "backward";
    List<CommunicationNet.Batch> held =
        validation.values().stream().filter(rows -> !rows.isEmpty()).map(this::batch).toList();
    try (CommunicationNet net = CommunicationNet.drawn(features.size(), random)) {
      Fit.Learner<Row, List<DenseLayer>> learner =
          new Fit.Learner<>() {
            @Override
            public double learn(List<Row> rows, double learningRate) {
              return net.train(batch(rows), learningRate);
            }

            @Override
            public double validate() {
              return held.stream()
                  .mapToDouble(b -> Split.mape(net.predict(b), b.labels()))
                  .average()
                  .orElse(0);
            }

            @Override
            public List<DenseLayer> weights() {
              return net.layers();
            }
          };
      List<DenseLayer> kept =
          new Fit<Row, List<DenseLayer>>(
                  name, settings.communicationEpochs(), BATCH, settings, progress)
              .run(this::draw, learner);
      net.set(kept);
      measure(errors, net, "train", train, name);
      measure(errors, net, "validation", validation, name);
      measure(errors, net, "test", test, name);
      return new ExchangeNet(coefficients, kept);
    }
  }

  private void measure(
      SortedMap<String, Double> errors,
      CommunicationNet net,
      String part,
      SortedMap<Integer, List<Row>> parts,
      String name) {
    parts.forEach(
        (devices, rows) -> {
          if (!rows.isEmpty()) {
            CommunicationNet.Batch batch = batch(rows);
            errors.put(
                "%s.comm.%d.%s_mape".formatted(part, devices, name),
                Split.mape(net.predict(batch), batch.labels()));
          }
        });
  }

  private List<Row> draw() {
    List<List<Row>> byDevices = List.copyOf(train.values());
    int count = (int) Math.min(ROWS_PER_EPOCH, byDevices.stream().mapToLong(List::size).sum());
    List<Row> drawn = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      List<Row> rows = byDevices.get(random.nextInt(byDevices.size()));
      drawn.add(rows.get(random.nextInt(rows.size())));
    }
    return drawn;
  }

  private List<Double> fit() {
    Coefficients fit = new Coefficients(ExchangeTerms.NAMES.size());
    for (List<Row> rows : train.values()) {
      for (Row row : rows) {
        fit.add(row.terms(), row.costMs() - row.waitMs(), row.costMs(), 1.0 / rows.size());
      }
    }
    return fit.fit();
  }

  private List<Row> rows(List<CommunicationSample> samples) {
    List<Row> rows = new ArrayList<>();
    for (CommunicationSample sample : samples) {
      for (int d = 0; d < sample.devices(); d++) {
        rows.add(
            new Row(
                Normalization.apply(features, features(sample, d)),
                ExchangeTerms.of(
                    sample.columns()[d], mean(sample), Math.max(1, max(sample)), sample.devices()),
                forward ? sample.waitMs(d) : 0,
                forward ? sample.forwardMs()[d] : sample.backwardMs()[d]));
      }
    }
    return rows;
  }

  private CommunicationNet.Batch batch(List<Row> rows) {
    int width = features.size();
    CommunicationNet.Batch batch = CommunicationNet.Batch.of(rows.size(), width);
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      System.arraycopy(row.features(), 0, batch.features(), i * width, width);
      batch.baselines()[i] = (float) Coefficients.sum(coefficients, row.terms());
      batch.waits()[i] = (float) row.waitMs();
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
