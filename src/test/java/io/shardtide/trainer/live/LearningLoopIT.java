package io.shardtide.trainer.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.client.Endpoint;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.MeasuredCostsBuilder;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.ModelFiles;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real trainer, a real broker, the planner: a plan is run, measured, and learned from. */
class LearningLoopIT {
  private static final ModelBundle MODEL = ModelFiles.shippedForCpu();
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private Path folder;

  private static Change cluster(int devices) {
    return new Change.ClusterSet(
        new ClusterSpec(devices, Fixtures.GIB, MODEL.batchSize(), devices, MODEL.hardware()));
  }

  @Test
  void plans_are_adopted_measured_and_turned_into_samples() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder));
        PlannerService service = start(kafka, registry);
        LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), "t.")) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.event(
              cluster(3),
              Fixtures.upsert("a", 20_000, 64, 5),
              Fixtures.upsert("b", 5_000, 32, 10),
              Fixtures.upsert("c", 100, 16, 1)));
      try (LiveTrainer trainer = train(kafka, client)) {
        awaitSamples(client, 1);
        ShardingPlan first = client.committed(client.topics().shardingPlans()).get(0);
        client.publish(Fixtures.event(Fixtures.upsert("b", 5_000, 32, 30)));
        awaitSamples(client, 2);
        client.publish(Fixtures.event(cluster(2)));
        awaitSamples(client, 3);
        trainer.check();

        List<ShardingPlan> plans = client.committed(client.topics().shardingPlans());
        assertThat(plans.get(1).previousPlanId()).contains(first.planId());
        assertThat(client.committed(client.topics().planStatus()))
            .filteredOn(status -> status.kind() == PlanStatus.StatusKind.FINISHED_MOVING)
            .extracting(PlanStatus::planId)
            .containsExactlyElementsOf(plans.stream().map(ShardingPlan::planId).toList());
        assertThat(client.committed(client.topics().trainingSamples()))
            .as("a device without shards is no sample")
            .filteredOn(sample -> sample.cost() instanceof CostSample.Computation)
            .allMatch(sample -> sample.hardware().equals(MODEL.hardware()))
            .allMatch(sample -> ((CostSample.Computation) sample.cost()).measuredMs() > 0);
        assertThat(client.committed(client.topics().rejectedEvents()))
            .as("what was measured while the tables changed is of no plan; else nothing is wrong")
            .allMatch(
                r ->
                    r.reason() == RejectionReason.INCOMPARABLE_MEASUREMENT
                        || r.reason() == RejectionReason.STALE_MEASUREMENT);
      }
      isRefused(client);
    }
  }

  private static void isRefused(LogClient client) throws Exception {
    List<MeasuredCosts> measured = client.committed(client.topics().measuredCosts());
    MeasuredCosts last = measured.get(measured.size() - 1);
    client.publishValue(client.topics().measuredCosts(), Fixtures.WORKLOAD, last);
    client.publishValue(
        client.topics().measuredCosts(),
        Fixtures.WORKLOAD,
        MeasuredCostsBuilder.builder()
            .measurementId("other")
            .workloadId(Fixtures.WORKLOAD)
            .planId("no-such-plan")
            .run(last.run())
            .step(last.step() + 1)
            .steps(1)
            .devices(last.devices())
            .source("liar")
            .measuredAt(Fixtures.TIME)
            .build());
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () ->
                assertThat(client.committed(client.topics().rejectedEvents()))
                    .extracting(RejectedEvent::reason)
                    .contains(RejectionReason.DUPLICATE_MEASUREMENT, RejectionReason.UNKNOWN_PLAN));
  }

  private PlannerService start(EmbeddedKafka kafka, DevelopmentRegistry registry) throws Exception {
    return PlannerService.start(
        TestSettings.of(kafka.bootstrapServers(), registry.url(), "t.", folder.resolve("state"))
            .build(),
        List.of(MODEL),
        TensorFlowTowers::new,
        Optional.of(
            (champion, recent, old, sources, seed) -> {
              throw new IllegalStateException("There are too few samples for a training");
            }));
  }

  private static LiveTrainer train(EmbeddedKafka kafka, LogClient client) {
    return LiveTrainer.start(
        Endpoint.of(kafka.bootstrapServers(), client.registry().url()).withPrefix("t."),
        new LiveTrainer.LiveTrainerSettings(
            Fixtures.WORKLOAD, "trainer", UUID.randomUUID().toString(), 1, 0.01f, 2, 5),
        new LiveTrainer.Watcher() {},
        InstantSource.system());
  }

  /** Waits for samples of so many plans. */
  private static void awaitSamples(LogClient client, int plans) {
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                client.committed(client.topics().trainingSamples()).stream()
                        .map(CostSample::planId)
                        .distinct()
                        .count()
                    == plans);
  }
}
