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
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Trains the compute model: fits the coefficients of the terms, then trains the net that corrects
 * their sum.
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
   * The trained compute model.
   *
   * @param features normalization of the features
   * @param coefficients coefficients of the terms
   * @param weights weights of the net
   * @param samples number of samples in all three parts of the split
   * @param heldOutTables indices of the held-out tables
   */
  record TrainedCompute(
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
          "at least %d compute samples must have no shard of the %d held-out tables, got %d of %d"
              .formatted(
                  ModelTraining.MIN_SAMPLES,
                  heldOut.size(),
                  known.size(),
                  samples.compute().size()));
    }
    split = DataSplit.of(known, random);
    shards = new ShardTable(samples, split.train());
  }

  static TrainedCompute train(
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

  private TrainedCompute train(TrainingProgress progress, SortedMap<String, Double> errors) {
    try (ComputeNet net = ComputeNet.random(shards.normalized(), shards.baseline(), random)) {
      ComputeNet.ComputeBatch validation = batch(split.validation(), s -> true);
      EarlyStopping.EpochRunner<ComputeSample, ComputeNet.Weights> runner =
          new EarlyStopping.EpochRunner<>() {
            @Override
            public double train(List<ComputeSample> batch, double learningRate) {
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
      ComputeNet.Weights best =
          new EarlyStopping<ComputeSample, ComputeNet.Weights>(
                  "compute", settings.computeEpochs(), BATCH, settings, progress)
              .run(
                  () -> {
                    Collections.shuffle(split.train(), random);
                    return split.train();
                  },
                  runner);
      net.set(best);
      List<ComputeSample> unseen =
          samples.compute().stream()
              .filter(s -> s.shards().stream().allMatch(this::isHeldOut))
              .toList();
      measure(errors, net, "train", split.trainSubset());
      measure(errors, net, "validation", split.validation());
      measure(errors, net, "test", split.test());
      measure(errors, net, "unseen", unseen);
      return new TrainedCompute(
          shards.features,
          shards.coefficients,
          best,
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

  /**
   * Returns samples as a batch.
   *
   * @param knownReuse whether the net sees the reuse histograms of the sample at an index
   */
  private ComputeNet.ComputeBatch batch(List<ComputeSample> list, IntPredicate knownReuse) {
    int count = list.stream().mapToInt(s -> s.shards().size()).sum();
    ComputeNet.ComputeBatch batch = ComputeNet.ComputeBatch.of(list.size(), count);
    int at = 0;
    for (int s = 0; s < list.size(); s++) {
      for (SampledShard shard : list.get(s).shards()) {
        batch.rows()[at] = shards.row(shard, knownReuse.test(s));
        batch.devices()[at++] = s;
      }
      batch.labels()[s] = (float) list.get(s).computeMs();
    }
    return batch;
  }

  /** Features and baselines of all sampled shards, with and without their reuse histograms. */
  private static final class ShardTable {
    private final Map<SampledShard, Integer> positions = new LinkedHashMap<>();
    private final List<double[]> raw = new ArrayList<>();
    private final List<double[]> terms = new ArrayList<>();
    private final List<Feature> features;
    private final List<Double> coefficients;
    private final int known;

    /** Adds the shards of all samples; fits coefficients and normalization to training samples. */
    ShardTable(SampleSet samples, List<ComputeSample> train) {
      samples
          .compute()
          .forEach(
              s -> s.shards().forEach(shard -> positions.putIfAbsent(shard, positions.size())));
      known = positions.size();
      for (boolean withReuse : new boolean[] {true, false}) {
        for (SampledShard shard : positions.keySet()) {
          TableSpec table = samples.tables().get(shard.table());
          TableSpec visible = withReuse ? table : table.withReuse(ReuseHistogram.UNKNOWN);
          ShardShape shape = ShardShape.ofColumns(visible, shard.width(), samples.batchSize());
          raw.add(ShardFeatures.of(shape));
          terms.add(ComputeTerms.of(shape));
        }
      }
      Set<SampledShard> trainShards = new HashSet<>();
      train.forEach(s -> trainShards.addAll(s.shards()));
      features =
          Normalization.of(
              ShardFeatures.NAMES,
              positions.keySet().stream()
                  .filter(trainShards::contains)
                  .map(shard -> raw.get(row(shard, true)))
                  .toList());
      NonNegativeLeastSquares fit = new NonNegativeLeastSquares(ComputeTerms.NAMES.size());
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
        baseline[i] = (float) NonNegativeLeastSquares.weightedSum(coefficients, terms.get(i));
      }
      return baseline;
    }
  }
}
