package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.workload.Quarantine;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import org.apache.kafka.streams.KafkaStreams;

/**
 * Counts and times what the planner does, and shows its state: see {@link Metric}. Every meter
 * exists from the start, at zero.
 *
 * <p>A transaction that is aborted and repeated counts twice; the log has each record once.
 */
public final class PlannerMetrics {
  /** Bucket bounds of all timers: from a search of one table to an outage. */
  private static final Duration[] BUCKETS =
      List.of(1, 2, 5, 10, 20, 30, 60, 100, 200, 300, 600, 1_000, 2_000, 5_000, 10_000, 60_000)
          .stream()
          .map(Duration::ofMillis)
          .toArray(Duration[]::new);

  private static final List<String> FLOW =
      Arrays.stream(TopologyName.values()).map(TopologyName::toString).toList();

  private final MeterRegistry meters;
  private final Map<Meter, Map<Object, Supplier<DoubleStream>>> shown = new ConcurrentHashMap<>();
  private final List<WaitingRoom> rooms = new CopyOnWriteArrayList<>();

  private record Meter(Metric metric, Tags tags) {}

  /**
   * @param meters registry of the meters; the caller closes it
   */
  public PlannerMetrics(MeterRegistry meters) {
    this.meters = meters;
    for (Metric metric : Metric.values()) {
      metric.known().forEach(tags -> register(metric, tags));
    }
  }

  private void register(Metric metric, Tags tags) {
    switch (metric.kind) {
      case COUNTER -> counter(metric, tags);
      case TIMER -> timer(metric, tags);
      default -> shown(metric, tags);
    }
  }

  private Counter counter(Metric metric, Tags tags) {
    return Counter.builder(metric.meter())
        .description(metric.description)
        .tags(tags)
        .register(meters);
  }

  private Timer timer(Metric metric, Tags tags) {
    return Timer.builder(metric.meter())
        .description(metric.description)
        .tags(tags)
        .serviceLevelObjectives(BUCKETS)
        .register(meters);
  }

  private Map<Object, Supplier<DoubleStream>> shown(Metric metric, Tags tags) {
    return shown.computeIfAbsent(
        new Meter(metric, tags),
        meter -> {
          Map<Object, Supplier<DoubleStream>> values = new ConcurrentHashMap<>();
          if (metric.kind != Metric.Kind.INTERNAL) {
            Gauge.builder(metric.meter(), () -> metric.of(values.values()))
                .description(metric.description)
                .tags(tags)
                .register(meters);
          }
          return values;
        });
  }

  /** Returns metrics that are not exported. */
  public static PlannerMetrics unread() {
    return new PlannerMetrics(new SimpleMeterRegistry());
  }

  /**
   * Counts one.
   *
   * @param tags values of the metric's tags
   */
  void count(Metric metric, Object... tags) {
    add(metric, 1, tags);
  }

  /** Counts several. */
  void add(Metric metric, long times, Object... tags) {
    counter(metric, metric.tags(tags)).increment((double) times);
  }

  /**
   * Records a time.
   *
   * @param millis in milliseconds; those below zero, of clocks that disagree, count as zero
   */
  void time(Metric metric, double millis, Object... tags) {
    timer(metric, metric.tags(tags))
        .record((long) (Math.max(0, millis) * 1e6), TimeUnit.NANOSECONDS);
  }

  /**
   * Shows values in a gauge, which other threads ask for, until the result is run.
   *
   * @param values those of a task; the gauge makes one of those of all tasks
   */
  Runnable show(Metric metric, Supplier<DoubleStream> values, Object... tags) {
    Map<Object, Supplier<DoubleStream>> all = shown(metric, metric.tags(tags));
    Object task = new Object();
    all.put(task, values);
    return () -> all.remove(task);
  }

  /** Shows a value in a gauge instead of the one before. */
  void set(Metric metric, double value, Object... tags) {
    shown(metric, metric.tags(tags)).put(metric, () -> DoubleStream.of(value));
  }

  /** Returns how many background searches run or are due. */
  public int backgroundSearches() {
    Metric metric = Metric.BACKGROUND_SEARCHES;
    return (int) metric.of(shown(metric, Tags.empty()).values());
  }

  /** Shows what waits in a room until the result is run. */
  Runnable show(WaitingRoom room) {
    rooms.add(room);
    return () -> rooms.remove(room);
  }

  /** Returns all keys in quarantine, by topology in the order of the flow, and by key. */
  List<Quarantine> quarantined() {
    return rooms.stream()
        .flatMap(room -> room.all().stream())
        .sorted(
            Comparator.comparing((Quarantine held) -> FLOW.indexOf(held.topology()))
                .thenComparing(Quarantine::key))
        .toList();
  }

  /** Exports Kafka's own metrics of a topology and its clients until the result is closed. */
  KafkaStreamsMetrics bind(TopologyName topology, KafkaStreams streams) {
    KafkaStreamsMetrics binder =
        new KafkaStreamsMetrics(streams, List.of(Tag.of("topology", topology.toString())));
    binder.bindTo(meters);
    show(
        Metric.REBALANCING,
        () -> DoubleStream.of(streams.state() == KafkaStreams.State.REBALANCING ? 1 : 0),
        topology);
    return binder;
  }
}
