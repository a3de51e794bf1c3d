package io.shardtide.cli;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The cost models of offline planning, by hardware. Each is loaded once, when it is needed. */
final class PlanModels implements AutoCloseable {
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

  /** One model for all tasks. */
  static PlanModels of(ModelBundle bundle) {
    return new PlanModels("the given model", List.of(() -> bundle));
  }

  /** The shipped models. */
  static PlanModels shipped() {
    return new PlanModels(
        "a shipped model",
        List.of(ModelFiles::shippedForH200, ModelFiles::shippedForNodes, ModelFiles::shipped));
  }

  /**
   * Returns the model of a hardware.
   *
   * @throws IllegalArgumentException if there is none
   */
  PlanModel of(String hardware) {
    while (!models.containsKey(hardware) && others.hasNext()) {
      ModelBundle bundle = others.next().get();
      models.put(
          bundle.hardware(), new PlanModel(new CostModel(bundle), new TensorFlowTowers(bundle)));
    }
    PlanModel model = models.get(hardware);
    if (model == null) {
      throw new IllegalArgumentException(
          "hardware of a cluster must be that of %s, %s, got %s"
              .formatted(
                  origin,
                  models.keySet().stream().map(PlanModels::quote).collect(Collectors.joining(", ")),
                  quote(hardware)));
    }
    return model;
  }

  private static String quote(String hardware) {
    return '"' + Printable.of(hardware) + '"';
  }

  @Override
  public void close() {
    models.values().forEach(model -> model.towers().close());
  }
}
