package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.Feature;
import io.shardtide.cost.HeadInputs;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A model, of other hardware as a rule, that training starts from. It says what was not measured:
 * how much longer a set of shards takes with caches than without them. If its predictions, scaled,
 * are nearer to the samples than the fitted terms are, its weights are the first ones.
 */
record StartingModel(ModelBundle bundle) {
  /** Share of the measured sets that are computed with caches, too. */
  private static final double COMPUTED_SHARE = 0.25;

  /** Smaller tables are in device memory: as {@code shardtide.collect --cached} draws them. */
  private static final long LEAST_CACHED_ROWS = 100_000;

  /** Shares of rows in device memory are drawn down to this one, uniformly in their logarithm. */
  private static final double LEAST_LOG2_SHARE = -6;

  private static final String CACHED = "cached";

  /**
   * @throws IllegalArgumentException if its net has other sizes than those that are trained
   */
  StartingModel {
    ComputeNet.checkSizes(bundle);
  }

  /**
   * Returns whether the model has each input of nets that are trained now; older ones have fewer.
   */
  boolean readsAllFeatures() {
    return bundle.features().size() == ShardFeatures.NAMES.size();
  }

  /** Returns whose costs of caches the model has; empty if it knows none. */
  Optional<ModelOrigin> cachesFrom() {
    return bundle
        .cachesFrom()
        .or(() -> Optional.of(new ModelOrigin(bundle.hardware(), bundle.modelId())))
        .filter(origin -> knowsCaches());
  }

  private boolean knowsCaches() {
    return bundle.features().stream().anyMatch(f -> f.name().equals(CACHED) && f.max() > 0);
  }

  /**
   * Returns samples with caches, if too few were measured and the model knows their costs. Each is
   * a measured set of shards some of which now have a cache; it takes the measured time, by
   * direction, times what the model predicts with caches over what it predicts without. So the
   * measured device's speed scales what the model says of caches.
   *
   * @param all all measured samples
   * @param measured those that others are computed from
   */
  List<ComputeSample> computed(SampleSet all, List<ComputeSample> measured, long seed) {
    if (cachesFrom().isEmpty()
        || all.compute().stream().filter(ComputeSample::hasCaches).count()
            >= ModelTraining.MIN_SAMPLES) {
      return List.of();
    }
    Random random = new Random(seed);
    List<ComputeSample> chosen = new ArrayList<>();
    List<ComputeSample> cached = new ArrayList<>();
    for (ComputeSample sample : measured) {
      boolean isChosen = random.nextDouble() < COMPUTED_SHARE;
      OptionalDouble share =
          OptionalDouble.of(StrictMath.pow(2, LEAST_LOG2_SHARE * random.nextDouble()));
      double part = random.nextDouble();
      List<DeviceShard> shards = new ArrayList<>();
      for (DeviceShard shard : sample.shards()) {
        boolean isCached =
            random.nextDouble() < part
                && !shard.replicated()
                && shard.table().rows() >= LEAST_CACHED_ROWS;
        shards.add(isCached ? with(shard, share) : shard);
      }
      if (isChosen && !sample.hasCaches() && !shards.equals(sample.shards())) {
        chosen.add(sample);
        cached.add(new ComputeSample(shards, sample.computeMs(), sample.forwardMs()));
      }
    }
    List<double[]> without = predict(chosen);
    List<double[]> with = predict(cached);
    return IntStream.range(0, chosen.size())
        .mapToObj(i -> times(cached.get(i), with.get(i), without.get(i)))
        .toList();
  }

  /** The optimizer's state stays in device memory: the model may know no other place. */
  private static DeviceShard with(DeviceShard shard, OptionalDouble cacheShare) {
    return new DeviceShard(
        TableSpecBuilder.builder(shard.table()).enforceHbm(true).build(),
        shard.samples(),
        shard.rowShare(),
        shard.replicated(),
        cacheShare,
        shard.reuseBatchSize());
  }

  private static ComputeSample times(ComputeSample sample, double[] with, double[] without) {
    double forward = ComputeTraining.ms(sample, Direction.FORWARD) * with[0] / without[0];
    double backward = ComputeTraining.ms(sample, Direction.BACKWARD) * with[1] / without[1];
    return sample.forwardMs().isPresent()
        ? ComputeSample.of(sample.shards(), forward, backward)
        : new ComputeSample(sample.shards(), forward + backward);
  }

  /** Returns the forward and the backward cost of each sample, in milliseconds. */
  List<double[]> predict(List<ComputeSample> samples) {
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      return Evaluation.of(new CostModel(bundle), towers, new SampleSet(samples, List.of()))
          .computations()
          .stream()
          .map(
              one -> {
                double forward =
                    one.predictedForwardMs()
                        .orElse(ComputeTraining.ASSUMED_FORWARD * one.predictedMs());
                return new double[] {forward, one.predictedMs() - forward};
              })
          .toList();
    }
  }

  /** Returns the coefficients of the terms of launch groups; empty without groups. */
  Optional<List<Double>> launchMs(Direction direction) {
    return bundle
        .launches()
        .map(costs -> direction == Direction.FORWARD ? costs.forwardMs() : costs.backwardMs());
  }

  /** Returns the model's normalization, with ranges that also span those of the samples. */
  List<Feature> features(List<Feature> ofSamples) {
    List<Feature> features = new ArrayList<>();
    for (int f = 0; f < ofSamples.size(); f++) {
      Feature own = bundle.features().get(f);
      Feature seen = ofSamples.get(f);
      features.add(
          new Feature(
              own.name(),
              own.mean(),
              own.scale(),
              Math.min(own.min(), seen.min()),
              Math.max(own.max(), seen.max())));
    }
    return features;
  }

  /** Returns its weights; a head without launch groups gets inputs of them that change nothing. */
  ComputeNet.Weights weights() {
    List<DenseLayer> head = new ArrayList<>(bundle.head());
    DenseLayer first = head.get(0);
    int inputs = HeadInputs.size(bundle.headOutputs(), true);
    head.set(
        0,
        new DenseLayer(
            inputs,
            first.outputs(),
            Arrays.copyOf(first.weights(), inputs * first.outputs()),
            first.biases()));
    return new ComputeNet.Weights(bundle.tower(), head);
  }
}
