package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.CanonicalHash;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A model that took over.
 *
 * @param hardware whose costs it predicts
 * @param model its id
 * @param since when it took over
 * @param current whether it is the current one
 * @param computeSamples samples of computations that it learned from
 * @param error mean relative error of computations, of recent samples if it was retrained
 * @param championPlanLoss what plans lose by the errors of the model before, as a share
 * @param planLoss the same of this one
 * @param why why it took over
 * @param origin what it learned from, if it says it
 * @param links what it says of links that were not measured
 * @param caches what it says of caches that were not measured
 * @param hostLink what it takes the link to host memory for
 */
record ListedModel(
    String hardware,
    String model,
    Instant since,
    boolean current,
    int computeSamples,
    OptionalDouble error,
    OptionalDouble championPlanLoss,
    OptionalDouble planLoss,
    String why,
    Optional<String> origin,
    Optional<String> links,
    Optional<String> caches,
    String hostLink) {

  /** Returns the models of a log by hardware, each list in the order of the log. */
  static List<ListedModel> of(ModelHistory history) {
    List<ListedModel> models = new ArrayList<>();
    for (List<ModelHistory.Takeover> all : history.all().values()) {
      for (int i = 0; i < all.size(); i++) {
        models.add(of(all.get(i), i + 1 == all.size(), history.decision(all.get(i).bundle())));
      }
    }
    return models;
  }

  private static ListedModel of(
      ModelHistory.Takeover takeover, boolean isCurrent, Optional<ModelDecision> decision) {
    ModelBundle bundle = takeover.bundle();
    Double trained = bundle.card().errors().get("test.compute.mape");
    return new ListedModel(
        bundle.hardware(),
        bundle.modelId(),
        takeover.at(),
        isCurrent,
        bundle.card().computeSamples(),
        decision
            .map(ModelDecision::challengerRecentError)
            .orElse(trained == null ? OptionalDouble.empty() : OptionalDouble.of(trained)),
        decision.map(ModelDecision::championPlanLoss).orElse(OptionalDouble.empty()),
        decision.map(ModelDecision::challengerPlanLoss).orElse(OptionalDouble.empty()),
        decision
            .map(d -> bundle.describe(d.trigger() + ": " + d.reason()))
            .orElse(bundle.describe()),
        bundle.describeOrigin(),
        bundle.describeLinks(),
        bundle.describeCaches(),
        bundle.describeHostLink());
  }

  /** Returns models as a table for people. */
  static Table<ListedModel> table(Collection<ListedModel> models) {
    return new Table<>(models)
        .left("hardware", ListedModel::hardware)
        .left("model", model -> CanonicalHash.shown(model.model()))
        .left("since", model -> model.since().truncatedTo(ChronoUnit.SECONDS))
        .left("current", model -> model.current() ? "yes" : "")
        .right("samples", "%,d", ListedModel::computeSamples)
        .percent("error", ListedModel::error)
        .left("plans lose", ListedModel::plansLose)
        .left("why", ListedModel::why);
  }

  private String plansLose() {
    return championPlanLoss.isPresent() && planLoss.isPresent()
        ? "%.1f%% -> %.1f%%"
            .formatted(100 * championPlanLoss.getAsDouble(), 100 * planLoss.getAsDouble())
        : "";
  }
}
