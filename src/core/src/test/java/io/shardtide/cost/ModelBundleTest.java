package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A bundle of all collectives with one part changed. */
class ModelBundleTest {
  private static final ModelBundle SHIPPED = TestModels.allCollectives();

  private static ModelBundleBuilder shipped() {
    return ModelBundleBuilder.builder(SHIPPED);
  }

  private static Arguments change(String message, UnaryOperator<ModelBundleBuilder> change) {
    return Arguments.of(message, change);
  }

  private static DenseLayer layer(int inputs, int outputs) {
    return new DenseLayer(inputs, outputs, new float[inputs * outputs], new float[outputs]);
  }

  private static <T> List<T> with(List<T> list, int at, T value) {
    List<T> changed = new ArrayList<>(list);
    changed.set(at, value);
    return changed;
  }

  private static <T> List<T> reversed(List<T> list) {
    List<T> reversed = new ArrayList<>(list);
    Collections.reverse(reversed);
    return reversed;
  }

  static Stream<Arguments> invalid() {
    int features = SHIPPED.features().size();
    int towerSize = SHIPPED.towerSize();
    int inputs = HeadInputs.size(towerSize, false);
    List<Double> zeros = Collections.nCopies(ComputeTerms.NAMES.size(), 0.0);
    CollectiveNet backward = SHIPPED.collectives().get(1);
    return Stream.of(
        change("hardware of a model must have a name", b -> b.hardware(" ")),
        change("ranges of a model must be", b -> b.ranges(reversed(SHIPPED.ranges()))),
        change("compute net of a model must be", b -> b.features(reversed(SHIPPED.features()))),
        change(
            "forward coefficients of a model must be at least 0, not all 0",
            b -> b.forwardCoefficients(zeros)),
        change(
            "backward coefficients of a model must be at least 0, not all 0",
            b -> b.backwardCoefficients(with(SHIPPED.backwardCoefficients(), 0, -1e-9))),
        change(
            "backward coefficients of a model must be at least 0, not all 0",
            b ->
                b.backwardCoefficients(
                    with(SHIPPED.backwardCoefficients(), 0, Double.POSITIVE_INFINITY))),
        change(
            "forward coefficients of a model must be at least 0, not all 0",
            b -> b.forwardCoefficients(SHIPPED.forwardCoefficients().subList(1, 5))),
        change(
            "a model must predict the forward all-to-all, got nets of [all_to_all.backward]",
            b -> b.collectives(List.of(backward))),
        change(
            "nets of a model must be one for each collective, got two for all_to_all.backward",
            b -> b.collectives(with(SHIPPED.collectives(), 0, backward))),
        change(
            "layers of a model's tower must be at least 2, got 1",
            b -> b.tower(List.of(layer(features, towerSize)))),
        change(
            "inputs of a layer of a model's tower must be %d, got %d"
                .formatted(features, features + 1),
            b -> b.tower(List.of(layer(features + 1, 8), layer(8 + features, towerSize)))),
        change(
            "inputs of a layer of a model's tower must be %d, got 8".formatted(8 + features),
            b -> b.tower(List.of(layer(features, 8), layer(8, towerSize)))),
        change(
            "the head must correct an even number of latency components, 2 to %d, got 0"
                .formatted(towerSize),
            b -> b.head(List.of())),
        change(
            "inputs of a layer of a model's head must be %d, got 3".formatted(inputs),
            b -> b.head(List.of(layer(3, 2)))),
        change(
            "inputs of a layer of a model's head must be 7, got 6",
            b -> b.head(List.of(layer(inputs, 7), layer(6, 2)))),
        change(
            "the head must correct an even number of latency components, 2 to %d, got %d"
                .formatted(towerSize, towerSize + 2),
            b -> b.head(List.of(layer(inputs, towerSize + 2)))),
        change(
            "the head must correct an even number of latency components, 2 to %d, got 3"
                .formatted(towerSize),
            b -> b.head(List.of(layer(inputs, 3)))));
  }

  @ParameterizedTest
  @MethodSource
  void invalid(String message, UnaryOperator<ModelBundleBuilder> change) {
    assertThatThrownBy(() -> change.apply(shipped()).build())
        .isInstanceOf(InvalidModelException.class)
        .hasMessageStartingWith(message);
  }

  @Test
  void the_smallest_nets_are_accepted() {
    int towerSize = SHIPPED.towerSize();
    List<Double> one = with(Collections.nCopies(ComputeTerms.NAMES.size(), 0.0), 5, 1.0);
    ModelBundle small =
        shipped()
            .head(List.of(layer(HeadInputs.size(towerSize, false), 2)))
            .forwardCoefficients(one)
            .backwardCoefficients(one)
            .collectives(SHIPPED.collectives().subList(0, 2))
            .build();
    assertThat(small.towerSize()).isEqualTo(towerSize);
    assertThat(small.latencyComponents()).isEqualTo(2);
  }

  private static CollectiveNet net(
      Collective collective, Optional<Direction> direction, double coefficient) {
    CollectiveNet net = TestModels.collective(collective, Direction.FORWARD, 1);
    return new CollectiveNet(
        collective,
        direction,
        net.features(),
        with(net.coefficients(), 0, coefficient),
        net.layers());
  }

  static Stream<Arguments> invalidCollectives() {
    CollectiveNet net = TestModels.collective(Collective.ALL_REDUCE, Direction.BACKWARD, 1);
    int read = net.features().size();
    return Stream.of(
        Arguments.of(
            "all_reduce of a model must be [log2_bytes, ",
            reversed(net.features()),
            net.coefficients(),
            net.layers()),
        Arguments.of(
            "all_reduce coefficients of a model must be at least 0, not all 0",
            net.features(),
            net.coefficients().subList(1, 5),
            net.layers()),
        Arguments.of(
            "inputs of a layer of a model's all_reduce must be %d, got 2".formatted(read),
            net.features(),
            net.coefficients(),
            List.of(layer(2, 1))),
        Arguments.of(
            "outputs of a model's all_reduce net must be 1",
            net.features(),
            net.coefficients(),
            List.of(layer(read, 2))));
  }

  @ParameterizedTest
  @MethodSource
  void invalidCollectives(
      String message, List<Feature> features, List<Double> coefficients, List<DenseLayer> layers) {
    assertThatThrownBy(
            () ->
                new CollectiveNet(
                    Collective.ALL_REDUCE, Optional.empty(), features, coefficients, layers))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageStartingWith(message);
  }

  /** A net without a direction stands for both. */
  @Test
  void a_collective_is_predicted_by_the_net_of_its_direction() {
    ModelBundle bundle =
        shipped()
            .collectives(
                List.of(
                    net(Collective.ALL_TO_ALL, Optional.empty(), 1),
                    net(Collective.ALL_GATHER, Optional.of(Direction.BACKWARD), 2)))
            .build();
    for (Direction direction : Direction.values()) {
      assertThat(bundle.collective(Collective.ALL_TO_ALL, direction))
          .contains(bundle.collectives().get(0));
    }
    assertThat(bundle.collective(Collective.ALL_GATHER, Direction.BACKWARD))
        .contains(bundle.collectives().get(1));
    assertThat(bundle.collective(Collective.ALL_GATHER, Direction.FORWARD)).isEmpty();
    assertThat(bundle.collectives().get(0).shown()).isEqualTo("all_to_all");
    assertThat(bundle.collectives().get(1).shown()).isEqualTo("all_gather.backward");
  }

  @Test
  void a_model_says_which_collectives_are_from_a_data_sheet() {
    assertThat(SHIPPED.fromDataSheet()).isEmpty();
    assertThat(SHIPPED.describeLinks()).isEmpty();
    assertThat(SHIPPED.describe()).isEqualTo(SHIPPED.card().description());
    CollectiveNet forward = TestModels.collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1);
    CollectiveNet backward = TestModels.collective(Collective.ALL_TO_ALL, Direction.BACKWARD, 1);
    ModelBundle all =
        TestModels.withCollectives(
            TestModels.fromDataSheet(forward), TestModels.fromDataSheet(backward));
    assertThat(all.describeLinks()).contains("links of simulated from a data sheet");
    assertThat(all.describe())
        .isEqualTo("links of simulated from a data sheet; " + SHIPPED.card().description());
    ModelBundle some = TestModels.withCollectives(forward, TestModels.fromDataSheet(backward));
    assertThat(some.fromDataSheet()).containsExactly("all_to_all.backward");
    assertThat(some.describeLinks())
        .contains("links of simulated from a data sheet (all_to_all.backward)");
    assertThat(some.collectives().get(1).uncorrected().source())
        .as("fine-tuning measures steps, and not each collective")
        .isEqualTo(CollectiveSource.DATA_SHEET);
  }

  @Test
  void a_model_says_which_optimizers_of_tables_were_not_measured() {
    TableSpec plain = Fixtures.table("a", 10, 8, 1);
    TableSpec adam = TableSpecBuilder.builder(plain).optimizer(Optional.of(Optimizer.ADAM)).build();
    assertThat(SHIPPED.describeOptimizers(List.of(plain))).isEmpty();
    assertThat(SHIPPED.describeOptimizers(List.of(plain, adam)))
        .contains("costs do not tell optimizers apart");
    ModelBundle sgd = shipped().optimizers(List.of(Optimizer.SGD)).build();
    assertThat(sgd.describeOptimizers(List.of(plain, adam)))
        .contains("costs of rowwise_adagrad, adam by the bytes of their state");
    ModelBundle both =
        shipped().optimizers(List.of(Optimizer.ADAM, Optimizer.ROWWISE_ADAGRAD)).build();
    assertThat(both.optimizers()).containsExactly(Optimizer.ROWWISE_ADAGRAD, Optimizer.ADAM);
    assertThat(both.describeOptimizers(List.of(plain, adam))).isEmpty();
    assertThat(both.contentId()).isNotEqualTo(SHIPPED.modelId());
    assertThat(sgd.contentId()).isNotEqualTo(both.contentId());
  }

  @Test
  void a_model_says_whose_costs_of_caches_it_has_where_that_matters() {
    ModelBundle bundle = shipped().cachesFrom(Optional.of(new ModelOrigin("other", "1"))).build();
    String text = "caches from other, scaled";
    assertThat(SHIPPED.describeCaches()).isEmpty();
    assertThat(bundle.describe()).isEqualTo(text + "; " + SHIPPED.card().description());
    Region all = Region.of(Fixtures.table("a", 100, 8, 1));
    Shard plain = new Shard("a", all, 0, ShardKind.TABLE_WISE, OptionalDouble.empty());
    Shard cached = new Shard("a", all, 0, ShardKind.TABLE_WISE, OptionalDouble.of(0.5));
    assertThat(bundle.describeCaches(List.of(plain))).isEmpty();
    assertThat(bundle.describeCaches(List.of(plain, cached))).contains(text);
    assertThat(SHIPPED.describeCaches(List.of(cached))).isEmpty();
  }

  private static ModelCard card(
      String description, boolean simulated, long seed, int samples, int allToAlls, String source) {
    return new ModelCard(
        description,
        simulated,
        seed,
        samples,
        new TreeMap<>(java.util.Map.of("all_to_all", allToAlls)),
        List.of(source),
        new TreeSet<>(List.of("a")),
        new TreeMap<>(java.util.Map.of("mape", 0.1)),
        Optional.empty());
  }

  private static DenseLayer changed(DenseLayer layer, boolean ofBias) {
    float[] weights = layer.weights().clone();
    float[] biases = layer.biases().clone();
    (ofBias ? biases : weights)[0] += 1;
    return new DenseLayer(layer.inputs(), layer.outputs(), weights, biases);
  }

  @Test
  void the_id_depends_on_everything() {
    assertThat(shipped().modelId("other").hardware("x").build().identified().modelId())
        .isEqualTo(shipped().hardware("x").build().contentId())
        .hasSize(64);
    assertThat(SHIPPED.shown()).isEqualTo(SHIPPED.modelId().substring(0, 12));
    assertThat(SHIPPED.contentId()).isEqualTo(SHIPPED.modelId());
    Feature feature = SHIPPED.features().get(0);
    CollectiveNet net = SHIPPED.collectives().get(0);
    List<ModelBundleBuilder> different =
        List.of(
            shipped(),
            shipped().hardware("x"),
            shipped().card(card("a", true, 1, 2, 3, "s")),
            shipped().card(card("b", true, 1, 2, 3, "s")),
            shipped().card(card("a", false, 1, 2, 3, "s")),
            shipped().card(card("a", true, 2, 2, 3, "s")),
            shipped().card(card("a", true, 1, 3, 3, "s")),
            shipped().card(card("a", true, 1, 2, 4, "s")),
            shipped().card(card("a", true, 1, 2, 3, "t")),
            shipped().measuresDirections(!SHIPPED.measuresDirections()),
            shipped().ranges(with(SHIPPED.ranges(), 0, new TrainedRange("rows", 1, 2))),
            shipped().ranges(with(SHIPPED.ranges(), 0, new TrainedRange("rows", 1, 3))),
            shipped()
                .features(
                    with(
                        SHIPPED.features(),
                        0,
                        new Feature(feature.name(), 1, feature.scale(), 0, feature.max()))),
            shipped()
                .features(
                    with(
                        SHIPPED.features(),
                        0,
                        new Feature(feature.name(), 2, feature.scale(), 0, feature.max()))),
            shipped().forwardCoefficients(with(SHIPPED.forwardCoefficients(), 0, 1.0)),
            shipped().backwardCoefficients(with(SHIPPED.backwardCoefficients(), 0, 1.0)),
            shipped().tower(with(SHIPPED.tower(), 0, changed(SHIPPED.tower().get(0), true))),
            shipped().tower(with(SHIPPED.tower(), 0, changed(SHIPPED.tower().get(0), false))),
            shipped().head(with(SHIPPED.head(), 0, changed(SHIPPED.head().get(0), false))),
            shipped().collectives(SHIPPED.collectives().subList(0, 4)),
            shipped().collectives(reversed(SHIPPED.collectives())),
            shipped().collectives(with(SHIPPED.collectives(), 0, TestModels.fromDataSheet(net))),
            shipped().cachesFrom(Optional.of(new ModelOrigin("x", "1"))),
            shipped().cachesFrom(Optional.of(new ModelOrigin("x", "2"))),
            shipped().hostLinkGbs(OptionalDouble.of(64)),
            shipped().hostLinkGbs(OptionalDouble.of(56)),
            shipped()
                .collectives(
                    with(SHIPPED.collectives(), 0, net(net.collective(), net.direction(), 9))),
            shipped()
                .collectives(
                    with(SHIPPED.collectives(), 0, net(net.collective(), Optional.empty(), 9))),
            shipped()
                .collectives(
                    with(
                        SHIPPED.collectives(),
                        0,
                        new CollectiveNet(
                            net.collective(),
                            net.direction(),
                            net.features(),
                            net.coefficients(),
                            with(net.layers(), 0, changed(net.layers().get(0), true))))),
            shipped()
                .collectives(
                    with(
                        SHIPPED.collectives(),
                        0,
                        new CollectiveNet(
                            net.collective(),
                            net.direction(),
                            with(
                                net.features(),
                                0,
                                new Feature(net.features().get(0).name(), 2, 10, 0, 40)),
                            net.coefficients(),
                            net.layers()))));
    assertThat(different.stream().map(bundle -> bundle.build().contentId()).distinct())
        .hasSize(different.size());
  }

  @Test
  void a_model_says_where_the_speed_of_its_host_link_is_from() {
    assertThat(SHIPPED.describeHostLink())
        .isEqualTo("host link of 56.0 GB/s a device, as in published runs");
    assertThat(shipped().hostLinkGbs(OptionalDouble.of(64)).build().describeHostLink())
        .isEqualTo("host link of 64.0 GB/s a device, from a data sheet");
    for (double gbs : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
      assertThatThrownBy(() -> shipped().hostLinkGbs(OptionalDouble.of(gbs)).build())
          .isInstanceOf(InvalidModelException.class)
          .hasMessage("GB/s of a model's host link must be a finite number above 0, got " + gbs);
    }
  }

  @Test
  void a_model_has_the_id_and_the_hardware_of_its_bundle() {
    CostModel model = new CostModel(SHIPPED);
    assertThat(model.id()).isEqualTo(SHIPPED.modelId());
    assertThat(model.hardware()).isEqualTo(SHIPPED.hardware());
    assertThat(model.sumSize()).isEqualTo(model.evaluator().sumSize());
  }
}
