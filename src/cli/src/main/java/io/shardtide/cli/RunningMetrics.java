package io.shardtide.cli;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.shardtide.topology.ServiceHealth;
import io.shardtide.web.Health;
import io.shardtide.web.WebServer;
import java.util.List;

/** Metrics of a running service and its JVM, and its health. */
record RunningMetrics(PrometheusMeterRegistry meters, JvmGcMetrics collections)
    implements AutoCloseable {
  /** Registers the JVM's metrics and a gauge for each part of health. */
  static RunningMetrics of(PrometheusMeterRegistry meters, ServiceHealth health) {
    JvmGcMetrics collections = new JvmGcMetrics();
    List.of(
            new ClassLoaderMetrics(),
            new JvmMemoryMetrics(),
            new JvmThreadMetrics(),
            new ProcessorMetrics(),
            new FileDescriptorMetrics(),
            new UptimeMetrics(),
            collections)
        .forEach(binder -> binder.bindTo(meters));
    KafkaWarnings.bindTo(meters);
    for (ServiceHealth.HealthPart part : health.parts()) {
      Gauge.builder("shardtide.up", health, h -> isUp(h, part.name()))
          .description("1 if the part is UP, 0 if it is DOWN; /health has the reason")
          .tag("part", part.name())
          .register(meters);
    }
    Gauge.builder(
            "shardtide.partitions.under.replicated",
            health,
            ServiceHealth::underReplicatedPartitions)
        .description("Partitions with fewer replicas in sync than assigned")
        .register(meters);
    Gauge.builder("shardtide.partitions.unwritable", health, ServiceHealth::unwritablePartitions)
        .description("Partitions without a leader, or with fewer replicas than min.insync.replicas")
        .register(meters);
    Gauge.builder("shardtide.state.free", health, ServiceHealth::freeStateBytes)
        .description("Free space of the file system with the state directory")
        .baseUnit("bytes")
        .register(meters);
    Gauge.builder("shardtide.certificate.expires", health, ServiceHealth::certificateExpiresSeconds)
        .description("When the planner's own certificate expires, in seconds since 1970")
        .baseUnit("seconds")
        .register(meters);
    Gauge.builder("shardtide.time", () -> System.currentTimeMillis() / 1e3)
        .description("This machine's clock, in seconds since 1970")
        .baseUnit("seconds")
        .register(meters);
    return new RunningMetrics(meters, collections);
  }

  private static double isUp(ServiceHealth health, String name) {
    return health.parts().stream().anyMatch(p -> p.name().equals(name) && p.problem().isEmpty())
        ? 1
        : 0;
  }

  /** Returns health as /health serves it. */
  static Health view(ServiceHealth health) {
    return new Health(
        health.parts().stream()
            .map(
                part ->
                    part.problem()
                        .map(problem -> Health.Component.down(part.name(), problem))
                        .orElseGet(() -> Health.Component.up(part.name())))
            .toList(),
        health.quarantined());
  }

  /** Returns all metrics in Prometheus' text format. */
  String scrape() {
    return meters.scrape(WebServer.PROMETHEUS);
  }

  @Override
  public void close() {
    collections.close();
    meters.close();
  }
}
