package io.shardtide.learn;

import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.ResidualWindow;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Monitors the residuals of a workload. A shift of the part common to all devices is an error of
 * the model; a shift of one device's excess is a straggler.
 */
final class DriftMonitor {
  /**
   * A straggler that recovers within this number of measurements of a new plan is assumed to
   * recover because of the plan; later, because the device was repaired.
   */
  private static final int NEW_PLAN_MEASUREMENTS = 8;

  private static final String COMMON = "";
  private static final String SPREAD = "/spread";

  private DriftMonitor() {}

  /**
   * One quantity of a measurement.
   *
   * @param windows the residual windows of the workload
   * @param header the workload's header, this measurement included
   * @param plan the plan that ran
   * @param hardware hardware of the workload's cluster
   * @param quantity the part of the cost that was measured
   * @param measuredAt time of the measurement
   * @param residuals by device, of those that can be compared
   */
  record MeasuredQuantity(
      ResidualWindows windows,
      FeedbackState header,
      ShardingPlan plan,
      String hardware,
      CostQuantity quantity,
      Instant measuredAt,
      SortedMap<Integer, Double> residuals) {

    private ResidualWindow window(String series) {
      return windows
          .get(quantity.name() + series)
          .orElse(ResidualWindow.begin(plan.origin().modelId()))
          .forModel(plan.origin().modelId());
    }

    private void put(String series, ResidualWindow window) {
      windows.put(quantity.name() + series, window);
    }

    ResidualWindow ofDevice(int device) {
      return window("/" + device);
    }

    void putDevice(int device, ResidualWindow window) {
      put("/" + device, window);
    }

    Set<Integer> stragglers(int devices) {
      return IntStream.range(0, devices)
          .filter(device -> ofDevice(device).slowIn().isPresent())
          .boxed()
          .collect(Collectors.toSet());
    }
  }

  /** Adds the residuals of a measurement; returns the alarms that they raise. */
  static List<DriftAlarm> add(MeasuredQuantity measured, Attribution residuals) {
    List<DriftAlarm> alarms = new ArrayList<>();
    OptionalInt allDevices = OptionalInt.empty();
    ResidualWindow common = ResidualMonitor.COMMON.add(measured.window(COMMON), residuals.common());
    if (ResidualMonitor.COMMON.isAlarm(common)) {
      alarms.add(alarm(measured, allDevices, common, ResidualMonitor.COMMON));
      common = ResidualWindow.begin(common.modelId());
    }
    measured.put(COMMON, common);
    SortedMap<Integer, ResidualWindow> windows = new TreeMap<>();
    residuals.excess().forEach((d, excess) -> windows.put(d, next(measured, d, excess)));
    boolean areApart =
        residuals.spread().isPresent()
            && areApart(measured, residuals.spread().getAsDouble(), alarms, windows);
    for (int device : List.copyOf(windows.keySet())) {
      ResidualWindow window = windows.get(device);
      if (areApart || window.slowIn().isPresent() || !ResidualMonitor.DEVICE.isAlarm(window)) {
        continue;
      }
      if (ResidualMonitor.DEVICE.recentShift(window) < 0) {
        // The device became faster than its peers: its tables cost less than predicted.
        windows.put(device, ResidualWindow.begin(window.modelId()));
      } else if (movedWithTables(measured.plan(), device, windows)) {
        alarms.add(alarm(measured, allDevices, window, ResidualMonitor.DEVICE));
        windows.put(device, ResidualWindow.begin(window.modelId()));
      } else {
        alarms.add(alarm(measured, OptionalInt.of(device), window, ResidualMonitor.DEVICE));
        windows.put(device, window.slow(measured.plan().planId(), measured.measuredAt()));
      }
    }
    windows.forEach(measured::putDevice);
    return alarms;
  }

  /**
   * Returns whether all devices are further apart than usual. Then the model is wrong, and no
   * device is slow: one that is slow does not change how far the others are apart.
   *
   * @param alarms receives the alarm
   * @param windows windows of the devices; those of devices that are not slow begin again with it
   */
  private static boolean areApart(
      MeasuredQuantity measured,
      double spread,
      List<DriftAlarm> alarms,
      SortedMap<Integer, ResidualWindow> windows) {
    ResidualWindow window = ResidualMonitor.SPREAD.add(measured.window(SPREAD), spread);
    boolean areApart = ResidualMonitor.SPREAD.hasShifted(window);
    if (ResidualMonitor.SPREAD.isAlarm(window)) {
      if (ResidualMonitor.SPREAD.recentShift(window) > 0) {
        alarms.add(alarm(measured, OptionalInt.empty(), window, ResidualMonitor.SPREAD));
        windows.replaceAll(
            (device, of) -> of.slowIn().isPresent() ? of : ResidualWindow.begin(of.modelId()));
      }
      window = ResidualWindow.begin(window.modelId());
    }
    measured.put(SPREAD, window);
    return areApart;
  }

  /** Returns a device's window with one more residual; a straggler may recover. */
  private static ResidualWindow next(MeasuredQuantity measured, int device, double excess) {
    ResidualWindow window = ResidualMonitor.DEVICE.add(measured.ofDevice(device), excess);
    if (window.slowIn().isEmpty() || !ResidualMonitor.DEVICE.hasRecovered(window)) {
      return window;
    }
    String planId = measured.plan().planId();
    boolean becauseOfPlan =
        !window.slowIn().get().equals(planId)
            && measured.header().planMeasurements() <= NEW_PLAN_MEASUREMENTS;
    return window.back(becauseOfPlan ? Optional.of(planId) : Optional.empty());
  }

  /**
   * Returns whether the excess moved with tables: another device recovered with this plan, and the
   * plan moved tables from there to {@code device}. Then these tables cost more than predicted.
   */
  private static boolean movedWithTables(
      ShardingPlan plan, int device, SortedMap<Integer, ResidualWindow> windows) {
    PlanShards placed = plan.placed();
    return plan.transition().moves().stream()
        .filter(
            move ->
                Arrays.stream(move.overlap().receivers(placed))
                    .anyMatch(rank -> placed.position(rank) == device))
        .map(move -> placed.position(move.fromDevice()))
        .filter(from -> from != device)
        .map(from -> windows.get(from))
        .anyMatch(other -> other != null && other.backIn().equals(Optional.of(plan.planId())));
  }

  private static DriftAlarm alarm(
      MeasuredQuantity measured,
      OptionalInt device,
      ResidualWindow window,
      ResidualMonitor monitor) {
    return DriftAlarmBuilder.builder()
        .hardware(measured.hardware())
        .modelId(measured.plan().origin().modelId())
        .kind(device.isPresent() ? DriftAlarm.AlarmKind.STRAGGLER : DriftAlarm.AlarmKind.MODEL)
        .quantity(measured.quantity())
        .workloadId(measured.plan().workloadId())
        .device(device)
        .planId(measured.plan().planId())
        .detector(PageHinkley.NAME)
        .samples(window.samples())
        .usualRatio(StrictMath.exp(monitor.recentLevel(window) - monitor.recentShift(window)))
        .recentRatio(StrictMath.exp(monitor.recentLevel(window)))
        .measuredAt(measured.measuredAt())
        .build();
  }
}
