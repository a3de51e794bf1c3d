package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.CostQuantity;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.wire.TopicType;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The feedback loop on a real broker: plans are run, measured and learned from. */
class LearningLoopIT {
  private static final ModelBundle MODEL = TestModels.bundle();
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @TempDir private static Path folder;
  private final EmbeddedKafka kafka = SharedCluster.kafka();
  private final DevelopmentRegistry registry = SharedCluster.registry();

  private static Change cluster(int devices) {
    return new Change.ClusterSet(
        new ClusterSpec(
            devices, Fixtures.GIB, TestModels.largestBatch(MODEL), devices, MODEL.hardware()));
  }

  /** Measured costs are the predicted ones. */
  @Test
  void plans_are_adopted_measured_and_turned_into_samples() throws Exception {
    try (PlannerService service = start("t.", MODEL, LearningLoopIT::tooFewSamples);
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "t.");
        TrainerReports reports =
            TrainerReports.connect(
                Endpoint.of(kafka.bootstrapServers(), registry.url()).withPrefix("t."),
                client.registry(),
                "trainer",
                "run")) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.event(
              cluster(3),
              Fixtures.upsert("a", 2_000_000, 64, 5),
              Fixtures.upsert("b", 500_000, 32, 10),
              Fixtures.upsert("c", 100_000, 16, 1)));
      ShardingPlan first = runNext(client, reports, 1);
      client.publish(Fixtures.event(Fixtures.upsert("b", 500_000, 32, 30)));
      ShardingPlan second = runNext(client, reports, 2);
      assertThat(second.origin().previousPlanId()).contains(first.planId());
      client.publish(Fixtures.event(cluster(2)));
      runNext(client, reports, 3);
      client.publish(Fixtures.event(Fixtures.delete()));
      client.publish(Fixtures.event(cluster(2), Fixtures.upsert("d", 500_000, 32, 30)));
      runNext(client, reports, 4);

      List<ShardingPlan> plans = client.committed(client.topics().of(SHARDING_PLANS));
      assertThat(client.committed(client.topics().of(PLAN_STATUS)))
          .filteredOn(status -> status.kind() == PlanStatus.StatusKind.FINISHED_MOVING)
          .extracting(PlanStatus::planId)
          .containsExactlyElementsOf(plans.stream().map(ShardingPlan::planId).toList());
      assertThat(client.committed(client.topics().of(TRAINING_SAMPLES)))
          .as("computations of devices with shards")
          .filteredOn(sample -> sample.cost() instanceof CostSample.Computation)
          .allMatch(sample -> sample.hardware().equals(MODEL.hardware()))
          .allMatch(sample -> ((CostSample.Computation) sample.cost()).measuredMs() > 0);
      assertThat(client.committed(client.topics().of(REJECTED_EVENTS))).isEmpty();
      assertWrongMeasurementsAreRejected(client);
    }
  }

  /** Awaits the next plan, adopts and measures it, and awaits the samples. */
  private static ShardingPlan runNext(LogClient client, TrainerReports reports, int plans)
      throws Exception {
    ShardingPlan plan = client.plans(plans).get(plans - 1);
    reports.adopted(plan, plans).get();
    reports.finishedMoving(plan, plans).get();
    reports
        .measured(plan, plans, 1, new SimulatedTrainer().measured(plan, device -> 1).devices())
        .get();
    awaitSamples(client, plans);
    return plan;
  }

  /** Measured costs are simulated: the predicted ones, later 1.6 times the computations. */
  @Test
  void a_drift_retrains_the_model_and_the_new_model_replans() throws Exception {
    try (PlannerService service = start("drift.", TestModels.bundle(), Retraining::retrain);
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "drift.")) {
      assertThat(service).isNotNull();
      Change[] changes = new Change[13];
      changes[0] = Fixtures.set(4, 8 * Fixtures.GIB);
      for (int t = 1; t < changes.length; t++) {
        changes[t] = Fixtures.upsert("t" + t, 1_000_000 + 10_000L * t, 64, 20 + t);
      }
      client.publish(Fixtures.event(changes));
      ShardingPlan before = client.plans(1).get(0);
      SimulatedTrainer trainer = new SimulatedTrainer();
      for (int i = 0; i < 36; i++) {
        double factor = i < 31 ? 1 : 1.6;
        report(client, trainer.measured(before, device -> factor));
      }
      DriftAlarm alarm = client.read(client.topics().of(DRIFT_ALARMS), 1).get(0);
      assertThat(alarm.kind()).isEqualTo(DriftAlarm.AlarmKind.MODEL);
      assertThat(alarm.quantity()).isEqualTo(CostQuantity.COMPUTE);
      assertThat(alarm.samples()).as("the fifth measurement after the change").isEqualTo(36);
      await()
          .atMost(TIMEOUT)
          .until(
              () -> {
                report(client, trainer.measured(before, device -> 1.6));
                return !client.committed(client.topics().of(MODEL_DECISIONS)).isEmpty();
              });
      ModelDecision decision = client.committed(client.topics().of(MODEL_DECISIONS)).get(0);
      assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.DRIFT);
      assertThat(decision.published()).as(decision.reason()).isTrue();
      ShardingPlan after = client.plans(2).get(1);
      assertThat(after.origin().modelId()).isEqualTo(decision.challengerId().orElseThrow());
      assertThat(after.generation()).isEqualTo(before.generation());
      assertThat(computeMs(after) / computeMs(before)).isCloseTo(1.6, within(0.1));
    }
  }

  /** Measured costs are simulated: the predicted ones, of one device 1.6 times the computation. */
  @Test
  void a_slow_device_gets_less_work() throws Exception {
    try (PlannerService service =
            start("slow.", TestModels.bundle(), LearningLoopIT::tooFewSamples);
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "slow.")) {
      assertThat(service).isNotNull();
      Change[] changes = new Change[33];
      changes[0] = Fixtures.set(4, 8 * Fixtures.GIB);
      for (int t = 1; t < changes.length; t++) {
        changes[t] = Fixtures.upsert("t%02d".formatted(t), 1_000_000 + 10_000L * t, 64, 20 + t);
      }
      client.publish(Fixtures.event(changes));
      ShardingPlan before = client.plans(1).get(0);
      SimulatedTrainer trainer = new SimulatedTrainer();
      for (int i = 0; i < 50; i++) {
        double factor = i < 31 ? 1 : 1.6;
        report(client, trainer.measured(before, device -> device == 2 ? factor : 1));
      }
      DeviceSpeeds speeds = client.read(client.topics().of(DEVICE_SPEEDS), 1).get(0);
      assertThat(speeds.planId()).isEqualTo(before.planId());
      DeviceSpeed slow = speeds.slow().get(0);
      assertThat(slow.device()).isEqualTo(2);
      assertThat(slow.part()).isEqualTo(CostPart.COMPUTATION);
      assertThat(slow.slowdown()).isCloseTo(1.6, within(0.01));
      ShardingPlan after = client.plans(2).get(1);
      assertThat(after.origin().slow()).isEqualTo(speeds.slow());
      assertThat(after.generation()).isEqualTo(before.generation());
      assertThat(after.reason()).startsWith("device 2 computes 1.6 times slower since ");
      MemoryRecords records = new MemoryRecords();
      records.add(TestModels.bundle());
      records.forget(TopicType.WORKLOAD_CHANGES);
      client
          .committed(client.topics().of(COST_PREDICTIONS))
          .forEach(part -> records.add(TopicType.COST_PREDICTIONS, part));
      client
          .committed(client.topics().of(SHARDING_PLANS))
          .forEach(plan -> records.add(TopicType.SHARDING_PLANS, plan));
      ReplayResult replayed =
          new Replay(
                  records, ReplayScope.ALL, records.models(), PlainTowers::new, (plans, of) -> {})
              .run(false);
      assertThat(replayed.problems()).isEmpty();
      assertThat(replayed.isEqual()).isTrue();
    }
  }

  private static double computeMs(ShardingPlan plan) {
    return plan.prediction().deviceCosts().stream().mapToDouble(DeviceCost::computeMs).sum();
  }

  private static void report(LogClient client, MeasuredCosts measured) throws Exception {
    client.publishValue(client.topics().of(MEASURED_COSTS), measured.workloadId(), measured);
  }

  private static void assertWrongMeasurementsAreRejected(LogClient client) throws Exception {
    List<MeasuredCosts> measured = client.committed(client.topics().of(MEASURED_COSTS));
    MeasuredCosts last = measured.get(measured.size() - 1);
    report(client, last);
    report(
        client,
        MeasuredCostsBuilder.builder(last)
            .measurementId("other")
            .planId("no-such-plan")
            .step(last.step() + 1)
            .source("other")
            .build());
    await()
        .atMost(TIMEOUT)
        .untilAsserted(
            () ->
                assertThat(client.committed(client.topics().of(REJECTED_EVENTS)))
                    .extracting(RejectedEvent::reason)
                    .contains(RejectionReason.DUPLICATE_MEASUREMENT, RejectionReason.UNKNOWN_PLAN));
  }

  private static ModelBundle tooFewSamples(
      ModelBundle champion,
      TowerPredictor towers,
      SampleSet recent,
      SampleSet old,
      List<String> sources,
      long seed) {
    throw new IllegalStateException("This test has too few samples for a retraining");
  }

  private PlannerService start(
      String prefix, ModelBundle model, RetrainingRun.RetrainingJob retraining) throws Exception {
    return PlannerService.start(
        new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(),
                        registry.url(),
                        prefix,
                        folder.resolve(prefix + "state"))
                    .build(),
                List.of(model),
                TensorFlowTowers::new)
            .with()
            .trainer(Optional.of(retraining))
            .build());
  }

  /** Waits for samples of a number of plans. */
  private static void awaitSamples(LogClient client, int plans) {
    await()
        .atMost(TIMEOUT)
        .until(
            () ->
                client.committed(client.topics().of(TRAINING_SAMPLES)).stream()
                        .map(CostSample::planId)
                        .distinct()
                        .count()
                    == plans);
  }
}
