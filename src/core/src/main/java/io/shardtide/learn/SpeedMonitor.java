package io.shardtide.learn;

import io.shardtide.learn.DriftMonitor.MeasuredQuantity;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.state.Baseline;
import io.shardtide.state.ResidualWindow;
import io.shardtide.state.SpeedHistory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Estimates how slow stragglers are, and decides when a speed is published: few enough times that a
 * trainer does not reshard for noise, or again and again for a device that becomes slow and
 * recovers by turns. Residuals are relative to predictions of healthy devices, whatever speeds the
 * plan was made for, so that the excess of a slow device stays as it is when a plan takes it into
 * account.
 */
final class SpeedMonitor {
  /** Residuals after the alarm that the first estimate is made from. */
  static final int FIRST = 8;

  /** Residuals after an estimate that the next one is made from. */
  static final int REFINED = 16;

  /**
   * The largest standard error of a first estimate, as a logarithm: 5%. A plan for a device that is
   * 5% faster or slower than assumed loses less than that.
   */
  static final double MAX_ERROR = 0.05;

  /** Residuals after which an estimate is published whatever its error is. */
  private static final int LAST = 32;

  /** A smaller slowdown is not published, as a logarithm: 15%, half of the minimum excess. */
  static final double MIN_SLOWDOWN = StrictMath.log(1.15);

  /** A smaller change of a slowdown is not published, as a logarithm: 10%. */
  static final double MIN_CHANGE = StrictMath.log(1.1);

  /** Healthy residuals after which a device counts as recovered in its first episode. */
  static final int RECOVERY = 8;

  /** The same at most; it doubles with each episode. A window keeps as many residuals. */
  static final int MAX_RECOVERY = ResidualMonitor.DEVICE.capacity / 2;

  /** Healthy measurements after which earlier episodes are forgotten. */
  static final int FORGOTTEN = 256;

  /** Standard error of a median of normal values over that of their mean. */
  private static final double MEDIAN_EFFICIENCY = 1.2533;

  private SpeedMonitor() {}

  /**
   * A slowdown as a logarithm.
   *
   * @param shift excess minus baseline
   * @param error its standard error
   */
  private record SpeedEstimate(double shift, double error) {}

  /**
   * Returns the histories after a measurement.
   *
   * @param before the histories before it
   * @param measured the quantities of the measurement, whose windows contain it
   */
  static List<SpeedHistory> add(
      List<SpeedHistory> before, Map<CostQuantity, MeasuredQuantity> measured) {
    List<SpeedHistory> after = new ArrayList<>();
    for (CostPart part : CostPart.values()) {
      SortedMap<Integer, SpeedHistory> histories = new TreeMap<>();
      before.stream()
          .filter(history -> history.part() == part)
          .forEach(history -> histories.put(history.position(), history));
      Set<Integer> candidates = new TreeSet<>(histories.keySet());
      for (CostQuantity quantity : part.quantities()) {
        MeasuredQuantity of = measured.get(quantity);
        of.residuals().keySet().stream()
            .filter(d -> of.ofDevice(d).slowIn().isPresent())
            .forEach(candidates::add);
      }
      for (int device : candidates) {
        Map<CostQuantity, ResidualWindow> windows = new EnumMap<>(CostQuantity.class);
        part.quantities().stream()
            .filter(quantity -> measured.get(quantity).residuals().containsKey(device))
            .forEach(quantity -> windows.put(quantity, measured.get(quantity).ofDevice(device)));
        SpeedHistory history = histories.getOrDefault(device, SpeedHistory.none(device, part));
        SpeedHistory next = windows.isEmpty() ? history : next(history, windows, measured);
        if (next.episodes() > 0 && next.fast() < FORGOTTEN) {
          after.add(next);
        }
      }
    }
    return after;
  }

  private static SpeedHistory next(
      SpeedHistory history,
      Map<CostQuantity, ResidualWindow> windows,
      Map<CostQuantity, MeasuredQuantity> measured) {
    boolean isSlow = windows.values().stream().anyMatch(w -> w.slowIn().isPresent());
    if (isSlow) {
      return estimated(history, windows, measured);
    }
    if (history.slow().isEmpty()) {
      return history.with().fast(history.fast() + 1).build();
    }
    int required =
        Math.min(MAX_RECOVERY, RECOVERY << Math.min(history.episodes() - 1, Integer.SIZE / 2));
    if (windows.values().stream().anyMatch(w -> w.residuals().size() < required)) {
      return history;
    }
    // What cannot be measured now needs a new alarm.
    for (CostQuantity quantity : history.part().quantities()) {
      ResidualWindow window = measured.get(quantity).ofDevice(history.position());
      if (window.slowIn().isPresent()) {
        measured.get(quantity).putDevice(history.position(), window.back(Optional.empty()));
      }
    }
    return history.recovered();
  }

  /** Returns the history with an estimate, if there is one and it changes enough. */
  private static SpeedHistory estimated(
      SpeedHistory history,
      Map<CostQuantity, ResidualWindow> windows,
      Map<CostQuantity, MeasuredQuantity> measured) {
    int latest = history.slow().isPresent() ? REFINED : FIRST;
    Map<CostQuantity, ResidualWindow> slow = new EnumMap<>(CostQuantity.class);
    windows.forEach(
        (quantity, window) -> {
          if (window.slowIn().isPresent() && window.residuals().size() >= latest) {
            slow.put(quantity, window);
          }
        });
    if (slow.isEmpty()) {
      return history;
    }
    double shift = 0;
    double variance = 0;
    for (ResidualWindow window : slow.values()) {
      SpeedEstimate estimate = estimate(window, latest);
      shift += estimate.shift() / slow.size();
      variance += estimate.error() * estimate.error() / slow.size() / slow.size();
    }
    double error = Math.sqrt(variance);
    boolean isKnown =
        error <= MAX_ERROR || slow.values().stream().anyMatch(w -> w.residuals().size() >= LAST);
    double published = history.slow().map(s -> StrictMath.log(s.slowdown())).orElse(0.0);
    double change = history.slow().isPresent() ? MIN_CHANGE : MIN_SLOWDOWN;
    if (!isKnown || shift < MIN_SLOWDOWN || Math.abs(shift - published) < change) {
      return history;
    }
    slow.forEach(
        (quantity, window) ->
            measured.get(quantity).putDevice(history.position(), window.estimated()));
    Instant measuredAt = measured.get(slow.keySet().iterator().next()).measuredAt();
    double slowdown = Math.min(DeviceSpeed.MOST, StrictMath.exp(shift));
    return history.slow(
        slowdown,
        Math.min(DeviceSpeed.MOST, slowdown * error),
        slow.values().stream()
            .flatMap(window -> window.slowSince().stream())
            .min(Instant::compareTo)
            .orElse(measuredAt));
  }

  private static SpeedEstimate estimate(ResidualWindow window, int latest) {
    List<Float> all = window.residuals();
    Baseline recent = Calibration.of(all.subList(all.size() - latest, all.size()));
    Baseline usual = window.baseline().orElseThrow();
    // The spread of few residuals may be small by chance.
    double noise = Math.max(recent.noise(), usual.noise());
    double error =
        MEDIAN_EFFICIENCY
            * Math.sqrt(
                noise * noise / latest + usual.noise() * usual.noise() / Calibration.SAMPLES);
    return new SpeedEstimate(recent.center() - usual.center(), error);
  }
}
