package io.shardtide.cost.retraining;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CollectiveBasis;
import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.SampleSet;
import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.hipparchus.stat.descriptive.rank.Median;
import org.hipparchus.stat.descriptive.rank.Percentile;

/**
 * Fine-tunes the nets of collectives together: corrects the logarithms of their durations by
 * functions that they share, since they cross the same links, and by functions of each. So a
 * collective that was not measured changes with those that were, and is uncertain.
 */
final class CollectiveRetraining {
  /** What a collective has alone is this share of what all have together. */
  private static final double OWN_SCALE = 0.5;

  private final List<CollectiveNet> nets;
  private final CostEvaluator evaluator;
  private final Map<MeasuredDuration, List<Double>> residuals = new LinkedHashMap<>();

  /**
   * A measured collective on a device.
   *
   * @param net position of its net
   * @param inputs features of the net
   * @param isRecent whether its samples are recent
   */
  private record MeasuredDuration(int net, List<Double> inputs, boolean isRecent) {
    double[] features() {
      return inputs.stream().mapToDouble(Double::doubleValue).toArray();
    }
  }

  /**
   * @param nets nets without corrections
   * @param evaluator predicts with them
   */
  CollectiveRetraining(List<CollectiveNet> nets, CostEvaluator evaluator) {
    this.nets = nets;
    this.evaluator = evaluator;
  }

  /**
   * Returns the fine-tuned nets; the same ones if no collective was measured.
   *
   * @param errors receives the errors before and after
   */
  List<CollectiveNet> train(
      SampleSet recent, SampleSet old, long seed, SortedMap<String, Double> errors) {
    add(recent, true);
    add(old, false);
    List<MeasuredDuration> all = List.copyOf(residuals.keySet());
    double[] targets = new double[all.size()];
    double[] variances = new double[targets.length];
    for (int i = 0; i < targets.length; i++) {
      double[] of = residuals.get(all.get(i)).stream().mapToDouble(Double::doubleValue).toArray();
      targets[i] = new Median().evaluate(of);
      variances[i] = Ensemble.variance(of.length, all.get(i).isRecent());
    }
    double[] sizes =
        IntStream.range(0, targets.length)
            .filter(i -> all.get(i).isRecent())
            .mapToDouble(i -> Math.abs(targets[i]))
            .toArray();
    if (sizes.length == 0) {
      return nets;
    }
    LogCorrection joint =
        new Ensemble(scales(), new Percentile(90).evaluate(sizes), seed)
            .fit(
                phase -> all.stream().map(of -> row(of, phase)).toArray(double[][]::new),
                targets,
                variances);
    List<CollectiveNet> corrected = new ArrayList<>();
    for (int n = 0; n < nets.size(); n++) {
      int position = n;
      LogCorrection own =
          new LogCorrection(
              joint.members().stream()
                  .map(
                      member ->
                          new LogCorrection.Member(
                              member.phase(),
                              ofNet(member.weights(), position),
                              ofNet(member.draw(), position)))
                  .toList());
      corrected.add(nets.get(n).corrected(own));
      putErrors(all, targets, n, own, errors);
    }
    return corrected;
  }

  private double[] scales() {
    double[] own = CollectiveBasis.scales();
    double[] scales = new double[own.length * (1 + nets.size())];
    Arrays.setAll(scales, j -> own[j % own.length] * (j < own.length ? 1 : OWN_SCALE));
    return scales;
  }

  /** Returns the functions that all share, and those of each net, of which one has some. */
  private double[] row(MeasuredDuration of, double phase) {
    double[] functions = CollectiveBasis.of(of.features(), phase);
    double[] row = new double[functions.length * (1 + nets.size())];
    System.arraycopy(functions, 0, row, 0, functions.length);
    System.arraycopy(functions, 0, row, functions.length * (1 + of.net()), functions.length);
    return row;
  }

  private static double[] ofNet(double[] joint, int net) {
    double[] weights = new double[CollectiveBasis.SIZE];
    Arrays.setAll(weights, j -> joint[j] + joint[CollectiveBasis.SIZE * (1 + net) + j]);
    return weights;
  }

  private void putErrors(
      List<MeasuredDuration> all,
      double[] targets,
      int net,
      LogCorrection own,
      SortedMap<String, Double> errors) {
    int[] measured =
        IntStream.range(0, targets.length)
            .filter(i -> all.get(i).isRecent() && all.get(i).net() == net)
            .toArray();
    if (measured.length > 0) {
      String name = nets.get(net).shown();
      errors.put("champion." + name + ".mape", mape(measured, i -> -targets[i]));
      errors.put(
          "learned." + name + ".mape",
          mape(
              measured,
              i -> {
                double[] features = all.get(i).features();
                return own.of(phase -> CollectiveBasis.of(features, phase)).mean() - targets[i];
              }));
    }
  }

  private static double mape(int[] measured, IntToDoubleFunction error) {
    return Arrays.stream(measured)
        .mapToDouble(error)
        .map(e -> Math.abs(StrictMath.expm1(e)))
        .average()
        .orElseThrow();
  }

  private void add(SampleSet samples, boolean isRecent) {
    for (CollectiveSample sample : samples.collectives()) {
      for (int n = 0; n < nets.size(); n++) {
        if (nets.get(n).covers(sample)) {
          add(sample, n, isRecent);
        }
      }
    }
  }

  private void add(CollectiveSample sample, int net, boolean isRecent) {
    double[] predicted = evaluator.collectiveMs(sample);
    DeviceGroup group = sample.group();
    for (int d = 0; d < predicted.length; d++) {
      double[] features =
          sample.collective() == Collective.ALL_TO_ALL
              ? CollectiveInputs.allToAllFeatures(
                  sample.bytes()[d], AllToAllLoad.of(group, sample.bytes()))
              : CollectiveInputs.bufferFeatures(sample.bytes()[d], group);
      residuals
          .computeIfAbsent(
              new MeasuredDuration(net, Arrays.stream(features).boxed().toList(), isRecent),
              key -> new ArrayList<>())
          .add(StrictMath.log(sample.ms()[d] / predicted[d]));
    }
  }
}
