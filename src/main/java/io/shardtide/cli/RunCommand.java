package io.shardtide.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.shardtide.config.InvalidSettingsException;
import io.shardtide.config.Secrets;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.Settings;
import io.shardtide.config.SettingsFile;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.topology.ClientSettings;
import io.shardtide.topology.PlannerMetrics;
import io.shardtide.topology.PlannerService;
import io.shardtide.topology.ServiceHealth;
import io.shardtide.web.WebServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
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

/** The planner as a service. */
@Command(
    name = "run",
    description = {
      "Runs the planner on a Kafka cluster until it is told to stop (SIGTERM or Ctrl-C).",
      "Creates its topics or checks them, publishes its cost models, and serves /health and /metrics. Start it on as"
          + " many machines as there is work for: instances share the partitions and take over from one another."
    },
    mixinStandardHelpOptions = true)
final class RunCommand implements Callable<Integer> {
  private static final Logger log = LoggerFactory.getLogger(RunCommand.class);

  private static final long POLL_MS = 100;

  @Spec private CommandSpec spec;

  @ArgGroup(multiplicity = "1")
  private What what;

  /** Either or. */
  private static final class What {
    @Option(
        names = "--config",
        paramLabel = "FILE",
        description = "Settings, in the syntax of Java's properties. --example prints them all.")
    private Path config;

    @Option(names = "--example", description = "Print a settings file with every setting, and end.")
    private boolean example;
  }

  @Override
  public Integer call() throws Exception {
    PrintWriter console = spec.commandLine().getOut();
    if (what.example) {
      console.print(Settings.example());
      console.flush();
      return CommandLine.ExitCode.OK;
    }
    ServiceSettings settings;
    try {
      settings = SettingsFile.read(what.config);
    } catch (InvalidSettingsException | IOException e) {
      PrintWriter err = spec.commandLine().getErr();
      err.println(
          spec.commandLine().getColorScheme().errorText("shardtide: " + Errors.describe(e)));
      err.flush();
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
    try (RunningModels models = RunningModels.load(settings);
        ServiceHealth health = ServiceHealth.watch(settings);
        RunningMetrics metrics =
            RunningMetrics.of(new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), health);
        WebServer web =
            WebServer.start(
                settings.http().host(),
                settings.http().port(),
                () -> RunningMetrics.view(health),
                metrics::scrape)) {
      describe(console, settings, models, web);
      ClientSettings.unknown(settings.kafka().keySet()).forEach(log::warn);
      PlannerService service = null;
      try {
        service =
            PlannerService.start(
                settings, models.served(), new PlannerMetrics(metrics.meters()), health);
        while (!service.isRunning()) {
          Thread.sleep(POLL_MS);
        }
        console.println("Serving.");
        Thread.sleep(Long.MAX_VALUE);
      } catch (InterruptedException | org.apache.kafka.common.errors.InterruptException e) {
        if (!termination.wanted()) {
          throw e;
        }
      } finally {
        termination.closing();
        if (service != null) {
          console.println("Stopping: leaving the group, closing.");
          health.closing();
          service.close();
          console.println("Stopped.");
        }
      }
    }
  }

  private void describe(
      PrintWriter console, ServiceSettings settings, RunningModels models, WebServer web) {
    console.printf("Shardtide with the settings in %s%n", what.config);
    line(console, "Kafka", settings.bootstrapServers());
    line(console, "schema registry", settings.registryUrl());
    line(
        console,
        "topics",
        "%s*, created with %d partitions in %d copies"
            .formatted(settings.topicPrefix(), settings.partitions(), settings.replication()));
    line(console, "state", settings.stateDirectory().toAbsolutePath().toString());
    for (ModelBundle bundle : models.bundles()) {
      line(
          console,
          "cost model",
          "%s for hardware \"%s\"%s"
              .formatted(
                  bundle.modelId().substring(0, 12),
                  bundle.hardware(),
                  bundle.card().simulated() ? ", trained on simulated costs" : ""));
    }
    line(console, "stream threads", "%d for each topology".formatted(settings.threads()));
    PlanningSettings planning = settings.planning();
    line(
        console,
        "planning",
        "after %d ms of quiet, %d ms at the latest"
            .formatted(planning.quietPeriod().toMillis(), planning.longestWait().toMillis()));
    line(console, "search", planning.quick().toString());
    line(
        console,
        "deeper search",
        planning
            .deep()
            .map(
                deep ->
                    "%s, published if it gains %s %%".formatted(deep, 100 * planning.deepGain()))
            .orElse("off"));
    passed(console, "kafka.", settings.kafka());
    passed(console, "registry.", settings.registry());
    line(console, "health", web.url() + "/health");
    line(console, "metrics", web.url() + "/metrics");
    console.flush();
  }

  private static void passed(PrintWriter console, String prefix, Map<String, String> settings) {
    new TreeMap<>(settings)
        .forEach((key, value) -> line(console, prefix + key, Secrets.shown(key, value)));
  }

  private static void line(PrintWriter console, String name, String value) {
    console.printf(Locale.ROOT, "  %-16s %s%n", name, value);
  }
}
