package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import io.shardtide.replay.RefusedException;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** An operator selects the current cost model. */
final class ModelChoice {
  private ModelChoice() {}

  private static final String PROMOTED = "promoted by an operator";

  /**
   * Makes a model the current one of its hardware and returns a confirmation.
   *
   * @param id the beginning of its id: of one in the log, or of one that is shipped
   * @throws IllegalArgumentException if there is no such model, or it is the current one
   */
  static String promote(KafkaLogRecords log, String id) throws IOException {
    ModelHistory history = ModelHistory.read(log);
    return takeOver(log, history, history.model(id, RunningModels.shipped()), PROMOTED);
  }

  /**
   * Makes the model of a file the current one of its hardware and returns a confirmation.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   * @throws IllegalArgumentException if it is the current one, or its hardware has none yet
   */
  static String promote(KafkaLogRecords log, Path file) throws IOException {
    return takeOver(log, ModelHistory.read(log), ModelFiles.read(file), PROMOTED);
  }

  /**
   * Makes the previous model of a hardware the current one and returns a confirmation.
   *
   * @throws IllegalArgumentException if there was none
   */
  static String rollback(KafkaLogRecords log, String hardware) throws IOException {
    ModelHistory history = ModelHistory.read(log);
    return takeOver(log, history, history.before(hardware), "rolled back to by an operator");
  }

  /**
   * Checks that a model predicts what the current one does: workloads whose clusters need a
   * collective that it lacks would keep their old predictions, in quarantine.
   */
  private static void checkCollectives(ModelBundle current, ModelBundle bundle) {
    List<String> lacking = new ArrayList<>();
    for (Direction direction : Direction.values()) {
      for (Collective collective : Collective.values()) {
        if (current.collective(collective, direction).isPresent()
            && bundle.collective(collective, direction).isEmpty()) {
          lacking.add(
              "%s of the %s pass"
                  .formatted(collective, direction)
                  .toLowerCase(Locale.ROOT)
                  .replace('_', '-'));
        }
      }
    }
    if (!lacking.isEmpty()) {
      throw new RefusedException(
          "Model %s must predict each collective that the current model %s predicts, since clusters of %s may use it; it lacks %s. Train it on samples with these collectives: docs/MODELS.md"
              .formatted(
                  bundle.shown(),
                  current.shown(),
                  Printable.of(bundle.hardware()),
                  String.join(", ", lacking)));
    }
  }

  /** Writes the model and the decision in one transaction: either alone would be misleading. */
  private static String takeOver(
      KafkaLogRecords log, ModelHistory history, ModelBundle bundle, String why)
      throws IOException {
    ModelBundle current = history.current(bundle.hardware());
    if (current.modelId().equals(bundle.modelId())) {
      throw new RefusedException(
          "Model %s is already the current one; expected another model of hardware \"%s\""
              .formatted(bundle.shown(), Printable.of(bundle.hardware())));
    }
    checkCollectives(current, bundle);
    ModelDecision decision =
        ModelDecision.withoutEvaluation(
            bundle.hardware(),
            ModelDecision.Trigger.PERSON,
            current.modelId(),
            Optional.of(bundle.modelId()),
            why,
            Instant.now());
    log.write(
        "models", List.of(log.record(COST_MODELS, bundle), log.record(MODEL_DECISIONS, decision)));
    return "Model %s is now the current one for %s, instead of %s"
        .formatted(bundle.shown(), Printable.of(bundle.hardware()), current.shown());
  }
}
