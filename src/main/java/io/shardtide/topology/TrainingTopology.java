package io.shardtide.topology;

import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TrainingState;
import io.shardtide.learning.RetrainingRun;
import io.shardtide.learning.SampleCheck;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * training-samples and drift-alarms to cost-models and model-decisions: stores samples, retrains
 * models on another thread when due, and publishes better ones.
 */
public final class TrainingTopology {
  private TrainingTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param training retrains and decides
   * @param champion returns the model that predicts for a kind of hardware
   * @param executor runs retraining jobs
   * @param nanoTime monotonic time, in nanoseconds from any origin
   * @param metrics counts events and times them
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      RetrainingRun training,
      Function<String, Optional<ModelBundle>> champion,
      Executor executor,
      LongSupplier nanoTime,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_SAMPLES, topics.trainingSamples())
        .reads(NodeName.READ_ALARMS, topics.driftAlarms())
        .writes(NodeName.WRITE_MODELS, topics.costModels())
        .writes(NodeName.WRITE_DECISIONS, topics.modelDecisions())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.TRAIN_MODELS,
            () ->
                new Train(topics, registry, training, champion, executor, nanoTime, metrics, retry),
            SampleStore::builders);
  }

  private static final class Train implements Processor<byte[], byte[], String, Object> {
    private static final Logger log = LoggerFactory.getLogger(TrainingTopology.class);

    private final String alarmTopic;
    private final RecordDecoder<CostSample> samples;
    private final RecordDecoder<DriftAlarm> alarms;
    private final RetrainingRun training;
    private final Function<String, Optional<ModelBundle>> champion;
    private final Executor executor;
    private final LongSupplier nanoTime;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;
    private ProcessorContext<String, Object> context;
    private SampleStore kept;
    private Rejections rejections;
    private RunningJob running;

    /** A running job. If the instance dies, the store still has the job as due. */
    private record RunningJob(
        String hardware,
        long startNanos,
        CompletableFuture<RetrainingRun.RetrainingResult> outcome) {}

    Train(
        Topics topics,
        Registry registry,
        RetrainingRun training,
        Function<String, Optional<ModelBundle>> champion,
        Executor executor,
        LongSupplier nanoTime,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      alarmTopic = topics.driftAlarms().name();
      samples = new RecordDecoder<>(registry, topics.trainingSamples(), CostSample::hardware);
      alarms = new RecordDecoder<>(registry, topics.driftAlarms(), DriftAlarm::hardware);
      this.training = training;
      this.champion = champion;
      this.executor = executor;
      this.nanoTime = nanoTime;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      kept = new SampleStore(newContext, training.policy());
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      context.schedule(
          TopologyName.TRAINING.tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      if (metadata.topic().equals(alarmTopic)) {
        rejections.handle(alarms, record, source, this::take);
      } else {
        rejections.handle(samples, record, source, this::take);
      }
    }

    private void take(CostSample sample) {
      SampleCheck.check(sample);
      kept.add(sample, context.currentSystemTimeMs());
    }

    /** Ignores alarms about slow devices, which no model can learn, and about former models. */
    private void take(DriftAlarm alarm) {
      boolean isCurrent =
          champion
              .apply(alarm.hardware())
              .filter(bundle -> bundle.modelId().equals(alarm.modelId()))
              .isPresent();
      if (alarm.kind() == DriftAlarm.AlarmKind.MODEL && isCurrent) {
        TrainingState state = kept.state(alarm.hardware(), context.currentSystemTimeMs());
        kept.put(alarm.hardware(), state.alarmed(alarm.modelId()));
      }
    }

    private void tick() {
      if (running != null && running.outcome.isDone()) {
        RunningJob done = running;
        running = null;
        finish(done);
      }
      if (training.policy().enabled()) {
        kept.forEach(this::begin);
      }
    }

    private void begin(String hardware, TrainingState remembered) {
      Optional<ModelBundle> model = running == null ? champion.apply(hardware) : Optional.empty();
      if (model.isEmpty()) {
        return;
      }
      String modelId = model.get().modelId();
      TrainingState state =
          model.get().costsOf().isPresent()
              ? remembered.coldStarted(modelId)
              : remembered.forModel(modelId);
      Optional<ModelDecision.Trigger> due =
          state.due(training.policy(), context.currentSystemTimeMs());
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
      RetrainingRun.RetrainingResult outcome;
      try {
        outcome = done.outcome.join();
      } catch (CompletionException e) {
        // Without a decision, the job is still due.
        log.error("Retraining the model of {} failed", done.hardware, e.getCause());
        return;
      }
      ModelDecision decision = outcome.decision();
      boolean isCurrent =
          champion
              .apply(done.hardware)
              .filter(bundle -> bundle.modelId().equals(decision.championId()))
              .isPresent();
      if (!isCurrent) {
        // Another model was published meanwhile; the comparison was with the former one.
        return;
      }
      long now = context.currentSystemTimeMs();
      metrics.trained(decision.published(), nanoTime.getAsLong() - done.startNanos);
      outcome
          .challenger()
          .ifPresent(
              bundle ->
                  context.forward(new Record<>(done.hardware, bundle, now), NodeName.WRITE_MODELS));
      context.forward(new Record<>(done.hardware, decision, now), NodeName.WRITE_DECISIONS);
      kept.put(done.hardware, kept.state(done.hardware, now).decided(decision.published(), now));
      context.commit();
    }
  }
}
