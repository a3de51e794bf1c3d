package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.Feature;
import io.shardtide.cost.LaunchCosts;
import io.shardtide.cost.LaunchGroups;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampleShapes;
import io.shardtide.cost.SampledShard;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import io.shardtide.domain.Optimizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Trains the compute model: fits the coefficients of the terms, then trains the net that corrects
 * their sum.
 */
final class ComputeTraining {
  /** Validation errors of equally good weights differ by so much; see {@link EarlyStopping}. */
  private static final double NOISE = 0.002;

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
   * @param forwardCoefficients coefficients of the terms, forward
   * @param backwardCoefficients coefficients of the terms, backward
   * @param launches what launch groups cost beside their shards
   * @param measuresDirections whether samples tell forward and backward apart
   * @param weights weights of the net
   * @param optimizers those of the samples
   * @param samples number of samples in all three parts of the split
   * @param heldOutTables indices of the held-out tables
   */
  record TrainedCompute(
      List<Feature> features,
      List<Double> forwardCoefficients,
      List<Double> backwardCoefficients,
      LaunchCosts launches,
      boolean measuresDirections,
      ComputeNet.Weights weights,
      List<Optimizer> optimizers,
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
    try (ComputeNet net = ComputeNet.random(shards.inputs(), random)) {
      ComputeNet.ComputeBatch validation = batch(split.validation(), s -> UseMask.ALL);
      EarlyStopping.EpochRunner<ComputeSample, ComputeNet.Weights> runner =
          new EarlyStopping.EpochRunner<>() {
            @Override
            public double train(List<ComputeSample> batch, double learningRate) {
              UseMask[] known = new UseMask[batch.size()];
              Arrays.setAll(known, s -> draw());
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
                  "compute", settings.computeEpochs(), BATCH, NOISE, settings, progress)
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
          shards.forward,
          shards.backward,
          shards.launches,
          shards.measuresDirections,
          best,
          shards.state.optimizers(),
          split.train().size() + split.validation().size() + split.test().size(),
          heldOut);
    }
  }

  private void measure(
      SortedMap<String, Double> errors, ComputeNet net, String part, List<ComputeSample> list) {
    if (!list.isEmpty()) {
      for (UseMask mask : UseMask.values()) {
        ComputeNet.ComputeBatch batch = batch(list, s -> mask);
        errors.put(
            part + ".compute" + mask.suffix + ".mape",
            DataSplit.mape(net.predict(batch), batch.labels()));
      }
    }
  }

  /** What the net sees of the use of rows. */
  private enum UseMask {
    /** Everything in the samples. */
    ALL(""),
    /** No access CDF. */
    REUSE("_with_reuse_only"),
    /** Nothing. */
    NONE("_without_reuse");

    private final String suffix;

    UseMask(String suffix) {
      this.suffix = suffix;
    }
  }

  private UseMask draw() {
    double drawn = random.nextDouble();
    if (drawn < settings.unknownReuse() / 2) {
      return UseMask.NONE;
    }
    return drawn < settings.unknownReuse() ? UseMask.REUSE : UseMask.ALL;
  }

  /**
   * Returns samples as a batch.
   *
   * @param masks what the net sees of the sample at an index
   */
  private ComputeNet.ComputeBatch batch(List<ComputeSample> list, IntFunction<UseMask> masks) {
    int count = list.stream().mapToInt(s -> s.shards().size()).sum();
    ComputeNet.ComputeBatch batch = ComputeNet.ComputeBatch.of(list.size(), count);
    int at = 0;
    for (int s = 0; s < list.size(); s++) {
      UseMask known = masks.apply(s);
      for (SampledShard shard : list.get(s).shards()) {
        batch.rows()[at] = shards.row(shard, known);
        batch.groups()[at++] = s * LaunchGroups.COUNT + group(shard);
      }
      shards.launch(s, list.get(s), batch);
      batch.label(s, list.get(s));
    }
    return batch;
  }

  private static int group(SampledShard shard) {
    return LaunchGroups.of(shard.replicated(), shard.bytesPerElement());
  }

  /** Inputs of all sampled shards, for each {@link UseMask}, and of their launch groups. */
  private static final class ShardTable {
    /** TorchRec's planner takes backward computation to be twice the forward one. */
    private static final double ASSUMED_FORWARD = 1.0 / 3;

    /** The order of {@link #shapes}. */
    private static final List<UseMask> MASKS = List.of(UseMask.values());

    /** With fewer numbers of columns in the samples, only their logarithm is read. */
    private static final int MIN_WIDTHS = 12;

    private final Map<SampledShard, Integer> positions = new LinkedHashMap<>();
    private final List<SampleShapes> shapes;

    /** Numbers of a launch group that each shard adds to. */
    private final List<float[]> numbers = new ArrayList<>();

    private final List<Feature> features;
    private final List<Double> forward;
    private final List<Double> backward;
    private final LaunchCosts launches;
    private final double[] forwardLaunchMs;
    private final double[] backwardLaunchMs;
    private final boolean measuresDirections;
    private final StateTerms state;

    /** Adds the shards of all samples; fits coefficients and normalization to training samples. */
    ShardTable(SampleSet samples, List<ComputeSample> train) {
      shapes =
          List.of(
              new SampleShapes(samples),
              SampleShapes.withoutCdf(samples),
              SampleShapes.withoutUse(samples));
      samples
          .compute()
          .forEach(
              s -> s.shards().forEach(shard -> positions.putIfAbsent(shard, positions.size())));
      for (SampledShard shard : positions.keySet()) {
        float[] ofShard = new float[LaunchGroups.NUMBERS];
        LaunchGroups.write(shapes.get(0).of(shard), ofShard, 0);
        numbers.add(ofShard);
      }
      Set<SampledShard> trainShards = new LinkedHashSet<>();
      train.forEach(s -> trainShards.addAll(s.shards()));
      state = new StateTerms(trainShards);
      measuresDirections = train.stream().anyMatch(s -> s.forwardMs().isPresent());
      boolean manyWidths =
          trainShards.stream().mapToInt(SampledShard::columns).distinct().count() >= MIN_WIDTHS;
      List<Double> forwardFit =
          fit(
              train,
              manyWidths,
              StateTerms::remove,
              s -> s.forwardMs().orElse(ASSUMED_FORWARD * s.computeMs()));
      List<Double> backwardFit =
          fit(
              train,
              manyWidths,
              state::prepare,
              s -> s.computeMs() - s.forwardMs().orElse(ASSUMED_FORWARD * s.computeMs()));
      int terms = ComputeTerms.NAMES.size();
      forward = forwardFit.subList(0, terms);
      backward = state.complete(backwardFit.subList(0, terms));
      launches =
          new LaunchCosts(
              forwardFit.subList(terms, forwardFit.size()),
              backwardFit.subList(terms, backwardFit.size()));
      forwardLaunchMs = launches.forwardMs().stream().mapToDouble(c -> c).toArray();
      backwardLaunchMs = launches.backwardMs().stream().mapToDouble(c -> c).toArray();
      features =
          Normalization.of(
                  ShardFeatures.NAMES,
                  () ->
                      shapes.stream()
                          .flatMap(of -> trainShards.stream().map(of::of))
                          .map(ShardFeatures::of))
              .stream()
              .map(f -> manyWidths || !ShardFeatures.OF_WIDTHS.contains(f.name()) ? f : constant(f))
              .toList();
    }

    /** Returns a feature that is read as its mean whatever its value. */
    private static Feature constant(Feature feature) {
      return new Feature(feature.name(), feature.mean(), 1, feature.mean(), feature.mean());
    }

    private List<Double> fit(
        List<ComputeSample> train,
        boolean manyWidths,
        Consumer<double[]> prepare,
        ToDoubleFunction<ComputeSample> cost) {
      int terms = ComputeTerms.NAMES.size();
      NonNegativeLeastSquares fit = new NonNegativeLeastSquares(terms + LaunchGroups.TERMS.size());
      for (ComputeSample sample : train) {
        double[] sum = new double[terms + LaunchGroups.TERMS.size()];
        for (SampledShard shard : sample.shards()) {
          double[] values = ComputeTerms.of(shapes.get(0).of(shard));
          prepare.accept(values);
          for (int i = 0; i < terms; i++) {
            if (manyWidths || !ComputeTerms.OF_WIDTHS.contains(ComputeTerms.NAMES.get(i))) {
              sum[i] += values[i];
            }
          }
        }
        double[] sums = groupSums(sample);
        for (int group = 0; group < LaunchGroups.COUNT; group++) {
          int at = group * LaunchGroups.NUMBERS;
          if (LaunchGroups.isLaunched(sums, at)) {
            double[] values = LaunchGroups.terms(group, sums, at);
            for (int i = 0; i < values.length; i++) {
              sum[terms + i] += values[i];
            }
          }
        }
        double ms = cost.applyAsDouble(sample);
        fit.add(sum, ms, ms, 1);
      }
      return fit.fit();
    }

    /** Returns the numbers of each launch group of a sample, one after another. */
    private double[] groupSums(ComputeSample sample) {
      double[] sums = new double[LaunchGroups.COUNT * LaunchGroups.NUMBERS];
      for (SampledShard shard : sample.shards()) {
        float[] ofShard = numbers.get(positions.get(shard));
        for (int i = 0; i < ofShard.length; i++) {
          sums[group(shard) * LaunchGroups.NUMBERS + i] += ofShard[i];
        }
      }
      return sums;
    }

    /** Writes what the launch groups of a sample add. */
    void launch(int position, ComputeSample sample, ComputeNet.ComputeBatch batch) {
      double[] sums = groupSums(sample);
      for (int group = 0; group < LaunchGroups.COUNT; group++) {
        int at = group * LaunchGroups.NUMBERS;
        if (LaunchGroups.isLaunched(sums, at)) {
          int to = position * LaunchGroups.COUNT + group;
          batch.widest()[to] = LaunchGroups.widest(sums, at);
          batch.launchMs()[2 * to] = (float) LaunchGroups.ms(forwardLaunchMs, group, sums, at);
          batch.launchMs()[2 * to + 1] = (float) LaunchGroups.ms(backwardLaunchMs, group, sums, at);
        }
      }
    }

    int row(SampledShard shard, UseMask mask) {
      return MASKS.indexOf(mask) * positions.size() + positions.get(shard);
    }

    ShardInputs inputs() {
      List<ShardShape> all =
          shapes.stream().flatMap(of -> positions.keySet().stream().map(of::of)).toList();
      return ShardInputs.of(features, forward, backward, all);
    }
  }
}
