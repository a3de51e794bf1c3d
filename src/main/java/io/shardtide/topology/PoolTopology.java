package io.shardtide.topology;

import io.micrometer.core.instrument.Timer;
import io.shardtide.allocation.PoolDecision;
import io.shardtide.allocation.PoolStep;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.CurveRequest;
import io.shardtide.domain.pool.PoolChange;
import io.shardtide.domain.pool.PoolHeader;
import io.shardtide.domain.pool.PoolUpdate;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * pool-changes and throughput-curves to allocations, current-allocations, curve-requests and
 * workload-changes: applies events to pools, allocates them, and gives each workload its cluster.
 */
public final class PoolTopology {
  /**
   * How long an allocation waits for the curves of new claims, so that the first workload does not
   * get a pool that it then has to share. A workload without a cluster never has one.
   */
  static final long CURVES_WITHIN_MS = 10_000;

  private PoolTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step allocates pools
   * @param metrics shows pools, and counts allocations and rejections
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      PoolStep step,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_POOLS, topics.poolChanges())
        .reads(NodeName.READ_CURVES, topics.throughputCurves())
        .writes(NodeName.WRITE_REQUESTS, topics.curveRequests())
        .writes(NodeName.WRITE_ALLOCATIONS, topics.allocations())
        .writes(NodeName.WRITE_CURRENT_ALLOCATIONS, topics.currentAllocations())
        .writes(NodeName.WRITE_CHANGES, topics.workloadChanges())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.ALLOCATE_POOLS,
            () -> new AllocatePools(topics, registry, step, metrics, retry),
            KafkaPoolStore::builders);
  }

  private static final class AllocatePools implements Processor<byte[], byte[], String, Object> {
    private static final Logger log = LoggerFactory.getLogger(PoolTopology.class);

    private final String curveTopic;
    private final RecordDecoder<PoolChange> changes;
    private final RecordDecoder<CurveReport> curves;
    private final PoolStep step;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;
    private final Set<String> due = new LinkedHashSet<>();

    /** Until when an allocation waits for curves, by pool, in milliseconds since 1970. */
    private final Map<String, Long> waitsUntilMs = new HashMap<>();

    /** Events of each pool that this instance applied since its latest allocation. */
    private final Map<String, List<SourcePosition>> unallocated = new HashMap<>();

    private ProcessorContext<String, Object> context;
    private KafkaPoolStore store;
    private Rejections rejections;
    private CommitPace pace;
    private PoolMetrics.OpenPools shown;

    AllocatePools(
        Topics topics,
        Registry registry,
        PoolStep step,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      curveTopic = topics.throughputCurves().name();
      changes = new RecordDecoder<>(registry, topics.poolChanges(), PoolChange::poolId);
      curves = new RecordDecoder<>(registry, topics.throughputCurves(), CurveReport::poolId);
      this.step = step;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaPoolStore(newContext);
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      pace = new CommitPace(newContext);
      shown = metrics.pools().open();
      store.forEachHeader(this::resume);
      context.schedule(TopologyName.POOL.tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    /** Continues the pending work of an instance that ended. */
    private void resume(PoolHeader header) {
      shown.show(header);
      if (header.isDue()) {
        due.add(header.state().id());
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      boolean rejected =
          metadata.topic().equals(curveTopic)
              ? rejections.handle(
                  curves, record, source, report -> take(report, record.timestamp()))
              : rejections.handle(
                  changes, record, source, event -> apply(event, source, record.timestamp()));
      if (rejected) {
        pace.written();
      }
    }

    private void apply(PoolChange event, SourcePosition source, long timestamp) {
      for (CurveRequest request : step.apply(store, event)) {
        context.forward(
            new Record<>(request.workloadId(), request, timestamp), NodeName.WRITE_REQUESTS);
      }
      if (event.updates().stream().anyMatch(PoolUpdate.ClaimSet.class::isInstance)) {
        waitsUntilMs.put(event.poolId(), context.currentSystemTimeMs() + CURVES_WITHIN_MS);
      }
      due.add(event.poolId());
      unallocated.computeIfAbsent(event.poolId(), pool -> new ArrayList<>()).add(source);
      shown.show(store.header(event.poolId()));
      pace.written();
    }

    private void take(CurveReport report, long timestamp) {
      step.take(store, report, Instant.ofEpochMilli(timestamp))
          .ifPresent(change -> send(change, timestamp));
      due.add(report.poolId());
    }

    private void tick() {
      for (String poolId : List.copyOf(due)) {
        if (!waits(poolId)) {
          due.remove(poolId);
          waitsUntilMs.remove(poolId);
          allocate(poolId);
        }
      }
      pace.tick();
    }

    private boolean waits(String poolId) {
      Long until = waitsUntilMs.get(poolId);
      long now = context.currentSystemTimeMs();
      // A clock that was set back does not prolong the wait.
      return until != null
          && now < until
          && until - now <= CURVES_WITHIN_MS
          && step.waitsForCurves(store, poolId);
    }

    private void allocate(String poolId) {
      long now = context.currentSystemTimeMs();
      List<SourcePosition> events =
          Optional.ofNullable(unallocated.remove(poolId)).orElse(List.of());
      Timer.Sample started = metrics.pools().allocating();
      try {
        step.allocate(store, poolId, Instant.ofEpochMilli(now))
            .ifPresent(decision -> publish(decision, started, now));
      } catch (IllegalArgumentException | IllegalStateException | ArithmeticException e) {
        log.error(
            "Pool {} could not be allocated; its last allocation stays current until it changes",
            poolId,
            e);
        step.abandon(store, poolId);
        for (SourcePosition event : events) {
          rejections.failed(
              poolId,
              event,
              "The change was applied, but the pool could not be allocated: %s. Its last allocation stays current until it changes; please report this"
                  .formatted(e),
              now);
        }
        pace.written();
      }
    }

    private void publish(PoolDecision decision, Timer.Sample started, long now) {
      Allocation allocation = decision.allocation();
      metrics.pools().allocated(started, allocation);
      shown.show(store.header(allocation.poolId()));
      Record<String, Object> record = new Record<>(allocation.poolId(), allocation, now);
      context.forward(record, NodeName.WRITE_ALLOCATIONS);
      context.forward(record, NodeName.WRITE_CURRENT_ALLOCATIONS);
      decision.clusters().forEach(change -> send(change, now));
      pace.written();
    }

    private void send(WorkloadChange change, long timestamp) {
      context.forward(new Record<>(change.workloadId(), change, timestamp), NodeName.WRITE_CHANGES);
      pace.written();
    }

    @Override
    public void close() {
      shown.close();
    }
  }
}
