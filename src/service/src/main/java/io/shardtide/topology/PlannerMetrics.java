package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.plan.Effort;
import io.shardtide.workload.RejectionReason;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.apache.kafka.streams.KafkaStreams;

/**
 * Metrics of the planner. Every meter exists from the start, at zero.
 *
 * <p>A transaction that is aborted and repeated counts twice; the log has each record once.
 */
public final class PlannerMetrics {
  /** Bucket bounds of all timers: from a search of one table to an outage. */
  private static final Duration[] BUCKETS =
      List.of(1, 2, 5, 10, 20, 30, 60, 100, 200, 300, 600, 1_000, 2_000, 5_000, 10_000, 60_000)
          .stream()
          .map(Duration::ofMillis)
          .toArray(Duration[]::new);

  private final MeterRegistry meters;
  private final Counter applied;
  private final Map<RejectionReason, Counter> rejected = new EnumMap<>(RejectionReason.class);
  private final Counter tablesPredicted;
  private final Timer prediction;
  private final Map<Effort, Counter> published = new EnumMap<>(Effort.class);
  private final Map<Effort, Counter> failed = new EnumMap<>(Effort.class);
  private final Map<Effort, Timer> search = new EnumMap<>(Effort.class);
  private final Counter infeasible;
  private final Counter discarded;
  private final Timer answer;
  private final Counter fenced;
  private final Map<TopologyName, Counter> restored = new EnumMap<>(TopologyName.class);
  private final Map<Boolean, Counter> trained = new HashMap<>();
  private final Timer training;
  private final List<IntSupplier> pending = new CopyOnWriteArrayList<>();
  private final List<IntSupplier> background = new CopyOnWriteArrayList<>();
  private final FeedbackMetrics feedback;
  private final PoolMetrics pools;
  private final GrowthMetrics growth;
  private final QuarantineMetrics quarantine;

  /**
   * @param meters registry of the meters; the caller closes it
   */
  public PlannerMetrics(MeterRegistry meters) {
    this.meters = meters;
    applied = counter("shardtide.events.applied", "Events that changed a workload");
    for (RejectionReason reason : RejectionReason.values()) {
      rejected.put(
          reason,
          Counter.builder("shardtide.events.rejected")
              .description("Events that were not applied")
              .tag("reason", reason.name())
              .register(meters));
    }
    tablesPredicted = counter("shardtide.tables.predicted", "Tables that a cost model predicted");
    prediction = timer("shardtide.prediction", "Time of predicting the tables of an event", null);
    for (Effort effort : Effort.values()) {
      published.put(
          effort,
          Counter.builder("shardtide.plans.published")
              .description("Published plans")
              .tag("effort", tag(effort))
              .register(meters));
      search.put(effort, timer("shardtide.search", "Time of a search", effort));
    }
    infeasible = counter("shardtide.workloads.infeasible", "Infeasible generations of workloads");
    for (Effort effort : Effort.values()) {
      failed.put(
          effort,
          Counter.builder("shardtide.searches.failed")
              .description("Searches that failed with an internal error")
              .tag("effort", tag(effort))
              .register(meters));
    }
    discarded =
        counter(
            "shardtide.searches.discarded",
            "Background searches whose plan came too late or gained too little");
    answer =
        timer(
            "shardtide.answer", "Time from a change's timestamp to the plan that answers it", null);
    fenced =
        counter(
            "shardtide.transactions.fenced",
            "Transactions of stopped instances that this one ended");
    for (TopologyName topology : TopologyName.values()) {
      restored.put(
          topology,
          Counter.builder("shardtide.records.restored")
              .description("Records of changelogs that were read into stores before processing")
              .tag("topology", topology.toString())
              .register(meters));
    }
    for (boolean published : new boolean[] {true, false}) {
      trained.put(
          published,
          Counter.builder("shardtide.trainings")
              .description("Retraining jobs of cost models")
              .tag("result", published ? "published" : "kept")
              .register(meters));
    }
    training = timer("shardtide.training", "Time of a retraining job", null);
    Gauge.builder(
            "shardtide.workloads.pending",
            pending,
            p -> p.stream().mapToInt(IntSupplier::getAsInt).sum())
        .description("Workloads with pending changes")
        .register(meters);
    feedback = new FeedbackMetrics(meters);
    pools = new PoolMetrics(meters, BUCKETS);
    growth = new GrowthMetrics(meters);
    quarantine = new QuarantineMetrics(meters);
  }

  /** Returns how many background searches run or are due. */
  public int backgroundSearches() {
    return background.stream().mapToInt(IntSupplier::getAsInt).sum();
  }

  private static String tag(Effort effort) {
    return effort.name().toLowerCase(Locale.ROOT);
  }

  /** Returns metrics that are not exported. */
  public static PlannerMetrics unread() {
    return new PlannerMetrics(new SimpleMeterRegistry());
  }

  private Counter counter(String name, String description) {
    return Counter.builder(name).description(description).register(meters);
  }

  private Timer timer(String name, String description, Effort effort) {
    return Timer.builder(name)
        .description(description)
        .tags(effort == null ? List.of() : List.of(Tag.of("effort", tag(effort))))
        .serviceLevelObjectives(BUCKETS)
        .register(meters);
  }

  /** Counts an event that changed its workload. */
  public void applied() {
    applied.increment();
  }

  /** Counts a rejected event. */
  public void rejected(RejectionReason reason) {
    rejected.get(reason).increment();
  }

  /**
   * Counts predicted tables.
   *
   * @param tables how many
   * @param nanos how long it took, in nanoseconds
   */
  public void predicted(int tables, long nanos) {
    tablesPredicted.increment(tables);
    prediction.record(nanos, TimeUnit.NANOSECONDS);
  }

  /** Records the time of a search, in milliseconds. */
  public void searched(Effort effort, double millis) {
    search.get(effort).record((long) (millis * 1e6), TimeUnit.NANOSECONDS);
  }

  /** Counts a published plan. */
  public void published(Effort effort) {
    published.get(effort).increment();
  }

  /** Counts an infeasible generation. */
  public void infeasible() {
    infeasible.increment();
  }

  /** Counts a search that failed. */
  public void failed(Effort effort) {
    failed.get(effort).increment();
  }

  /** Counts a background search whose plan came too late or gained too little. */
  public void discarded() {
    discarded.increment();
  }

  /**
   * Records the time from a change to its first plan.
   *
   * @param changed timestamp of the change's record, in milliseconds since 1970
   * @param now the time, likewise; times before {@code changed}, of clocks that disagree, count as
   *     zero
   */
  public void answered(long changed, long now) {
    answer.record(Math.max(0, now - changed), TimeUnit.MILLISECONDS);
  }

  /** Counts transactions of stopped instances that this one ended. */
  void fenced(int transactions) {
    fenced.increment(transactions);
  }

  /** Counts records that a topology read from a changelog before it processed a partition. */
  void restored(TopologyName topology, long records) {
    restored.get(topology).increment((double) records);
  }

  /**
   * Counts the decision of a retraining job.
   *
   * @param published whether the challenger was published
   * @param nanos how long it took, in nanoseconds
   */
  public void trained(boolean published, long nanos) {
    trained.get(published).increment();
    training.record(nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Adds a task's number of pending workloads to the gauge until the result is closed, and the
   * number of its background searches that run or are due. Both are called from other threads.
   */
  public Pending pending(IntSupplier waiting, IntSupplier searches) {
    pending.add(waiting);
    background.add(searches);
    return () -> {
      pending.remove(waiting);
      background.remove(searches);
    };
  }

  private static double isRebalancing(KafkaStreams streams) {
    return streams.state() == KafkaStreams.State.REBALANCING ? 1 : 0;
  }

  /** Returns the metrics of feedback. */
  FeedbackMetrics feedback() {
    return feedback;
  }

  /** Returns the metrics of pools. */
  PoolMetrics pools() {
    return pools;
  }

  /** Returns the metrics of tables that grow. */
  GrowthMetrics growth() {
    return growth;
  }

  /** Returns the keys in quarantine. */
  QuarantineMetrics quarantine() {
    return quarantine;
  }

  /** A task's share of the pending workloads. */
  @FunctionalInterface
  public interface Pending extends AutoCloseable {
    @Override
    void close();
  }

  /** Exports Kafka's own metrics of a topology and its clients until the result is closed. */
  KafkaStreamsMetrics bind(TopologyName topology, KafkaStreams streams) {
    KafkaStreamsMetrics binder =
        new KafkaStreamsMetrics(streams, List.of(Tag.of("topology", topology.toString())));
    binder.bindTo(meters);
    Gauge.builder("shardtide.rebalancing", streams, PlannerMetrics::isRebalancing)
        .description("1 while a topology waits for its partitions or restores them")
        .tag("topology", topology.toString())
        .register(meters);
    return binder;
  }
}
