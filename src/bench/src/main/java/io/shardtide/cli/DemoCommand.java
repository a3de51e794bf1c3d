package io.shardtide.cli;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.embedded.Brokers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.replay.Export;
import io.shardtide.replay.LogRecords;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.wire.Extension;
import io.shardtide.wire.ForUpgradeFrom;
import io.shardtide.wire.Registry;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Runs the whole system on one machine: broker, registry, planner, trainer and a stream of changes.
 */
@Command(
    name = "demo",
    description = {
      "Runs everything on this machine: a Kafka broker, a schema registry and the planner, with the"
          + " tables of a real model and a stream of live changes. Shows each plan as it arrives.",
      "Open the printed dashboard address in a browser. Kafka clients can connect to the printed"
          + " addresses."
    },
    footer = {"", "Example:", "  shardtide demo --seconds 60"},
    mixinStandardHelpOptions = true)
final class DemoCommand implements Callable<Integer> {
  /** A cluster that loses nothing, and continues, if it loses one broker. */
  private static final int SEVERAL = 3;

  /** Fewer polls and requests while nothing happens: a slow search is noticed later. */
  private static final Map<String, String> SLEEPY_CLIENTS =
      Map.of(
          "poll.ms", "100",
          "consumer.fetch.max.wait.ms", "2000",
          "main.consumer.heartbeat.interval.ms", "2000");

  /** Threads that wait wake up, too. */
  private static final Map<String, String> FEW_THREADS =
      Map.of(
          "num.network.threads", "1",
          "num.io.threads", "2",
          "group.coordinator.threads", "1",
          "share.coordinator.threads", "1");

  /**
   * The first plan of a change is searched with the budget of {@code plan}. The background search
   * begins after a second without a change; a move of it may pay for itself within a million steps,
   * as in a training of some hours.
   */
  private static final PlanningSettings PLANNING =
      new PlanningSettings(
          Duration.ZERO,
          Duration.ZERO,
          SearchSettings.DEFAULTS,
          Optional.of(
              SearchSettingsBuilder.builder(SearchSettings.DEEP).paybackSteps(1_000_000).build()),
          Duration.ofSeconds(1),
          PlanningSettings.DEFAULTS.deepGain(),
          0);

  /** Models are retrained after drift; no other training delays that. */
  private static final TrainingPolicy TRAINING =
      TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS)
          .samples((int) TrainingPolicy.SAMPLES.max())
          .build();

  @Spec private CommandSpec spec;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      description =
          "End after N seconds, or when the script ends if that takes longer; a small N shortens"
              + " the pauses. Default: run until interrupted.")
  private Integer seconds;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "At the end, write everything that replay needs to this folder, as log export does.")
  private Path out;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Where the broker, the registry and the planner keep their data. Default: a temporary"
              + " folder.")
  private Path data;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = "0",
      description = "Port of the dashboard, on loopback. Default: any free one.")
  private int port;

  @Option(
      names = "--brokers",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Kafka brokers: 1, in this process, or 3 in processes of their own, with three copies of"
              + " everything, of which one may be killed. Default: ${DEFAULT-VALUE}.")
  private int brokers;

  @Option(
      names = "--retrain",
      hidden = true,
      description = "Has no effect: the demo's planner always retrains its models after drift.")
  @ForUpgradeFrom("0.2.0")
  @SuppressWarnings("UnusedVariable") // Scripts may give it.
  private boolean retrain;

  @Mixin private ModelOption model;

  @Override
  public Integer call() throws Exception {
    if (brokers != 1 && brokers != SEVERAL) {
      throw new ParameterException(
          spec.commandLine(), "--brokers must be 1 or %d, got %d".formatted(SEVERAL, brokers));
    }
    // With the data of a run before, the whole log is written again.
    boolean continues = data != null && Files.exists(data.resolve(kafkaFolder()));
    if (out != null && !continues && Files.exists(out.resolve(LogRecords.file(WORKLOAD_CHANGES)))) {
      throw new ParameterException(
          spec.commandLine(),
          "--out must be a folder without %s, unless --data has the log that it was written from; got %s"
              .formatted(LogRecords.file(WORKLOAD_CHANGES), out));
    }
    // --seconds counts from the start of the process.
    long startedMillisAgo =
        System.currentTimeMillis() - ManagementFactory.getRuntimeMXBean().getStartTime();
    long start = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(startedMillisAgo);
    CountDownLatch stop = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    Thread hook =
        new Thread(
            () -> {
              stop.countDown();
              try {
                stopped.await(20, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "demo-interrupted");
    Runtime.getRuntime().addShutdownHook(hook);
    Path directory = data == null ? Files.createTempDirectory("shardtide-demo") : data;
    try {
      run(directory, start, stop);
      return 0;
    } finally {
      if (data == null) {
        delete(directory);
      }
      stopped.countDown();
    }
  }

  private void run(Path directory, long start, CountDownLatch stop) throws Exception {
    PrintWriter console = spec.commandLine().getOut();
    ModelBundle bundle = model.load(ModelFiles::shippedForH200);
    Files.createDirectories(directory);
    console.printf("Starting Kafka and a schema registry in %s ...%n", directory);
    try (Brokers kafka = brokers(directory);
        DevelopmentRegistry developmentRegistry =
            DevelopmentRegistry.start(0, Optional.of(directory));
        DemoPlanner planner =
            DemoPlanner.start(
                kafka,
                developmentRegistry,
                SLEEPY_CLIENTS,
                directory.resolve("state"),
                models(bundle),
                PLANNING,
                TRAINING,
                Set.of(Extension.GROWTH),
                port);
        Registry registry = Registry.connect(developmentRegistry.url(), Map.of());
        DemoClient client = DemoClient.connect(planner.endpoint(), registry);
        DemoTrainer trainer = DemoTrainer.connect(planner.endpoint(), registry, bundle)) {
      console.printf("  Kafka            %s%n", kafka.bootstrapServers());
      if (kafka instanceof KafkaCluster cluster) {
        console.printf(
            "  brokers          processes %s; kill -9 one of them: everything goes on%n",
            cluster.brokers().stream()
                .map(broker -> Long.toString(broker.pid()))
                .collect(Collectors.joining(", ")));
      }
      console.printf("  schema registry  %s%n", developmentRegistry.url());
      console.printf("  dashboard        %s/%n", planner.url());
      console.printf("  dashboard token  %s%n", planner.token());
      console.printf(
          "  cost model       for hardware \"%s\": %s%n%n",
          bundle.hardware(), RunningModels.describe(bundle));
      Set<String> measured =
          models(bundle).stream()
              .filter(model -> !model.card().simulated())
              .map(ModelBundle::modelId)
              .collect(Collectors.toSet());
      new DemoPlay(
              console,
              // What the planner retrains learns from the simulated trainer.
              new PlanText(
                  spec.commandLine().getColorScheme().ansi(), id -> !measured.contains(id)),
              client,
              trainer,
              planner,
              stop,
              start,
              seconds == null
                  ? OptionalLong.empty()
                  : OptionalLong.of(start + TimeUnit.SECONDS.toNanos(seconds)),
              "The script has ended; everything keeps running until Ctrl-C: -b %s --registry %s"
                  .formatted(kafka.bootstrapServers(), developmentRegistry.url()))
          .play(DemoScript.scenes(bundle, InstantSource.system()));
      if (out != null) {
        try (KafkaLogRecords records =
            KafkaLogRecords.open(planner.endpoint(), Optional.empty(), () -> {})) {
          Export.write(records, out);
        }
      }
    }
  }

  private Brokers brokers(Path directory) throws IOException, InterruptedException {
    return brokers == 1
        ? EmbeddedKafka.start(directory.resolve(kafkaFolder()), 0, FEW_THREADS)
        : KafkaCluster.of(directory.resolve(kafkaFolder()), brokers).start();
  }

  private String kafkaFolder() {
    return brokers == 1 ? "kafka" : "kafka-cluster";
  }

  /** Returns the planned hardware's model, and the shipped ones of other hardware. */
  private static List<ModelBundle> models(ModelBundle planned) {
    return Stream.concat(
            Stream.of(planned),
            RunningModels.shipped().stream()
                .filter(shipped -> !shipped.hardware().equals(planned.hardware())))
        .toList();
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
