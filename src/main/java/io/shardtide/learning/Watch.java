package io.shardtide.learning;

import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.DriftAlarmBuilder;
import io.shardtide.domain.FeedbackHeader;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Watches one quantity of a workload: the part that is common to all devices says whether the model
 * is wrong, each device's excess whether the device is slow.
 */
final class Watch {
  /**
   * Measurements of a new plan within which a slow device that is slow no more says that the plan
   * is why, and not somebody who put the device right.
   */
  private static final int FIRST = 8;

  private final DetectorKind kind;
  private final Series ofCommon;
  private final Series ofDevice;

  Watch(DetectorKind kind) {
    this.kind = kind;
    ofCommon = Series.ofCommon(kind);
    ofDevice = Series.ofDevice(kind);
  }

  /**
   * What is measured.
   *
   * @param store has the series
   * @param header the workload's, this measurement included
   * @param plan the plan that ran
   * @param hardware the hardware
   * @param quantity which part of the cost
   * @param measuredAt when
   */
  record Measured(
      FeedbackStore store,
      FeedbackHeader header,
      ShardingPlan plan,
      String hardware,
      CostQuantity quantity,
      Instant measuredAt) {

    private ResidualWindow window(OptionalInt device) {
      return store
          .window(plan.workloadId(), name(device))
          .orElse(ResidualWindow.begin(plan.modelId()))
          .of(plan.modelId());
    }

    private void put(OptionalInt device, ResidualWindow window) {
      store.putWindow(plan.workloadId(), name(device), window);
    }

    private String name(OptionalInt device) {
      return quantity.name() + (device.isPresent() ? "/" + device.getAsInt() : "");
    }
  }

  /** Returns whether a device is slow. */
  boolean isSlow(Measured measured, int device) {
    return measured.window(OptionalInt.of(device)).slowIn().isPresent();
  }

  /** Takes the residuals of a measurement; returns what is wrong as of now. */
  List<DriftAlarm> take(Measured measured, Attribution residuals) {
    List<DriftAlarm> alarms = new ArrayList<>();
    OptionalInt none = OptionalInt.empty();
    ResidualWindow common = ofCommon.add(measured.window(none), residuals.common());
    if (ofCommon.isAlarm(common)) {
      alarms.add(alarm(measured, none, common, ofCommon));
      common = ResidualWindow.begin(common.modelId());
    }
    measured.put(none, common);

    SortedMap<Integer, ResidualWindow> windows = new TreeMap<>();
    residuals.excess().forEach((d, excess) -> windows.put(d, next(measured, d, excess)));
    for (int device : List.copyOf(windows.keySet())) {
      ResidualWindow window = windows.get(device);
      if (window.slowIn().isPresent() || !ofDevice.isAlarm(window)) {
        continue;
      }
      if (ofDevice.recentShift(window) < 0) {
        // Faster than its peers as never before: its tables are cheaper than the model says.
        windows.put(device, ResidualWindow.begin(window.modelId()));
      } else if (cameWithTables(measured.plan(), device, windows)) {
        alarms.add(alarm(measured, none, window, ofDevice));
        windows.put(device, ResidualWindow.begin(window.modelId()));
      } else {
        alarms.add(alarm(measured, OptionalInt.of(device), window, ofDevice));
        windows.put(device, window.slow(measured.plan().planId()));
      }
    }
    windows.forEach((device, window) -> measured.put(OptionalInt.of(device), window));
    return alarms;
  }

  /** Returns a device's window after a residual, and after it may have ceased to be slow. */
  private ResidualWindow next(Measured measured, int device, double excess) {
    ResidualWindow window = ofDevice.add(measured.window(OptionalInt.of(device)), excess);
    if (window.slowIn().isEmpty() || !ofDevice.isBack(window)) {
      return window;
    }
    String planId = measured.plan().planId();
    boolean withPlan =
        !window.slowIn().get().equals(planId) && measured.header().planMeasurements() <= FIRST;
    return window.back(withPlan ? Optional.of(planId) : Optional.empty());
  }

  /**
   * Returns whether a device became slow when another ceased to be, with a plan that moved tables
   * from that one to this one. Then it is the tables that are dearer than the model says.
   */
  private static boolean cameWithTables(
      ShardingPlan plan, int device, SortedMap<Integer, ResidualWindow> windows) {
    return plan.moves().stream()
        .filter(move -> move.toDevice() == device && move.fromDevice() != device)
        .map(move -> windows.get(move.fromDevice()))
        .anyMatch(other -> other != null && other.backIn().equals(Optional.of(plan.planId())));
  }

  private DriftAlarm alarm(
      Measured measured, OptionalInt device, ResidualWindow window, Series series) {
    return DriftAlarmBuilder.builder()
        .hardware(measured.hardware())
        .modelId(measured.plan().modelId())
        .kind(device.isPresent() ? DriftAlarm.Kind.STRAGGLER : DriftAlarm.Kind.MODEL)
        .quantity(measured.quantity())
        .workloadId(measured.plan().workloadId())
        .device(device)
        .planId(measured.plan().planId())
        .detector(kind.key())
        .samples(window.samples())
        .usualRatio(StrictMath.exp(series.recent(window) - series.recentShift(window)))
        .recentRatio(StrictMath.exp(series.recent(window)))
        .measuredAt(measured.measuredAt())
        .build();
  }
}
