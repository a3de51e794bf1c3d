package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CommunicationFeatures;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Trains a bundle from labelled samples. The same samples, settings and CPU give the same bits.
 *
 * <p>Of the samples, 90% are learned from, 5% choose the epoch whose weights are kept, and 5% give
 * the errors on the model's card.
 */
public final class ModelTrainer {
  private static final int COMPUTE_BATCH = 512;
  private static final int COMMUNICATION_BATCH = 1024;
  private static final double TRAIN_SHARE = 0.9;
  private static final double VALIDATION_SHARE = 0.05;

  private final SampleSet samples;
  private final TrainingSettings settings;
  private final TrainingProgress progress;
  private final SortedMap<String, Double> errors = new TreeMap<>();

  private ModelTrainer(SampleSet samples, TrainingSettings settings, TrainingProgress progress) {
    this.samples = samples;
    this.settings = settings;
    this.progress = progress;
  }

  /**
   * Trains a bundle.
   *
   * @param samples samples with at least 100 computations, and exchanges of at least one number of
   *     devices
   * @param hardware name of the hardware that was measured
   * @param description what was measured and on what
   * @param simulated whether the costs come from a simulator
   * @param settings how long and how fast
   * @param progress hears of each epoch
   * @throws IllegalArgumentException if there are too few samples
   */
  public static ModelBundle train(
      SampleSet samples,
      String hardware,
      String description,
      boolean simulated,
      TrainingSettings settings,
      TrainingProgress progress) {
    int exchanges = samples.communication().values().stream().mapToInt(List::size).sum();
    if (samples.compute().size() < 100 || exchanges < 100) {
      throw new IllegalArgumentException(
          "There are %d compute and %d communication samples; legal are 100 and more of each"
              .formatted(samples.compute().size(), exchanges));
    }
    ModelTrainer trainer = new ModelTrainer(samples, settings, progress);
    return trainer.train(hardware, description, simulated);
  }

  private ModelBundle train(String hardware, String description, boolean simulated) {
    ShardTable shards = new ShardTable(samples);
    ComputeNet.Weights compute = trainCompute(shards);
    List<CommunicationSample> exchanges =
        samples.communication().values().stream().flatMap(List::stream).toList();
    double[][] raw =
        exchanges.stream().flatMap(e -> Arrays.stream(features(e))).toArray(double[][]::new);
    List<Feature> features = ranges(CommunicationFeatures.NAMES, raw);
    List<DenseLayer> forward = trainCommunication("forward", features, true);
    List<DenseLayer> backward = trainCommunication("backward", features, false);
    SortedMap<Integer, Integer> communicationSamples = new TreeMap<>();
    samples
        .communication()
        .forEach((devices, list) -> communicationSamples.put(devices, list.size()));
    ModelCard card =
        new ModelCard(
            description,
            simulated,
            settings.seed(),
            samples.compute().size(),
            communicationSamples,
            errors);
    return new ModelBundle(
            "",
            hardware,
            card,
            samples.batchSize(),
            shards.features,
            compute.tower(),
            compute.head(),
            features,
            forward,
            backward)
        .identified();
  }

  private ComputeNet.Weights trainCompute(ShardTable shards) {
    Random random = new Random(settings.seed());
    List<ComputeSample> all = new ArrayList<>(samples.compute());
    Collections.shuffle(all, random);
    int trainEnd = (int) (all.size() * TRAIN_SHARE);
    int validationEnd = (int) (all.size() * (TRAIN_SHARE + VALIDATION_SHARE));
    List<ComputeSample> train = all.subList(0, trainEnd);
    List<ComputeSample> validation = all.subList(trainEnd, validationEnd);
    List<ComputeSample> test = all.subList(validationEnd, all.size());

    try (ComputeNet net = new ComputeNet(shards.normalized(), random)) {
      ComputeNet.Batch known =
          ComputeNet.Batch.of(validation, (s, shard) -> shards.row(shard, true));
      ComputeNet.Batch knownTest = ComputeNet.Batch.of(test, (s, shard) -> shards.row(shard, true));
      ComputeNet.Batch unknownTest =
          ComputeNet.Batch.of(test, (s, shard) -> shards.row(shard, false));
      long steps = (long) settings.computeEpochs() * ceilDiv(train.size(), COMPUTE_BATCH);
      long step = 0;
      double best = Double.POSITIVE_INFINITY;
      ComputeNet.Weights kept = net.weights();
      for (int epoch = 1; epoch <= settings.computeEpochs(); epoch++) {
        Collections.shuffle(train, random);
        double sum = 0;
        for (int from = 0; from < train.size(); from += COMPUTE_BATCH) {
          List<ComputeSample> batch =
              train.subList(from, Math.min(from + COMPUTE_BATCH, train.size()));
          boolean[] hidden = new boolean[batch.size()];
          for (int s = 0; s < hidden.length; s++) {
            hidden[s] = random.nextDouble() < settings.unknownReuse();
          }
          sum +=
              batch.size()
                  * net.train(
                      ComputeNet.Batch.of(batch, (s, shard) -> shards.row(shard, !hidden[s])),
                      settings.rate(step++, steps));
        }
        double mape = mape(net.predict(known), known.labels());
        progress.epoch("compute", epoch, settings.computeEpochs(), sum / train.size(), mape);
        if (mape < best) {
          best = mape;
          kept = net.weights();
          errors.put("compute.mape", mape(net.predict(knownTest), knownTest.labels()));
          errors.put(
              "compute.unknown_reuse.mape", mape(net.predict(unknownTest), unknownTest.labels()));
        }
      }
      return kept;
    }
  }

  private List<DenseLayer> trainCommunication(
      String name, List<Feature> features, boolean isForward) {
    Random random = new Random(settings.seed());
    List<DeviceRow> train = new ArrayList<>();
    List<DeviceRow> validation = new ArrayList<>();
    SortedMap<Integer, List<DeviceRow>> test = new TreeMap<>();
    samples
        .communication()
        .forEach(
            (devices, list) -> {
              List<CommunicationSample> shuffled = new ArrayList<>(list);
              Collections.shuffle(shuffled, random);
              for (int i = 0; i < shuffled.size(); i++) {
                double share = (double) i / shuffled.size();
                List<DeviceRow> rows =
                    share < TRAIN_SHARE
                        ? train
                        : share < TRAIN_SHARE + VALIDATION_SHARE
                            ? validation
                            : test.computeIfAbsent(devices, d -> new ArrayList<>());
                addRows(rows, shuffled.get(i), features, isForward);
              }
            });

    try (CommunicationNet net = new CommunicationNet(features.size(), random)) {
      CommunicationNet.Batch held = batch(validation);
      long steps =
          (long) settings.communicationEpochs() * ceilDiv(train.size(), COMMUNICATION_BATCH);
      long step = 0;
      double best = Double.POSITIVE_INFINITY;
      List<DenseLayer> kept = net.weights();
      for (int epoch = 1; epoch <= settings.communicationEpochs(); epoch++) {
        Collections.shuffle(train, random);
        double sum = 0;
        for (int from = 0; from < train.size(); from += COMMUNICATION_BATCH) {
          List<DeviceRow> rows =
              train.subList(from, Math.min(from + COMMUNICATION_BATCH, train.size()));
          sum += rows.size() * net.train(batch(rows), settings.rate(step++, steps));
        }
        double mape = mape(net.predict(held), held.labels());
        progress.epoch(name, epoch, settings.communicationEpochs(), sum / train.size(), mape);
        if (mape < best) {
          best = mape;
          kept = net.weights();
          test.forEach(
              (devices, rows) -> {
                CommunicationNet.Batch tested = batch(rows);
                errors.put(
                    "comm.%d.%s_mape".formatted(devices, name),
                    mape(net.predict(tested), tested.labels()));
              });
        }
      }
      return kept;
    }
  }

  /** One device of a sample: what the net reads, how long it waits, what it took. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record DeviceRow(float[] features, float waitMs, float costMs) {}

  private static void addRows(
      List<DeviceRow> rows, CommunicationSample sample, List<Feature> features, boolean isForward) {
    double[][] raw = features(sample);
    for (int d = 0; d < sample.devices(); d++) {
      float[] normalized = new float[features.size()];
      for (int f = 0; f < normalized.length; f++) {
        normalized[f] = features.get(f).normalize(raw[d][f]);
      }
      rows.add(
          new DeviceRow(
              normalized,
              isForward ? (float) sample.waitMs(d) : 0f,
              (float) (isForward ? sample.forwardMs()[d] : sample.backwardMs()[d])));
    }
  }

  private static CommunicationNet.Batch batch(List<DeviceRow> rows) {
    int width = rows.get(0).features().length;
    CommunicationNet.Batch batch =
        new CommunicationNet.Batch(
            new float[rows.size() * width], new float[rows.size()], new float[rows.size()]);
    for (int i = 0; i < rows.size(); i++) {
      System.arraycopy(rows.get(i).features(), 0, batch.features(), i * width, width);
      batch.waits()[i] = rows.get(i).waitMs();
      batch.labels()[i] = rows.get(i).costMs();
    }
    return batch;
  }

  private static double[][] features(CommunicationSample sample) {
    int max = Arrays.stream(sample.columns()).max().orElse(0);
    double mean = Arrays.stream(sample.columns()).average().orElse(0);
    return Arrays.stream(sample.columns())
        .mapToObj(columns -> CommunicationFeatures.of(columns, mean, max, sample.devices()))
        .toArray(double[][]::new);
  }

  /**
   * The features of every shard that samples point to, once with its reuse histogram and once
   * without.
   */
  private static final class ShardTable {
    private final Map<ComputeSample.SampledShard, Integer> positions = new LinkedHashMap<>();
    private final List<double[]> raw = new ArrayList<>();
    private final List<Feature> features;
    private final int known;

    ShardTable(SampleSet samples) {
      samples
          .compute()
          .forEach(
              s -> s.shards().forEach(shard -> positions.putIfAbsent(shard, positions.size())));
      known = positions.size();
      positions
          .keySet()
          .forEach(
              shard ->
                  raw.add(
                      ShardFeatures.of(
                          samples.tables().get(shard.table()),
                          shard.width(),
                          samples.batchSize())));
      features = ranges(ShardFeatures.NAMES, raw.toArray(double[][]::new));
      positions
          .keySet()
          .forEach(
              shard ->
                  raw.add(
                      ShardFeatures.of(
                          withoutReuse(samples.tables().get(shard.table())),
                          shard.width(),
                          samples.batchSize())));
    }

    int row(ComputeSample.SampledShard shard, boolean withReuse) {
      return positions.get(shard) + (withReuse ? 0 : known);
    }

    float[][] normalized() {
      return raw.stream()
          .map(
              values -> {
                float[] row = new float[values.length];
                for (int f = 0; f < row.length; f++) {
                  row[f] = features.get(f).normalize(values[f]);
                }
                return row;
              })
          .toArray(float[][]::new);
    }

    private static TableSpec withoutReuse(TableSpec table) {
      return new TableSpec(
          table.name(),
          table.rows(),
          table.columns(),
          table.poolingFactor(),
          ReuseHistogram.UNKNOWN,
          table.bytesPerElement());
    }
  }

  /** Returns mean, deviation and range of each feature. */
  private static List<Feature> ranges(List<String> names, double[][] rows) {
    return IntStream.range(0, names.size())
        .mapToObj(
            f -> {
              double[] values =
                  Arrays.stream(rows)
                      .mapToDouble(r -> r[f])
                      .filter(v -> !Double.isNaN(v))
                      .toArray();
              double mean = Arrays.stream(values).average().orElse(0);
              double variance =
                  Arrays.stream(values).map(v -> (v - mean) * (v - mean)).average().orElse(0);
              // A feature that never varies says nothing: its scale of 1 leaves it at 0.
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

  private static double mape(float[] predicted, float[] labels) {
    double sum = 0;
    for (int i = 0; i < labels.length; i++) {
      sum += Math.abs(predicted[i] - labels[i]) / labels[i];
    }
    return sum / labels.length;
  }

  private static long ceilDiv(int a, int b) {
    return ((long) a + b - 1) / b;
  }
}
