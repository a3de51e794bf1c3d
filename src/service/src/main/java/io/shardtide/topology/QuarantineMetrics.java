package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.shardtide.workload.Quarantine;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The keys in quarantine of this instance's partitions, and their records that wait, for metrics
 * and health.
 */
final class QuarantineMetrics {
  private final Map<TopologyName, List<WaitingRoom>> tasks = new EnumMap<>(TopologyName.class);
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
      Gauge.builder(
              "shardtide.waiting.records",
              () -> tasks.get(topology).stream().mapToInt(WaitingRoom::records).sum())
          .description("Records that wait for a schema, a model or the end of a quarantine")
          .tag("topology", topology.toString())
          .register(meters);
    }
  }

  private List<Quarantine> of(TopologyName topology) {
    return tasks.get(topology).stream().flatMap(room -> room.all().stream()).toList();
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

  /** Shows what waits in a task until the result is closed. */
  Shown show(TopologyName topology, WaitingRoom room) {
    tasks.get(topology).add(room);
    return () -> tasks.get(topology).remove(room);
  }

  /** A task's share of the keys. */
  @FunctionalInterface
  interface Shown extends AutoCloseable {
    @Override
    void close();
  }
}
