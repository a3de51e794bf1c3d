package io.shardtide.bench.soak;

import io.shardtide.bench.Figures;
import io.shardtide.bench.soak.FaultSchedule.ScheduledFault;
import io.shardtide.client.Endpoint;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.models.ModelFiles;
import io.shardtide.wire.Registry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.clients.CommonClientConfigs;

/**
 * Lets three brokers, three planners and two registries work under load for minutes, does to them
 * what happens in production, and checks afterwards that all guarantees held.
 */
final class Soak {
  /** No fault takes longer to recover from; an event without an answer then is lost. */
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  private final SoakOptions options;
  private final Consumer<String> progress;
  private final List<InjectedFault> faults = new ArrayList<>();
  private final Ledger ledger = new Ledger();
  private final Waits waits = new Waits();

  /**
   * What a soak does.
   *
   * @param lasting how long faults begin
   * @param seed draws faults, tables and changes
   * @param workloads number of workloads, of 12 tables each
   * @param perSecond changes a second, of all workloads
   * @param faults the faults to draw from; empty for all
   */
  record SoakOptions(
      Duration lasting, long seed, int workloads, double perSecond, Set<FaultKind> faults) {
    /** Copies what may change. */
    SoakOptions {
      faults = Set.copyOf(faults);
    }
  }

  /** Time without faults before the first one, in which no alert may fire. */
  private static final Duration CALM = Duration.ofSeconds(15);

  /**
   * A fault, when it began, was mended, and the next one began, how many events Kafka did not
   * acknowledge meanwhile, and which alerts fired.
   */
  private record InjectedFault(
      ScheduledFault fault,
      long fromNanos,
      long mendedNanos,
      long toNanos,
      long failures,
      Set<String> alerts) {
    private boolean isNamed() {
      return fault.kind().alert().filter(alerts::contains).isPresent();
    }
  }

  /**
   * @param progress receives a line for each fault, and for each part of the soak
   */
  Soak(SoakOptions options, Consumer<String> progress) {
    this.options = options;
    this.progress = progress;
  }

  /**
   * Runs a soak, prints what each kind of fault cost, and returns whether all guarantees held and
   * all events were answered.
   *
   * @param directory an empty folder for everything that its processes write
   */
  boolean run(Path directory) throws IOException, InterruptedException {
    progress.accept("starting three brokers, two registries and three planners");
    try (SoakCluster cluster = SoakCluster.start(directory);
        Injector injector = new Injector(cluster)) {
      Endpoint endpoint = Endpoint.of(cluster.bootstrapServers(), cluster.registryUrl());
      try (Registry registry = endpoint.connectRegistry();
          SoakAnswers answers = new SoakAnswers(endpoint, registry, ledger, waits);
          SoakLoad load =
              new SoakLoad(
                  endpoint,
                  registry,
                  options.workloads(),
                  ModelFiles.shipped().hardware(),
                  options.seed(),
                  ledger,
                  waits,
                  answers)) {
        load.begin();
        awaitAnswers(answers);
        load.run(options.perSecond());
        try (SoakAlerts alerts =
            SoakAlerts.start(
                    directory.resolve("prometheus"), KafkaCluster.freePort(), cluster.httpPorts())
                .orElse(null)) {
          if (alerts == null) {
            progress.accept("without alerts: this machine has no prometheus");
          }
          awaitCalm(alerts);
          load.sendBad();
          inject(injector, load, answers, Optional.ofNullable(alerts));
        }
        load.end();
        awaitAnswers(answers);
        SoakDashboards dashboards = new SoakDashboards(ledger, answers::latestIds);
        for (int port : cluster.httpPorts()) {
          dashboards.read(port);
        }
      }
      // Whatever they still do in the background is on the log when they have stopped.
      cluster.planners().forEach(JavaProcess::stop);
      progress.accept("checking the log");
      SoakReport report = check(cluster);
      progress.accept(costs().toString());
      progress.accept(
          "%,d events answered, median %.2f s, p99 %.2f s; %,d without an answer%n%n%s"
              .formatted(
                  waits.ended(),
                  seconds(waits.quantile(0.5)),
                  seconds(waits.quantile(0.99)),
                  waits.open(),
                  report));
      return report.isClean() && waits.open() == 0;
    }
  }

  private void inject(
      Injector injector, SoakLoad load, SoakAnswers answers, Optional<SoakAlerts> alerts)
      throws IOException, InterruptedException {
    Set<FaultKind> kinds = injector.possible();
    if (!options.faults().isEmpty()) {
      kinds.retainAll(options.faults());
    }
    if (kinds.isEmpty()) {
      throw new IllegalStateException("This machine can do none of " + options.faults());
    }
    FaultSchedule schedule = new FaultSchedule(options.seed(), kinds, SoakCluster.MACHINES);
    long begun = System.nanoTime();
    while (System.nanoTime() - begun < options.lasting().toNanos()) {
      ScheduledFault fault = schedule.next();
      long from = System.nanoTime();
      long failures = load.failures();
      injector.begin(fault);
      Thread.sleep(fault.lasting().toMillis());
      long mended = System.nanoTime();
      injector.end(fault);
      Thread.sleep(fault.pause().toMillis());
      answers.check();
      load.check();
      long to = System.nanoTime();
      Set<String> fired = alerts.map(a -> a.fired(from, to)).orElse(Set.of());
      faults.add(new InjectedFault(fault, from, mended, to, load.failures() - failures, fired));
      progress.accept(
          "%6.0f s  %3d  %-32s %d for %4.1f s; longest wait %5.2f s, since its end %5.2f s; %,d answers; alerts: %s"
              .formatted(
                  (to - begun) / 1e9,
                  faults.size(),
                  fault.kind().shown(),
                  fault.target() + 1,
                  fault.lasting().toMillis() / 1e3,
                  waits.longest(from, mended, to).toMillis() / 1e3,
                  waits.longest(mended, to, to).toMillis() / 1e3,
                  waits.ended(),
                  shown(fired)));
    }
  }

  private static String shown(Set<String> alerts) {
    return alerts.isEmpty() ? "none" : String.join(", ", alerts);
  }

  private void awaitCalm(SoakAlerts alerts) throws InterruptedException {
    // The first changes to a new planner are slow; what they cause is no fault.
    Thread.sleep(CALM.toMillis());
    long from = System.nanoTime();
    Thread.sleep(CALM.toMillis());
    if (alerts != null) {
      progress.accept("alerts without a fault: " + shown(alerts.fired(from, System.nanoTime())));
    }
  }

  private void awaitAnswers(SoakAnswers answers) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (waits.open() > 0 && System.nanoTime() < end) {
      answers.check();
      Thread.sleep(100);
    }
  }

  private SoakReport check(SoakCluster cluster) throws IOException {
    try (Registry registry = Registry.connect(cluster.registryUrl(), Map.of());
        KafkaSoakLog log =
            new KafkaSoakLog(
                Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrapServers()),
                registry,
                SoakCluster.topics())) {
      return new SoakChecker(TensorFlowTowers::new).check(log, ledger);
    }
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1e3;
  }

  /**
   * Of each kind of fault: the longest time that a publisher waited for an answer, of changes that
   * it sent while the fault lasted, and after its end, before the next one.
   */
  private Figures costs() {
    Figures costs =
        new Figures(
            "fault, longest wait in s",
            "times | median | most | after its end | errors at publishers | alerts");
    long now = System.nanoTime();
    for (FaultKind kind : FaultKind.values()) {
      List<InjectedFault> ofKind =
          faults.stream().filter(fault -> fault.fault().kind() == kind).toList();
      double[] longest =
          ofKind.stream()
              .mapToDouble(f -> seconds(waits.longest(f.fromNanos(), f.mendedNanos(), now)))
              .sorted()
              .toArray();
      if (longest.length > 0) {
        costs.add(
            kind.shown(),
            "%d | %.2f | %.2f | %.2f | %d | %s %d",
            longest.length,
            longest[longest.length / 2],
            longest[longest.length - 1],
            ofKind.stream()
                .mapToDouble(f -> seconds(waits.longest(f.mendedNanos(), f.toNanos(), now)))
                .max()
                .orElseThrow(),
            ofKind.stream().mapToLong(InjectedFault::failures).sum(),
            kind.alert().orElse("none"),
            ofKind.stream().filter(InjectedFault::isNamed).count());
      }
    }
    return costs;
  }
}
