package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What planning said of the plan that runs holds for a planner that starts later, elsewhere. */
class RunningPlanIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  @TempDir private Path folder;

  private PlannerService start(EmbeddedKafka kafka, DevelopmentRegistry registry, String state)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), PREFIX, folder.resolve(state))
                    .build(),
                List.of(TestModels.bundle()),
                TensorFlowTowers::new)
            .with()
            .trainer(Optional.of(Retraining::retrain))
            .build());
  }

  @Test
  void a_planner_that_starts_later_knows_which_plan_runs() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient log = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      ShardingPlan running;
      try (PlannerService first = start(kafka, registry, "first")) {
        assertThat(first).isNotNull();
        log.publish(
            Fixtures.event(
                Fixtures.set(2, 8 * Fixtures.GIB), Fixtures.upsert("a", 100_000, 64, 8)));
        running = log.plans(1).get(0);
        PlanStatus adopted = Fixtures.adopted(running);
        log.publishValue(log.topics().of(PLAN_STATUS), adopted.workloadId(), adopted);
        AcceptedStatus accepted = log.read(log.topics().of(ACCEPTED_STATUSES), 1).get(0);
        assertThat(accepted.status()).contains(adopted);
        assertThat(accepted.runningPlanId()).contains(running.planId());
        log.publish(Fixtures.event(Fixtures.upsert("b", 100_000, 64, 8)));
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    log.committed(log.topics().of(SHARDING_PLANS)).stream()
                        .anyMatch(plan -> plan.generation() == 2));
        log.awaitRead(TopologyName.FEEDBACK.applicationId(PREFIX), log.topics().of(SHARDING_PLANS));
      }
      try (PlannerService next = start(kafka, registry, "next")) {
        assertThat(next).isNotNull();
        // If the trainer had reported nothing, the second plan would count as running, and a
        // measurement of the first as overtaken.
        MeasuredCosts measured = new SimulatedTrainer().measured(running, device -> 1);
        log.publishValue(log.topics().of(MEASURED_COSTS), measured.workloadId(), measured);
        await()
            .atMost(PATIENCE)
            .until(
                () ->
                    log.committed(log.topics().of(TRAINING_SAMPLES)).size()
                            + log.committed(log.topics().of(REJECTED_EVENTS)).size()
                        > 0);
        assertThat(log.committed(log.topics().of(REJECTED_EVENTS))).isEmpty();
        List<AcceptedStatus> told = log.committed(log.topics().of(ACCEPTED_STATUSES));
        assertThat(told.get(told.size() - 1).runningPlanId()).contains(running.planId());
      }
    }
  }
}
