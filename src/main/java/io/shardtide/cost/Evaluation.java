package io.shardtide.cost;

import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Predictions of labelled samples, one by one, made as a search makes them.
 *
 * @param computations each compute sample, in order
 * @param allToAlls each communication sample, in order, by number of devices
 */
public record Evaluation(
    List<ComputePrediction> computations,
    SortedMap<Integer, List<CommunicationPrediction>> allToAlls) {
  /** Copies what may change. */
  public Evaluation {
    computations = List.copyOf(computations);
    allToAlls = Collections.unmodifiableSortedMap(new TreeMap<>(allToAlls));
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
   * @param withoutReuseMs predicted computation without the reuse histograms
   * @param familiarity whether its tables were held out of training
   * @param outOfRange values outside the training range
   */
  public record ComputePrediction(
      int number,
      ComputeSample sample,
      double predictedMs,
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

    /** Returns {@link #error} without reuse histograms. */
    public double withoutReuseError() {
      return relative(withoutReuseMs, sample.computeMs());
    }
  }

  /**
   * A communication sample and its prediction.
   *
   * @param number position in the samples of so many devices, from 0
   * @param sample the sample
   * @param forwardError mean over devices of the absolute error of the forward all-to-all, idle
   *     time included, as a fraction of the measured value
   * @param backwardError the same of the backward all-to-all
   * @param outOfRange values outside the training range
   */
  public record CommunicationPrediction(
      int number,
      CommunicationSample sample,
      double forwardError,
      double backwardError,
      List<OutOfRange> outOfRange) {
    /** Copies what may change. */
    public CommunicationPrediction {
      outOfRange = List.copyOf(outOfRange);
    }
  }

  /** Predicts each sample. */
  public static Evaluation of(CostModel model, TowerPredictor towers, SampleSet samples) {
    SortedMap<Integer, List<CommunicationPrediction>> allToAlls = new TreeMap<>();
    samples
        .communication()
        .forEach(
            (devices, list) -> allToAlls.put(devices, allToAlls(model, list, samples.batchSize())));
    return new Evaluation(computations(model, towers, samples), allToAlls);
  }

  private static List<ComputePrediction> computations(
      CostModel model, TowerPredictor towers, SampleSet samples) {
    List<TableSpec> widest = widest(samples);
    Sums known = new Sums(model, towers.predict(widest, samples.batchSize()));
    Sums unknown =
        new Sums(
            model,
            towers.predict(
                widest.stream().map(t -> t.withReuse(ReuseHistogram.UNKNOWN)).toList(),
                samples.batchSize()));
    List<ComputePrediction> computations = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      computations.add(
          new ComputePrediction(
              computations.size(),
              sample,
              known.computeMs(sample),
              unknown.computeMs(sample),
              familiarity(model, samples, sample),
              model.limits().ofComputation(samples, sample)));
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

  /** Returns the tables, each as wide as its widest shard in the samples. */
  private static List<TableSpec> widest(SampleSet samples) {
    int[] columns = new int[samples.tables().size()];
    for (ComputeSample sample : samples.compute()) {
      for (ComputeSample.SampledShard shard : sample.shards()) {
        columns[shard.table()] = Math.max(columns[shard.table()], shard.width());
      }
    }
    List<TableSpec> widest = new ArrayList<>();
    for (int t = 0; t < columns.length; t++) {
      widest.add(samples.tables().get(t).withColumns(Math.max(TableSpec.COLUMN_UNIT, columns[t])));
    }
    return widest;
  }

  /** Sums of tower outputs and the computations that the head predicts from them. */
  private static final class Sums {
    private final CostEvaluator evaluator;
    private final int size;
    private final List<TablePrediction> predictions;
    private final Map<ComputeSample.SampledShard, double[]> exact = new HashMap<>();

    Sums(CostModel model, List<TablePrediction> predictions) {
      evaluator = model.evaluator();
      size = model.towerSize();
      this.predictions = predictions;
    }

    double computeMs(ComputeSample sample) {
      double[] sum = new double[size];
      for (ComputeSample.SampledShard shard : sample.shards()) {
        TowerSums.add(
            sum,
            exact.computeIfAbsent(
                shard, s -> TowerSums.exact(predictions.get(s.table()).tower(s.width()))));
      }
      return evaluator.computeMs(sum);
    }
  }

  private static List<CommunicationPrediction> allToAlls(
      CostModel model, List<CommunicationSample> list, int batchSize) {
    CostEvaluator evaluator = model.evaluator();
    List<CommunicationPrediction> allToAlls = new ArrayList<>();
    for (CommunicationSample sample : list) {
      CommunicationCost cost = evaluator.allToAll(sample.elements(batchSize));
      int devices = sample.devices();
      double forward = 0;
      double backward = 0;
      for (int d = 0; d < devices; d++) {
        forward += relative(cost.forwardMs()[d] + sample.waitMs(d), sample.forwardMs()[d]);
        backward += relative(cost.backwardMs()[d], sample.backwardMs()[d]);
      }
      allToAlls.add(
          new CommunicationPrediction(
              allToAlls.size(),
              sample,
              forward / devices,
              backward / devices,
              model.limits().ofAllToAll(sample, batchSize)));
    }
    return allToAlls;
  }

  private static double relative(double predicted, double measured) {
    return Math.abs(predicted - measured) / measured;
  }
}
