package io.shardtide.cli;

import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.Effort;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.ExportFolder;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The log of a planner on a real broker, with bursts, trainers, background searches and a model
 * that is replaced: replayed from the cluster and from an export, by other processes.
 */
class ReplayIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final long PATIENCE_SECONDS = 180;

  /** The defaults with shorter waits and a smaller background search. */
  private static final PlanningSettings PLANNING =
      new PlanningSettings( // Longer than the time between two events of a burst on a slow machine.
          Duration.ofMillis(300),
          Duration.ofSeconds(3),
          SearchSettings.QUICK,
          Optional.of(Fixtures.settings(5_000, 60_000, 10, 0.1, 0, 100_000)),
          Duration.ofMillis(200),
          0.0001,
          0);

  @TempDir private static Path folder;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static List<ShardingPlan> plans;

  @TempDir private Path home;

  @BeforeAll
  static void runPlanner() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    ServiceSettings settings =
        TestSettings.of(kafka.bootstrapServers(), registry.url(), PREFIX, folder.resolve("state"))
            .partitions(3)
            .planning(PLANNING)
            .build();
    try (PlannerService service =
            PlannerService.start(
                new PlannerParts(settings, List.of(TestModels.bundle()), TensorFlowTowers::new));
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      assertThat(service).isNotNull();
      for (String workload : List.of("feed", "ads")) {
        Change[] first = new Change[25];
        first[0] = set(8, 4 * Fixtures.GIB);
        for (int t = 1; t < first.length; t++) {
          first[t] = upsert("t" + t, 60_000L * t, 64, 1 + 7 * t % 40);
        }
        client.publish(event(workload, first));
      }
      await(client, plan -> plan.workloadId().equals("ads"));
      for (int burst = 0; burst < 4; burst++) {
        for (int i = 0; i < 4; i++) {
          for (String workload : List.of("feed", "ads")) {
            client.publish(
                event(workload, upsert("t" + (1 + burst + 5 * i), 1_000_000L + burst, 64, 30 + i)));
          }
        }
        long last = 5 + 4L * burst;
        ShardingPlan plan =
            await(client, p -> p.workloadId().equals("feed") && p.generation() == last);
        report(
            client,
            plan,
            burst == 2 ? PlanStatus.StatusKind.REJECTED : PlanStatus.StatusKind.ADOPTED,
            burst);
      }
      client.publish(event("feed", set(5, 4 * Fixtures.GIB)));
      client.publish(event("ads", upsert("huge", 1L << 34, 64, 1)));
      await(
          client,
          plan -> plan.workloadId().equals("feed") && plan.origin().effort() == Effort.DEEP);
      client.publishValue(
          client.topics().of(COST_MODELS),
          TestModels.bundle().hardware(),
          TestModels.otherBundle());
      await(client, plan -> plan.origin().modelId().equals(TestModels.otherBundle().modelId()));
      client.publish(event("ads", Fixtures.drop("huge")));
      await(client, plan -> plan.workloadId().equals("ads") && plan.generation() == 19);
    }
    assertThat(run("export", "--out", export().toString()).status()).isZero();
    plans = new ArrayList<>();
    ExportFolder.of(export()).read(TopicType.SHARDING_PLANS, plans::add);
    assertThat(plans).anyMatch(p -> p.origin().firstGeneration() + 1 < p.generation());
  }

  private static Path export() {
    return folder.resolve("export");
  }

  private static WorkloadChange event(String workload, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(),
        workload,
        Fixtures.TIME,
        "pipeline \u001b[31m\u202e",
        OptionalLong.empty(),
        List.of(changes));
  }

  private static void report(
      LogClient client, ShardingPlan plan, PlanStatus.StatusKind kind, long step) throws Exception {
    client.publishValue(
        client.topics().of(PLAN_STATUS),
        plan.workloadId(),
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            Optional.of("because \u0007"),
            "trainer",
            "",
            Fixtures.TIME,
            1,
            1));
  }

  private static ShardingPlan await(LogClient client, Predicate<ShardingPlan> wanted) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (System.nanoTime() < end) {
      Optional<ShardingPlan> found =
          client.committed(client.topics().of(SHARDING_PLANS)).stream().filter(wanted).findFirst();
      if (found.isPresent()) {
        return found.get();
      }
    }
    throw new AssertionError("No such plan was published within %d s".formatted(PATIENCE_SECONDS));
  }

  private record CommandResult(int status, String out, String err) {}

  /** Runs a command with the options of the cluster, in this process. */
  private static CommandResult run(String command, String... options) {
    List<String> args =
        new ArrayList<>(
            List.of(
                command,
                "--bootstrap",
                kafka.bootstrapServers(),
                "--registry",
                registry.url(),
                "--prefix",
                PREFIX));
    args.addAll(List.of(options));
    return runHere(args);
  }

  private static CommandResult runHere(List<String> args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), args.toArray(new String[0]));
    return new CommandResult(status, out.toString(), err.toString());
  }

  /** Runs a command in another process. */
  private CommandResult child(Path java, List<String> options, String... args) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(java.toString());
    command.addAll(options);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), Shardtide.class.getName()));
    command.addAll(List.of(args));
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(home.resolve("out").toFile())
            .redirectError(home.resolve("err").toFile())
            .start();
    assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    return new CommandResult(
        process.exitValue(),
        Files.readString(home.resolve("out")),
        Files.readString(home.resolve("err")));
  }

  private static Path java() {
    return Path.of(System.getProperty("java.home"), "bin", "java");
  }

  private void assertEqual(CommandResult run, Path out) throws IOException {
    assertThat(run.status()).as(run.out() + run.err()).isZero();
    assertThat(run.out()).contains(plans.size() + " equal, 0 differ");
    List<ShardingPlan> recomputed = new ArrayList<>();
    Path export = Files.createDirectories(home.resolve("recomputed"));
    Files.copy(out, export.resolve("plans.jsonl"));
    ExportFolder.of(export).read(TopicType.SHARDING_PLANS, recomputed::add);
    assertThat(recomputed)
        .extracting(ShardingPlan::planId)
        .containsExactlyElementsOf(plans.stream().map(ShardingPlan::planId).toList());
  }

  @Test
  void a_small_process_with_one_processor_reproduces_the_plans_of_a_cluster() throws Exception {
    Path out = home.resolve("out.jsonl");
    CommandResult run =
        child(
            java(),
            List.of("-Xmx256m", "-XX:ActiveProcessorCount=1"),
            "replay",
            "--bootstrap",
            kafka.bootstrapServers(),
            "--registry",
            registry.url(),
            "--prefix",
            PREFIX,
            "--out",
            out.toString());
    assertEqual(run, out);
    assertThat(run.err()).doesNotContain("Exception", "\tat ", "WARN ");
  }

  @Test
  void a_small_process_with_one_processor_reproduces_the_plans_of_an_export() throws Exception {
    Path out = home.resolve("out.jsonl");
    assertEqual(
        child(
            java(),
            List.of("-Xmx192m", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1"),
            "replay",
            "--events",
            export().resolve("events.jsonl").toString(),
            "--out",
            out.toString()),
        out);
  }

  @Test
  void another_java_reproduces_the_plans_of_an_export() throws Exception {
    Optional<Path> other = otherJava();
    assumeTrue(other.isPresent(), "There is no other Java in /usr/lib/jvm");
    Path out = home.resolve("out.jsonl");
    assertEqual(
        child(
            other.get(),
            List.of("-Xmx1g"),
            "replay",
            "--events",
            export().resolve("events.jsonl").toString(),
            "--out",
            out.toString()),
        out);
  }

  /** Returns the newest Java that is newer than this one. */
  private static Optional<Path> otherJava() throws IOException {
    Path jvms = Path.of("/usr/lib/jvm");
    if (!Files.isDirectory(jvms)) {
      return Optional.empty();
    }
    try (Stream<Path> found = Files.list(jvms)) {
      return found
          .filter(Files::isDirectory)
          .filter(jvm -> feature(jvm) > Runtime.version().feature())
          .max(java.util.Comparator.comparingInt(ReplayIT::feature))
          .map(jvm -> jvm.resolve("bin/java"));
    }
  }

  private static int feature(Path jvm) {
    try {
      return Files.readAllLines(jvm.resolve("release")).stream()
          .filter(line -> line.startsWith("JAVA_VERSION="))
          .map(line -> line.replaceAll("\\D*(\\d+).*", "$1"))
          .mapToInt(Integer::parseInt)
          .findFirst()
          .orElse(0);
    } catch (IOException e) {
      return 0;
    }
  }

  @Test
  void recomputed_predictions_equal_the_recorded_ones() {
    CommandResult run =
        run("replay", "--repredict", "--workload", "feed", "--out", home.resolve("x").toString());
    assertThat(run.status()).as(run.out() + run.err()).isZero();
    assertThat(run.out())
        .contains("table predictions recomputed; the largest relative difference is ")
        .doesNotContain("ads ");
  }

  @Test
  void why_explains_a_plan_without_control_characters() throws Exception {
    ShardingPlan deep =
        plans.stream().filter(p -> p.origin().effort() == Effort.DEEP).findFirst().orElseThrow();
    CommandResult run = run("why", "--plan", deep.planId().substring(0, 12));
    assertThat(run.status()).as(run.err()).isZero();
    assertThat(run.out()).contains("plan " + deep.planId(), "deep search", "bottleneck: device");
    ShardingPlan burst =
        plans.stream()
            .filter(p -> p.origin().firstGeneration() < p.generation())
            .findFirst()
            .orElseThrow();
    CommandResult other =
        runHere(
            List.of(
                "why",
                "--plan",
                burst.planId(),
                "--events",
                export().resolve("events.jsonl").toString()));
    assertThat(other.status()).as(other.err()).isZero();
    assertThat(other.out())
        .contains("pipeline \uFFFD[31m\uFFFD", "search:", "moves: ")
        .doesNotContain("\u001b", "\u202e", "\u0007");
  }

  @Test
  void a_what_if_with_other_settings_or_another_model_compares_plans() {
    CommandResult run =
        run("replay", "--what-if", "--workload", "feed", "--set", "repairEvaluations=0");
    assertThat(run.status()).as(run.err()).isZero();
    assertThat(run.out()).contains("repairEvaluations=0", "the recorded predictions", "total");
    CommandResult model =
        runHere(
            List.of(
                "replay",
                "--what-if",
                "--events",
                export().resolve("events.jsonl").toString(),
                "--model",
                "models/simulated.avro"));
    assertThat(model.status()).as(model.err()).isZero();
    assertThat(model.out()).contains("new predictions", "planned in both", "does not fit");
  }

  @Test
  void a_cluster_without_a_planner_is_named() throws IOException {
    List<String> args =
        List.of(
            "export",
            "--bootstrap",
            kafka.bootstrapServers(),
            "--registry",
            registry.url(),
            "--prefix",
            "nobody.",
            "--out",
            home.resolve("nothing").toString());
    CommandResult run = runHere(args);
    assertThat(run.status()).isEqualTo(1);
    assertThat(run.err())
        .contains("There is no topic nobody.sharding-plans on the Kafka cluster at ")
        .contains("topic prefix");
    Path backup = Files.createDirectories(home.resolve("backup"));
    Path events = Files.writeString(backup.resolve("events.jsonl"), "{}\n");
    CommandResult typo = run("export", "--workload", "nobody", "--out", backup.toString());
    assertThat(typo.status()).isEqualTo(1);
    assertThat(typo.err()).contains("The cluster has no events of workload \"nobody\"");
    assertThat(events).as("an earlier export").hasContent("{}\n");
    try (var files = Files.list(backup)) {
      assertThat(files).containsExactly(events);
    }
  }
}
