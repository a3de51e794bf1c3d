package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.embedded.Brokers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.replay.Export;
import io.shardtide.replay.RecordKind;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.ModelFiles;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.CommonClientConfigs;
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
  private static final Duration PAUSE = Duration.ofSeconds(3);

  /** How long to wait for the answer to a scene; longer than any takes. */
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(30);

  /** A cluster that loses nothing, and continues, if it loses one broker. */
  private static final int SEVERAL = 3;

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
          "Write each event to DIR/events.jsonl and each plan to DIR/plans.jsonl, one a line, in"
              + " Avro's JSON encoding. At the end, write everything that replay needs, as export"
              + " does.")
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
      description =
          "Retrain cost models on measured costs. Without it, two demos give the same plans.")
  private boolean retrain;

  @Mixin private ModelOption model;

  @Override
  public Integer call() throws Exception {
    if (brokers != 1 && brokers != SEVERAL) {
      throw new ParameterException(
          spec.commandLine(), "--brokers must be 1 or %d, got %d".formatted(SEVERAL, brokers));
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
    ModelBundle bundle = model.load(ModelFiles::shippedForNodes);
    Topics topics = Topics.withPrefix(Topics.DEFAULT_PREFIX);
    Files.createDirectories(directory);
    console.printf("Starting Kafka and a schema registry in %s ...%n", directory);
    try (Brokers kafka = brokers(directory);
        DevelopmentRegistry developmentRegistry =
            DevelopmentRegistry.start(0, Optional.of(directory));
        DemoPlanner planner =
            DemoPlanner.start(
                kafka,
                developmentRegistry,
                directory.resolve("state"),
                models(bundle),
                retrain,
                false,
                port);
        Registry registry = Registry.connect(developmentRegistry.url(), Map.of());
        DemoClient client =
            DemoClient.connect(
                Endpoint.of(kafka.bootstrapServers(), developmentRegistry.url()), registry);
        DemoTraining training =
            new DemoTraining(Endpoint.of(kafka.bootstrapServers(), registry.url()))) {
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
          "  cost model       %s for hardware \"%s\"%s%n",
          bundle.shown(),
          bundle.hardware(),
          bundle.card().simulated() ? ", trained on simulated costs" : "");
      console.println();
      try (Recorder<WorkloadChange> events = Recorder.open(out, RecordKind.EVENTS);
          Recorder<ShardingPlan> plans = Recorder.open(out, RecordKind.PLANS)) {
        play(console, client, training, events, plans, bundle, start, stop);
      }
      if (out != null) {
        export(kafka, registry, topics);
      }
    }
  }

  private Brokers brokers(Path directory) throws IOException, InterruptedException {
    return brokers == 1
        ? EmbeddedKafka.start(directory.resolve("kafka"))
        : KafkaCluster.of(directory.resolve("kafka-cluster"), brokers).start();
  }

  /** Returns the planned hardware's model, and the shipped ones of other hardware. */
  private static List<ModelBundle> models(ModelBundle planned) {
    return Stream.concat(
            Stream.of(planned),
            Stream.of(
                    ModelFiles.shippedForNodes(), ModelFiles.shipped(), ModelFiles.shippedForCpu())
                .filter(shipped -> !shipped.hardware().equals(planned.hardware())))
        .toList();
  }

  /** Writes the whole log, replacing the files written during the run. */
  private void export(Brokers kafka, Registry registry, Topics topics) throws IOException {
    try (KafkaLogRecords records =
        new KafkaLogRecords(
            Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers()),
            registry,
            topics,
            Optional.empty(),
            () -> {})) {
      Export.write(records, out);
    }
  }

  private void play(
      PrintWriter console,
      DemoClient client,
      DemoTraining training,
      Recorder<WorkloadChange> events,
      Recorder<ShardingPlan> plans,
      ModelBundle bundle,
      long start,
      CountDownLatch stop)
      throws Exception {
    Set<String> simulated =
        models(bundle).stream()
            .filter(model -> model.card().simulated())
            .map(ModelBundle::modelId)
            .collect(Collectors.toSet());
    PlanView view = new PlanView(spec.commandLine().getColorScheme().ansi(), simulated::contains);
    List<DemoScript.Scene> scenes =
        DemoScript.scenes(bundle, ModelFiles.shippedForCpu(), InstantSource.system());
    long end = seconds == null ? Long.MAX_VALUE : start + TimeUnit.SECONDS.toNanos(seconds);
    Map<String, ShardingPlan> current = new HashMap<>();
    long memory = 0;
    for (int s = 0; s < scenes.size(); s++) {
      DemoScript.Scene scene = scenes.get(s);
      memory = scene.event().map(DemoCommand::memoryBytes).filter(m -> m > 0).orElse(memory);
      long published = System.nanoTime();
      client.publish(scene.event());
      if (scene.event().isPresent()) {
        events.write(scene.event().get());
      }
      // Also past the end: wait for the answer to each published event, so that the files are
      // complete.
      Object answer = await(client.answers(), stop, published + ANSWER_TIMEOUT.toNanos());
      double millis = (System.nanoTime() - published) / 1e6;
      if (answer instanceof ShardingPlan plan) {
        plans.write(plan);
        console.println(
            view.show(
                plan,
                Optional.ofNullable(current.get(plan.workloadId())),
                OptionalLong.of(memory),
                scene.title(),
                OptionalDouble.of(millis)));
        if (current.isEmpty()) {
          console.printf(
              "First plan %.1f s after the start.%n%n", (System.nanoTime() - start) / 1e9);
        }
        current.put(plan.workloadId(), plan);
        if (plan.workloadId().equals(DemoScript.TRAINED)) {
          training.show(plan, console, System.nanoTime() + ANSWER_TIMEOUT.toNanos());
        }
      } else if (answer instanceof InfeasibleWorkload infeasible) {
        console.println(view.show(infeasible, scene.title()));
      } else if (answer instanceof RejectedEvent rejected) {
        console.println(view.show(rejected, scene.title()));
      } else if (stop.getCount() == 0) {
        return;
      } else {
        console.printf("No answer within %d s: %s%n%n", ANSWER_TIMEOUT.toSeconds(), scene.title());
      }
      int left = scenes.size() - s;
      long pause =
          seconds == null
              ? PAUSE.toNanos()
              : Math.min(PAUSE.toNanos(), Math.max(0, end - System.nanoTime()) / (left + 1));
      if (stop.await(pause, TimeUnit.NANOSECONDS)) {
        return;
      }
    }
    console.println(
        seconds == null
            ? "The script has ended; everything keeps running until you press Ctrl-C."
            : "The script has ended.");
    stop.await(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
  }

  private static Object await(BlockingQueue<Object> answers, CountDownLatch stop, long until)
      throws InterruptedException {
    while (stop.getCount() > 0 && System.nanoTime() < until) {
      Object answer = answers.poll(50, TimeUnit.MILLISECONDS);
      if (answer != null) {
        return answer;
      }
    }
    return null;
  }

  private static long memoryBytes(WorkloadChange event) {
    return event.changes().stream()
        .filter(Change.ClusterSet.class::isInstance)
        .map(change -> ((Change.ClusterSet) change).cluster())
        .mapToLong(ClusterSpec::usableBytesPerDevice)
        .findFirst()
        .orElse(0);
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }

  /** Writes values to a file, one a line; does nothing without a folder. */
  private static final class Recorder<V> implements AutoCloseable {
    private final JsonLines<V, ?> lines;
    private final BufferedWriter writer;

    private Recorder(JsonLines<V, ?> lines, BufferedWriter writer) {
      this.lines = lines;
      this.writer = writer;
    }

    static <V> Recorder<V> open(Path directory, RecordKind<V> kind) throws IOException {
      if (directory == null) {
        return new Recorder<>(null, null);
      }
      Files.createDirectories(directory);
      return new Recorder<>(
          new JsonLines<>(kind.codec()),
          Files.newBufferedWriter(directory.resolve(kind.file()), StandardCharsets.UTF_8));
    }

    void write(V value) throws IOException {
      if (writer != null) {
        writer.write(lines.write(value));
        writer.newLine();
        writer.flush();
      }
    }

    @Override
    public void close() throws IOException {
      if (writer != null) {
        writer.close();
      }
    }
  }
}
