package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.learning.ExclusionReason;
import io.shardtide.learning.Feedback;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What feedback counts. Ratios are by hardware and quantity only: workloads and devices may be
 * thousands.
 */
final class FeedbackMetrics {
  private final MeterRegistry meters;
  private final Counter measurements;
  private final Counter samples;
  private final Map<ExclusionReason, Counter> setAside = new EnumMap<>(ExclusionReason.class);
  private final Map<DriftAlarm.AlarmKind, Counter> alarms =
      new EnumMap<>(DriftAlarm.AlarmKind.class);
  private final Map<RatioGauge, Double> ratios = new ConcurrentHashMap<>();

  /** Whose ratio it is. */
  private record RatioGauge(String hardware, CostQuantity quantity) {}

  FeedbackMetrics(MeterRegistry meters) {
    this.meters = meters;
    measurements =
        Counter.builder("shardtide.measurements")
            .description("Measurements that were taken")
            .register(meters);
    samples =
        Counter.builder("shardtide.training.samples")
            .description("Samples that were written to learn from")
            .register(meters);
    for (ExclusionReason reason : ExclusionReason.values()) {
      setAside.put(
          reason,
          Counter.builder("shardtide.measurements.set.aside")
              .description("Parts of measurements that are not used")
              .tag("reason", tag(reason))
              .register(meters));
    }
    for (DriftAlarm.AlarmKind kind : DriftAlarm.AlarmKind.values()) {
      alarms.put(
          kind,
          Counter.builder("shardtide.drift.alarms")
              .description("Alarms that measured costs went away from what is predicted")
              .tag("kind", tag(kind))
              .register(meters));
    }
  }

  private static String tag(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  /** A measurement was taken. */
  void measured(Feedback feedback) {
    measurements.increment();
    samples.increment(feedback.samples().size());
    feedback.excluded().forEach((reason, count) -> setAside.get(reason).increment(count));
    feedback.alarms().forEach(alarm -> alarms.get(alarm.kind()).increment());
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
