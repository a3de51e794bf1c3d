package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.Feature;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.IntStream;

/**
 * Trains the compute net: first the coefficients of the terms, then the net that corrects their
 * sum.
 */
final class ComputeTraining {
  private static final int BATCH = 256;

  private final SampleSet samples;
  private final TrainingSettings settings;
  private final Random random;
  private final Set<Integer> heldOut;
  private final DataSplit<ComputeSample> split;
  private final ShardTable shards;

  /**
   * What was learned.
   *
   * @param features how features are normalised
   * @param coefficients coefficients of the terms
   * @param weights layers of the net
   * @param samples samples in all three parts of the split
   * @param heldOutTables positions of the tables that were held out
   */
  record Trained(
      List<Feature> features,
      List<Double> coefficients,
      ComputeNet.Weights weights,
      int samples,
      Set<Integer> heldOutTables) {}

  private ComputeTraining(SampleSet samples, TrainingSettings settings) {
    this.samples = samples;
    this.settings = settings;
    random = new Random(settings.seed());
    heldOut = holdOut();
    List<ComputeSample> known =
        samples.compute().stream()
            .filter(s -> s.shards().stream().noneMatch(this::isHeldOut))
            .toList();
    if (known.size() < ModelTraining.MIN_SAMPLES) {
      throw new IllegalArgumentException(
          "Without the %d tables that are held out, %d of %d compute samples are left; legal are %d and more"
              .formatted(
                  heldOut.size(),
                  known.size(),
                  samples.compute().size(),
                  ModelTraining.MIN_SAMPLES));
    }
    split = DataSplit.of(known, random);
    shards = new ShardTable(samples, split.train());
  }

  static Trained train(
      SampleSet samples,
      TrainingSettings settings,
      TrainingProgress progress,
      SortedMap<String, Double> errors) {
    return new ComputeTraining(samples, settings).train(progress, errors);
  }

  private Set<Integer> holdOut() {
    List<Integer> tables =
        new ArrayList<>(IntStream.range(0, samples.tables().size()).boxed().toList());
    Collections.shuffle(tables, random);
    int count = (int) Math.round(settings.heldOutTables() * tables.size());
    return new HashSet<>(tables.subList(0, count));
  }

  private boolean isHeldOut(SampledShard shard) {
    return heldOut.contains(shard.table());
  }

  private Trained train(TrainingProgress progress, SortedMap<String, Double> errors) {
    try (ComputeNet net = ComputeNet.drawn(shards.normalized(), shards.baseline(), random)) {
      ComputeNet.ComputeBatch validation = batch(split.validation(), s -> true);
      EarlyStopping.EpochRunner<ComputeSample, ComputeNet.Weights> learner =
          new EarlyStopping.EpochRunner<>() {
            @Override
            public double learn(List<ComputeSample> batch, double learningRate) {
              boolean[] known = new boolean[batch.size()];
              for (int s = 0; s < known.length; s++) {
                known[s] = random.nextDouble() >= settings.unknownReuse();
              }
              return net.train(batch(batch, s -> known[s]), learningRate);
            }

            @Override
            public double validate() {
              return DataSplit.mape(net.predict(validation), validation.labels());
            }

            @Override
            public ComputeNet.Weights weights() {
              return net.weights();
            }
          };
      ComputeNet.Weights kept =
          new EarlyStopping<ComputeSample, ComputeNet.Weights>(
                  "compute", settings.computeEpochs(), BATCH, settings, progress)
              .run(
                  () -> {
                    Collections.shuffle(split.train(), random);
                    return split.train();
                  },
                  learner);
      net.set(kept);
      List<ComputeSample> unseen =
          samples.compute().stream()
              .filter(s -> s.shards().stream().allMatch(this::isHeldOut))
              .toList();
      measure(errors, net, "train", split.trainProbe());
      measure(errors, net, "validation", split.validation());
      measure(errors, net, "test", split.test());
      measure(errors, net, "unseen", unseen);
      return new Trained(
          shards.features,
          shards.coefficients,
          kept,
          split.train().size() + split.validation().size() + split.test().size(),
          heldOut);
    }
  }

  private void measure(
      SortedMap<String, Double> errors, ComputeNet net, String part, List<ComputeSample> list) {
    if (!list.isEmpty()) {
      ComputeNet.ComputeBatch known = batch(list, s -> true);
      ComputeNet.ComputeBatch unknown = batch(list, s -> false);
      errors.put(part + ".compute.mape", DataSplit.mape(net.predict(known), known.labels()));
      errors.put(
          part + ".compute_without_reuse.mape",
          DataSplit.mape(net.predict(unknown), unknown.labels()));
    }
  }

  /** Says whether a batch's sample {@code s} shows its tables' reuse. */
  private interface ReuseIsKnown {
    boolean in(int s);
  }

  private ComputeNet.ComputeBatch batch(List<ComputeSample> list, ReuseIsKnown known) {
    int count = list.stream().mapToInt(s -> s.shards().size()).sum();
    ComputeNet.ComputeBatch batch = ComputeNet.ComputeBatch.of(list.size(), count);
    int at = 0;
    for (int s = 0; s < list.size(); s++) {
      for (SampledShard shard : list.get(s).shards()) {
        batch.rows()[at] = shards.row(shard, known.in(s));
        batch.devices()[at++] = s;
      }
      batch.labels()[s] = (float) list.get(s).computeMs();
    }
    return batch;
  }

  /**
   * Features and baseline of every shard that samples point to, once with its reuse histogram and
   * once without.
   */
  private static final class ShardTable {
    private final Map<SampledShard, Integer> positions = new LinkedHashMap<>();
    private final List<double[]> raw = new ArrayList<>();
    private final List<double[]> terms = new ArrayList<>();
    private final List<Feature> features;
    private final List<Double> coefficients;
    private final int known;

    /** Takes all shards; what is fitted and normalised is fitted to those that are learned from. */
    ShardTable(SampleSet samples, List<ComputeSample> train) {
      samples
          .compute()
          .forEach(
              s -> s.shards().forEach(shard -> positions.putIfAbsent(shard, positions.size())));
      known = positions.size();
      for (boolean withReuse : new boolean[] {true, false}) {
        for (SampledShard shard : positions.keySet()) {
          TableSpec table = samples.tables().get(shard.table());
          TableSpec seen = withReuse ? table : table.withReuse(ReuseHistogram.UNKNOWN);
          ShardShape shape = ShardShape.ofColumns(seen, shard.width(), samples.batchSize());
          raw.add(ShardFeatures.of(shape));
          terms.add(ComputeTerms.of(shape));
        }
      }
      Set<SampledShard> learned = new HashSet<>();
      train.forEach(s -> learned.addAll(s.shards()));
      features =
          Normalization.of(
              ShardFeatures.NAMES,
              positions.keySet().stream()
                  .filter(learned::contains)
                  .map(shard -> raw.get(row(shard, true)))
                  .toList());
      Coefficients fit = new Coefficients(ComputeTerms.NAMES.size());
      for (ComputeSample sample : train) {
        double[] sum = new double[ComputeTerms.NAMES.size()];
        for (SampledShard shard : sample.shards()) {
          double[] values = terms.get(row(shard, true));
          for (int i = 0; i < sum.length; i++) {
            sum[i] += values[i];
          }
        }
        fit.add(sum, sample.computeMs(), sample.computeMs(), 1);
      }
      coefficients = fit.fit();
    }

    int row(SampledShard shard, boolean withReuse) {
      return positions.get(shard) + (withReuse ? 0 : known);
    }

    float[][] normalized() {
      return raw.stream()
          .map(values -> Normalization.apply(features, values))
          .toArray(float[][]::new);
    }

    float[] baseline() {
      float[] baseline = new float[terms.size()];
      for (int i = 0; i < baseline.length; i++) {
        baseline[i] = (float) Coefficients.sum(coefficients, terms.get(i));
      }
      return baseline;
    }
  }
}
