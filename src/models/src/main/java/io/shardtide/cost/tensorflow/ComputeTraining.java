package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Feature;
import io.shardtide.cost.LaunchCosts;
import io.shardtide.cost.LaunchGroups;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TableShapes;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * Trains the compute model: fits the coefficients of the terms, then trains the net that corrects
 * their sum.
 */
final class ComputeTraining {
  /** Validation errors of equally good weights differ by so much; see {@link EarlyStopping}. */
  private static final double NOISE = 0.002;

  private static final int BATCH = 256;

  /** TorchRec's planner takes backward computation to be twice the forward one. */
  static final double ASSUMED_FORWARD = 1.0 / 3;

  /**
   * Share of the learning rate with which weights of another model are trained: at the full rate,
   * few samples would change what they do not tell.
   */
  private static final double STARTED_RATE = 0.1;

  /**
   * Decay of the weights with one training sample; with n, an n-th of it. A prior of the weights
   * counts once, however many samples there are.
   */
  private static final float DECAY = 500;

  /** The net is the mean of the weights of about so many epochs. */
  private static final int AVERAGED_EPOCHS = 50;

  private final SampleSet samples;
  private final TrainingSettings settings;
  private final Random random;
  private final Set<String> heldOut;
  private final DataSplit<ComputeSample> split;
  private final Optional<StartingModel> start;
  private final Set<ComputeSample> computed;
  private final ShardTable shards;

  /**
   * The trained compute model.
   *
   * @param fitted what was fitted before the net was trained
   * @param weights weights of the net
   * @param samples number of measured samples in all three parts of the split
   * @param heldOutTables indices of the held-out tables
   * @param cachesFrom whose costs of caches it has, scaled; empty if they were measured
   * @param startedFrom whose weights were the first ones; empty if they were random
   */
  record TrainedCompute(
      ShardTable fitted,
      ComputeNet.Weights weights,
      int samples,
      Set<String> heldOutTables,
      Optional<ModelOrigin> cachesFrom,
      Optional<ModelOrigin> startedFrom) {}

  ComputeTraining(SampleSet samples, Optional<StartingModel> start, TrainingSettings settings) {
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
          "at least %s compute samples must have no shard of the %s held-out tables, got %s of %s"
              .formatted(
                  ModelTraining.MIN_SAMPLES,
                  heldOut.size(),
                  known.size(),
                  samples.compute().size()));
    }
    split = DataSplit.of(known, random);
    this.start = start;
    computed = new LinkedHashSet<>();
    start.ifPresent(
        model -> computed.addAll(model.computed(samples, split.train(), settings.seed())));
    split.train().addAll(computed);
    List<ComputeSample> all = new ArrayList<>(samples.compute());
    all.addAll(computed);
    shards = new ShardTable(all, split.train(), start);
  }

  /** Returns the milliseconds of a direction, an assumed share of the sum if it is all there is. */
  static double ms(ComputeSample sample, Direction direction) {
    double forward = sample.forwardMs().orElse(ASSUMED_FORWARD * sample.computeMs());
    return direction == Direction.FORWARD ? forward : sample.computeMs() - forward;
  }

  private Set<String> holdOut() {
    List<String> tables = new ArrayList<>(samples.tables());
    Collections.shuffle(tables, random);
    int count = (int) Math.round(settings.heldOutTables() * tables.size());
    return new HashSet<>(tables.subList(0, count));
  }

  private boolean isHeldOut(DeviceShard shard) {
    return heldOut.contains(shard.table().name());
  }

  TrainedCompute train(TrainingProgress progress, SortedMap<String, Double> errors) {
    boolean isStarted = shards.first.isPresent();
    float decay = isStarted ? 0 : DECAY / split.train().size();
    try (ComputeNet net = new ComputeNet(shards.inputs(), settings.width(), decay, random)) {
      shards.first.ifPresent(model -> net.set(model.weights()));
      double rateShare = isStarted ? STARTED_RATE : 1;
      ComputeNet.ComputeBatch validation = batch(split.validation(), s -> UseMask.ALL);
      EarlyStopping.EpochRunner<ComputeSample, ComputeNet.Weights> runner =
          new EarlyStopping.EpochRunner<>() {
            private ComputeNet.Weights mean = net.weights();
            private int epoch;

            @Override
            public double train(List<ComputeSample> batch, double learningRate) {
              UseMask[] known = new UseMask[batch.size()];
              Arrays.setAll(known, s -> draw());
              return net.train(batch(batch, s -> known[s]), rateShare * learningRate);
            }

            @Override
            public double validate() {
              ComputeNet.Weights last = net.weights();
              epoch++;
              mean = mean.towards(last, 1f / Math.min(epoch, AVERAGED_EPOCHS));
              net.set(mean);
              double error = DataSplit.mape(net.predict(validation), validation.labels());
              net.set(last);
              return error;
            }

            @Override
            public ComputeNet.Weights weights() {
              return mean;
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
      List<ComputeSample> learned =
          split.train().stream()
              .filter(s -> !computed.contains(s))
              .limit(split.test().size())
              .toList();
      measure(errors, net, "train", learned);
      measure(errors, net, "validation", split.validation());
      measure(errors, net, "test", split.test());
      measure(errors, net, "unseen", unseen);
      return new TrainedCompute(
          shards,
          best,
          split.train().size() - computed.size() + split.validation().size() + split.test().size(),
          heldOut,
          start.flatMap(StartingModel::cachesFrom).filter(origin -> !computed.isEmpty()),
          shards.first.map(
              model -> new ModelOrigin(model.bundle().hardware(), model.bundle().modelId())));
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

    private TableSpec seen(TableSpec table) {
      return switch (this) {
        case ALL -> table;
        case REUSE -> table.withoutCdf();
        case NONE -> table.withoutUse();
      };
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
      for (DeviceShard shard : list.get(s).shards()) {
        batch.rows()[at] = shards.row(shard, known);
        batch.launchGroups()[at++] = s * LaunchGroups.COUNT + group(shard);
      }
      shards.launch(s, list.get(s), batch);
      batch.label(s, list.get(s));
    }
    return batch;
  }

  private static int group(DeviceShard shard) {
    return LaunchGroups.of(shard.replicated(), shard.table().bytesPerElement());
  }

  /** Inputs of all sampled shards, for each {@link UseMask}, and of their launch groups. */
  static final class ShardTable {
    /** The order of {@link #shapes}. */
    private static final List<UseMask> MASKS = List.of(UseMask.values());

    /** With fewer numbers of columns in the samples, only their logarithm is read. */
    private static final int MIN_WIDTHS = 12;

    /** Of each shard object, since hashes of tables take long. */
    private final IdentityHashMap<DeviceShard, Integer> positions = new IdentityHashMap<>();

    /** Shapes of all different shards, for each mask. */
    private final List<List<ShardShape>> shapes;

    /** Numbers of a launch group that each shard adds to. */
    private final List<float[]> numbers = new ArrayList<>();

    final List<Feature> features;
    final List<Double> forward;
    final List<Double> backward;
    final LaunchCosts launches;
    final boolean measuresDirections;
    final StateTerms state;

    /** The model whose weights are the first ones. */
    private final Optional<StartingModel> first;

    /** Adds the shards of all samples; fits coefficients and normalization to training samples. */
    ShardTable(
        List<ComputeSample> samples, List<ComputeSample> train, Optional<StartingModel> start) {
      Map<DeviceShard, Integer> different = new LinkedHashMap<>();
      for (ComputeSample sample : samples) {
        for (DeviceShard shard : sample.shards()) {
          positions.computeIfAbsent(
              shard, of -> different.computeIfAbsent(of, key -> different.size()));
        }
      }
      shapes = MASKS.stream().map(mask -> shapes(different.keySet(), mask)).toList();
      for (ShardShape shape : shapes.get(0)) {
        float[] ofShard = new float[LaunchGroups.NUMBERS];
        LaunchGroups.write(shape, ofShard, 0);
        numbers.add(ofShard);
      }
      Set<DeviceShard> trainShards = new LinkedHashSet<>();
      train.forEach(s -> trainShards.addAll(s.shards()));
      state = new StateTerms(trainShards);
      measuresDirections = train.stream().anyMatch(s -> s.forwardMs().isPresent());
      boolean manyWidths =
          trainShards.stream().mapToInt(s -> s.table().columns()).distinct().count() >= MIN_WIDTHS;
      Fit terms = fit(train, (i, direction) -> terms(train.get(i), manyWidths, direction));
      Optional<StartingModel> source = start.filter(StartingModel::readsAllFeatures);
      Optional<Fit> scaled = source.map(model -> fitScale(train, model));
      first = source.filter(model -> scaled.orElseThrow().error() < terms.error());
      if (first.isPresent()) {
        Fit fit = scaled.orElseThrow();
        ModelBundle bundle = first.get().bundle();
        forward = times(bundle.forwardCoefficients(), fit.forward().get(0));
        backward = times(bundle.backwardCoefficients(), fit.backward().get(0));
        launches = fit.launches();
      } else {
        int count = ComputeTerms.NAMES.size();
        forward = terms.forward().subList(0, count);
        backward = state.complete(terms.backward().subList(0, count));
        launches = terms.launches();
      }
      List<Feature> seen =
          Normalization.of(
                  ShardFeatures.NAMES,
                  () ->
                      shapes.stream()
                          .flatMap(of -> trainShards.stream().map(positions::get).map(of::get))
                          .map(ShardFeatures::of))
              .stream()
              .map(f -> manyWidths || !ShardFeatures.OF_WIDTHS.contains(f.name()) ? f : constant(f))
              .toList();
      features = first.map(model -> model.features(seen)).orElse(seen);
    }

    /** Returns a feature that is read as its mean whatever its value. */
    private static Feature constant(Feature feature) {
      return new Feature(feature.name(), feature.mean(), 1, feature.mean(), feature.mean());
    }

    private static List<Double> times(List<Double> coefficients, double factor) {
      return coefficients.stream().map(c -> factor * c).toList();
    }

    /**
     * Fitted coefficients.
     *
     * @param forward milliseconds for one of each term, forward; those of launches come last
     * @param backward the same, backward
     * @param error mean absolute relative error of their sums, as a fraction
     */
    private record Fit(List<Double> forward, List<Double> backward, double error) {
      LaunchCosts launches() {
        int terms = forward.size() - LaunchGroups.TERMS.size();
        return new LaunchCosts(
            forward.subList(terms, forward.size()), backward.subList(terms, backward.size()));
      }
    }

    /** Values of the terms of a sample's shards, without those of launches. */
    @FunctionalInterface
    private interface ShardTerms {
      double[] of(int sample, Direction direction);
    }

    private Fit fit(List<ComputeSample> train, ShardTerms terms) {
      double[] predicted = new double[train.size()];
      List<Double> forward = fit(train, terms, Direction.FORWARD, predicted);
      List<Double> backward = fit(train, terms, Direction.BACKWARD, predicted);
      double error = 0;
      for (int s = 0; s < predicted.length; s++) {
        double ms = train.get(s).computeMs();
        error += Math.abs(predicted[s] - ms) / ms / predicted.length;
      }
      return new Fit(forward, backward, error);
    }

    /** Returns the coefficients of a direction, and adds what they predict. */
    private List<Double> fit(
        List<ComputeSample> train, ShardTerms terms, Direction direction, double[] predicted) {
      List<double[]> all = new ArrayList<>();
      for (int s = 0; s < train.size(); s++) {
        double[] ofShards = terms.of(s, direction);
        double[] values = Arrays.copyOf(ofShards, ofShards.length + LaunchGroups.TERMS.size());
        for (Launch launch : launches(train.get(s))) {
          double[] ofLaunch = LaunchGroups.terms(launch.group, launch.sums, launch.at);
          for (int i = 0; i < ofLaunch.length; i++) {
            values[ofShards.length + i] += ofLaunch[i];
          }
        }
        all.add(values);
      }
      NonNegativeLeastSquares fit = new NonNegativeLeastSquares(all.get(0).length);
      for (int s = 0; s < all.size(); s++) {
        double ms = ms(train.get(s), direction);
        fit.add(all.get(s), ms, ms, 1);
      }
      List<Double> coefficients = fit.fit();
      for (int s = 0; s < all.size(); s++) {
        predicted[s] += NonNegativeLeastSquares.weightedSum(coefficients, all.get(s));
      }
      return coefficients;
    }

    private double[] terms(ComputeSample sample, boolean manyWidths, Direction direction) {
      double[] sum = new double[ComputeTerms.NAMES.size()];
      for (DeviceShard shard : sample.shards()) {
        double[] values = ComputeTerms.of(shapes.get(0).get(positions.get(shard)));
        if (direction == Direction.FORWARD) {
          StateTerms.remove(values);
        } else {
          state.prepare(values);
        }
        for (int i = 0; i < sum.length; i++) {
          if (manyWidths || !ComputeTerms.OF_WIDTHS.contains(ComputeTerms.NAMES.get(i))) {
            sum[i] += values[i];
          }
        }
      }
      return sum;
    }

    /** Fits one number a direction, which scales what a model predicts of shards, and launches. */
    private Fit fitScale(List<ComputeSample> train, StartingModel model) {
      List<double[]> predicted = model.predict(train);
      return fit(
          train,
          (s, direction) -> {
            double ms = predicted.get(s)[direction == Direction.FORWARD ? 0 : 1];
            for (Launch launch : launches(train.get(s))) {
              ms -= model.launchMs(direction).map(launch::ms).orElse(0.0);
            }
            return new double[] {Math.max(0, ms)};
          });
    }

    /** A launch group of a sample that has shards, and where its sums begin. */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    private record Launch(int group, double[] sums, int at) {
      double ms(List<Double> coefficients) {
        double[] ofTerms = coefficients.stream().mapToDouble(c -> c).toArray();
        return LaunchGroups.ms(ofTerms, group, sums, at);
      }
    }

    private List<Launch> launches(ComputeSample sample) {
      double[] sums = new double[LaunchGroups.COUNT * LaunchGroups.NUMBERS];
      for (DeviceShard shard : sample.shards()) {
        float[] ofShard = numbers.get(positions.get(shard));
        for (int i = 0; i < ofShard.length; i++) {
          sums[group(shard) * LaunchGroups.NUMBERS + i] += ofShard[i];
        }
      }
      return IntStream.range(0, LaunchGroups.COUNT)
          .mapToObj(group -> new Launch(group, sums, group * LaunchGroups.NUMBERS))
          .filter(launch -> LaunchGroups.isLaunched(sums, launch.at))
          .toList();
    }

    /** Writes what the launch groups of a sample add. */
    void launch(int position, ComputeSample sample, ComputeNet.ComputeBatch batch) {
      for (Launch of : launches(sample)) {
        int to = position * LaunchGroups.COUNT + of.group;
        batch.widest()[to] = LaunchGroups.widest(of.sums, of.at);
        batch.launchMs()[2 * to] = (float) of.ms(launches.forwardMs());
        batch.launchMs()[2 * to + 1] = (float) of.ms(launches.backwardMs());
      }
    }

    private static List<ShardShape> shapes(Set<DeviceShard> shards, UseMask mask) {
      return shards.stream()
          .map(shard -> TableShapes.of(shard.of(mask.seen(shard.table()))))
          .toList();
    }

    int row(DeviceShard shard, UseMask mask) {
      return MASKS.indexOf(mask) * shapes.get(0).size() + positions.get(shard);
    }

    ShardInputs inputs() {
      List<ShardShape> all = shapes.stream().flatMap(List::stream).toList();
      return ShardInputs.of(features, forward, backward, all);
    }
  }
}
