package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The shipped bundle with one part changed. */
class ModelBundleTest {
  private static final ModelBundle SHIPPED = Fixtures.bundle();

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
    List<Double> zeros = Collections.nCopies(ComputeTerms.NAMES.size(), 0.0);
    AllToAllNet net = SHIPPED.forward();
    int read = SHIPPED.communicationFeatures().size();
    return Stream.of(
        change("hardware of a model must have a name", b -> b.hardware(" ")),
        change("samples per batch of a model must be at least 1, got 0", b -> b.batchSize(0)),
        change("ranges of a model must be", b -> b.ranges(reversed(SHIPPED.ranges()))),
        change("compute net of a model must be", b -> b.features(reversed(SHIPPED.features()))),
        change(
            "communication nets of a model must be",
            b -> b.communicationFeatures(reversed(SHIPPED.communicationFeatures()))),
        change(
            "compute coefficients of a model must be at least 0, not all 0",
            b -> b.computeCoefficients(zeros)),
        change(
            "compute coefficients of a model must be at least 0, not all 0",
            b -> b.computeCoefficients(with(SHIPPED.computeCoefficients(), 0, -1e-9))),
        change(
            "compute coefficients of a model must be at least 0, not all 0",
            b ->
                b.computeCoefficients(
                    with(SHIPPED.computeCoefficients(), 0, Double.POSITIVE_INFINITY))),
        change(
            "forward coefficients of a model must be at least 0, not all 0",
            b -> b.forward(new AllToAllNet(net.coefficients().subList(1, 5), net.layers()))),
        change(
            "backward coefficients of a model must be at least 0, not all 0",
            b -> b.backward(new AllToAllNet(net.coefficients().subList(1, 5), net.layers()))),
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
        change("layers of a model's head must be at least 1, got 0", b -> b.head(List.of())),
        change(
            "inputs of a layer of a model's head must be %d, got 3".formatted(towerSize),
            b -> b.head(List.of(layer(3, 1)))),
        change(
            "inputs of a layer of a model's head must be 7, got 6",
            b -> b.head(List.of(layer(towerSize, 7), layer(6, 2)))),
        change(
            "the head must correct at most %d latency components, got %d"
                .formatted(towerSize, towerSize + 1),
            b -> b.head(List.of(layer(towerSize, towerSize + 1)))),
        change(
            "inputs of a layer of a model's all-to-all must be %d, got 2".formatted(read),
            b -> b.forward(new AllToAllNet(net.coefficients(), List.of(layer(2, 1))))),
        change(
            "outputs of a model's all-to-all net must be 1",
            b -> b.backward(new AllToAllNet(net.coefficients(), List.of(layer(read, 2))))));
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
    ModelBundle small =
        shipped()
            .batchSize(1)
            .head(List.of(layer(towerSize, towerSize)))
            .computeCoefficients(List.of(0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
            .build();
    assertThat(small.towerSize()).isEqualTo(towerSize);
    assertThat(small.latencyComponents()).isEqualTo(towerSize);
    assertThat(small.sampledColumns(7)).isEqualTo(7);
  }

  private static ModelCard card(
      String description, boolean simulated, long seed, int samples, int of4, String source) {
    return new ModelCard(
        description,
        simulated,
        seed,
        samples,
        new TreeMap<>(java.util.Map.of(4, of4)),
        List.of(source),
        new TreeSet<>(List.of("a")),
        new TreeMap<>(java.util.Map.of("mape", 0.1)));
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
    AllToAllNet net = SHIPPED.forward();
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
            shipped().batchSize(1),
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
            shipped()
                .communicationFeatures(
                    with(
                        SHIPPED.communicationFeatures(),
                        0,
                        new Feature(CommunicationFeatures.NAMES.get(0), 1, 1, 0, 1))),
            shipped().computeCoefficients(with(SHIPPED.computeCoefficients(), 0, 1.0)),
            shipped().tower(with(SHIPPED.tower(), 0, changed(SHIPPED.tower().get(0), true))),
            shipped().tower(with(SHIPPED.tower(), 0, changed(SHIPPED.tower().get(0), false))),
            shipped().head(with(SHIPPED.head(), 0, changed(SHIPPED.head().get(0), false))),
            shipped().forward(new AllToAllNet(with(net.coefficients(), 0, 9.0), net.layers())),
            shipped()
                .forward(
                    new AllToAllNet(
                        net.coefficients(),
                        with(net.layers(), 0, changed(net.layers().get(0), true)))),
            shipped()
                .backward(
                    new AllToAllNet(
                        with(SHIPPED.backward().coefficients(), 0, 9.0),
                        SHIPPED.backward().layers())));
    assertThat(different.stream().map(bundle -> bundle.build().contentId()).distinct())
        .hasSize(different.size());
  }

  @Test
  void a_model_has_the_id_and_the_hardware_of_its_bundle() {
    CostModel model = new CostModel(SHIPPED);
    assertThat(model.id()).isEqualTo(SHIPPED.modelId());
    assertThat(model.hardware()).isEqualTo(SHIPPED.hardware());
    assertThat(model.towerSize()).isEqualTo(model.evaluator().towerSize());
  }
}
