package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class NearestModelTest {
  private static final ModelBundle NODES = TestModels.nodes();
  private static final ModelBundle CPU = ofSmallBatches(TestModels.bundle(), "cpu");
  private static final List<ModelBundle> SHIPPED = List.of(CPU, TestModels.bundle(), NODES);

  private static ClusterSpec cluster(int devices, int perNode, int batch, String hardware) {
    return new ClusterSpec(devices, Fixtures.GIB, batch, perNode, hardware);
  }

  private static ModelBundle named(ModelBundle bundle, String hardware) {
    return ModelBundleBuilder.builder(bundle).modelId("").hardware(hardware).build().identified();
  }

  /** Returns a model of batches of 1,024 samples. */
  private static ModelBundle ofSmallBatches(ModelBundle bundle, String hardware) {
    List<TrainedRange> ranges =
        bundle.ranges().stream()
            .map(
                range ->
                    range.quantity().equals(TrainedRanges.SAMPLES)
                        ? new TrainedRange(range.quantity(), 1_024, 1_024)
                        : range)
            .toList();
    return named(ModelBundleBuilder.builder(bundle).ranges(ranges).build(), hardware);
  }

  private static String begun(List<ModelBundle> models, ClusterSpec cluster) {
    return NearestModel.begin(models, cluster).orElseThrow().proxyHardware().orElseThrow();
  }

  @Test
  void the_model_whose_training_range_is_nearest_to_the_cluster_is_taken() {
    assertThat(begun(SHIPPED, cluster(16, 8, 65_536, "h100"))).isEqualTo("simulated-8xh100");
    assertThat(begun(SHIPPED, cluster(16, 8, 65_536, "cpu-x")))
        .as("whatever its name is")
        .isEqualTo("simulated-8xh100");
    List<ModelBundle> others = List.of(CPU, TestModels.bundle());
    assertThat(begun(others, cluster(2, 2, 4_096, "h100"))).isEqualTo("cpu");
    assertThat(begun(others, cluster(2, 2, 16_384, "h100"))).isEqualTo("simulated");
  }

  @Test
  void a_model_that_lacks_a_collective_is_farther() {
    ClusterSpec one = cluster(1, 1, 65_536, "h100");
    ClusterSpec four = cluster(4, 4, 65_536, "h100");
    assertThat(NearestModel.distance(NODES, four)).isZero();
    assertThat(NearestModel.distance(TestModels.bundle(), four))
        .as("reduce-scatter, all-gather and all-reduce")
        .isEqualTo(3);
    assertThat(NearestModel.distance(TestModels.bundle(), one))
        .as("one device needs none")
        .isZero();
    assertThat(NearestModel.distance(NODES, cluster(4, 4, 4 * 131_072, "h100")))
        .as("four times the largest batch")
        .isEqualTo(2);
  }

  @Test
  void of_equally_near_models_the_one_with_the_most_similar_name_is_taken_then_the_first() {
    ClusterSpec cluster = cluster(8, 8, 65_536, "H100");
    List<ModelBundle> models = List.of(named(NODES, "b200"), named(NODES, "8xh100"));
    assertThat(begun(models, cluster)).isEqualTo("8xh100");
    assertThat(begun(List.of(named(NODES, "b2"), named(NODES, "b")), cluster)).isEqualTo("b");
  }

  @Test
  void of_equally_near_models_a_measured_one_is_taken_before_a_simulated_one() {
    ModelBundle measured = TestModels.h200();
    List<ModelBundle> models = List.of(TestModels.bundle(), NODES, measured);
    ClusterSpec cluster = cluster(8, 8, 65_536, "8xh100");
    assertThat(NearestModel.distance(measured, cluster)).isZero();
    assertThat(NearestModel.distance(NODES, cluster)).isZero();
    assertThat(begun(models, cluster)).as("whatever its name is").isEqualTo("h200");
    assertThat(begun(models, cluster(8, 8, 4 * 131_072, "h100")))
        .as("as near as the other one")
        .isEqualTo("h200");
  }

  @Test
  void a_model_that_began_as_another_one_is_not_taken() {
    ModelBundle begun = NearestModel.begin(SHIPPED, cluster(8, 8, 65_536, "h100")).orElseThrow();
    assertThat(begun(List.of(begun, CPU), cluster(8, 8, 65_536, "h100-new"))).isEqualTo("cpu");
    assertThat(NearestModel.begin(List.of(begun), cluster(8, 8, 65_536, "h"))).isEmpty();
    assertThat(NearestModel.begin(List.of(), cluster(8, 8, 65_536, "h"))).isEmpty();
  }

  @Test
  void a_first_model_has_other_weights_name_and_says_so() {
    ModelBundle begun = NearestModel.begin(SHIPPED, cluster(8, 8, 65_536, "h100")).orElseThrow();
    assertThat(begun.hardware()).isEqualTo("h100");
    assertThat(begun.modelId()).isEqualTo(begun.contentId()).isNotEqualTo(NODES.modelId());
    assertThat(begun.tower()).isEqualTo(NODES.tower());
    assertThat(begun.card().beganAs())
        .contains(new ModelOrigin("simulated-8xh100", NODES.modelId()));
    assertThat(begun.describe())
        .isEqualTo(
            "costs of simulated-8xh100 until h100 is measured; " + NODES.card().description());
    assertThat(begun.card().simulated()).isTrue();
    assertThat(begun.card().errors()).as("errors of other hardware").isEmpty();
    assertThat(begun.describeOrigin()).contains("costs of simulated-8xh100 until h100 is measured");
  }

  /** Each name of hardware would have a model in each planner, for ever. */
  @Test
  void hardware_beyond_the_most_that_may_begin_is_rejected_with_the_names_of_the_others() {
    List<ModelBundle> models = new ArrayList<>(SHIPPED);
    for (int i = 0; i < NearestModel.MOST_BORROWED; i++) {
      models.add(NearestModel.begin(models, cluster(8, 8, 65_536, "h" + i)).orElseThrow());
    }
    assertThatThrownBy(() -> NearestModel.begin(models, cluster(8, 8, 65_536, "h10O")))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining(
            "hardware without a model of its own must be at most 64 kinds, which begin with the"
                + " nearest model; got \"h10O\" beside [h0, h1, h10, ")
        .hasMessageContaining(", h63, h7, h8, h9]. Maybe a mistyped name?");
    ModelBundle learned = TestModels.measured(models.get(models.size() - 1), 32);
    models.set(models.size() - 1, learned);
    assertThat(begun(models, cluster(8, 8, 65_536, "h100")))
        .as("what was measured has a model of its own")
        .isEqualTo("simulated-8xh100");
  }

  @Test
  void links_from_a_data_sheet_are_those_of_the_nearest_hardware() {
    ModelBundle sheet =
        ModelBundleBuilder.builder(NODES)
            .collectives(NODES.collectives().stream().map(TestModels::fromDataSheet).toList())
            .build()
            .identified();
    ModelBundle begun =
        NearestModel.begin(List.of(sheet), cluster(8, 8, 65_536, "h100")).orElseThrow();
    assertThat(begun.describeLinks()).contains("links of simulated-8xh100 from a data sheet");
  }

  @Test
  void once_measured_a_model_says_on_how_many_computations() {
    ModelBundle begun = NearestModel.begin(SHIPPED, cluster(8, 8, 65_536, "h100")).orElseThrow();
    ModelBundle measured = TestModels.measured(begun, 32);
    assertThat(measured.proxyHardware()).isEmpty();
    assertThat(measured.describeOrigin())
        .contains("began as simulated-8xh100, fine-tuned on 32 computations of h100");
    assertThat(NODES.describeOrigin()).isEmpty();
    assertThat(NODES.proxyHardware()).isEmpty();
  }

  @Test
  void the_origin_is_part_of_the_id_and_shipped_models_keep_theirs() {
    assertThat(NODES.contentId()).isEqualTo(NODES.modelId());
    ModelBundle begun = NearestModel.begin(SHIPPED, cluster(8, 8, 65_536, "h100")).orElseThrow();
    ModelCard card = begun.card();
    ModelBundle without =
        ModelBundleBuilder.builder(begun)
            .card(
                new ModelCard(
                    card.description(),
                    card.simulated(),
                    card.seed(),
                    0,
                    card.collectiveSamples(),
                    card.sources(),
                    card.heldOutTables(),
                    card.errors(),
                    Optional.empty()))
            .build();
    assertThat(without.contentId()).isNotEqualTo(begun.modelId());
  }

  @Property(tries = 50)
  void the_order_of_the_models_does_not_matter(
      @ForAll @IntRange(min = 1, max = 300) int devices,
      @ForAll @IntRange(min = 1, max = 1_000_000) int batch,
      @ForAll long seed) {
    List<ModelBundle> shuffled = new ArrayList<>(SHIPPED);
    Collections.shuffle(shuffled, new Random(seed));
    ClusterSpec cluster = cluster(devices, Math.min(devices, 8), Math.max(devices, batch), "h100");
    assertThat(begun(shuffled, cluster)).isEqualTo(begun(SHIPPED, cluster));
  }
}
