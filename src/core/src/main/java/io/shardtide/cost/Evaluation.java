package io.shardtide.cost;

import io.shardtide.domain.OutOfRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;

/**
 * Predictions of labelled samples, one by one, made as a search makes them.
 *
 * @param computations each compute sample, in order
 * @param collectives each collective that the model predicts, in order
 * @param notPredicted number of samples of collectives that the model was not trained on
 */
public record Evaluation(
    List<ComputePrediction> computations,
    List<CollectivePrediction> collectives,
    int notPredicted) {

  /** Copies what may change. */
  public Evaluation {
    computations = List.copyOf(computations);
    collectives = List.copyOf(collectives);
  }

  /** How a sample relates to the tables that were held out of the training. */
  public enum Familiarity {
    /** None of its tables was held out. */
    KNOWN,
    /** Some were. */
    PARTLY_UNSEEN,
    /** All were. */
    UNSEEN
  }

  /**
   * A compute sample and its prediction.
   *
   * @param number position in the samples, from 0
   * @param sample the sample
   * @param predictedMs predicted computation in milliseconds
   * @param predictedForwardMs its forward part; empty if the model was not trained on it
   * @param reuseOnlyMs predicted computation as if no access CDF were known; NaN if that was not
   *     asked for
   * @param withoutReuseMs predicted computation as if nothing were known of the use of rows,
   *     likewise
   * @param familiarity whether its tables were held out of training
   * @param outOfRange values outside the training range
   */
  public record ComputePrediction(
      int number,
      ComputeSample sample,
      double predictedMs,
      OptionalDouble predictedForwardMs,
      double reuseOnlyMs,
      double withoutReuseMs,
      Familiarity familiarity,
      List<OutOfRange> outOfRange) {
    /** Copies what may change. */
    public ComputePrediction {
      outOfRange = List.copyOf(outOfRange);
    }

    /** Returns the absolute error as a fraction of the measured value. */
    public double error() {
      return relative(predictedMs, sample.computeMs());
    }

    /** Returns the error of the forward part, where it was measured and is predicted. */
    public OptionalDouble forwardError() {
      return predictedForwardMs.isPresent() && sample.forwardMs().isPresent()
          ? OptionalDouble.of(
              relative(predictedForwardMs.getAsDouble(), sample.forwardMs().getAsDouble()))
          : OptionalDouble.empty();
    }

    /** Returns the error of the backward part, where it was measured and is predicted. */
    public OptionalDouble backwardError() {
      return predictedForwardMs.isPresent() && sample.forwardMs().isPresent()
          ? OptionalDouble.of(
              relative(
                  predictedMs - predictedForwardMs.getAsDouble(),
                  sample.computeMs() - sample.forwardMs().getAsDouble()))
          : OptionalDouble.empty();
    }
  }

  /**
   * A sample of a collective and its prediction.
   *
   * @param number position in the samples, from 0
   * @param sample the sample
   * @param errors absolute error on each device as a fraction of the measured value; one number for
   *     all devices of a collective with one buffer
   * @param outOfRange values outside the training range
   */
  public record CollectivePrediction(
      int number, CollectiveSample sample, List<Double> errors, List<OutOfRange> outOfRange) {
    /** Copies what may change. */
    public CollectivePrediction {
      errors = List.copyOf(errors);
      outOfRange = List.copyOf(outOfRange);
    }

    /** Returns the mean over devices of the error. */
    public double error() {
      return errors.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }
  }

  /** Predicts each sample, also as if less were known of the use of rows. */
  public static Evaluation of(CostModel model, TowerPredictor towers, SampleSet samples) {
    Sums reuseOnly = new Sums(model, towers, samples, SampleShapes.withoutCdf(samples));
    Sums unknown = new Sums(model, towers, samples, SampleShapes.withoutUse(samples));
    return of(model, towers, samples, Optional.of(reuseOnly), Optional.of(unknown));
  }

  /** Predicts each sample with all that is known of the use of rows. */
  public static Evaluation ofKnownUse(CostModel model, TowerPredictor towers, SampleSet samples) {
    return of(model, towers, samples, Optional.empty(), Optional.empty());
  }

  private static Evaluation of(
      CostModel model,
      TowerPredictor towers,
      SampleSet samples,
      Optional<Sums> reuseOnly,
      Optional<Sums> unknown) {
    List<CollectivePrediction> collectives = collectives(model, samples.collectives());
    return new Evaluation(
        computations(model, towers, samples, reuseOnly, unknown),
        collectives,
        samples.collectives().size() - collectives.size());
  }

  private static List<ComputePrediction> computations(
      CostModel model,
      TowerPredictor towers,
      SampleSet samples,
      Optional<Sums> reuseOnly,
      Optional<Sums> unknown) {
    SampleShapes shapes = new SampleShapes(samples);
    Sums known = new Sums(model, towers, samples, shapes);
    CostEvaluator evaluator = model.evaluator();
    List<ComputePrediction> computations = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      double[] sum = known.of(sample);
      computations.add(
          new ComputePrediction(
              computations.size(),
              sample,
              evaluator.computeMs(sum),
              model.bundle().measuresDirections()
                  ? OptionalDouble.of(evaluator.forwardComputeMs(sum))
                  : OptionalDouble.empty(),
              reuseOnly.map(sums -> evaluator.computeMs(sums.of(sample))).orElse(Double.NaN),
              unknown.map(sums -> evaluator.computeMs(sums.of(sample))).orElse(Double.NaN),
              familiarity(model, samples, sample),
              model.limits().ofComputation(samples, shapes, sample)));
    }
    return computations;
  }

  private static Familiarity familiarity(CostModel model, SampleSet samples, ComputeSample sample) {
    Set<String> heldOutTables = model.bundle().card().heldOutTables();
    long heldOut =
        sample.shards().stream()
            .map(shard -> samples.tables().get(shard.table()).name())
            .filter(heldOutTables::contains)
            .count();
    if (heldOut == 0) {
      return Familiarity.KNOWN;
    }
    return heldOut == sample.shards().size() ? Familiarity.UNSEEN : Familiarity.PARTLY_UNSEEN;
  }

  /** Sums of tower outputs of the samples' devices. */
  private static final class Sums {
    private final int size;
    private final Map<SampledShard, double[]> exact = new HashMap<>();

    Sums(CostModel model, TowerPredictor towers, SampleSet samples, SampleShapes shapes) {
      CostEvaluator evaluator = model.evaluator();
      size = model.sumSize();
      List<SampledShard> shards =
          samples.compute().stream().flatMap(s -> s.shards().stream()).distinct().toList();
      List<float[]> outputs = towers.towers(shards.stream().map(shapes::of).toList());
      for (int i = 0; i < shards.size(); i++) {
        SampledShard shard = shards.get(i);
        exact.put(
            shard, evaluator.addend(outputs.get(i), shard.replicated(), shard.bytesPerElement()));
      }
    }

    double[] of(ComputeSample sample) {
      double[] sum = new double[size];
      sample.shards().forEach(shard -> TowerSums.add(sum, exact.get(shard)));
      return sum;
    }
  }

  private static List<CollectivePrediction> collectives(
      CostModel model, List<CollectiveSample> samples) {
    CostEvaluator evaluator = model.evaluator();
    List<CollectivePrediction> predictions = new ArrayList<>();
    for (int number = 0; number < samples.size(); number++) {
      CollectiveSample sample = samples.get(number);
      if (model.bundle().predicts(sample)) {
        double[] predicted = evaluator.collectiveMs(sample);
        Double[] errors = new Double[predicted.length];
        Arrays.setAll(errors, i -> relative(predicted[i], sample.ms()[i]));
        predictions.add(
            new CollectivePrediction(
                number, sample, List.of(errors), model.limits().ofCollective(sample)));
      }
    }
    return predictions;
  }

  private static double relative(double predicted, double measured) {
    return Math.abs(predicted - measured) / measured;
  }
}
