package io.shardtide.learn;

import io.shardtide.cost.Evaluation;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.ModelDecisionBuilder;
import io.shardtide.state.TrainingPolicy;
import java.time.Instant;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import org.hipparchus.stat.descriptive.moment.Mean;
import org.hipparchus.stat.descriptive.rank.Percentile;

/**
 * Compares a challenger with the champion on held-out samples.
 *
 * <p>The challenger is published if its plans lose less than the champion's ({@link PlanLoss}) by a
 * required gain, its error on recent samples is not higher, and its error on old samples of each
 * kind of cost is not above the champion's by more than a margin. It may also be higher there by as
 * much as the challenger lowers the largest errors on recent ones: after a change of the machine,
 * noticed or not, old samples no longer represent it. Old samples on which the champion itself errs
 * more than on recent ones are of a machine that is no more, and are not asked; nor are costs that
 * neither model explains ({@link ComparedSamples}). Against a champion with the costs of other
 * hardware, a challenger with as small a loss is enough.
 *
 * @param policy the required gain and the margin
 */
public record CandidateEvaluation(TrainingPolicy policy) {
  /** Minimum number of held-out computations: two measurements of four devices. */
  static final int MIN_HELD_OUT = 8;

  /** Differences of errors below 0.05 percentage points are not significant. */
  private static final double TOLERANCE = 5e-4;

  /**
   * On old samples half a percentage point is not: the errors of a collective that is predicted
   * well are below 1 %, and a tenth of that is noise.
   */
  private static final double OLD_TOLERANCE = 5e-3;

  /**
   * After a drift or a cold start this share of the gain is required: each retraining has twice the
   * samples of the one before, and a rejected one waits until they have doubled again.
   */
  private static final double AFTER_DRIFT = 0.2;

  /** Percentile of errors that are those of what drifted: a change concerns some costs. */
  private static final double DRIFTED = 90;

  private static final String COMPUTATION = "computations";

  /** Maximum relative error that a drift is computed from: a drift of a factor of ten. */
  private static final double MAX_ERROR = 0.9;

  /**
   * Absolute relative errors of both models on the same samples, by kind of cost; empty if there
   * are none.
   */
  private record CandidateErrors(
      SortedMap<String, double[]> champion, SortedMap<String, double[]> challenger) {
    /** Returns the champion's error: the mean of those of each kind. */
    OptionalDouble ofChampion() {
      return mean(champion);
    }

    OptionalDouble ofChallenger() {
      return mean(challenger);
    }

    private static OptionalDouble mean(Map<String, double[]> errors) {
      return errors.values().stream().mapToDouble(new Mean()::evaluate).average();
    }

    /**
     * Returns how far the machine drifted in a kind of cost: how much lower the challenger's error
     * is that one cost in ten exceeds, at least 0.
     */
    double drift(String kind) {
      return champion.containsKey(kind)
          ? Math.max(0, largest(champion.get(kind)) - largest(challenger.get(kind)))
          : 0;
    }

    /** Returns a large error, relative to the predictions instead of the measurements. */
    private static double largest(double[] errors) {
      double error = Math.min(MAX_ERROR, new Percentile(DRIFTED).evaluate(errors));
      return error / (1 - error);
    }

    String text() {
      return CandidateEvaluation.text(ofChampion(), ofChallenger());
    }
  }

  /**
   * Decides whether to publish the challenger.
   *
   * @param trigger what triggered the retraining
   * @param set training and held-out samples
   * @param champion the current model
   * @param challenger the retrained model
   * @param decidedAt time of the decision
   */
  public ModelDecision decide(
      ModelDecision.Trigger trigger,
      TrainingSet set,
      CandidateModel champion,
      CandidateModel challenger,
      Instant decidedAt) {
    ComparedSamples explained = ComparedSamples.of(set.recent().heldOut(), challenger).explained();
    CandidateErrors recent = errors(explained);
    CandidateErrors old = errors(ComparedSamples.of(set.old().heldOut(), challenger).explained());
    PlanLoss loss = new PlanLoss(explained);
    double gain = gain(trigger, champion.model().bundle().proxyHardware().isPresent());
    Optional<String> rejection = rejection(set, gain, recent, old, loss);
    return ModelDecisionBuilder.builder()
        .hardware(champion.model().hardware())
        .trigger(trigger)
        .championId(champion.model().id())
        .challengerId(Optional.of(challenger.model().id()))
        .published(rejection.isEmpty())
        .recentSamples(set.recent().training().compute().size())
        .oldSamples(set.old().training().compute().size())
        .championRecentError(recent.ofChampion())
        .challengerRecentError(recent.ofChallenger())
        .championOldError(old.ofChampion())
        .challengerOldError(old.ofChallenger())
        .championPlanLoss(loss.ofChampion())
        .challengerPlanLoss(loss.ofChallenger())
        .reason(
            "%s: plans lose %s; error on %s recent held-out computations %s, on %s old ones %s"
                .formatted(
                    rejection.map("Champion kept, "::concat).orElse("Challenger published"),
                    text(loss.ofChampion(), loss.ofChallenger()),
                    set.recent().heldOut().computations().size(),
                    recent.text(),
                    set.old().heldOut().computations().size(),
                    old.text()))
        .decidedAt(decidedAt)
        .build();
  }

  /** Returns the required gain: a small one where it is known that the champion is wrong. */
  private double gain(ModelDecision.Trigger trigger, boolean isOfOtherHardware) {
    if (isOfOtherHardware) {
      return 0;
    }
    return switch (trigger) {
      case DRIFT, COLD_START -> policy.gain() * AFTER_DRIFT;
      case SAMPLES, SCHEDULE, PERSON -> policy.gain();
    };
  }

  private Optional<String> rejection(
      TrainingSet set, double gain, CandidateErrors recent, CandidateErrors old, PlanLoss loss) {
    int heldOut = set.recent().heldOut().computations().size();
    if (heldOut < MIN_HELD_OUT) {
      return Optional.of(
          "at least %s recent computations must be held out, got %s"
              .formatted(MIN_HELD_OUT, heldOut));
    }
    if (!isLower(loss.ofChallenger().orElseThrow(), loss.ofChampion().orElseThrow(), gain)) {
      return Optional.of("the challenger's plans must lose less%s".formatted(by(gain)));
    }
    if (recent.ofChallenger().getAsDouble() > recent.ofChampion().getAsDouble() + TOLERANCE) {
      return Optional.of("the challenger's error on recent samples must not be higher");
    }
    return old.champion().keySet().stream()
        .flatMap(kind -> forgotten(kind, recent, old).stream())
        .findFirst();
  }

  private Optional<String> forgotten(String kind, CandidateErrors recent, CandidateErrors old) {
    double champion = new Mean().evaluate(old.champion().get(kind));
    double now =
        recent.champion().containsKey(kind)
            ? new Mean().evaluate(recent.champion().get(kind))
            : champion;
    double drift = recent.drift(kind);
    double allowed = OLD_TOLERANCE + (champion + drift) * (1 + policy.oldMargin());
    boolean isOfAnotherMachine = champion > now * (1 + policy.oldMargin());
    return isOfAnotherMachine || new Mean().evaluate(old.challenger().get(kind)) <= allowed
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "the challenger's error on old samples of %s must be at most %.2f%%%s",
                kind,
                100 * allowed,
                drift > TOLERANCE ? ", the drift included" : ""));
  }

  /** Returns whether a share is lower by a gain; without a required gain, not higher. */
  private static boolean isLower(double after, double before, double gain) {
    return gain == 0
        ? after <= before + TOLERANCE
        : after <= before * (1 - gain) && after < before - TOLERANCE;
  }

  private static String by(double gain) {
    return gain == 0 ? " or as much" : String.format(Locale.ROOT, " by %.0f%%", 100 * gain);
  }

  private static String text(OptionalDouble champion, OptionalDouble challenger) {
    return champion.isEmpty()
        ? "n/a"
        : String.format(
            Locale.ROOT,
            "%.2f%% -> %.2f%%",
            100 * champion.getAsDouble(),
            100 * challenger.getAsDouble());
  }

  private static CandidateErrors errors(ComparedSamples samples) {
    return new CandidateErrors(errors(samples.champion()), errors(samples.challenger()));
  }

  /**
   * Returns the absolute relative errors of computations and of each collective, without kinds that
   * have no samples.
   */
  private static SortedMap<String, double[]> errors(Evaluation evaluation) {
    Map<String, DoubleStream.Builder> errors = new HashMap<>();
    evaluation.computations().forEach(c -> add(errors, COMPUTATION, c.error()));
    evaluation.collectives().forEach(c -> add(errors, c.sample().shown(), c.error()));
    SortedMap<String, double[]> byKind = new TreeMap<>();
    errors.forEach((kind, all) -> byKind.put(kind, all.build().toArray()));
    return byKind;
  }

  private static void add(Map<String, DoubleStream.Builder> errors, String kind, double error) {
    errors.computeIfAbsent(kind, of -> DoubleStream.builder()).add(error);
  }
}
