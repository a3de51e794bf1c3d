package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.PlanningHeader;
import io.shardtide.domain.PlanningState;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.planning.PlanningOutcome;
import io.shardtide.planning.PlanningStep;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
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
 * cost-predictions and plan-status to sharding-plans and current-plans: collects a generation's
 * predictions and searches a plan, at once a quick one, later a deeper one. What does not fit goes
 * to infeasible-workloads, and the last good plan stays current.
 */
public final class PlanningTopology {
  private static final String READ_PREDICTIONS = "read-predictions";
  private static final String READ_STATUS = "read-status";
  private static final String PLAN = "plan-generations";
  private static final String WRITE_PLANS = "write-plans";
  private static final String WRITE_CURRENT = "write-current-plans";
  private static final String WRITE_INFEASIBLE = "write-infeasible";
  private static final String WRITE_REJECTED = "write-rejected";

  private PlanningTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step what is done with predictions and statuses
   * @param deep runs deeper searches
   * @param nanoTime says how long workloads wait, in nanoseconds from any origin
   * @param metrics told what is done
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      PlanningStep step,
      Executor deep,
      LongSupplier nanoTime,
      PlannerMetrics metrics) {
    return new SingleProcessorTopology(registry)
        .reads(READ_PREDICTIONS, topics.costPredictions())
        .reads(READ_STATUS, topics.planStatus())
        .writes(WRITE_PLANS, topics.shardingPlans())
        .writes(WRITE_CURRENT, topics.currentPlans())
        .writes(WRITE_INFEASIBLE, topics.infeasibleWorkloads())
        .writes(WRITE_REJECTED, topics.rejectedEvents())
        .build(
            PLAN,
            () ->
                new Plan(
                    topics, registry, step, new BackgroundSearch(step, deep), nanoTime, metrics),
            KafkaPlanningStore::builders);
  }

  private static final class Plan implements Processor<byte[], byte[], String, Object> {
    /** How often is looked for what is due: a fraction of the quiet period. */
    private static final Duration TICK = Duration.ofMillis(5);

    /**
     * How long plans are made in a row before what was made is committed: few enough for readers
     * not to wait, and far below the time that a transaction has.
     */
    private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static final Logger log = LoggerFactory.getLogger(PlanningTopology.class);

    private final String statusTopic;
    private final RecordDecoder<CostPredictions> predictions;
    private final RecordDecoder<PlanStatus> statuses;
    private final PlanningStep step;
    private final PlanningQueue waiting;
    private final BackgroundSearch deepening;
    private final LongSupplier nanoTime;
    private final PlannerMetrics metrics;

    /** When the first change that waits was published, by workload, in milliseconds since 1970. */
    private final Map<String, Long> asked = new HashMap<>();

    private ProcessorContext<String, Object> context;
    private KafkaPlanningStore store;
    private Rejections rejections;
    private CommitPace pace;
    private PlannerMetrics.Pending pending;

    Plan(
        Topics topics,
        Registry registry,
        PlanningStep step,
        BackgroundSearch deepening,
        LongSupplier nanoTime,
        PlannerMetrics metrics) {
      statusTopic = topics.planStatus().name();
      predictions =
          new RecordDecoder<>(registry, topics.costPredictions(), CostPredictions::workloadId);
      statuses = new RecordDecoder<>(registry, topics.planStatus(), PlanStatus::workloadId);
      this.step = step;
      waiting = new PlanningQueue(step.settings());
      this.deepening = deepening;
      this.nanoTime = nanoTime;
      this.metrics = metrics;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaPlanningStore(newContext);
      rejections = new Rejections(newContext, metrics, WRITE_REJECTED);
      pending = metrics.pending(waiting::size);
      pace = new CommitPace(newContext);
      store.forEachHeader(this::resume);
      context.schedule(TICK, PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    /** Goes on with what another instance, or this one before it ended, has left. */
    private void resume(String workloadId, PlanningHeader header) {
      if (header.isDue()) {
        wait(workloadId, header);
      } else if (header.state() == PlanningState.BACKGROUND_SEARCH_DUE) {
        deepening.planned(workloadId, nanoTime.getAsLong());
      }
    }

    private void wait(String workloadId, PlanningHeader header) {
      deepening.changed(workloadId);
      if (header.state() == PlanningState.MODEL_PENDING) {
        waiting.predictedAnew(workloadId, step.promiseMs(store, workloadId));
      } else {
        waiting.changed(workloadId, nanoTime.getAsLong());
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      boolean rejected =
          metadata.topic().equals(statusTopic)
              ? rejections.handle(
                  record,
                  source,
                  statuses.decode(source, record.key(), record.value()),
                  status -> step.report(store, status))
              : rejections.handle(
                  record,
                  source,
                  predictions.decode(source, record.key(), record.value()),
                  part -> take(part, record.timestamp()));
      if (rejected) {
        pace.written();
      }
    }

    private void take(CostPredictions part, long timestamp) {
      PlanningHeader header = step.take(store, part);
      if (header.isDue()) {
        if (header.state() != PlanningState.MODEL_PENDING) {
          asked.putIfAbsent(part.workloadId(), timestamp);
        }
        wait(part.workloadId(), header);
        if (step.settings().quietPeriod().isZero()) {
          planChanged();
        }
      }
    }

    private void tick() {
      deepening.finished(nanoTime.getAsLong()).ifPresent(this::finish);
      if (!planChanged()) {
        waiting.mostPromising().ifPresent(this::plan);
      }
      deepening.begin(nanoTime.getAsLong(), id -> step.deeper(store, id));
      pace.tick();
    }

    /** Plans what changed, for a while; returns whether there was any. */
    private boolean planChanged() {
      long start = nanoTime.getAsLong();
      Optional<String> next = waiting.nextChanged(start);
      boolean any = next.isPresent();
      while (next.isPresent()) {
        plan(next.get());
        long now = nanoTime.getAsLong();
        next = now - start < TURN_NANOS ? waiting.nextChanged(now) : Optional.empty();
      }
      return any;
    }

    private void plan(String workloadId) {
      step.plan(store, workloadId).ifPresent(outcome -> publish(workloadId, outcome));
    }

    private void finish(BackgroundSearch.Finished finished) {
      String workloadId = finished.search().request().workloadId();
      step.finish(store, finished.search(), finished.outcome())
          .ifPresentOrElse(planned -> publish(workloadId, planned), metrics::discarded);
      // A trainer may have adopted another plan meanwhile; then the search begins anew from it.
      resume(workloadId, store.header(workloadId));
    }

    private void publish(String workloadId, PlanningOutcome outcome) {
      long now = context.currentSystemTimeMs();
      Long since = asked.remove(workloadId);
      if (since != null) {
        metrics.answered(since, now);
      }
      if (outcome instanceof PlanningOutcome.Planned planned) {
        ShardingPlan plan = planned.plan();
        metrics.searched(plan.effort(), plan.searchMillis());
        metrics.published(plan.effort());
        context.forward(new Record<>(workloadId, plan, now), WRITE_PLANS);
        context.forward(new Record<>(workloadId, plan, now), WRITE_CURRENT);
        if (store.header(workloadId).state() == PlanningState.BACKGROUND_SEARCH_DUE) {
          deepening.planned(workloadId, nanoTime.getAsLong());
        }
      } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
        metrics.infeasible();
        context.forward(new Record<>(workloadId, infeasible.workload(), now), WRITE_INFEASIBLE);
      } else if (outcome instanceof PlanningOutcome.Failed failed) {
        log.error("Planning workload {} failed; its last plan stays", workloadId, failed.error());
        rejections.failed(workloadId, failed, now);
      }
      pace.written();
    }

    @Override
    public void close() {
      pending.close();
    }
  }
}
