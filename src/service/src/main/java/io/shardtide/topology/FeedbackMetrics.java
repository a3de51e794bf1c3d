package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.learn.ExclusionReason;
import io.shardtide.learn.Feedback;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.state.DriftAlarm;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

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
  private final List<SlowDevices> open = new CopyOnWriteArrayList<>();
  private final Map<RatioGauge, Double> ratios = new ConcurrentHashMap<>();

  /** Tags of a ratio. */
  private record RatioGauge(String hardware, CostQuantity quantity) {}

  FeedbackMetrics(MeterRegistry meters) {
    this.meters = meters;
    Gauge.builder("shardtide.slow.devices", open, FeedbackMetrics::count)
        .description(
            "Devices whose computation or communication is slow, of workloads measured since their partition came here")
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

  private static double count(List<SlowDevices> open) {
    return open.stream().flatMap(slow -> slow.devices.values().stream()).mapToInt(n -> n).sum();
  }

  /** The slow devices of a task's workloads; one thread calls it, others read the gauge. */
  final class SlowDevices implements AutoCloseable {
    private final Map<String, Integer> devices = new ConcurrentHashMap<>();

    /** Shows a workload's slow devices from now on. */
    void show(DeviceSpeeds speeds) {
      devices.put(
          speeds.workloadId(),
          (int) speeds.slow().stream().mapToInt(DeviceSpeed::device).distinct().count());
    }

    /** Shows nothing of a deleted workload any more. */
    void remove(String workloadId) {
      devices.remove(workloadId);
    }

    @Override
    public void close() {
      open.remove(this);
    }
  }

  /** Adds a task's slow devices to the gauge until the result is closed. */
  SlowDevices open() {
    SlowDevices slow = new SlowDevices();
    open.add(slow);
    return slow;
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
