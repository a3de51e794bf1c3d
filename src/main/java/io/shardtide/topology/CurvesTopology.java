package io.shardtide.topology;

import io.shardtide.allocation.CurveSearch.SearchedCurve;
import io.shardtide.allocation.CurveStep;
import io.shardtide.allocation.CurveTask;
import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.CurveRequest;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
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
 * cost-predictions and curve-requests to throughput-curves: follows the tables of all workloads,
 * and predicts the throughput of those that have a claim on a pool, one at a time, on another
 * thread.
 */
public final class CurvesTopology {
  private CurvesTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step predicts curves
   * @param models number of model changes so far; an increase triggers new curves
   * @param searches runs searches
   * @param metrics counts due curves and rejections, and times curves
   * @param retry waits while the registry is unavailable
   */
  public static Topology build(
      Topics topics,
      Registry registry,
      CurveStep step,
      LongSupplier models,
      Executor searches,
      PlannerMetrics metrics,
      RegistryRetry retry) {
    return new SingleProcessorTopology(registry)
        .reads(NodeName.READ_PREDICTIONS, topics.costPredictions())
        .reads(NodeName.READ_REQUESTS, topics.curveRequests())
        .writes(NodeName.WRITE_CURVES, topics.throughputCurves())
        .writes(NodeName.WRITE_REJECTED, topics.rejectedEvents())
        .build(
            NodeName.PREDICT_CURVES,
            () -> new PredictCurves(topics, registry, step, models, searches, metrics, retry),
            KafkaCurveStore::builders);
  }

  private static final class PredictCurves implements Processor<byte[], byte[], String, Object> {
    private static final Logger log = LoggerFactory.getLogger(CurvesTopology.class);

    private final String requestTopic;
    private final RecordDecoder<CostPredictions> predictions;
    private final RecordDecoder<CurveRequest> requests;
    private final CurveStep step;
    private final LongSupplier models;
    private final Executor searches;
    private final PlannerMetrics metrics;
    private final RegistryRetry retry;

    /**
     * Workloads whose curve may have changed, the longest waiting one first, with the time of the
     * change, in milliseconds since 1970.
     */
    private final Map<String, Long> due = new LinkedHashMap<>();

    /** Curves of this instance, whose plans the next searches begin with. */
    private final Map<String, SearchedCurve> searched = new HashMap<>();

    private Optional<RunningCurve> running = Optional.empty();
    private long seenModels = -1;
    private ProcessorContext<String, Object> context;
    private KafkaCurveStore store;
    private Rejections rejections;
    private CommitPace pace;
    private PlannerMetrics.Pending pending;

    private record RunningCurve(
        CurveTask task, long changedAtMs, CompletableFuture<SearchedCurve> result) {}

    PredictCurves(
        Topics topics,
        Registry registry,
        CurveStep step,
        LongSupplier models,
        Executor searches,
        PlannerMetrics metrics,
        RegistryRetry retry) {
      requestTopic = topics.curveRequests().name();
      predictions =
          new RecordDecoder<>(registry, topics.costPredictions(), CostPredictions::workloadId);
      requests = new RecordDecoder<>(registry, topics.curveRequests(), CurveRequest::workloadId);
      this.step = step;
      this.models = models;
      this.searches = searches;
      this.metrics = metrics;
      this.retry = retry;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaCurveStore(newContext);
      rejections = new Rejections(newContext, metrics, NodeName.WRITE_REJECTED, retry);
      pace = new CommitPace(newContext);
      pending = metrics.pools().pendingCurves(() -> due.size() + (running.isPresent() ? 1 : 0));
      context.schedule(TopologyName.CURVES.tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      RecordMetadata metadata = context.recordMetadata().orElseThrow();
      SourcePosition source =
          new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset());
      if (metadata.topic().equals(requestTopic)) {
        if (rejections.handle(
            requests, record, source, request -> take(request, record.timestamp()))) {
          pace.written();
        }
      } else if (rejections.decode(predictions, record, source)
          instanceof Decoded.Value<CostPredictions> part) {
        // Planning rejects those that cannot be decoded.
        take(part.value(), record.timestamp());
      }
    }

    private void take(CurveRequest request, long timestamp) {
      step.take(store, request);
      if (request.isWithdrawn()) {
        searched.remove(request.workloadId());
        due.remove(request.workloadId());
      } else {
        due.putIfAbsent(request.workloadId(), timestamp);
      }
    }

    private void take(CostPredictions part, long timestamp) {
      step.take(store, part)
          .ifPresentOrElse(
              report -> forward(report, timestamp),
              () -> {
                if (part.isLast() && store.header(part.workloadId()).request().isPresent()) {
                  due.putIfAbsent(part.workloadId(), timestamp);
                }
              });
    }

    private void tick() {
      // All curves are looked at once after a start, and after a model took over.
      long now = models.getAsLong();
      if (now != seenModels) {
        seenModels = now;
        store.requested().forEach(id -> due.putIfAbsent(id, context.currentSystemTimeMs()));
      }
      if (running.filter(r -> r.result().isDone()).isPresent()) {
        finish(running.get());
        running = Optional.empty();
      }
      while (running.isEmpty() && !due.isEmpty()) {
        begin();
      }
      pace.tick();
    }

    private void begin() {
      Map.Entry<String, Long> first = due.entrySet().iterator().next();
      String workloadId = first.getKey();
      long changedAtMs = first.getValue();
      due.remove(workloadId);
      running =
          retry
              .call(
                  () -> step.task(store, workloadId, Optional.ofNullable(searched.get(workloadId))))
              .map(
                  task ->
                      new RunningCurve(
                          task,
                          changedAtMs,
                          CompletableFuture.supplyAsync(() -> CurveStep.search(task), searches)));
    }

    private void finish(RunningCurve finished) {
      String workloadId = finished.task().request().workloadId();
      try {
        SearchedCurve curve = finished.result().join();
        step.finish(store, finished.task(), curve)
            .ifPresent(
                report -> {
                  long now = context.currentSystemTimeMs();
                  searched.put(workloadId, curve);
                  forward(report, now);
                  metrics.pools().predicted(finished.changedAtMs(), now);
                });
      } catch (CompletionException e) {
        log.error(
            "The throughput of workload {} could not be predicted; its last curve stays current until it changes",
            workloadId,
            e.getCause());
      }
    }

    private void forward(CurveReport report, long timestamp) {
      context.forward(new Record<>(report.poolId(), report, timestamp), NodeName.WRITE_CURVES);
      pace.written();
    }

    @Override
    public void close() {
      pending.close();
    }
  }
}
