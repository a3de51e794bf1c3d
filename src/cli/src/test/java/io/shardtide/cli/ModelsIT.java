package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A person, or hardware that no model was trained on, gets another model, and the plans follow. */
class ModelsIT {
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final double FACTOR = 1.6;
  private static final String BEGUN = "costs of simulated until h100 is measured";
  private static final String FIRST = TestModels.bundle().modelId();
  private static final String OTHER = TestModels.otherBundle().modelId();

  @TempDir private Path folder;
  private final String prefix = SharedCluster.freshPrefix();
  private final String bootstrap = SharedCluster.kafka().bootstrapServers();
  private final String registryUrl = SharedCluster.registry().url();

  private record ModelResult(int status, String out, String err) {}

  /** Runs a command on the cluster. */
  private ModelResult command(String... args) {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(List.of("--bootstrap", bootstrap, "--registry", registryUrl, "--prefix", prefix));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    return new ModelResult(status, out.toString(), err.toString());
  }

  private ModelResult models(String... args) {
    return command(Stream.concat(Stream.of("models"), Stream.of(args)).toArray(String[]::new));
  }

  /** Runs a command that must end well, and returns what it prints. */
  private String run(String... args) {
    ModelResult result = command(args);
    assertThat(result.status()).as(result.err()).isZero();
    return result.out();
  }

  private static void awaitPlanBy(LogClient client, String modelId, int generations) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                client.committed(client.topics().of(SHARDING_PLANS)).stream()
                        .filter(plan -> plan.origin().modelId().equals(modelId))
                        .count()
                    == generations);
  }

  @Test
  void promoting_and_rolling_back_make_new_plans() throws Exception {
    ServiceSettings settings =
        TestSettings.of(bootstrap, registryUrl, prefix, folder.resolve("state"))
            .partitions(2)
            .build();
    try (PlannerService service =
            PlannerService.start(
                new PlannerParts(
                    settings,
                    List.of(TestModels.bundle(), TestModels.otherBundle()),
                    TensorFlowTowers::new));
        LogClient client = new LogClient(bootstrap, registryUrl, prefix)) {
      assertThat(service).isNotNull();
      client.publish(
          Fixtures.event(Fixtures.set(2, Fixtures.GIB), Fixtures.upsert("a", 1_000, 64, 5)));
      awaitPlanBy(client, OTHER, 1);

      ModelResult list = models("list");
      assertThat(list.status()).as(list.err()).isZero();
      assertThat(list.out().lines().toList()).hasSize(3);
      assertThat(list.out())
          .containsPattern(FIRST.substring(0, 12) + "  \\S+Z {12}")
          .containsPattern(OTHER.substring(0, 12) + "  \\S+Z  yes ");
      assertThat(models("list", "-o", "json").out()).contains(FIRST, "\"current\" : true");

      ModelResult promoted = models("promote", FIRST.substring(0, 8));
      assertThat(promoted.out())
          .isEqualTo(
              "Model %s is now the current one for %s, instead of %s%n"
                  .formatted(
                      FIRST.substring(0, 12),
                      TestModels.bundle().hardware(),
                      OTHER.substring(0, 12)));
      awaitPlanBy(client, FIRST, 1);
      assertThat(client.read(client.topics().of(MODEL_DECISIONS), 1))
          .singleElement()
          .matches(d -> d.trigger() == ModelDecision.Trigger.PERSON && d.published())
          .matches(d -> d.championId().equals(OTHER));
      assertThat(models("promote", FIRST).err())
          .contains("is already the current one; expected another");
      assertThat(models("promote", "beef").err())
          .contains("0 models have an id that begins with \"beef\"; expected one of");

      assertThat(models("rollback", "--hardware", TestModels.bundle().hardware()).status())
          .isZero();
      awaitPlanBy(client, OTHER, 2);

      ModelBundle unpublished = TestModels.fineTuned(TestModels.bundle());
      Path file = folder.resolve("model.avro");
      ModelFiles.write(unpublished, file);
      assertThat(models("promote", file.toString()).err()).isEmpty();
      awaitPlanBy(client, unpublished.modelId(), 1);
      assertThat(models("promote", ModelFiles.shippedForNodes().shown()).err())
          .as("a shipped model, of hardware that has none here")
          .contains("No model for hardware");
      assertThat(models("rollback", "--hardware", "none").err())
          .contains("No model for hardware \"none\"; expected one of [");

      ModelBundle all = TestModels.allCollectives();
      client.publishValue(client.topics().of(COST_MODELS), all.hardware(), all);
      for (ModelResult lacking :
          List.of(
              models("promote", FIRST),
              models("rollback", "--hardware", TestModels.bundle().hardware()))) {
        assertThat(lacking.status()).isNotZero();
        assertThat(lacking.err())
            .contains("must predict each collective that the current model " + all.shown())
            .contains("it lacks reduce-scatter of the forward pass");
      }

      assertThat(models("compare", FIRST, OTHER).err()).contains("No training samples");
      for (CostSample sample :
          MeasuredMachine.samples(
              new Machine(0, Machine.CostChange.ALL, 0).measure(5, 1), "m", "a", 1)) {
        client.publishValue(client.topics().of(TRAINING_SAMPLES), sample.hardware(), sample);
      }
      ModelResult compared = models("compare", FIRST, OTHER);
      assertThat(compared.out())
          .startsWith("On the newest 25 samples:")
          .containsPattern("computation +37.50% +37.50%")
          .contains("all_to_all.forward of 4");
      assertThat(models().status()).as("without a subcommand").isEqualTo(2);
    }
  }

  private static Change[] workload(int seed) {
    Change[] changes = new Change[13];
    changes[0] = new Change.ClusterSet(new ClusterSpec(4, 8 * Fixtures.GIB, 65_536, 4, "h100"));
    for (int t = 1; t < changes.length; t++) {
      changes[t] = Fixtures.upsert("t" + t, 1_000_000 + 10_000L * (t + seed), 64, 20 + t);
    }
    return changes;
  }

  /**
   * Hardware that no model was trained on, from its first event to a model of its own. The planner
   * has the default settings; the trainer's computations take 1.6 times as long.
   */
  @Test
  void measured_costs_alone_turn_the_nearest_model_into_one_of_the_new_hardware() throws Exception {
    try (LogClient client = new LogClient(bootstrap, registryUrl, prefix);
        PlannerService service =
            PlannerService.start(
                new PlannerParts(
                        TestSettings.of(bootstrap, registryUrl, prefix, folder.resolve("state"))
                            .planning(PlanningSettings.DEFAULTS)
                            .build(),
                        List.of(TestModels.bundle()),
                        TensorFlowTowers::new)
                    .with()
                    .trainer(Optional.of(Retraining::retrain))
                    .build())) {
      assertThat(service).isNotNull();
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
