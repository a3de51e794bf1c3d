package io.shardtide.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.shardtide.config.InvalidSettingsException;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.config.SettingsFile;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.topology.ClientSettings;
import io.shardtide.topology.PlannerMetrics;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.topology.ServiceHealth;
import io.shardtide.web.WebServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    Map<String, String> told = new LinkedHashMap<>();
    try {
      settings = SettingsFile.read(options.config, this::warn, told::put);
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
      serve(console, settings, told, termination);
    } finally {
      termination.done();
    }
    return CommandLine.ExitCode.OK;
  }

  private void serve(
      PrintWriter console,
      ServiceSettings settings,
      Map<String, String> told,
      Termination termination)
      throws Exception {
    List<ModelBundle> bundles = RunningModels.load(settings);
    try (ServiceHealth health = ServiceHealth.watch(settings);
        RunningMetrics metrics =
            RunningMetrics.of(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), health);
        DashboardFeed feed = new DashboardFeed(settings.endpoint(), settings.extensions());
        WebServer web =
            WebServer.start(
                settings.http().host(),
                settings.http().port(),
                () -> RunningMetrics.view(health),
                health::isLive,
                metrics::scrape,
                settings.http().token().map(token -> token::is),
                Optional.of(feed.dashboard(settings.http().token().map(token -> token::is))))) {
      bundles.forEach(
          bundle ->
              told.put(
                  "cost model for \"%s\"".formatted(bundle.hardware()),
                  RunningModels.describe(bundle)));
      told.put("dashboard", web.url() + "/");
      told.put("health", web.url() + "/health");
      told.put("metrics", web.url() + "/metrics");
      console.printf("Shardtide with the settings in %s%n", options.config);
      int width = told.keySet().stream().mapToInt(String::length).max().orElseThrow();
      told.forEach(
          (name, value) ->
              console.println("  " + name + " ".repeat(width - name.length() + 2) + value));
      console.flush();
      ClientSettings.unknown(settings.endpoint().kafka().keySet()).forEach(log::warn);
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
}
