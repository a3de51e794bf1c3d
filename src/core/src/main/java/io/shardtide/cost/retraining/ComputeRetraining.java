package io.shardtide.cost.retraining;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShapeBasis;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TableShapes;
import io.shardtide.cost.TowerPredictor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.DoubleFunction;
import java.util.stream.IntStream;
import org.hipparchus.stat.descriptive.rank.Median;
import org.hipparchus.stat.descriptive.rank.Percentile;

/**
 * Fine-tunes the computation of a model: corrects the logarithm of each shard's cost. The cost of a
 * device is a function of the sum of its shards' corrected costs, linearized where the correction
 * is (Gauss-Newton).
 */
final class ComputeRetraining {
  private static final int ROUNDS = 5;

  /** Least share of a step of Gauss-Newton. */
  private static final double LEAST_STEP = 0.125;

  /** Relative step of numeric derivatives. */
  private static final double STEP = 1e-3;

  private final ModelBundle champion;
  private final CostEvaluator evaluator;
  private final Map<DeviceShard, Integer> numbers = new HashMap<>();
  private final List<ShardShape> shapes = new ArrayList<>();
  private final Map<MeasuredLoad, List<Double>> loads = new LinkedHashMap<>();
  private double[][] towers = {};

  /** A device's shards, by their numbers, and whether its samples are recent. */
  private record MeasuredLoad(List<Integer> shards, boolean isRecent) {}

  ComputeRetraining(ModelBundle champion) {
    this.champion = champion;
    evaluator = new CostModel(champion).evaluator();
  }

  /**
   * Returns the correction.
   *
   * @param predictor runs the champion's tower
   * @param errors receives the errors before and after
   */
  LogCorrection train(
      TowerPredictor predictor,
      SampleSet recent,
      SampleSet old,
      long seed,
      SortedMap<String, Double> errors) {
    add(recent, true);
    add(old, false);
    List<float[]> outputs = predictor.towers(shapes);
    towers = new double[shapes.size()][];
    Arrays.setAll(towers, s -> evaluator.addend(outputs.get(s), shapes.get(s)));
    champion.correction().ifPresent(this::undo);
    List<MeasuredLoad> all = List.copyOf(loads.keySet());
    double[] labels = new double[all.size()];
    double[] variances = new double[labels.length];
    for (int i = 0; i < labels.length; i++) {
      double[] measured =
          loads.get(all.get(i)).stream().mapToDouble(ms -> StrictMath.log(ms)).toArray();
      labels[i] = new Median().evaluate(measured);
      variances[i] = Ensemble.variance(measured.length, all.get(i).isRecent());
    }
    double[] none = new double[shapes.size()];
    errors.put("champion.compute.mape", error(all, labels, none));
    Ensemble ensemble = new Ensemble(ShapeBasis.scales(), spread(all, labels), seed);
    double[] logs = none;
    for (int round = 0; round < ROUNDS; round++) {
      Linearized at = linearize(all, labels, logs);
      double[] weights = ensemble.center(at.rows(), at.targets(), variances);
      double[] fitted =
          shapes.stream()
              .mapToDouble(
                  shape -> LogCorrection.dot(ShapeBasis.of(shape, Ensemble.CENTER), weights))
              .toArray();
      logs = towards(fitted, logs, all, labels);
    }
    Linearized at = linearize(all, labels, logs);
    LogCorrection correction = ensemble.fit(at.rows(), at.targets(), variances);
    double[] learned =
        shapes.stream()
            .mapToDouble(shape -> correction.of(phase -> ShapeBasis.of(shape, phase)).mean())
            .toArray();
    errors.put("learned.compute.mape", error(all, labels, learned));
    return correction;
  }

  /** Goes from logarithms towards fitted ones, as far as the error falls, or a small step. */
  private double[] towards(
      double[] fitted, double[] logs, List<MeasuredLoad> all, double[] labels) {
    double before = error(all, labels, logs);
    double[] next = fitted;
    for (double step = 0.5; step >= LEAST_STEP && error(all, labels, next) > before; step /= 2) {
      double share = step;
      next =
          IntStream.range(0, logs.length)
              .mapToDouble(s -> logs[s] + share * (fitted[s] - logs[s]))
              .toArray();
    }
    return next;
  }

  /** Devices' costs, linear in the logarithms of their shards' corrections. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Linearized(DoubleFunction<double[][]> rows, double[] targets) {}

  private Linearized linearize(List<MeasuredLoad> all, double[] labels, double[] logs) {
    double[][] slopes = new double[all.size()][];
    double[] targets = new double[all.size()];
    for (int i = 0; i < targets.length; i++) {
      List<Integer> shards = all.get(i).shards();
      slopes[i] = new double[shards.size()];
      targets[i] = labels[i] - StrictMath.log(costMs(shards, logs, slopes[i]));
      for (int s = 0; s < slopes[i].length; s++) {
        targets[i] += slopes[i][s] * logs[shards.get(s)];
      }
    }
    return new Linearized(phase -> rows(all, slopes, phase), targets);
  }

  private double[][] rows(List<MeasuredLoad> all, double[][] slopes, double phase) {
    double[][] basis =
        shapes.stream().map(shape -> ShapeBasis.of(shape, phase)).toArray(double[][]::new);
    double[][] rows = new double[slopes.length][ShapeBasis.SIZE];
    for (int i = 0; i < rows.length; i++) {
      for (int s = 0; s < slopes[i].length; s++) {
        double[] functions = basis[all.get(i).shards().get(s)];
        for (int j = 0; j < functions.length; j++) {
          rows[i][j] += slopes[i][s] * functions[j];
        }
      }
    }
    return rows;
  }

  /** Divides the champion's own correction out of its tower's outputs. */
  private void undo(LogCorrection correction) {
    for (int s = 0; s < towers.length; s++) {
      ShardShape shape = shapes.get(s);
      double factor = StrictMath.exp(-correction.of(phase -> ShapeBasis.of(shape, phase)).mean());
      for (int k = 0; k < towers[s].length; k++) {
        towers[s][k] *= isLatency(k) ? factor : 1;
      }
    }
  }

  private void add(SampleSet samples, boolean isRecent) {
    for (ComputeSample sample : samples.compute()) {
      List<Integer> shards =
          sample.shards().stream()
              .map(shard -> numbers.computeIfAbsent(shard, of -> number(TableShapes.of(of))))
              .sorted()
              .toList();
      loads
          .computeIfAbsent(new MeasuredLoad(shards, isRecent), key -> new ArrayList<>())
          .add(sample.computeMs());
    }
  }

  private int number(ShardShape shape) {
    shapes.add(shape);
    return shapes.size() - 1;
  }

  /**
   * Returns a device's corrected cost in milliseconds.
   *
   * @param logs logarithm of each shape's correction
   * @param slopes receives the derivatives of its logarithm by those of its shards
   */
  private double costMs(List<Integer> shards, double[] logs, double[] slopes) {
    double[] sum = new double[towers[0].length];
    for (int shape : shards) {
      addScaled(sum, towers[shape], StrictMath.exp(logs[shape]), 1);
    }
    double ms = evaluator.computeMs(sum);
    for (int s = 0; s < slopes.length; s++) {
      double[] more = sum.clone();
      int shape = shards.get(s);
      addScaled(more, towers[shape], StrictMath.exp(logs[shape]) * STEP, 0);
      slopes[s] = (evaluator.computeMs(more) - ms) / STEP / ms;
    }
    return ms;
  }

  /** Adds latency components times a factor, and the other outputs times another one. */
  private void addScaled(double[] sum, double[] tower, double factor, double others) {
    for (int k = 0; k < sum.length; k++) {
      sum[k] += tower[k] * (isLatency(k) ? factor : others);
    }
  }

  /** Returns whether a number of a sum of towers is a latency component of a launch group. */
  private boolean isLatency(int k) {
    return k % champion.segmentSize() < champion.latencyComponents();
  }

  /** Returns the size of the logarithmic error of each recent device. */
  private double[] errors(List<MeasuredLoad> all, double[] labels, double[] logs) {
    return IntStream.range(0, labels.length)
        .filter(i -> all.get(i).isRecent())
        .mapToDouble(
            i -> StrictMath.log(costMs(all.get(i).shards(), logs, new double[0])) - labels[i])
        .toArray();
  }

  private double error(List<MeasuredLoad> all, double[] labels, double[] logs) {
    return Arrays.stream(errors(all, labels, logs))
        .map(e -> Math.abs(StrictMath.expm1(e)))
        .average()
        .orElse(0);
  }

  /** Returns how far the champion is off, as a logarithm: the 90th percentile of its errors. */
  private double spread(List<MeasuredLoad> all, double[] labels) {
    return new Percentile(90)
        .evaluate(
            Arrays.stream(errors(all, labels, new double[shapes.size()])).map(Math::abs).toArray());
  }
}
