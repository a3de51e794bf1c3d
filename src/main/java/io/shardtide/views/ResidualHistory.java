package io.shardtide.views;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.Baseline;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.learning.Attribution;
import io.shardtide.learning.CostComparison;
import io.shardtide.learning.ResidualMonitor;
import io.shardtide.learning.SampleCheck;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Measured over predicted costs of a hardware's workloads over time, folded as the planner folds
 * them, but from the latest samples on only.
 */
public final class ResidualHistory {
  /** Points that are kept of a line. */
  static final int POINTS = 300;

  private final ResidualMonitor series;
  private final Map<Key, ResidualLine> lines = new HashMap<>();
  private final Map<String, Open> open = new HashMap<>();
  private final Set<String> waited = new HashSet<>();

  private record Key(String workloadId, CostQuantity quantity) {}

  private static final class ResidualLine {
    private ResidualWindow window = ResidualWindow.begin("");
    private final Deque<Point> points = new ArrayDeque<>();
  }

  /** A measurement whose samples are coming. */
  private record Open(CostSample first, SortedMap<Integer, Double> computations) {}

  /**
   * What a measurement says of the model.
   *
   * @param measuredAt when
   * @param planId the plan that ran
   * @param modelId the model that predicted
   * @param ratio measured over predicted, of the lower median of the devices
   * @param usual where the ratio usually lies; empty while that is being learned
   * @param low below this a shift is worth an alarm, if it stays
   * @param high above this
   */
  public record Point(
      Instant measuredAt,
      String planId,
      String modelId,
      double ratio,
      OptionalDouble usual,
      OptionalDouble low,
      OptionalDouble high) {}

  /**
   * A workload's line of one quantity.
   *
   * @param workloadId the workload
   * @param quantity which part of the cost
   * @param points in the order of the log
   */
  public record ResidualPage(String workloadId, CostQuantity quantity, List<Point> points) {}

  ResidualHistory(DetectorKind kind) {
    series = ResidualMonitor.ofCommon(kind);
  }

  void take(CostSample sample) {
    try {
      SampleCheck.check(sample);
    } catch (RejectedException e) {
      return;
    }
    Open known = open.get(sample.workloadId());
    if (known != null && !known.first().measurementId().equals(sample.measurementId())) {
      settle(open.remove(sample.workloadId()));
    }
    if (sample.cost() instanceof CostSample.Computation cost) {
      if (cost.predictedMs() > 0 && cost.measuredMs() > 0) {
        open.computeIfAbsent(sample.workloadId(), w -> new Open(sample, new TreeMap<>()))
            .computations()
            .put(cost.device(), StrictMath.log(cost.measuredMs() / cost.predictedMs()));
      }
    } else if (sample.cost() instanceof CostSample.AllToAll cost) {
      CostComparison comparison = new CostComparison(cost.predicted(), cost.measured());
      add(
          sample,
          CostQuantity.FORWARD,
          comparison.residuals(CostQuantity.FORWARD, new TreeMap<>()));
      add(
          sample,
          CostQuantity.BACKWARD,
          comparison.residuals(CostQuantity.BACKWARD, new TreeMap<>()));
    }
  }

  /** Takes measurements as whole that were open at the last call, too: all samples have come. */
  void settle() {
    List<Open> whole =
        open.values().stream().filter(o -> waited.contains(o.first().measurementId())).toList();
    for (Open one : whole) {
      open.remove(one.first().workloadId());
      settle(one);
    }
    waited.clear();
    open.values().forEach(o -> waited.add(o.first().measurementId()));
  }

  private void settle(Open whole) {
    add(whole.first(), CostQuantity.COMPUTE, whole.computations());
  }

  private void add(CostSample of, CostQuantity quantity, SortedMap<Integer, Double> residuals) {
    if (residuals.isEmpty()) {
      return;
    }
    ResidualLine line =
        lines.computeIfAbsent(new Key(of.workloadId(), quantity), k -> new ResidualLine());
    double common = Attribution.of(residuals).common();
    line.window = series.add(line.window.of(of.modelId()), common);
    Optional<Baseline> baseline = line.window.baseline();
    line.points.addLast(
        new Point(
            of.measuredAt(),
            of.planId(),
            of.modelId(),
            StrictMath.exp(common),
            ratio(baseline, 0),
            ratio(baseline, -ResidualMonitor.MIN_SHIFT),
            ratio(baseline, ResidualMonitor.MIN_SHIFT)));
    if (line.points.size() > POINTS) {
      line.points.removeFirst();
    }
    if (series.isAlarm(line.window)) {
      line.window = ResidualWindow.begin(of.modelId());
    }
  }

  private static OptionalDouble ratio(Optional<Baseline> baseline, double shift) {
    return baseline
        .map(b -> OptionalDouble.of(StrictMath.exp(b.center() + shift)))
        .orElse(OptionalDouble.empty());
  }

  List<ResidualPage> shown() {
    List<ResidualPage> all = new ArrayList<>();
    lines.forEach(
        (key, line) ->
            all.add(new ResidualPage(key.workloadId(), key.quantity(), List.copyOf(line.points))));
    all.sort(Comparator.comparing(ResidualPage::workloadId).thenComparing(ResidualPage::quantity));
    return all;
  }
}
