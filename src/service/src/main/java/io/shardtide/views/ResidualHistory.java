package io.shardtide.views;

import io.shardtide.cost.CostSample;
import io.shardtide.learn.Attribution;
import io.shardtide.learn.CostComparison;
import io.shardtide.learn.ResidualMonitor;
import io.shardtide.learn.SampleCheck;
import io.shardtide.plan.CostQuantity;
import io.shardtide.state.Baseline;
import io.shardtide.state.ResidualWindow;
import io.shardtide.workload.RejectedException;
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
 * Ratios of measured to predicted costs of a hardware's workloads over time, with the planner's own
 * drift detector, but from the latest samples on only.
 */
public final class ResidualHistory {
  /** How many points of a line are kept. */
  static final int POINTS = 300;

  private final Map<Key, ResidualLine> lines = new HashMap<>();
  private final Map<String, OpenMeasurement> open = new HashMap<>();
  private final Set<String> openBefore = new HashSet<>();

  private record Key(String workloadId, CostQuantity quantity) {}

  private static final class ResidualLine {
    private ResidualWindow window = ResidualWindow.begin("");
    private final Deque<Point> points = new ArrayDeque<>();
  }

  /** A measurement of which more samples may follow. */
  private record OpenMeasurement(CostSample first, SortedMap<Integer, Double> computations) {}

  /**
   * The residual of one measurement.
   *
   * @param measuredAt when it was measured
   * @param planId the plan that ran
   * @param modelId the model that predicted
   * @param ratio measured over predicted cost: the lower median over the devices
   * @param usual baseline of the ratio; empty while the detector learns it
   * @param low ratios that stay below this raise an alarm
   * @param high ratios that stay above this raise an alarm
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
   * The residuals of one quantity of a workload.
   *
   * @param workloadId the workload
   * @param quantity component of the cost
   * @param points in the order of the log
   */
  public record ResidualPage(String workloadId, CostQuantity quantity, List<Point> points) {}

  void apply(CostSample sample) {
    try {
      SampleCheck.check(sample);
    } catch (RejectedException e) {
      return;
    }
    OpenMeasurement known = open.get(sample.workloadId());
    if (known != null && !known.first().measurementId().equals(sample.measurementId())) {
      close(open.remove(sample.workloadId()));
    }
    if (sample.cost() instanceof CostSample.Computation cost) {
      if (cost.predictedMs() > 0 && cost.measuredMs() > 0) {
        open.computeIfAbsent(sample.workloadId(), w -> new OpenMeasurement(sample, new TreeMap<>()))
            .computations()
            .put(cost.device(), StrictMath.log(cost.measuredMs() / cost.predictedMs()));
      }
    } else if (sample.cost() instanceof CostSample.StepCommunication cost) {
      CostComparison comparison = new CostComparison(cost.predicted(), cost.measured());
      for (CostQuantity quantity : List.of(CostQuantity.FORWARD, CostQuantity.BACKWARD)) {
        add(sample, quantity, comparison.residuals(quantity, new TreeMap<>()));
      }
    }
  }

  /**
   * Closes the measurements that were open at the last call already: all their samples are read.
   */
  void closeMeasurements() {
    List<OpenMeasurement> complete =
        open.values().stream().filter(o -> openBefore.contains(o.first().measurementId())).toList();
    for (OpenMeasurement measurement : complete) {
      open.remove(measurement.first().workloadId());
      close(measurement);
    }
    openBefore.clear();
    open.values().forEach(o -> openBefore.add(o.first().measurementId()));
  }

  private void close(OpenMeasurement complete) {
    add(complete.first(), CostQuantity.COMPUTE, complete.computations());
  }

  private void add(CostSample of, CostQuantity quantity, SortedMap<Integer, Double> residuals) {
    if (residuals.isEmpty()) {
      return;
    }
    ResidualLine line =
        lines.computeIfAbsent(new Key(of.workloadId(), quantity), k -> new ResidualLine());
    double common = Attribution.of(residuals).common();
    line.window = ResidualMonitor.COMMON.add(line.window.forModel(of.modelId()), common);
    Optional<Baseline> baseline = line.window.baseline();
    Recent.add(
        line.points,
        new Point(
            of.measuredAt(),
            of.planId(),
            of.modelId(),
            StrictMath.exp(common),
            ratio(baseline, 0),
            ratio(baseline, -ResidualMonitor.COMMON.minShift()),
            ratio(baseline, ResidualMonitor.COMMON.minShift())),
        POINTS);
    if (ResidualMonitor.COMMON.isAlarm(line.window)) {
      line.window = ResidualWindow.begin(of.modelId());
    }
  }

  private static OptionalDouble ratio(Optional<Baseline> baseline, double shift) {
    return baseline
        .map(b -> OptionalDouble.of(StrictMath.exp(b.center() + shift)))
        .orElse(OptionalDouble.empty());
  }

  List<ResidualPage> pages() {
    List<ResidualPage> all = new ArrayList<>();
    lines.forEach(
        (key, line) ->
            all.add(new ResidualPage(key.workloadId(), key.quantity(), List.copyOf(line.points))));
    all.sort(Comparator.comparing(ResidualPage::workloadId).thenComparing(ResidualPage::quantity));
    return all;
  }
}
