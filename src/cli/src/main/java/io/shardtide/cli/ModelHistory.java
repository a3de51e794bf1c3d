package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;

import io.shardtide.cost.ModelBundle;
import io.shardtide.replay.RefusedException;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.CanonicalHash;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The models that took over, in the order of the log, and why. The last published one of a hardware
 * is the current one.
 */
final class ModelHistory {
  private final Map<String, List<Takeover>> byHardware = new LinkedHashMap<>();
  private final Map<String, ModelBundle> byId = new LinkedHashMap<>();
  private final List<ModelDecision> decisions = new ArrayList<>();

  /**
   * A model that took over.
   *
   * @param bundle the model
   * @param at when it was published
   */
  record Takeover(ModelBundle bundle, Instant at) {}

  /** Reads the history from the log. */
  static ModelHistory read(KafkaLogRecords log) throws IOException {
    ModelHistory history = new ModelHistory();
    log.readNow(COST_MODELS, history::add);
    log.readNow(MODEL_DECISIONS, (decision, at) -> history.decisions.add(decision));
    return history;
  }

  void add(ModelBundle bundle, Instant at) {
    byId.put(bundle.modelId(), bundle);
    List<Takeover> some = byHardware.computeIfAbsent(bundle.hardware(), h -> new ArrayList<>());
    if (some.isEmpty() || !some.get(some.size() - 1).bundle().modelId().equals(bundle.modelId())) {
      some.add(new Takeover(bundle, at));
    }
  }

  /** Returns all takeovers by hardware, each list in the order of the log. */
  Map<String, List<Takeover>> all() {
    return byHardware;
  }

  /** Returns the current model of a hardware. */
  ModelBundle current(String hardware) {
    List<Takeover> some = of(hardware);
    return some.get(some.size() - 1).bundle();
  }

  /** Returns the model before the current one. */
  ModelBundle before(String hardware) {
    List<Takeover> some = of(hardware);
    if (some.size() < 2) {
      throw new RefusedException(
          "Hardware \"%s\" has had only one model; nothing to roll back to"
              .formatted(Printable.of(hardware)));
    }
    return some.get(some.size() - 2).bundle();
  }

  private List<Takeover> of(String hardware) {
    List<Takeover> some = byHardware.get(hardware);
    if (some == null) {
      throw new RefusedException(
          "No model for hardware \"%s\"; expected one of %s"
              .formatted(Printable.of(hardware), byHardware.keySet()));
    }
    return some;
  }

  /** Returns the model of the log whose id begins with a text. */
  ModelBundle model(String id) {
    return model(id, List.of());
  }

  /** Returns the model of the log, or of others, whose id begins with a text. */
  ModelBundle model(String id, List<ModelBundle> others) {
    Map<String, ModelBundle> known = new LinkedHashMap<>(byId);
    others.forEach(model -> known.putIfAbsent(model.modelId(), model));
    List<ModelBundle> found =
        known.values().stream().filter(b -> !id.isEmpty() && b.modelId().startsWith(id)).toList();
    if (found.size() != 1) {
      throw new RefusedException(
          "%d models have an id that begins with \"%s\"; expected one of %s"
              .formatted(
                  found.size(),
                  Printable.of(id),
                  known.keySet().stream().map(CanonicalHash::shown).toList()));
    }
    return found.get(0);
  }

  /** Returns the last decision that made a model the current one. */
  Optional<ModelDecision> decision(ModelBundle bundle) {
    return decisions.stream()
        .filter(d -> d.published() && d.challengerId().filter(bundle.modelId()::equals).isPresent())
        .reduce((first, second) -> second);
  }
}
