package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanDiff;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Registry;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Publishers, subscribers and trainers, a real broker and registry, the planner. */
class ClientIT {
  private static final int PATIENCE_S = 60;

  @TempDir private static Path folder;
  private static LocalPlanner planner;
  private static Endpoint endpoint;

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, "c.", 2);
    endpoint = planner.endpoint();
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static WorkloadPublisher publisher() {
    return WorkloadPublisher.connect(endpoint, "test");
  }

  private static Outcome get(CompletableFuture<Outcome> outcome) throws Exception {
    return outcome.get(PATIENCE_S, TimeUnit.SECONDS);
  }

  private static Outcome accepted(long generation) {
    return new Outcome.Accepted(OptionalLong.of(generation), Optional.empty());
  }

  /** Returns a workload id that no other test uses. */
  private static String fresh() {
    return "w-" + UUID.randomUUID();
  }

  private static PendingChange first(WorkloadPublisher publisher, String workload) {
    return publisher
        .change(workload)
        .cluster(Fixtures.cluster(3, Fixtures.GIB))
        .upsert(Fixtures.table("a", 1_000_000, 64, 5))
        .upsert(Fixtures.table("b", 500_000, 32, 10))
        .upsert(Fixtures.table("c", 1_000, 16, 1));
  }

  @Test
  void a_publisher_receives_the_outcome_of_each_event() throws Exception {
    String workload = fresh();
    try (WorkloadPublisher publisher = publisher()) {
      WorkloadChange event = first(publisher, workload).expectedGeneration(0).event();
      assertThat(get(publisher.publishAndAwait(event))).isEqualTo(accepted(1));
      assertThat(get(publisher.change(workload).drop("c").expectedGeneration(1).sendAndAwait()))
          .isEqualTo(accepted(2));

      Outcome again = get(publisher.publishAndAwait(event));
      assertThat(again)
          .isInstanceOfSatisfying(
              Outcome.Rejected.class,
              rejected -> {
                assertThat(rejected.reason()).isEqualTo(RejectionReason.DUPLICATE_EVENT);
                assertThat(rejected.message()).contains(event.eventId().toString());
              });
      assertThat(get(publisher.change(workload).drop("c").sendAndAwait()))
          .isInstanceOfSatisfying(
              Outcome.Rejected.class,
              rejected -> assertThat(rejected.reason()).isEqualTo(RejectionReason.UNKNOWN_TABLE));
      assertThat(get(publisher.change(workload).drop("b").expectedGeneration(1).sendAndAwait()))
          .isInstanceOfSatisfying(
              Outcome.Rejected.class,
              rejected ->
                  assertThat(rejected.reason()).isEqualTo(RejectionReason.STALE_GENERATION));
    }
  }

  @Test
  void an_event_with_a_value_out_of_range_is_not_sent() {
    try (WorkloadPublisher publisher = publisher()) {
      assertThatThrownBy(() -> publisher.change(fresh()).send())
          .hasMessage("changes of an event must be between 1 and 10000, got 0");
      assertThatThrownBy(() -> publisher.change("").drop("a").send())
          .hasMessageContaining("workload id");
    }
  }

  /** No record follows such an event: the outcome comes from the planner's committed offsets. */
  @Test
  void an_event_of_a_workload_without_a_cluster_is_accepted_or_rejected_too() throws Exception {
    String workload = fresh();
    try (WorkloadPublisher publisher = publisher()) {
      CompletableFuture<Outcome> table =
          publisher.change(workload).upsert(Fixtures.table("a", 1_000, 16, 1)).sendAndAwait();
      CompletableFuture<Outcome> unknown = publisher.change(workload).drop("b").sendAndAwait();
      assertThat(get(table))
          .isEqualTo(new Outcome.Accepted(OptionalLong.empty(), Optional.empty()));
      assertThat(get(unknown)).isInstanceOf(Outcome.Rejected.class);
    }
  }

  @Test
  void each_of_many_pending_events_receives_its_own_outcome() throws Exception {
    String workload = fresh();
    try (WorkloadPublisher publisher = publisher()) {
      get(first(publisher, workload).sendAndAwait());
      List<CompletableFuture<Outcome>> outcomes = new ArrayList<>();
      for (int e = 0; e < 100; e++) {
        outcomes.add(
            e % 3 == 0
                ? publisher.change(workload).drop("none-" + e).sendAndAwait()
                : publisher
                    .change(workload)
                    .upsert(Fixtures.table("a", 1_000_000 + e, 64, 5))
                    .sendAndAwait());
      }
      long generation = 1;
      for (int e = 0; e < 100; e++) {
        if (e % 3 == 0) {
          String name = "none-" + e;
          assertThat(get(outcomes.get(e)))
              .isInstanceOfSatisfying(
                  Outcome.Rejected.class,
                  rejected -> assertThat(rejected.message()).contains('"' + name + '"'));
        } else {
          generation++;
          assertThat(get(outcomes.get(e))).isEqualTo(accepted(generation));
        }
      }
    }
  }

  @Test
  void pending_outcomes_fail_when_the_publisher_is_closed() throws Exception {
    Endpoint nobody = endpoint.withPrefix("nobody.");
    try (LogClient client =
            new LogClient(planner.bootstrapServers(), planner.registryUrl(), nobody.prefix());
        Admin admin =
            Admin.create(
                Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, planner.bootstrapServers()))) {
      admin
          .createTopics(
              client.topics().all().stream()
                  .map(topic -> new NewTopic(topic.name(), 1, (short) 1))
                  .toList())
          .all()
          .get();
      client.registry().register(client.topics());
      WorkloadPublisher publisher = WorkloadPublisher.connect(nobody, "test");
      CompletableFuture<Outcome> outcome = publisher.change("w").drop("a").sendAndAwait();
      assertThat(outcome).isNotDone();
      publisher.close();
      assertThatThrownBy(outcome::get).hasMessageContaining("The publisher was closed");
    }
  }

  /** Puts plans into a queue. */
  private static PlanListener into(BlockingQueue<PlanUpdate> updates) {
    return updates::add;
  }

  private static PlanUpdate next(BlockingQueue<PlanUpdate> updates) throws InterruptedException {
    PlanUpdate update = updates.poll(PATIENCE_S, TimeUnit.SECONDS);
    assertThat(update).as("a plan").isNotNull();
    return update;
  }

  @Test
  void a_subscriber_receives_the_latest_plan_and_then_each_new_one() throws Exception {
    String workload = fresh();
    BlockingQueue<PlanUpdate> updates = new LinkedBlockingQueue<>();
    try (WorkloadPublisher publisher = publisher()) {
      try (PlanSubscriber early =
          PlanSubscriber.start(endpoint, Optional.of(workload), into(updates))) {
        assertThat(early).isNotNull();
        get(first(publisher, workload).sendAndAwait());
        assertThat(next(updates).plan().generation()).isEqualTo(1);
        get(publisher.change(workload).drop("c").sendAndAwait());
        assertThat(next(updates).plan().generation()).isEqualTo(2);
      }
      try (PlanSubscriber late =
          PlanSubscriber.start(endpoint, Optional.of(workload), into(updates))) {
        assertThat(late).isNotNull();
        PlanUpdate latest = next(updates);
        assertThat(latest.plan().generation()).isEqualTo(2);
        assertThat(latest.previous()).isEmpty();
        assertThat(latest.diff()).isEmpty();

        get(
            publisher
                .change(workload)
                .upsert(Fixtures.table("d", 2_000_000, 64, 8))
                .drop("b")
                .sendAndAwait());
        PlanUpdate update = next(updates);
        assertThat(update.previous()).contains(latest.plan());
        PlanDiff diff = update.diff().orElseThrow();
        assertThat(diff.added()).containsExactly("d");
        assertThat(diff.dropped()).containsExactly("b");
        assertThat(diff.moved()).allMatch(moved -> moved.table().equals("a"));
      }
    }
    assertThat(updates).as("nothing else, and nothing of other workloads").isEmpty();
  }

  @Test
  void a_trainer_reports_which_plan_runs_and_what_it_costs() throws Exception {
    String workload = fresh();
    BlockingQueue<PlanUpdate> updates = new LinkedBlockingQueue<>();
    try (WorkloadPublisher publisher = publisher();
        LogClient log = planner.log();
        PlanSubscriber plans =
            PlanSubscriber.start(endpoint, Optional.of(workload), into(updates));
        TrainerReports reports = plans.reports("trainer-1", "run-1")) {
      first(publisher, workload).send().get();
      ShardingPlan one = next(updates).plan();
      reports.adopted(one, 0).get();
      reports.finishedMoving(one, 1).get();
      publisher.change(workload).upsert(Fixtures.table("a", 1_000_000, 64, 15)).send().get();
      ShardingPlan two = next(updates).plan();
      assertThat(two.origin().previousPlanId()).contains(one.planId());
      reports.rejected(two, 2, "no room for it").get();
      publisher.change(workload).upsert(Fixtures.table("a", 1_000_000, 64, 25)).send().get();
      assertThat(next(updates).plan().origin().previousPlanId())
          .as("from the plan that runs, not from the one that was rejected")
          .contains(one.planId());

      List<MeasuredDevice> devices =
          Collections.nCopies(one.prediction().deviceCosts().size(), new MeasuredDevice(3, 1, 1));
      reports.measured(one, 10, 5, devices).get();
      assertThat(log.committed(log.topics().of(MEASURED_COSTS)))
          .filteredOn(measured -> measured.workloadId().equals(workload))
          .singleElement()
          .satisfies(
              measured -> {
                assertThat(measured.planId()).isEqualTo(one.planId());
                assertThat(measured.measurementId()).isEqualTo("trainer-1/run-1/10");
              });
      assertThatThrownBy(
              () -> reports.measured(one, 11, 5, List.of(new MeasuredDevice(Double.NaN, 1, 1))))
          .hasMessage("computation of device 0 must be between 0 and 600000 ms, got NaN ms");
    }
  }

  @Test
  void a_record_that_is_not_a_plan_is_reported_and_the_next_plan_is_received() throws Exception {
    String workload = fresh();
    BlockingQueue<PlanUpdate> updates = new LinkedBlockingQueue<>();
    BlockingQueue<RejectedEvent> undecodable = new LinkedBlockingQueue<>();
    CountDownLatch caughtUp = new CountDownLatch(1);
    PlanListener listener =
        new PlanListener() {
          @Override
          public void plan(PlanUpdate update) {
            updates.add(update);
          }

          @Override
          public void undecodable(RejectedEvent record) {
            undecodable.add(record);
          }

          @Override
          public void caughtUp() {
            caughtUp.countDown();
          }
        };
    try (WorkloadPublisher publisher = publisher();
        LogClient log = planner.log();
        PlanSubscriber plans = PlanSubscriber.start(endpoint, Optional.of(workload), listener)) {
      assertThat(plans).isNotNull();
      assertThat(caughtUp.await(PATIENCE_S, TimeUnit.SECONDS)).isTrue();
      log.publish(
          log.topics().of(CURRENT_PLANS), workload, "no plan".getBytes(StandardCharsets.UTF_8));
      first(publisher, workload).send().get();
      assertThat(next(updates).plan().generation()).isEqualTo(1);
      assertThat(undecodable)
          .singleElement()
          .satisfies(r -> assertThat(r.reason()).isEqualTo(RejectionReason.UNDECODABLE));
    }
  }

  @Test
  void a_listener_that_throws_receives_the_failure() throws Exception {
    String workload = fresh();
    CompletableFuture<RuntimeException> over = new CompletableFuture<>();
    PlanListener listener =
        new PlanListener() {
          @Override
          public void plan(PlanUpdate update) {
            throw new IllegalStateException("no place for plan " + update.plan().generation());
          }

          @Override
          public void failed(RuntimeException error) {
            over.complete(error);
          }
        };
    try (WorkloadPublisher publisher = publisher();
        PlanSubscriber plans = PlanSubscriber.start(endpoint, Optional.of(workload), listener)) {
      assertThat(plans).isNotNull();
      first(publisher, workload).send().get();
      assertThat(over.get(PATIENCE_S, TimeUnit.SECONDS)).hasMessage("no place for plan 1");
    }
  }

  @Test
  void a_cluster_without_a_planner_is_named() {
    Endpoint elsewhere = endpoint.withPrefix("elsewhere.");
    assertThatThrownBy(() -> PlanSubscriber.start(elsewhere, Optional.empty(), update -> {}))
        .hasMessageContaining("There is no topic elsewhere.current-plans on the Kafka cluster at ");
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(elsewhere, "test")) {
      assertThatThrownBy(() -> publisher.change("w").drop("a").send())
          .hasMessageContaining("elsewhere.workload-changes-value");
    }
  }

  /** A registry that restarts delays a subscriber, which loses no plan. */
  @Test
  void plans_wait_while_the_registry_is_unavailable() throws Exception {
    String workload = fresh();
    BlockingQueue<PlanUpdate> updates = new LinkedBlockingQueue<>();
    DevelopmentRegistry mine = SharedCluster.anotherRegistry(0);
    int port = mine.port();
    Endpoint through = Endpoint.of(planner.bootstrapServers(), mine.url()).withPrefix("c.");
    try (PlanSubscriber plans =
            PlanSubscriber.start(through, Optional.of(workload), into(updates));
        WorkloadPublisher publisher = publisher()) {
      assertThat(plans).isNotNull();
      mine.close();
      first(publisher, workload).send().get();
      await().during(Duration.ofSeconds(2)).atMost(Duration.ofSeconds(5)).until(updates::isEmpty);
      mine = SharedCluster.anotherRegistry(port);
      assertThat(next(updates).plan().shards()).extracting(Shard::table).contains("a", "b", "c");
    } finally {
      mine.close();
    }
  }

  /** A trainer whose Kafka cluster goes away and comes back loses reports, and waits for none. */
  @Test
  void an_outage_costs_reports_and_no_steps(@TempDir Path own) throws Exception {
    int many = 3 * TrainerReports.MAX_MEASUREMENTS;
    Duration patience = Duration.ofSeconds(90);
    ShardingPlan plan = new SimulatedTrainer().plan();
    List<MeasuredDevice> devices = new SimulatedTrainer().measured(plan, device -> 1).devices();
    EmbeddedKafka kafka = EmbeddedKafka.start(own.resolve("kafka"));
    int port = Integer.parseInt(kafka.bootstrapServers().replaceAll(".*:", ""));
    try (DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(own))) {
      // A planner makes the topics.
      PlannerService.start(
              new PlannerParts(
                  TestSettings.of(
                          kafka.bootstrapServers(), registry.url(), "l.", own.resolve("state"))
                      .build(),
                  List.of(TestModels.bundle()),
                  PlainTowers::new))
          .close();
      Endpoint lost =
          Endpoint.of(kafka.bootstrapServers(), registry.url())
              .withPrefix("l.")
              .withTimeout(Duration.ofSeconds(2));
      try (Registry schemas = lost.connectRegistry();
          TrainerReports reports = TrainerReports.connect(lost, schemas, "trainer", "run")) {
        reports.measured(plan, 0, 1, devices).get();
        kafka.close();
        // A report that waited for Kafka would do so for two seconds.
        List<CompletableFuture<Void>> sent =
            CompletableFuture.supplyAsync(
                    () ->
                        IntStream.rangeClosed(1, many)
                            .mapToObj(step -> reports.measured(plan, step, 1, devices))
                            .toList())
                .get(60, TimeUnit.SECONDS);
        assertThat(sent).hasSize(many);
        await()
            .atMost(patience)
            .until(() -> reports.undelivered() >= many - TrainerReports.MAX_MEASUREMENTS);

        kafka = EmbeddedKafka.start(own.resolve("kafka"), port, Map.of());
        int[] step = {many};
        await()
            .atMost(patience)
            .ignoreExceptions()
            .untilAsserted(() -> reports.measured(plan, ++step[0], 1, devices).get());
      }
    } finally {
      kafka.close();
    }
  }
}
