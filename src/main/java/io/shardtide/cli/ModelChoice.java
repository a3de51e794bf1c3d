package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ModelDecisionBuilder;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;

/** A person chooses which model predicts. */
final class ModelChoice {
  private ModelChoice() {}

  /**
   * Lets a model predict from now on, and says so.
   *
   * @param id the beginning of its id
   * @throws IllegalArgumentException if there is no such model, or it predicts already
   */
  static String promote(ClusterOption.Connection connection, String id) throws IOException {
    ModelHistory history = ModelHistory.read(connection);
    return takeOver(connection, history, history.model(id), "a person promoted it");
  }

  /**
   * Lets the model predict that predicted before the current one, and says so.
   *
   * @throws IllegalArgumentException if there was none
   */
  static String rollback(ClusterOption.Connection connection, String hardware) throws IOException {
    ModelHistory history = ModelHistory.read(connection);
    return takeOver(connection, history, history.before(hardware), "a person rolled back to it");
  }

  /** Writes the model and the decision together: one without the other would say what is not so. */
  private static String takeOver(
      ClusterOption.Connection connection, ModelHistory history, ModelBundle bundle, String why)
      throws IOException {
    ModelBundle current = history.current(bundle.hardware());
    if (current.modelId().equals(bundle.modelId())) {
      throw new IllegalArgumentException(
          "Model %s predicts already; legal is another of hardware \"%s\""
              .formatted(bundle.shown(), Printable.of(bundle.hardware())));
    }
    connection.write(
        "models",
        new ClusterOption.Written<>(connection.topics().costModels(), bundle.hardware(), bundle),
        new ClusterOption.Written<>(
            connection.topics().modelDecisions(),
            bundle.hardware(),
            ModelDecisionBuilder.builder()
                .hardware(bundle.hardware())
                .trigger(ModelDecision.Trigger.PERSON)
                .championId(current.modelId())
                .challengerId(Optional.of(bundle.modelId()))
                .published(true)
                .recentSamples(0)
                .oldSamples(0)
                .championRecentError(OptionalDouble.empty())
                .challengerRecentError(OptionalDouble.empty())
                .championOldError(OptionalDouble.empty())
                .challengerOldError(OptionalDouble.empty())
                .reason(why)
                .decidedAt(Instant.now())
                .build()));
    return "Model %s predicts for %s from now on, in place of %s"
        .formatted(bundle.shown(), Printable.of(bundle.hardware()), current.shown());
  }
}
