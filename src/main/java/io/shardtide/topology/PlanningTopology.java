package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.DeviceSpeeds;
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
 * cost-predictions, plan-status and device-speeds to sharding-plans and current-plans: collects a
 * generation's predictions and searches a plan, quickly at once, and again in the background.
 * Infeasible workloads are reported on infeasible-workloads, and their last plan stays current. A
 * deleted workload gets a tombstone on current-plans.
 */
public final class PlanningTopology {
  private PlanningTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step applies predictions and statuses
   * @param searches runs background searches
   * @param nanoTime monotonic time, in nanoseconds from any origin
   * @param metrics counts events and times them
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      PlanningStep step,
      Executor searches,
      LongSupplier nanoTime,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_PREDICTIONS, topics.costPredictions())
        .reads(NodeName.READ_STATUS, topics.planStatus())
        .reads(NodeName.READ_SPEEDS, topics.deviceSpeeds())
        .writes(NodeName.WRITE_PLANS, topics.shardingPlans())
        .writes(NodeName.WRITE_CURRENT_PLANS, topics.currentPlans())
        .writes(NodeName.WRITE_INFEASIBLE, topics.infeasibleWorkloads())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.PLAN_GENERATIONS,
            () ->
                new Plan(
                    topics,
                    registry,
                    step,
                    new BackgroundSearch(step, searches),
                    nanoTime,
                    metrics,
                    retry),
            KafkaPlanningStore::builders);
  }

  private static final class Plan implements Processor<byte[], byte[], String, Object> {
    /** Time for which the topology plans before it commits, far below a transaction's timeout. */
    private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private static final Logger log = LoggerFactory.getLogger(PlanningTopology.class);

    private final String statusTopic;
    private final String speedTopic;
    private final RecordDecoder<CostPredictions> predictions;
    private final RecordDecoder<PlanStatus> statuses;
    private final RecordDecoder<DeviceSpeeds> speeds;
    private final PlanningStep step;
    private final PlanningQueue queue;
    private final BackgroundSearch background;
    private final LongSupplier nanoTime;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;

    /** Publication time of the first pending change, by workload, in milliseconds since 1970. */
    private final Map<String, Long> changedAtMs = new HashMap<>();

    private ProcessorContext<String, Object> context;
    private KafkaPlanningStore store;
    private Rejections rejections;
    private CommitPace pace;
    private PlannerMetrics.Pending pending;

    Plan(
        Topics topics,
        Registry registry,
        PlanningStep step,
        BackgroundSearch background,
        LongSupplier nanoTime,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      statusTopic = topics.planStatus().name();
      speedTopic = topics.deviceSpeeds().name();
      predictions =
          new RecordDecoder<>(registry, topics.costPredictions(), CostPredictions::workloadId);
      statuses = new RecordDecoder<>(registry, topics.planStatus(), PlanStatus::workloadId);
      speeds = new RecordDecoder<>(registry, topics.deviceSpeeds(), DeviceSpeeds::workloadId);
      this.step = step;
      queue = new PlanningQueue(step.settings());
      this.background = background;
      this.nanoTime = nanoTime;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaPlanningStore(newContext);
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      pending = metrics.pending(queue::size);
      pace = new CommitPace(newContext);
      store.forEachHeader(this::resume);
      context.schedule(
          TopologyName.PLANNING.tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    /** Continues the pending work of an instance that ended. */
    private void resume(String workloadId, PlanningHeader header) {
      if (header.isDue()) {
        enqueue(workloadId, header);
      } else if (header.state() == PlanningState.BACKGROUND_SEARCH_DUE) {
        background.planned(workloadId, nanoTime.getAsLong());
      }
    }

    private void enqueue(String workloadId, PlanningHeader header) {
      background.changed(workloadId);
      if (header.state() == PlanningState.MODEL_PENDING) {
        queue.repredicted(workloadId, step.promiseMs(store, workloadId));
      } else {
        queue.changed(workloadId, nanoTime.getAsLong());
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      boolean rejected =
          metadata.topic().equals(statusTopic)
              ? rejections.handle(statuses, record, source, status -> step.report(store, status))
              : metadata.topic().equals(speedTopic)
                  ? rejections.handle(
                      speeds, record, source, slow -> take(slow, record.timestamp()))
                  : rejections.handle(
                      predictions, record, source, part -> take(part, record.timestamp()));
      if (rejected) {
        pace.written();
      }
    }

    private void take(CostPredictions part, long timestamp) {
      PlanningHeader header = step.take(store, part);
      if (part.isDeletion()) {
        delete(part.workloadId(), timestamp);
      } else {
        planIfDue(part.workloadId(), header, timestamp);
      }
    }

    private void take(DeviceSpeeds slow, long timestamp) {
      planIfDue(slow.workloadId(), step.take(store, slow), timestamp);
    }

    private void planIfDue(String workloadId, PlanningHeader header, long timestamp) {
      if (!header.isDue()) {
        return;
      }
      if (header.state() != PlanningState.MODEL_PENDING) {
        changedAtMs.putIfAbsent(workloadId, timestamp);
      }
      enqueue(workloadId, header);
      if (step.settings().debounce().isZero()) {
        planChanged();
      }
    }

    private void delete(String workloadId, long timestamp) {
      queue.deleted(workloadId);
      background.changed(workloadId);
      changedAtMs.remove(workloadId);
      context.forward(new Record<>(workloadId, null, timestamp), NodeName.WRITE_CURRENT_PLANS);
      pace.written();
    }

    private void tick() {
      background.finished(nanoTime.getAsLong()).ifPresent(this::finish);
      if (!planChanged()) {
        queue.greatestGain().ifPresent(this::plan);
      }
      background.begin(nanoTime.getAsLong(), id -> step.backgroundSearch(store, id));
      pace.tick();
    }

    /** Plans changed workloads, for a while; returns whether there were any. */
    private boolean planChanged() {
      long start = nanoTime.getAsLong();
      Optional<String> next = queue.nextChanged(start);
      boolean any = next.isPresent();
      while (next.isPresent()) {
        plan(next.get());
        long now = nanoTime.getAsLong();
        next = now - start < TURN_NANOS ? queue.nextChanged(now) : Optional.empty();
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
      // A trainer may have adopted another plan meanwhile; then a search from that plan is due.
      resume(workloadId, store.header(workloadId));
    }

    private void publish(String workloadId, PlanningOutcome outcome) {
      long now = context.currentSystemTimeMs();
      Long since = changedAtMs.remove(workloadId);
      if (since != null) {
        metrics.answered(since, now);
      }
      if (outcome instanceof PlanningOutcome.Planned planned) {
        ShardingPlan plan = planned.plan();
        metrics.searched(plan.effort(), plan.searchMillis());
        metrics.published(plan.effort());
        context.forward(new Record<>(workloadId, plan, now), NodeName.WRITE_PLANS);
        context.forward(new Record<>(workloadId, plan, now), NodeName.WRITE_CURRENT_PLANS);
        if (store.header(workloadId).state() == PlanningState.BACKGROUND_SEARCH_DUE) {
          background.planned(workloadId, nanoTime.getAsLong());
        }
      } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
        metrics.infeasible();
        context.forward(
            new Record<>(workloadId, infeasible.workload(), now), NodeName.WRITE_INFEASIBLE);
      } else if (outcome instanceof PlanningOutcome.Failed failed) {
        log.error(
            "Planning workload {} failed; its last plan stays current", workloadId, failed.error());
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
