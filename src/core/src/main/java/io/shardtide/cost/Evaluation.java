package io.shardtide.cost;

import io.shardtide.plan.OutOfRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntPredicate;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

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
   * @param familiarity whether its tables were held out of training
   * @param outOfRange values outside the training range
   */
  public record ComputePrediction(
      int number,
      ComputeSample sample,
      double predictedMs,
      OptionalDouble predictedForwardMs,
      Familiarity familiarity,
      List<OutOfRange> outOfRange) {
    /** Copies what may change. */
    public ComputePrediction {
      outOfRange = List.copyOf(outOfRange);
    }

    /** Returns this prediction of a sample with another label. */
    public ComputePrediction of(ComputeSample other) {
      return new ComputePrediction(
          number, other, predictedMs, predictedForwardMs, familiarity, outOfRange);
    }

    /** Returns the absolute error as a fraction of the measured value. */
    public double error() {
      return relative(predictedMs, sample.computeMs());
    }

    /** Returns the error of the forward part, where it was measured and is predicted. */
    public OptionalDouble forwardError() {
      return error((forward, whole) -> forward);
    }

    /** Returns the error of the backward part, where it was measured and is predicted. */
    public OptionalDouble backwardError() {
      return error((forward, whole) -> whole - forward);
    }

    private OptionalDouble error(DoubleBinaryOperator part) {
      if (predictedForwardMs.isEmpty() || sample.forwardMs().isEmpty()) {
        return OptionalDouble.empty();
      }
      double predicted = part.applyAsDouble(predictedForwardMs.getAsDouble(), predictedMs);
      double measured = part.applyAsDouble(sample.forwardMs().getAsDouble(), sample.computeMs());
      return OptionalDouble.of(relative(predicted, measured));
    }
  }

  /**
   * A sample of a collective and its prediction.
   *
   * @param number position in the samples, from 0
   * @param sample the sample
   * @param predictedMs predicted milliseconds of each device; one number for all devices of a
   *     collective with one buffer
   * @param outOfRange values outside the training range
   */
  public record CollectivePrediction(
      int number, CollectiveSample sample, List<Double> predictedMs, List<OutOfRange> outOfRange) {
    /** Copies what may change. */
    public CollectivePrediction {
      predictedMs = List.copyOf(predictedMs);
      outOfRange = List.copyOf(outOfRange);
    }

    /** Returns this prediction of a sample with another label. */
    public CollectivePrediction of(CollectiveSample other) {
      return new CollectivePrediction(number, other, predictedMs, outOfRange);
    }

    /** Returns the absolute error on each device as a fraction of the measured value. */
    public DoubleStream errors() {
      return IntStream.range(0, predictedMs.size())
          .mapToDouble(i -> relative(predictedMs.get(i), sample.ms()[i]));
    }

    /** Returns the mean over devices of the error. */
    public double error() {
      return errors().average().orElse(0);
    }
  }

  /** Returns the samples that were predicted. */
  public SampleSet samples() {
    return new SampleSet(
        computations.stream().map(ComputePrediction::sample).toList(),
        collectives.stream().map(CollectivePrediction::sample).toList());
  }

  /** Returns the predictions at some positions of both lists. */
  public Evaluation select(IntPredicate ofComputations, IntPredicate ofCollectives) {
    return new Evaluation(
        select(computations, ofComputations), select(collectives, ofCollectives), 0);
  }

  private static <T> List<T> select(List<T> all, IntPredicate positions) {
    return IntStream.range(0, all.size()).filter(positions).mapToObj(all::get).toList();
  }

  /** Predicts each sample. */
  public static Evaluation of(CostModel model, TowerPredictor towers, SampleSet samples) {
    List<CollectivePrediction> collectives = collectives(model, samples.collectives());
    return new Evaluation(
        computations(model, towers, samples.compute()),
        collectives,
        samples.collectives().size() - collectives.size());
  }

  private static List<ComputePrediction> computations(
      CostModel model, TowerPredictor towers, List<ComputeSample> samples) {
    CostEvaluator evaluator = model.evaluator();
    Map<DeviceShard, ShardShape> shapes = new LinkedHashMap<>();
    for (ComputeSample sample : samples) {
      sample.shards().forEach(shard -> shapes.computeIfAbsent(shard, TableShapes::of));
    }
    Iterator<float[]> outputs = towers.towers(List.copyOf(shapes.values())).iterator();
    Map<DeviceShard, double[]> addends = new HashMap<>();
    shapes.forEach((shard, shape) -> addends.put(shard, evaluator.addend(outputs.next(), shape)));
    List<ComputePrediction> computations = new ArrayList<>();
    for (ComputeSample sample : samples) {
      double[] sum = new double[model.sumSize()];
      sample.shards().forEach(shard -> TowerSums.add(sum, addends.get(shard)));
      computations.add(
          new ComputePrediction(
              computations.size(),
              sample,
              evaluator.computeMs(sum),
              model.bundle().measuresDirections()
                  ? OptionalDouble.of(evaluator.forwardComputeMs(sum))
                  : OptionalDouble.empty(),
              familiarity(model, sample),
              model.limits().ofComputation(sample, shapes)));
    }
    return computations;
  }

  private static Familiarity familiarity(CostModel model, ComputeSample sample) {
    Set<String> heldOutTables = model.bundle().card().heldOutTables();
    long heldOut =
        sample.shards().stream()
            .filter(shard -> heldOutTables.contains(shard.table().name()))
            .count();
    if (heldOut == 0) {
      return Familiarity.KNOWN;
    }
    return heldOut == sample.shards().size() ? Familiarity.UNSEEN : Familiarity.PARTLY_UNSEEN;
  }

  private static List<CollectivePrediction> collectives(
      CostModel model, List<CollectiveSample> samples) {
    CostEvaluator evaluator = model.evaluator();
    List<CollectivePrediction> predictions = new ArrayList<>();
    for (int number = 0; number < samples.size(); number++) {
      CollectiveSample sample = samples.get(number);
      if (model.bundle().predicts(sample)) {
        predictions.add(
            new CollectivePrediction(
                number,
                sample,
                Arrays.stream(evaluator.collectiveMs(sample)).boxed().toList(),
                model.limits().ofCollective(sample)));
      }
    }
    return predictions;
  }

  private static double relative(double predicted, double measured) {
    return Math.abs(predicted - measured) / measured;
  }
}
