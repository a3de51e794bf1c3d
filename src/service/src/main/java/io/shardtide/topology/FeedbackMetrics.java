package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DeviceSpeed;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.learning.ExclusionReason;
import io.shardtide.learning.Feedback;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Metrics of feedback. Ratios have tags for hardware and quantity only, because there may be
 * thousands of workloads and devices.
 */
final class FeedbackMetrics {
  private final MeterRegistry meters;
  private final Counter measurements;
  private final Counter samples;
  private final Map<ExclusionReason, Counter> setAside = new EnumMap<>(ExclusionReason.class);
  private final Map<DriftAlarm.AlarmKind, Counter> alarms =
      new EnumMap<>(DriftAlarm.AlarmKind.class);
  private final Map<String, Integer> slowDevices = new ConcurrentHashMap<>();
  private final Map<RatioGauge, Double> ratios = new ConcurrentHashMap<>();

  /** Tags of a ratio. */
  private record RatioGauge(String hardware, CostQuantity quantity) {}

  FeedbackMetrics(MeterRegistry meters) {
    this.meters = meters;
    Gauge.builder(
            "shardtide.slow.devices", () -> slowDevices.values().stream().mapToInt(n -> n).sum())
        .description(
            "Devices whose computation or communication is slow, since this instance started")
        .register(meters);
    measurements =
        Counter.builder("shardtide.measurements")
            .description("Accepted measurements")
            .register(meters);
    samples =
        Counter.builder("shardtide.training.samples")
            .description("Written training samples")
            .register(meters);
    for (ExclusionReason reason : ExclusionReason.values()) {
      setAside.put(
          reason,
          Counter.builder("shardtide.measurements.set.aside")
              .description("Parts of measurements that were not used")
              .tag("reason", tag(reason))
              .register(meters));
    }
    for (DriftAlarm.AlarmKind kind : DriftAlarm.AlarmKind.values()) {
      alarms.put(
          kind,
          Counter.builder("shardtide.drift.alarms")
              .description("Alarms of drift between measured and predicted costs")
              .tag("kind", tag(kind))
              .register(meters));
    }
  }

  private static String tag(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  /** Counts an accepted measurement. */
  void measured(Feedback feedback) {
    measurements.increment();
    samples.increment(feedback.samples().size());
    feedback.excluded().forEach((reason, count) -> setAside.get(reason).increment(count));
    feedback.alarms().forEach(alarm -> alarms.get(alarm.kind()).increment());
    feedback
        .speeds()
        .ifPresent(
            speeds ->
                slowDevices.put(
                    speeds.workloadId(),
                    (int) speeds.slow().stream().mapToInt(DeviceSpeed::device).distinct().count()));
    feedback
        .ratios()
        .forEach((quantity, ratio) -> show(new RatioGauge(feedback.hardware(), quantity), ratio));
  }

  private void show(RatioGauge of, double ratio) {
    if (ratios.put(of, ratio) == null) {
      Gauge.builder("shardtide.measured.ratio", () -> ratios.get(of))
          .description("Measured over predicted cost in the last measurement")
          .tag("hardware", of.hardware())
          .tag("quantity", tag(of.quantity()))
          .register(meters);
    }
  }
}
