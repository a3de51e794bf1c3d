package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hardware that no model was trained on, from its first event to a model of its own. */
class ColdStartIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final double FACTOR = 1.6;
  private static final String PREFIX = SharedCluster.freshPrefix();

  @TempDir private Path folder;
  private String bootstrap;
  private String registryUrl;

  /** Runs a command on the cluster and returns what it prints. */
  private String run(String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(List.of("--bootstrap", bootstrap, "--registry", registryUrl, "--prefix", PREFIX));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    assertThat(status).as(err.toString()).isZero();
    return out.toString();
  }

  private static final String BEGUN = "costs of simulated until h100 is measured";

  private static Change[] workload(int seed) {
    Change[] changes = new Change[13];
    changes[0] = new Change.ClusterSet(new ClusterSpec(4, 8 * Fixtures.GIB, 65_536, 4, "h100"));
    for (int t = 1; t < changes.length; t++) {
      changes[t] = Fixtures.upsert("t" + t, 1_000_000 + 10_000L * (t + seed), 64, 20 + t);
    }
    return changes;
  }

  /** The planner has the default settings; the trainer's computations take 1.6 times as long. */
  @Test
  void measured_costs_alone_turn_the_nearest_model_into_one_of_the_new_hardware() throws Exception {
    EmbeddedKafka kafka = SharedCluster.kafka();
    DevelopmentRegistry registry = SharedCluster.registry();
    try (LogClient client = new LogClient(kafka.bootstrapServers(), registry.url(), PREFIX);
        PlannerService service =
            PlannerService.start(
                new PlannerParts(
                        TestSettings.of(
                                kafka.bootstrapServers(),
                                registry.url(),
                                PREFIX,
                                folder.resolve("state"))
                            .planning(PlanningSettings.DEFAULTS)
                            .build(),
                        List.of(TestModels.bundle()),
                        TensorFlowTowers::new)
                    .with()
                    .trainer(Optional.of(Retraining::retrain))
                    .build())) {
      assertThat(service).isNotNull();
      bootstrap = kafka.bootstrapServers();
      registryUrl = registry.url();
      client.publish(Fixtures.event(workload(0)));
      ShardingPlan before = client.plans(1).get(0);
      assertThat(before.reason()).isEqualTo("first plan: 12 tables on 4 devices, " + BEGUN);
      assertThat(run("watch", "--once")).contains(BEGUN);
      assertThat(run("why", "--plan", before.planId())).contains(BEGUN);
      assertThat(run("models", "list")).containsPattern("h100 .* " + BEGUN);
      assertThat(
              run(
                  "publish",
                  "--workload",
                  "third",
                  "--cluster",
                  "devices=2,memoryGib=8,batchSize=65536,hardware=h100",
                  "--upsert",
                  "name=a,rows=1000,columns=64,poolingFactor=5"))
          .contains("generation 1", "warning: costs of simulated until its hardware is measured");
      ModelDecision begun = client.read(client.topics().of(MODEL_DECISIONS), 1).get(0);
      assertThat(begun.trigger()).isEqualTo(ModelDecision.Trigger.COLD_START);
      assertThat(begun.challengerId()).contains(before.origin().modelId());
      assertThat(client.committed(client.topics().of(COST_PREDICTIONS)))
          .allMatch(part -> part.proxyHardware().equals(Optional.of("simulated")));

      SimulatedTrainer trainer = new SimulatedTrainer();
      await()
          .atMost(TIMEOUT)
          .until(
              () -> {
                client.publishValue(
                    client.topics().of(MEASURED_COSTS),
                    before.workloadId(),
                    trainer.measured(before, device -> FACTOR));
                return client.committed(client.topics().of(MODEL_DECISIONS)).size() > 1;
              });
      ModelDecision decision = client.committed(client.topics().of(MODEL_DECISIONS)).get(1);
      assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.COLD_START);
      assertThat(decision.published()).as(decision.reason()).isTrue();
      assertThat(client.committed(client.topics().of(DRIFT_ALARMS)))
          .as("a constant error is no drift")
          .isEmpty();
      ModelBundle tuned =
          client.committed(client.topics().of(COST_MODELS)).stream()
              .filter(b -> b.modelId().equals(decision.challengerId().orElseThrow()))
              .findFirst()
              .orElseThrow();
      assertThat(tuned.describeOrigin().orElseThrow())
          .matches("began as simulated, fine-tuned on [1-9]\\d* computations of h100");
      Predicate<ShardingPlan> isNext =
          plan ->
              plan.origin().modelId().equals(tuned.modelId())
                  && plan.workloadId().equals(before.workloadId());
      ShardingPlan after =
          await()
              .atMost(TIMEOUT)
              .until(
                  () -> client.committed(client.topics().of(SHARDING_PLANS)),
                  plans -> plans.stream().anyMatch(isNext))
              .stream()
              .filter(isNext)
              .findFirst()
              .orElseThrow();
      assertThat(after.reason())
          .startsWith("new cost model that began as simulated, fine-tuned on ");
      assertThat(computeMs(after) / computeMs(before)).isCloseTo(FACTOR, within(0.1));

      // What is learned of one workload serves all on that hardware.
      client.publish(Fixtures.eventOf("another", workload(7)));
      ShardingPlan other =
          await()
              .atMost(TIMEOUT)
              .until(
                  () -> client.committed(client.topics().of(SHARDING_PLANS)),
                  plans -> plans.stream().anyMatch(p -> p.workloadId().equals("another")))
              .stream()
              .filter(p -> p.workloadId().equals("another"))
              .findFirst()
              .orElseThrow();
      assertThat(other.origin().modelId()).isNotEqualTo(before.origin().modelId());
      assertThat(other.reason()).isEqualTo("first plan: 12 tables on 4 devices");
      assertThat(computeMs(other) / computeMs(before)).isCloseTo(FACTOR, within(0.15));
      assertThat(run("models", "list"))
          .containsPattern(
              "h100 .* yes .* began as simulated, fine-tuned on \\d+ computations of h100");
      Path out = folder.resolve("replayed.jsonl");
      assertThat(run("replay", "--repredict", "--out", out.toString()))
          .contains(", 0 differ, 0 not recorded, 0 not reproduced");
      Path export = folder.resolve("export");
      run("export", "--out", export.toString());
      StringWriter replayed = new StringWriter();
      Shardtide.run(
          new PrintWriter(replayed),
          new PrintWriter(replayed),
          "replay",
          "--events",
          export.resolve("events.jsonl").toString(),
          "--out",
          out.toString());
      assertThat(replayed.toString()).contains(", 0 differ, 0 not recorded, 0 not reproduced");
    }
  }

  private static double computeMs(ShardingPlan plan) {
    return plan.prediction().deviceCosts().stream().mapToDouble(DeviceCost::computeMs).sum();
  }
}
