package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.domain.Quarantine;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** The keys in quarantine of this instance's partitions, for metrics and health. */
final class QuarantineMetrics {
  private final Map<TopologyName, List<Supplier<Collection<Quarantine>>>> tasks =
      new EnumMap<>(TopologyName.class);
  private final Map<TopologyName, Counter> entered = new EnumMap<>(TopologyName.class);

  QuarantineMetrics(MeterRegistry meters) {
    for (TopologyName topology : TopologyName.values()) {
      tasks.put(topology, new CopyOnWriteArrayList<>());
      entered.put(
          topology,
          Counter.builder("shardtide.quarantine.entered")
              .description("Keys that entered a topology's quarantine, or failed there again")
              .tag("topology", topology.toString())
              .register(meters));
      Gauge.builder("shardtide.quarantine.keys", () -> of(topology).size())
          .description("Keys in a topology's quarantine, whose records wait")
          .tag("topology", topology.toString())
          .register(meters);
    }
  }

  private List<Quarantine> of(TopologyName topology) {
    return tasks.get(topology).stream().flatMap(task -> task.get().stream()).toList();
  }

  /** Returns all keys in quarantine, by topology in the order of the flow, and by key. */
  List<Quarantine> all() {
    return tasks.keySet().stream()
        .flatMap(topology -> of(topology).stream().sorted(Comparator.comparing(Quarantine::key)))
        .toList();
  }

  /** Counts a key that entered. */
  void entered(TopologyName topology) {
    entered.get(topology).increment();
  }

  /** Shows a task's keys in quarantine until the result is closed; called by other threads. */
  Shown show(TopologyName topology, Supplier<Collection<Quarantine>> keys) {
    tasks.get(topology).add(keys);
    return () -> tasks.get(topology).remove(keys);
  }

  /** A task's share of the keys. */
  @FunctionalInterface
  interface Shown extends AutoCloseable {
    @Override
    void close();
  }
}
