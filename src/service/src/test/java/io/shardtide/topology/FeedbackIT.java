package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What planners learn from trainers holds for a planner that starts later. */
class FeedbackIT {
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final EmbeddedKafka kafka = SharedCluster.kafka();
  private final DevelopmentRegistry registry = SharedCluster.registry();

  private LogClient client() {
    return new LogClient(kafka.bootstrapServers(), registry.url(), prefix);
  }

  private PlannerService start(
      String state, TrainingPolicy policy, RetrainingRun.RetrainingJob trainer) throws Exception {
    return PlannerService.start(
        new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), prefix, folder.resolve(state))
                    .training(policy)
                    .build(),
                List.of(TestModels.bundle()),
                TensorFlowTowers::new)
            .with()
            .trainer(Optional.of(trainer))
            .build());
  }

  @Test
  void a_planner_that_starts_later_knows_which_plan_runs() throws Exception {
    try (LogClient log = client()) {
      ShardingPlan running;
      try (PlannerService first = start("first", TrainingPolicy.DEFAULTS, Retraining::retrain)) {
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
        log.awaitRead(TopologyName.FEEDBACK.applicationId(prefix), log.topics().of(SHARDING_PLANS));
      }
      try (PlannerService next = start("next", TrainingPolicy.DEFAULTS, Retraining::retrain)) {
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

  /** An instance ends in the middle of a training: the next one trains again. */
  @Test
  void a_lost_retraining_job_is_repeated_and_decided_once() throws Exception {
    TrainingPolicy policy =
        TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS).samples(100).build();
    try (LogClient client = client()) {
      CountDownLatch training = new CountDownLatch(1);
      try (PlannerService first =
          start(
              "state",
              policy,
              (champion, towers, recent, old, sources, seed) -> {
                training.countDown();
                return forEver();
              })) {
        assertThat(first).isNotNull();
        for (CostSample sample :
            MeasuredMachine.samples(
                new Machine(0, Machine.CostChange.ALL, 0).measure(30, 1), "m", "a", 1)) {
          client.publishValue(client.topics().of(TRAINING_SAMPLES), sample.hardware(), sample);
        }
        await().atMost(PATIENCE).until(() -> training.getCount() == 0);
      }
      assertThat(client.committed(client.topics().of(MODEL_DECISIONS))).isEmpty();
      try (PlannerService next = start("state", policy, Retraining::retrain)) {
        assertThat(next).isNotNull();
        await()
            .atMost(PATIENCE)
            .until(() -> !client.committed(client.topics().of(MODEL_DECISIONS)).isEmpty());
      }
      List<ModelDecision> decisions = client.committed(client.topics().of(MODEL_DECISIONS));
      assertThat(decisions).hasSize(1);
      assertThat(decisions.get(0).published()).as(decisions.get(0).reason()).isTrue();
      assertThat(client.committed(client.topics().of(COST_MODELS)))
          .extracting(ModelBundle::modelId)
          .containsExactly(
              TestModels.bundle().modelId(), decisions.get(0).challengerId().orElseThrow());
    }
  }

  private static ModelBundle forEver() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    throw new IllegalStateException("The instance ended");
  }
}
