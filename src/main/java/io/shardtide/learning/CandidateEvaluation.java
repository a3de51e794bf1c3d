package io.shardtide.learning;

import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.ModelDecisionBuilder;
import io.shardtide.domain.TrainingPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Champion against challenger on what was held back.
 *
 * <p>The challenger takes over if its error on recent samples is below the champion's by a stated
 * share, and its error on old ones is not above the champion's by more than a stated margin. After
 * a drift the old samples are of a world that changed: there its error may be as large as the
 * drift, which is the champion's error on recent ones, and no larger.
 */
public final class CandidateEvaluation {
  /** Computations that must be held back: those of two measurements of four devices. */
  static final int MIN_HELD_BACK = 8;

  /**
   * What models differ by without meaning, in error: half a per mille. Below it lies what the best
   * of them are off by.
   */
  private static final double ALIKE = 5e-4;

  /** A drift of more than ten times is taken for ten times. */
  private static final double MOST = 0.9;

  /**
   * What the two are off by.
   *
   * @param drift the champion's error, seen by who learned what changed
   */
  private record CandidateErrors(OptionalDouble champion, OptionalDouble challenger, double drift) {
    String shown() {
      return champion.isEmpty()
          ? "none"
          : "%.2f%% -> %.2f%%"
              .formatted(100 * champion.getAsDouble(), 100 * challenger.getAsDouble());
    }
  }

  private final TrainingPolicy policy;

  /**
   * @param policy has the margins
   */
  public CandidateEvaluation(TrainingPolicy policy) {
    this.policy = policy;
  }

  /**
   * Decides.
   *
   * @param trigger what began the training
   * @param set what was learned from and held back
   * @param champion the model that predicts
   * @param challenger the model that was trained
   * @param decidedAt when
   */
  public ModelDecision decide(
      ModelDecision.Trigger trigger,
      TrainingSet set,
      CandidateModel champion,
      CandidateModel challenger,
      java.time.Instant decidedAt) {
    CandidateErrors recent = errors(set.recent().heldBack(), champion, challenger);
    CandidateErrors old = errors(set.old().heldBack(), champion, challenger);
    Optional<String> objection = objection(trigger, set, recent, old);
    return ModelDecisionBuilder.builder()
        .hardware(champion.model().hardware())
        .trigger(trigger)
        .championId(champion.model().id())
        .challengerId(Optional.of(challenger.model().id()))
        .published(objection.isEmpty())
        .recentSamples(set.recent().learned().compute().size())
        .oldSamples(set.old().learned().compute().size())
        .championRecentError(recent.champion())
        .challengerRecentError(recent.challenger())
        .championOldError(old.champion())
        .challengerOldError(old.challenger())
        .reason(
            "%s: error on %d recent held-back computations %s, on %d old ones %s"
                .formatted(
                    objection
                        .map("The champion stays, %s"::formatted)
                        .orElse("The challenger takes over"),
                    set.recent().heldBack().compute().size(),
                    recent.shown(),
                    set.old().heldBack().compute().size(),
                    old.shown()))
        .decidedAt(decidedAt)
        .build();
  }

  private Optional<String> objection(
      ModelDecision.Trigger trigger, TrainingSet set, CandidateErrors recent, CandidateErrors old) {
    int heldBack = set.recent().heldBack().compute().size();
    if (heldBack < MIN_HELD_BACK) {
      return Optional.of(
          "because %d computations are held back and %d are needed"
              .formatted(heldBack, MIN_HELD_BACK));
    }
    double before = recent.champion().getAsDouble();
    double after = recent.challenger().getAsDouble();
    if (!(after <= before * (1 - policy.gain()) && after < before - ALIKE)) {
      return Optional.of(
          "because the challenger must be better on the recent by %.0f%%"
              .formatted(100 * policy.gain()));
    }
    if (old.champion().isEmpty()) {
      return Optional.empty();
    }
    boolean isDrift = trigger == ModelDecision.Trigger.DRIFT;
    double allowed =
        ALIKE
            + (old.champion().getAsDouble() + (isDrift ? recent.drift() : 0))
                * (1 + policy.oldMargin());
    return old.challenger().getAsDouble() <= allowed
        ? Optional.empty()
        : Optional.of(
            "because the challenger may be off by %.2f%% on the old%s"
                .formatted(100 * allowed, isDrift ? ", by no more than the drift itself" : ""));
  }

  private static CandidateErrors errors(
      SampleSet samples, CandidateModel champion, CandidateModel challenger) {
    List<Double> before = errors(samples, champion);
    return new CandidateErrors(
        mean(before),
        mean(errors(samples, challenger)),
        mean(before.stream().map(e -> e / (1 - Math.min(MOST, e))).toList()).orElse(0));
  }

  private static OptionalDouble mean(List<Double> errors) {
    return errors.stream().mapToDouble(Double::doubleValue).average();
  }

  /**
   * Returns the mean absolute relative errors of computations, forward exchanges and backward
   * exchanges, of those that there are: the error of a model is their mean.
   */
  private static List<Double> errors(SampleSet samples, CandidateModel model) {
    Evaluation evaluation = Evaluation.of(model.model(), model.towers(), samples);
    List<Evaluation.CommunicationPrediction> exchanges =
        evaluation.allToAlls().values().stream().flatMap(List::stream).toList();
    List<Double> errors = new ArrayList<>();
    evaluation.computations().stream()
        .mapToDouble(Evaluation.ComputePrediction::error)
        .average()
        .ifPresent(errors::add);
    exchanges.stream()
        .mapToDouble(Evaluation.CommunicationPrediction::forwardError)
        .average()
        .ifPresent(errors::add);
    exchanges.stream()
        .mapToDouble(Evaluation.CommunicationPrediction::backwardError)
        .average()
        .ifPresent(errors::add);
    return errors;
  }
}
