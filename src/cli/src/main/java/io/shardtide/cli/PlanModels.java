package io.shardtide.cli;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The cost models of offline planning, by hardware. Each is loaded once, when it is needed. */
final class PlanModels implements AutoCloseable {
  private static final List<Supplier<ModelBundle>> SHIPPED =
      List.of(ModelFiles::shippedForH200, ModelFiles::shippedForNodes, ModelFiles::shipped);

  private final Map<String, PlanModel> models = new TreeMap<>();
  private final Iterator<Supplier<ModelBundle>> others;
  private final String origin;

  /**
   * A model that is ready to predict.
   *
   * @param cost predicts devices and collectives
   * @param towers predict tables
   */
  record PlanModel(CostModel cost, TensorFlowTowers towers) {}

  private PlanModels(String origin, List<Supplier<ModelBundle>> bundles) {
    this.origin = origin;
    others = bundles.iterator();
  }

  /**
   * Given models, and the shipped ones of all other hardware.
   *
   * @param withShipped whether the shipped ones count beside given ones; without any they do
   */
  static PlanModels of(List<ModelBundle> given, boolean withShipped) {
    List<Supplier<ModelBundle>> all = new ArrayList<>();
    given.forEach(bundle -> all.add(() -> bundle));
    if (withShipped || given.isEmpty()) {
      all.addAll(SHIPPED);
    }
    return new PlanModels(given.isEmpty() ? "a shipped model" : "the given model", all);
  }

  /**
   * Returns the model of a hardware.
   *
   * @throws IllegalArgumentException if there is none
   */
  PlanModel of(String hardware) {
    return find(hardware)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "hardware of a cluster must be that of %s, %s, got %s"
                        .formatted(origin, known(), quote(hardware))));
  }

  /** Returns the model of a hardware, if there is one. */
  Optional<PlanModel> find(String hardware) {
    while (!models.containsKey(hardware) && others.hasNext()) {
      ModelBundle bundle = others.next().get();
      models.computeIfAbsent(
          bundle.hardware(),
          name -> new PlanModel(new CostModel(bundle), new TensorFlowTowers(bundle)));
    }
    return Optional.ofNullable(models.get(hardware));
  }

  /** Returns the names of the hardware whose models were loaded, all if one was not found. */
  String known() {
    return models.keySet().stream().map(PlanModels::quote).collect(Collectors.joining(", "));
  }

  private static String quote(String hardware) {
    return '"' + Printable.of(hardware) + '"';
  }

  @Override
  public void close() {
    models.values().forEach(model -> model.towers().close());
  }
}
