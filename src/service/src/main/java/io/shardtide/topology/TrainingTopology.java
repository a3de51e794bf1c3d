package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.learn.SampleCheck;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingState;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * training-samples and drift-alarms to cost-models and model-decisions: stores samples, retrains
 * models on another thread when due, and publishes better ones.
 */
final class TrainingTopology extends KeyedProcessor {
  private final RetrainingRun training;
  private final Function<String, Optional<ModelBundle>> champion;
  private final Executor executor;
  private final LongSupplier nanoTime;
  private SampleStore kept;
  private RunningJob running;

  /** A running job. If the instance dies, the store still has the job as due. */
  private record RunningJob(
      String hardware,
      long startNanos,
      CompletableFuture<RetrainingRun.RetrainingResult> outcome) {}

  /**
   * @param training retrains and decides
   * @param champion returns the model that predicts for a kind of hardware
   * @param executor runs retraining jobs
   * @param nanoTime monotonic time, in nanoseconds from any origin
   */
  TrainingTopology(
      Skeleton skeleton,
      RetrainingRun training,
      Function<String, Optional<ModelBundle>> champion,
      Executor executor,
      LongSupplier nanoTime) {
    super(skeleton);
    this.training = training;
    this.champion = champion;
    this.executor = executor;
    this.nanoTime = nanoTime;
    on(TRAINING_SAMPLES, (sample, source, timestamp) -> onSample(sample));
    on(DRIFT_ALARMS, (alarm, source, timestamp) -> onAlarm(alarm));
  }

  @Override
  void open(KeyedStore.Opener stores) {
    kept = new SampleStore(stores, training.policy());
  }

  private void onSample(CostSample sample) {
    SampleCheck.check(sample);
    kept.add(sample, nowMs());
  }

  /** Ignores alarms about slow devices, which no model can learn, and about former models. */
  private void onAlarm(DriftAlarm alarm) {
    if (alarm.kind() == DriftAlarm.AlarmKind.MODEL
        && isCurrent(alarm.hardware(), alarm.modelId())) {
      TrainingState state = kept.state(alarm.hardware(), nowMs());
      kept.put(alarm.hardware(), state.alarmed(alarm.modelId()));
    }
  }

  private boolean isCurrent(String hardware, String modelId) {
    return champion.apply(hardware).filter(model -> model.modelId().equals(modelId)).isPresent();
  }

  @Override
  void work() {
    if (running != null && running.outcome.isDone()) {
      RunningJob done = running;
      running = null;
      isolate(done.hardware, "retraining", () -> finish(done));
    }
    if (training.policy().enabled()) {
      kept.forEach(
          (hardware, state) ->
              isolate(hardware, "begin of a retraining job", () -> begin(hardware, state)));
    }
  }

  private void begin(String hardware, TrainingState remembered) {
    Optional<ModelBundle> model = running == null ? champion.apply(hardware) : Optional.empty();
    if (model.isEmpty()) {
      return;
    }
    String modelId = model.get().modelId();
    TrainingState state =
        model.get().proxyHardware().isPresent()
            ? remembered.coldStarted(modelId)
            : remembered.forModel(modelId);
    Optional<ModelDecision.Trigger> due = state.due(training.policy(), nowMs());
    if (due.isPresent()) {
      // The decision continues from this state, samples that come meanwhile included.
      kept.put(hardware, state);
      ModelDecision.Trigger trigger =
          due.get() == ModelDecision.Trigger.DRIFT
                  && model.get().card().beganAs().isPresent()
                  && state.isSinceColdStart()
              ? ModelDecision.Trigger.COLD_START
              : due.get();
      SampleStore.Kept all = kept.of(hardware, state);
      OptionalInt driftFrom =
          state.driftFrom().isPresent() ? OptionalInt.of(all.driftFrom()) : OptionalInt.empty();
      running =
          new RunningJob(
              hardware,
              nanoTime.getAsLong(),
              CompletableFuture.supplyAsync(
                  () -> training.run(trigger, model.get(), all.samples(), driftFrom), executor));
    }
  }

  private void finish(RunningJob done) {
    // A job that failed has no decision, and is still due.
    RetrainingRun.RetrainingResult outcome = done.outcome.join();
    ModelDecision decision = outcome.decision();
    if (!isCurrent(done.hardware, decision.championId())) {
      // Another model was published meanwhile; the comparison was with the former one.
      return;
    }
    long now = nowMs();
    metrics.count(
        Metric.TRAININGS, decision.published() ? Metric.Trained.PUBLISHED : Metric.Trained.KEPT);
    metrics.time(Metric.TRAINING, (nanoTime.getAsLong() - done.startNanos) / 1e6);
    outcome.challenger().ifPresent(bundle -> forward(done.hardware, bundle, now, COST_MODELS));
    forward(done.hardware, decision, now, MODEL_DECISIONS);
    kept.put(done.hardware, kept.state(done.hardware, now).decided(decision.published(), now));
    written();
  }
}
