package io.shardtide.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.shardtide.config.InvalidSettingsException;
import io.shardtide.config.Secrets;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.config.SettingsFile;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.ClientSettings;
import io.shardtide.topology.PlannerMetrics;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.topology.ServiceHealth;
import io.shardtide.web.WebServer;
import io.shardtide.wire.Extension;
import io.shardtide.workload.UnknownHardware;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the planner as a service. */
@Command(
    name = "run",
    description = {
      "Runs the planner on a Kafka cluster until SIGTERM or Ctrl-C.",
      "Creates or checks its topics, publishes its cost models, and serves the dashboard, /health"
          + " and /metrics. Start it on several machines: instances share the partitions and take"
          + " over from each other."
    },
    footer = {
      "",
      "Example:",
      "  shardtide run --example > shardtide.properties",
      "  shardtide run --config shardtide.properties"
    })
final class RunCommand implements Callable<Integer> {
  private static final long POLL_MS = 100;

  /** EX_TEMPFAIL of sysexits.h: a new start will succeed. */
  private static final int TEMPORARY_FAILURE = 75;

  private static final Logger log = LoggerFactory.getLogger(RunCommand.class);

  @Spec private CommandSpec spec;

  @ArgGroup(multiplicity = "1")
  private RunOptions options;

  /** One of them. */
  private static final class RunOptions {
    @Option(
        names = "--config",
        paramLabel = "FILE",
        description = "Settings file in Java's properties syntax; --example prints one.")
    private Path config;

    @Option(names = "--example", description = "Print a settings file with every setting.")
    private boolean example;
  }

  private void warn(String warning) {
    spec.commandLine().getErr().println("shardtide: %s: %s".formatted(options.config, warning));
  }

  @Override
  public Integer call() throws Exception {
    PrintWriter console = spec.commandLine().getOut();
    if (options.example) {
      console.print(Settings.example());
      console.flush();
      return CommandLine.ExitCode.OK;
    }
    ServiceSettings settings;
    try {
      settings = SettingsFile.read(options.config, this::warn);
      Optional<String> refusal = ClientSettings.refusal(settings);
      if (refusal.isPresent()) {
        throw new InvalidSettingsException(options.config.toString(), List.of(refusal.get()));
      }
    } catch (InvalidSettingsException | IOException e) {
      Errors.print(spec.commandLine(), e);
      return CommandLine.ExitCode.USAGE;
    }
    Termination termination = Termination.install();
    try {
      serve(console, settings, termination);
    } finally {
      termination.done();
    }
    return CommandLine.ExitCode.OK;
  }

  private void serve(PrintWriter console, ServiceSettings settings, Termination termination)
      throws Exception {
    List<ModelBundle> bundles = RunningModels.load(settings);
    try (ServiceHealth health = ServiceHealth.watch(settings);
        RunningMetrics metrics =
            RunningMetrics.of(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), health);
        DashboardFeed feed = feed(settings);
        WebServer web =
            WebServer.start(
                settings.http().host(),
                settings.http().port(),
                () -> RunningMetrics.view(health),
                health::isLive,
                metrics::scrape,
                settings.http().token().map(token -> token::is),
                Optional.of(feed.dashboard(settings.http().token().map(token -> token::is))))) {
      describe(console, settings, bundles, web);
      ClientSettings.unknown(settings.connection().kafka().keySet()).forEach(log::warn);
      PlannerService service = null;
      try {
        service =
            PlannerService.start(
                new PlannerParts(settings, bundles, TensorFlowTowers::new)
                    .with()
                    .trainer(Optional.of(Retraining::retrain))
                    .metrics(new PlannerMetrics(metrics.meters()))
                    .health(health)
                    .build());
        await(console, service, feed);
      } catch (InterruptedException | org.apache.kafka.common.errors.InterruptException e) {
        if (!termination.requested()) {
          throw e;
        }
      } finally {
        termination.closing();
        if (service != null) {
          console.println("Stopping: leaving the consumer groups.");
          health.closing();
          service.close();
          console.println("Stopped.");
        }
      }
    }
  }

  /** Waits for ever; ends the process if the clock is set back. */
  private static void await(PrintWriter console, PlannerService service, DashboardFeed feed)
      throws InterruptedException {
    ClockWatch clock = new ClockWatch(System::currentTimeMillis, System::nanoTime);
    boolean isServing = false;
    while (true) {
      if (!isServing && service.isRunning()) {
        isServing = true;
        feed.start();
        console.println("Serving.");
      }
      Thread.sleep(POLL_MS);
      Duration back = clock.setBack();
      if (!back.isZero()) {
        log.error(
            "The machine's clock was set back by {} s. Until it has caught up, Kafka's clients send"
                + " no heartbeats and cannot be closed: this process ends, for its supervisor to"
                + " start it again",
            Math.round(back.toMillis() / 1e3));
        Runtime.getRuntime().halt(TEMPORARY_FAILURE);
      }
    }
  }

  private static DashboardFeed feed(ServiceSettings settings) {
    return new DashboardFeed(settings.endpoint(), settings.extensions());
  }

  private void describe(
      PrintWriter console, ServiceSettings settings, List<ModelBundle> bundles, WebServer web) {
    console.printf("Shardtide with the settings in %s%n", options.config);
    Map<String, String> lines = new LinkedHashMap<>();
    lines.put("Kafka", settings.connection().bootstrapServers());
    lines.put("schema registry", settings.connection().registryUrl());
    lines.put(
        "topics",
        "%s*; new ones get partitions: %d, copies: %d"
            .formatted(
                settings.topics().prefix(),
                settings.topics().partitions(),
                settings.topics().replication()));
    lines.put("state", settings.streams().stateDirectory().toAbsolutePath().toString());
    for (ModelBundle bundle : bundles) {
      lines.put(
          "cost model for \"%s\"".formatted(bundle.hardware()), RunningModels.describe(bundle));
    }
    lines.put(
        "other hardware",
        settings.unknownHardware() == UnknownHardware.NEAREST
            ? "begins with the nearest model"
            : "is rejected");
    lines.put("stream threads", "%d for each topology".formatted(settings.streams().threads()));
    PlanningSettings planning = settings.planning();
    lines.put(
        "planning",
        "after a debounce interval of %,d ms, %,d ms at the latest"
            .formatted(planning.debounce().toMillis(), planning.longestWait().toMillis()));
    lines.put("search", describe(planning.quick()));
    lines.put(
        "background search",
        planning
            .deep()
            .map(
                deep ->
                    "%s, after %,d ms without changes; published if it gains %s %%"
                        .formatted(
                            describe(deep),
                            planning.deepAfter().toMillis(),
                            100 * planning.deepGain()))
            .orElse("off"));
    lines.put(
        "moves",
        "%s GB/s and %s ms each, %s ms a reshard, to pay off within %,d steps"
            .formatted(
                planning.quick().moveGigabytesPerSecond(),
                planning.quick().moveOverheadMs(),
                planning.quick().reshardMs(),
                planning.quick().paybackSteps()));
    if (settings.extensions().contains(Extension.POOLS)) {
      AllocationPolicy policy = settings.allocation();
      lines.put(
          "pools",
          "%d workloads adjusted at once, %s %% of a pool in other hands than fair; %s s each, to pay off within %s s"
              .formatted(
                  policy.adjustedAtOnce(),
                  100 * policy.fairnessLoss(),
                  policy.adjustmentSeconds(),
                  policy.paybackSeconds()));
    }
    if (settings.extensions().contains(Extension.GROWTH)) {
      CapacityPolicy policy = settings.capacities();
      lines.put(
          "growth",
          "capacities last %s days, new ones %s days before a table may be full, or for %s %% more hits; workloads without enough memory are announced %s days before"
              .formatted(
                  policy.coverDays(),
                  policy.leadDays(),
                  100 * policy.leastHitGain(),
                  policy.warningDays()));
    }
    pass(lines, Settings.KAFKA, settings.connection().kafka());
    pass(lines, Settings.REGISTRY, settings.connection().registry());
    lines.put("dashboard", web.url() + "/");
    lines.put("health", web.url() + "/health");
    lines.put("metrics", web.url() + "/metrics");
    int width = lines.keySet().stream().mapToInt(String::length).max().orElseThrow();
    lines.forEach(
        (name, value) ->
            console.println("  " + name + " ".repeat(width - name.length() + 2) + value));
    console.flush();
  }

  private static String describe(SearchSettings search) {
    return "%,d evaluations per table from scratch, %,d from the plan that runs"
        .formatted(search.evaluationsPerTable(), search.repairEvaluations());
  }

  private static void pass(Map<String, String> lines, String prefix, Map<String, String> settings) {
    new TreeMap<>(settings)
        .forEach((key, value) -> lines.put(prefix + key, Secrets.shown(key, value)));
  }
}
