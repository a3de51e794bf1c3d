package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.embedded.JavaProcess;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.log.MissingTopicException;
import io.shardtide.plan.Effort;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.ExportedDemo;
import io.shardtide.testing.ExportedDemo.Publication;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlannerProgram;
import io.shardtide.testing.PlannerProgram.Planning;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exactly once, shown with real processes: planners and brokers are ended by {@code kill -9} at
 * moments drawn by a seed, while events are published, and the log must be that of a run in which
 * nothing was killed. {@code -Dkills=20} does it with 20 seeds, {@code -Dkills.seed=N} begins with
 * one that failed. Kills of brokers, and more than one kill, are nightly.
 */
class KillIT {
  private static final Logger log = LoggerFactory.getLogger(KillIT.class);

  private static final int SEEDS = Integer.getInteger("kills", 1);

  private static final long FIRST_SEED =
      Long.getLong("kills.seed", Math.floorMod(System.nanoTime(), 1_000_000));

  private static final int PARTITIONS = 3;
  private static final int WORKLOADS = 5;
  private static final ExportedDemo LIFE = ExportedDemo.of(FIRST_SEED, WORKLOADS, 120);
  private static final byte[] NOISE = "noise".getBytes(StandardCharsets.UTF_8);
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /** A report that a workload does not fit does not say which generations it answers. */
  private static final long NOT_SAID = 0;

  @TempDir private static Path shared;
  @TempDir private Path folder;
  private static DevelopmentRegistry registry;
  private static EmbeddedKafka broker;
  private static SortedMap<String, List<String>> undisturbed;

  @BeforeAll
  static void start() throws Exception {
    log.info("Seeds {} to {}; -Dkills.seed repeats them", FIRST_SEED, FIRST_SEED + SEEDS - 1);
    registry = SharedCluster.registry();
    broker = SharedCluster.kafka();
    try (KillRun run = new KillRun(shared, broker.bootstrapServers(), Planning.EACH);
        JavaProcess planner = run.planner()) {
      run.publish(LIFE.publications(), FIRST_SEED).get();
      run.awaitEnd(planner);
      undisturbed = run.content();
    }
  }

  static LongStream seeds() {
    return LongStream.range(FIRST_SEED, FIRST_SEED + SEEDS);
  }

  /** One planner's topics, and the client that publishes to them and reads them. */
  private static final class KillRun implements AutoCloseable {
    private final String prefix = SharedCluster.freshPrefix();
    private final ExecutorService publisher = Executors.newSingleThreadExecutor();
    private final String bootstrapServers;
    private final Planning planning;
    private final Path folder;
    private final Path state;
    private final LogClient client;

    KillRun(Path folder, String bootstrapServers, Planning planning) {
      this.folder = folder;
      this.bootstrapServers = bootstrapServers;
      this.planning = planning;
      state = folder.resolve(prefix);
      client = new LogClient(bootstrapServers, registry.url(), prefix);
    }

    JavaProcess planner() throws Exception {
      List<String> arguments =
          new ArrayList<>(
              List.of(
                  bootstrapServers,
                  registry.url(),
                  prefix,
                  Integer.toString(PARTITIONS),
                  state.toString(),
                  planning.name()));
      return PlannerProgram.start(folder, Map.of(), arguments);
    }

    /** Publishes in the background, one record after the other, with pauses that are drawn. */
    Future<?> publish(List<Publication> slice, long seed) {
      Random pauses = new Random(seed);
      return publisher.submit(
          () -> {
            for (Publication publication : slice) {
              if (publication.event().isPresent()) {
                client.publish(publication.event().get());
              } else {
                client.publish(publication.workloadId(), NOISE);
              }
              Thread.sleep(pauses.nextInt(12));
            }
            return null;
          });
    }

    /** Waits until each workload's last generation has its plan. */
    void awaitEnd(JavaProcess planner) throws Exception {
      long end = System.nanoTime() + PATIENCE.toNanos();
      while (!isPlanned()) {
        assertThat(System.nanoTime() < end)
            .as("planned within %s: %s", PATIENCE, planner.output())
            .isTrue();
        Thread.sleep(100);
      }
    }

    private boolean isPlanned() {
      try {
        return lastPlanned(client.committed(client.topics().of(SHARDING_PLANS)));
      } catch (MissingTopicException e) {
        return false; // The planner has not made it yet.
      }
    }

    /** Returns what is committed: lines by topic, and by workload where their order counts. */
    SortedMap<String, List<String>> content() {
      SortedMap<String, List<String>> lines = new TreeMap<>();
      add(lines, client.topics().of(SHARDING_PLANS), ShardingPlan::workloadId, KillIT::line);
      add(lines, client.topics().of(CURRENT_PLANS), ShardingPlan::workloadId, KillIT::line);
      add(lines, client.topics().of(INFEASIBLE_WORKLOADS), InfeasibleWorkload::workloadId);
      add(lines, client.topics().of(COST_PREDICTIONS), CostPredictions::workloadId);
      add(
          lines,
          client.topics().of(REJECTED_EVENTS),
          e -> e.source().topic() + e.source().partition());
      add(lines, client.topics().of(COST_MODELS), ModelBundle::hardware, ModelBundle::modelId);
      return lines;
    }

    private <V> void add(
        SortedMap<String, List<String>> lines, Topic<V> topic, Function<V, String> group) {
      add(lines, topic, group, new JsonLines<>(topic.type().codec())::write);
    }

    private <V> void add(
        SortedMap<String, List<String>> lines,
        Topic<V> topic,
        Function<V, String> group,
        Function<V, String> line) {
      for (V value : client.committed(topic)) {
        lines
            .computeIfAbsent(
                (topic.name() + " of " + group.apply(value)).replace(prefix, ""),
                g -> new ArrayList<>())
            .add(line.apply(value).replace(prefix, ""));
      }
    }

    @Override
    public void close() throws IOException {
      publisher.shutdownNow();
      client.close();
    }
  }

  /** A plan but for its times; that its id is right is checked here. */
  private static String line(ShardingPlan plan) {
    assertThat(plan.planId()).isEqualTo(plan.contentId());
    return "generations %d to %d: %s after %s"
        .formatted(
            plan.origin().firstGeneration(),
            plan.generation(),
            plan.planId(),
            plan.origin().previousPlanId());
  }

  private static boolean lastPlanned(List<ShardingPlan> plans) {
    Map<String, Long> reached = new HashMap<>();
    plans.forEach(plan -> reached.put(plan.workloadId(), plan.generation()));
    return reached.equals(LIFE.generations());
  }

  /** Lets a life happen while a planner is killed a few times, and the broker if one may be. */
  private static void disturb(KillRun run, int legs, Optional<JavaProcess> mortal, Random random)
      throws Exception {
    List<Publication> all = LIFE.publications();
    Future<?> published = null;
    for (int leg = 0; leg < legs; leg++) {
      List<Publication> slice = all.subList(all.size() * leg / legs, all.size() * (leg + 1) / legs);
      boolean whileStarting = random.nextInt(3) == 0;
      JavaProcess planner = run.planner();
      if (!whileStarting) {
        planner.awaitReady();
      }
      published = run.publish(slice, random.nextLong());
      Thread.sleep(random.nextInt(whileStarting ? 4_000 : 400));
      boolean brokerDies = mortal.isPresent() && random.nextInt(3) > 0;
      if (brokerDies) {
        mortal.get().kill();
        mortal.get().start();
        mortal.get().awaitReady();
        Thread.sleep(random.nextInt(1_500));
      }
      planner.kill();
      boolean stateLost = random.nextInt(3) == 0;
      if (stateLost && Files.exists(run.state)) {
        PlanningGuarantees.delete(run.state);
      }
      log.info(
          "Killed the planner {}{}{}",
          whileStarting ? "while it started" : "while it ran",
          brokerDies ? ", after the broker" : "",
          stateLost ? "; its state is gone" : "");
    }
    try (JavaProcess planner = run.planner()) {
      published.get();
      run.awaitEnd(planner);
    }
    Topics topics = run.client.topics();
    log.info(
        "Killed in the middle of transactions that held {} predictions, {} plans and {} rejections",
        run.client.aborted(topics.of(COST_PREDICTIONS)),
        run.client.aborted(topics.of(SHARDING_PLANS)),
        run.client.aborted(topics.of(REJECTED_EVENTS)));
  }

  private static int legs(Random random) {
    return 2 + random.nextInt(3);
  }

  private static void assertAsUndisturbed(KillRun run) {
    SortedMap<String, List<String>> content = run.content();
    assertThat(content.keySet()).isEqualTo(undisturbed.keySet());
    undisturbed.forEach(
        (topic, lines) -> assertThat(content.get(topic)).as(topic).isEqualTo(lines));
  }

  @Test
  void after_a_planner_is_killed_the_log_equals_that_of_an_undisturbed_run() throws Exception {
    try (KillRun run = new KillRun(folder, broker.bootstrapServers(), Planning.EACH)) {
      disturb(run, 1, Optional.empty(), new Random(FIRST_SEED));
      assertAsUndisturbed(run);
    }
  }

  @Tag("nightly")
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void after_kills_the_log_equals_that_of_an_undisturbed_run(long seed) throws Exception {
    Random random = new Random(seed);
    try (KafkaCluster kafka = KafkaCluster.of(folder.resolve("kafka"), 1).start();
        KillRun run = new KillRun(folder, kafka.bootstrapServers(), Planning.EACH)) {
      disturb(run, legs(random), Optional.of(kafka.brokers().get(0)), random);
      assertAsUndisturbed(run);
    }
  }

  /**
   * With bursts planned once, which generations a plan answers depends on when it is made; but each
   * generation is answered once, by a plan or by a report that it does not fit.
   */
  @Test
  @Tag("nightly")
  void every_generation_of_a_burst_is_answered_once() throws Exception {
    Random random = new Random(FIRST_SEED);
    try (KillRun run = new KillRun(folder, broker.bootstrapServers(), Planning.BURSTS)) {
      disturb(run, legs(random), Optional.empty(), random);
      Map<String, SortedMap<Long, Long>> answers = new HashMap<>();
      for (ShardingPlan plan : run.client.committed(run.client.topics().of(SHARDING_PLANS))) {
        if (plan.origin().effort() == Effort.QUICK) {
          answer(answers, plan.workloadId(), plan.generation(), plan.origin().firstGeneration());
        }
      }
      for (InfeasibleWorkload unfit :
          run.client.committed(run.client.topics().of(INFEASIBLE_WORKLOADS))) {
        answer(answers, unfit.workloadId(), unfit.generation(), NOT_SAID);
      }
      LIFE.generations()
          .forEach(
              (workload, last) -> {
                long next = 1;
                for (Map.Entry<Long, Long> answer : answers.get(workload).entrySet()) {
                  assertThat(answer.getValue()).as(workload).isIn(next, NOT_SAID);
                  next = answer.getKey() + 1;
                }
                assertThat(next).as(workload).isEqualTo(last + 1);
              });
    }
  }

  private static void answer(
      Map<String, SortedMap<Long, Long>> answers, String workload, long generation, long first) {
    assertThat(answers.computeIfAbsent(workload, w -> new TreeMap<>()).put(generation, first))
        .as("generation %d of %s is answered twice", generation, workload)
        .isNull();
  }
}
