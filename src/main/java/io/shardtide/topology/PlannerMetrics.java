package io.shardtide.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.domain.Effort;
import io.shardtide.domain.RejectionReason;
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
 * What the planner counts and times. Every meter is there from the start, at zero.
 *
 * <p>Counted is what was done. A transaction that is undone and done again counts twice; the log
 * has each record once.
 */
public final class PlannerMetrics {
  /** Bounds of the buckets of all times: from a search of one table to an outage. */
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
  private final Map<Effort, Timer> search = new EnumMap<>(Effort.class);
  private final Counter infeasible;
  private final Counter discarded;
  private final Timer answer;
  private final Map<Boolean, Counter> trained = new HashMap<>();
  private final Timer training;
  private final List<IntSupplier> pending = new CopyOnWriteArrayList<>();
  private final FeedbackMetrics feedback;

  /**
   * @param meters where the meters are kept; stays the caller's to close
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
    prediction = timer("shardtide.prediction", "Time that a cost model takes for an event", null);
    for (Effort effort : Effort.values()) {
      published.put(
          effort,
          Counter.builder("shardtide.plans.published")
              .description("Plans that were published")
              .tag("effort", tag(effort))
              .register(meters));
      search.put(effort, timer("shardtide.search", "Time that a search takes", effort));
    }
    infeasible =
        counter("shardtide.workloads.infeasible", "Generations of workloads that do not fit");
    discarded =
        counter(
            "shardtide.searches.discarded",
            "Deeper searches whose plan came too late or gained too little");
    answer =
        timer("shardtide.answer", "Time from a change's timestamp to the plan that answers", null);
    for (boolean published : new boolean[] {true, false}) {
      trained.put(
          published,
          Counter.builder("shardtide.trainings")
              .description("Trainings of a cost model")
              .tag("result", published ? "published" : "kept")
              .register(meters));
    }
    training = timer("shardtide.training", "Time that a training of a cost model takes", null);
    Gauge.builder(
            "shardtide.workloads.pending",
            pending,
            p -> p.stream().mapToInt(IntSupplier::getAsInt).sum())
        .description("Workloads with changes that are not planned yet")
        .register(meters);
    feedback = new FeedbackMetrics(meters);
  }

  private static String tag(Effort effort) {
    return effort.name().toLowerCase(Locale.ROOT);
  }

  /** Returns metrics that nobody reads. */
  static PlannerMetrics unread() {
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

  /** An event changed its workload. */
  public void applied() {
    applied.increment();
  }

  /** An event was not applied. */
  public void rejected(RejectionReason reason) {
    rejected.get(reason).increment();
  }

  /**
   * Tables were predicted.
   *
   * @param tables how many
   * @param nanos how long it took, in nanoseconds
   */
  public void predicted(int tables, long nanos) {
    tablesPredicted.increment(tables);
    prediction.record(nanos, TimeUnit.NANOSECONDS);
  }

  /** A search ended, whatever became of its plan; it took so many milliseconds. */
  public void searched(Effort effort, double millis) {
    search.get(effort).record((long) (millis * 1e6), TimeUnit.NANOSECONDS);
  }

  /** A plan was published. */
  public void published(Effort effort) {
    published.get(effort).increment();
  }

  /** A generation of a workload does not fit. */
  public void infeasible() {
    infeasible.increment();
  }

  /** A deeper search's plan came too late or gained too little. */
  public void discarded() {
    discarded.increment();
  }

  /**
   * A change was answered by its first plan.
   *
   * @param changed timestamp of the change's record, in milliseconds since 1970
   * @param now the time, likewise; before {@code changed} where two clocks disagree, which counts
   *     as no time
   */
  public void answered(long changed, long now) {
    answer.record(Math.max(0, now - changed), TimeUnit.MILLISECONDS);
  }

  /**
   * A training came to a decision.
   *
   * @param published whether the challenger took over
   * @param nanos how long it took, in nanoseconds
   */
  public void trained(boolean published, long nanos) {
    trained.get(published).increment();
    training.record(nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Counts workloads that wait, as long as the result is not closed. Called by each task for its
   * own; the supplier is asked from another thread.
   */
  public Pending pending(IntSupplier waiting) {
    pending.add(waiting);
    return () -> pending.remove(waiting);
  }

  /** Returns what feedback counts. */
  FeedbackMetrics feedback() {
    return feedback;
  }

  /** A task's share of the workloads that wait. */
  @FunctionalInterface
  public interface Pending extends AutoCloseable {
    @Override
    void close();
  }

  /** Shows Kafka's own metrics of a topology and its clients, until the result is closed. */
  KafkaStreamsMetrics bind(TopologyName topology, KafkaStreams streams) {
    KafkaStreamsMetrics binder =
        new KafkaStreamsMetrics(streams, List.of(Tag.of("topology", topology.toString())));
    binder.bindTo(meters);
    return binder;
  }
}
