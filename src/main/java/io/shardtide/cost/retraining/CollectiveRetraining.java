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
import io.shardtide.domain.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.apache.commons.math3.stat.descriptive.rank.Median;
import org.apache.commons.math3.stat.descriptive.rank.Percentile;

/** Fine-tunes the net of a collective: corrects the logarithm of its duration. */
final class CollectiveRetraining {
  private final CollectiveNet net;
  private final CostEvaluator evaluator;
  private final Map<MeasuredDuration, List<Double>> residuals = new LinkedHashMap<>();

  /** A measured collective on a device: its features, and whether it is recent. */
  private record MeasuredDuration(List<Double> inputs, boolean isRecent) {
    double[] features() {
      return inputs.stream().mapToDouble(Double::doubleValue).toArray();
    }
  }

  private CollectiveRetraining(CollectiveNet net, CostEvaluator evaluator) {
    this.net = net;
    this.evaluator = evaluator;
  }

  /**
   * Returns the fine-tuned net.
   *
   * @param errors receives the errors before and after
   */
  static CollectiveNet train(
      CollectiveNet net,
      CostEvaluator evaluator,
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    return new CollectiveRetraining(net, evaluator).run(recent, old, settings, errors);
  }

  private CollectiveNet run(
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    add(recent, true);
    add(old, false);
    if (residuals.keySet().stream().noneMatch(MeasuredDuration::isRecent)) {
      return net;
    }
    List<MeasuredDuration> all = List.copyOf(residuals.keySet());
    double[] targets = new double[all.size()];
    double[] variances = new double[targets.length];
    for (int i = 0; i < targets.length; i++) {
      double[] of = residuals.get(all.get(i)).stream().mapToDouble(Double::doubleValue).toArray();
      targets[i] = new Median().evaluate(of);
      double variance = settings.modelVariance() + settings.noiseVariance() / of.length;
      variances[i] = all.get(i).isRecent() ? variance : variance / settings.oldWeight();
    }
    double[] recentTargets =
        IntStream.range(0, targets.length)
            .filter(i -> all.get(i).isRecent())
            .mapToDouble(i -> Math.abs(targets[i]))
            .toArray();
    LogCorrection correction =
        new Ensemble(CollectiveBasis.scales(), new Percentile(90).evaluate(recentTargets), settings)
            .fit(
                phase ->
                    all.stream()
                        .map(of -> CollectiveBasis.of(of.features(), phase))
                        .toArray(double[][]::new),
                targets,
                variances);
    errors.put("champion." + net.shown() + ".mape", error(all, targets, of -> 0));
    errors.put(
        "learned." + net.shown() + ".mape",
        error(
            all,
            targets,
            of -> correction.of(phase -> CollectiveBasis.of(of.features(), phase)).mean()));
    return net.corrected(
        net.correction().map(before -> Ensemble.plus(correction, before)).orElse(correction));
  }

  private static double error(
      List<MeasuredDuration> all, double[] targets, ToDoubleFunction<MeasuredDuration> correction) {
    return IntStream.range(0, targets.length)
        .filter(i -> all.get(i).isRecent())
        .mapToDouble(
            i -> Math.abs(StrictMath.expm1(correction.applyAsDouble(all.get(i)) - targets[i])))
        .average()
        .orElse(0);
  }

  private void add(SampleSet samples, boolean isRecent) {
    for (CollectiveSample sample : samples.collectives()) {
      if (!net.covers(sample)) {
        continue;
      }
      double[] predicted = evaluator.collectiveMs(sample);
      DeviceGroup group = new DeviceGroup(sample.devices(), sample.devicesPerNode());
      boolean isAllToAll = sample.collective() == Collective.ALL_TO_ALL;
      for (int d = 0; d < predicted.length; d++) {
        double[] features =
            isAllToAll
                ? CollectiveInputs.allToAllFeatures(
                    sample.bytes()[d], AllToAllLoad.of(group, sample.bytes()))
                : CollectiveInputs.bufferFeatures(sample.bytes()[d], group);
        residuals
            .computeIfAbsent(
                new MeasuredDuration(Arrays.stream(features).boxed().toList(), isRecent),
                key -> new ArrayList<>())
            .add(StrictMath.log(sample.ms()[d] / predicted[d]));
      }
    }
  }
}
