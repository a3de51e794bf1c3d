package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.models.ModelFiles;
import io.shardtide.state.ModelDecision;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.Machine;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A person chooses the model that predicts, and the plans follow. */
class ModelsIT {
  private static final String PREFIX = "m.";
  private static final String FIRST = TestModels.bundle().modelId();
  private static final String OTHER = TestModels.otherBundle().modelId();

  @TempDir private Path folder;
  private String bootstrap;
  private String registryUrl;

  private record ModelResult(int status, String out, String err) {}

  private ModelResult models(String... args) {
    List<String> all = new ArrayList<>(List.of("models"));
    all.addAll(List.of(args));
    all.addAll(List.of("--bootstrap", bootstrap, "--registry", registryUrl, "--prefix", PREFIX));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), all.toArray(new String[0]));
    return new ModelResult(status, out.toString(), err.toString());
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
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"));
        DevelopmentRegistry registry = DevelopmentRegistry.start(0, Optional.of(folder))) {
      bootstrap = kafka.bootstrapServers();
      registryUrl = registry.url();
      ServiceSettings settings =
          TestSettings.of(bootstrap, registryUrl, PREFIX, folder.resolve("state"))
              .partitions(2)
              .build();
      try (PlannerService service =
              PlannerService.start(
                  new PlannerParts(
                      settings,
                      List.of(TestModels.bundle(), TestModels.otherBundle()),
                      TensorFlowTowers::new));
          LogClient client = new LogClient(bootstrap, registryUrl, PREFIX)) {
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
  }
}
