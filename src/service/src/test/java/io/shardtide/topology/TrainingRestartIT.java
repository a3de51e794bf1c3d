package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
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
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An instance ends in the middle of a training: the next one trains again, and decides once. */
class TrainingRestartIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  @TempDir private Path folder;

  private PlannerService start(
      EmbeddedKafka kafka, DevelopmentRegistry registry, RetrainingRun.RetrainingJob trainer)
      throws Exception {
    return PlannerService.start(
        new PlannerParts(
                TestSettings.of(
                        kafka.bootstrapServers(), registry.url(), PREFIX, folder.resolve("state"))
                    .training(
                        TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS).samples(100).build())
                    .build(),
                List.of(TestModels.bundle()),
                TensorFlowTowers::new)
            .with()
            .trainer(Optional.of(trainer))
            .build());
  }

  @Test
  void a_lost_retraining_job_is_repeated_and_decided_once() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX)) {
      CountDownLatch training = new CountDownLatch(1);
      try (PlannerService first =
          start(
              kafka,
              registry,
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
      try (PlannerService next = start(kafka, registry, Retraining::retrain)) {
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
