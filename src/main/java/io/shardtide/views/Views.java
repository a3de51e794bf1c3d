package io.shardtide.views;

import io.shardtide.client.Endpoint;
import io.shardtide.client.TopicFollower;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.DetectorKind;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.MeasuredCosts;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.PlanDiff;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.TopicPartition;

/**
 * Follows the log, and answers what is on it now. Follows all partitions, so that each instance
 * answers for all workloads. May be used by several threads.
 */
public final class Views implements AutoCloseable {
  /** How often who listens hears what changed. */
  private static final long NEWS_NANOS = 50_000_000;

  private static final long PULSE_NANOS = 1_000_000_000;

  /** Records of each partition that are read at the start, where it is not all of them. */
  private static final long RECENT = 2000;

  /** The same for records that may be large. */
  private static final long RECENT_LARGE = 300;

  /** The same for samples, of which a measurement gives one for each device. */
  private static final long RECENT_SAMPLES = 5000;

  private final Topics topics;
  private final Registry registry;
  private final LogProjection board;
  private final PlanReader plans;
  private final ConsumerLag lag;
  private final TopicFollower recent;
  private final TopicFollower tables;
  private final List<Consumer<ViewUpdate>> listeners = new CopyOnWriteArrayList<>();
  private final Map<TopicPartition, Long> recentEnds;
  private final Map<TopicPartition, Long> tablesEnds;
  private volatile boolean caughtUp;
  private volatile boolean tablesAreRead;
  private volatile PlannerStatistics pulse;
  private long newsAt = System.nanoTime();
  private long pulseAt = System.nanoTime();

  private Views(Endpoint endpoint, DetectorKind detector, Consumer<RuntimeException> failed) {
    topics = endpoint.topics();
    registry = endpoint.connectRegistry();
    board = new LogProjection(detector);
    plans = new PlanReader(endpoint, registry);
    lag = new ConsumerLag(endpoint);
    pulse = board.pulse(lag.now(), false);
    recent = recent(new TopicFollower(endpoint, registry, Optional.empty()).each(this::tick));
    tables =
        new TopicFollower(endpoint, registry, Optional.empty())
            .followDated(
                topics.costPredictions(),
                Optional.of(CostPredictions::workloadId),
                (TopicFollower.RecordHandler<CostPredictions>) board::take)
            .each(this::tickOfTables);
    recent.failed(failed);
    tables.failed(failed);
    try {
      recentEnds =
          recent.assign(
              RECENT,
              Map.of(
                  topics.currentPlans().name(), Long.MAX_VALUE,
                  topics.shardingPlans().name(), RECENT_LARGE,
                  topics.workloadChanges().name(), RECENT_LARGE,
                  topics.trainingSamples().name(), RECENT_SAMPLES,
                  topics.rejectedEvents().name(), RECENT_LARGE));
      tablesEnds = tables.assign(Long.MAX_VALUE, Map.of());
    } catch (RuntimeException e) {
      close();
      throw e;
    }
    recent.start();
    tables.start();
  }

  /**
   * Starts to follow.
   *
   * @param endpoint where the log is
   * @param detector how the planner notices drifts
   * @param failed hears what ended it, if anything but {@link #close} did
   * @throws IllegalStateException if there is no planner's topic on the cluster
   */
  public static Views start(
      Endpoint endpoint, DetectorKind detector, Consumer<RuntimeException> failed) {
    return new Views(endpoint, detector, failed);
  }

  private TopicFollower recent(TopicFollower tail) {
    follow(tail, topics.currentPlans(), ShardingPlan::workloadId, board::takeCurrent);
    follow(tail, topics.workloadChanges(), WorkloadChange::workloadId, board::take);
    follow(tail, topics.shardingPlans(), ShardingPlan::workloadId, board::take);
    follow(tail, topics.planStatus(), PlanStatus::workloadId, board::take);
    follow(tail, topics.measuredCosts(), MeasuredCosts::workloadId, board::take);
    follow(tail, topics.infeasibleWorkloads(), InfeasibleWorkload::workloadId, board::take);
    follow(tail, topics.trainingSamples(), CostSample::hardware, board::take);
    follow(tail, topics.driftAlarms(), DriftAlarm::hardware, board::take);
    follow(tail, topics.modelDecisions(), ModelDecision::hardware, board::take);
    follow(tail, topics.costModels(), ModelBundle::hardware, board::take);
    return tail.followDated(topics.rejectedEvents(), Optional.empty(), board::take);
  }

  private static <V> void follow(
      TopicFollower tail,
      Topic<V> topic,
      Function<V, String> keyOf,
      TopicFollower.RecordHandler<V> handler) {
    tail.followDated(topic, Optional.of(keyOf), handler);
  }

  private void tick() {
    long now = System.nanoTime();
    if (!caughtUp && recent.isPast(recentEnds)) {
      caughtUp = true;
    }
    if (caughtUp && now - newsAt > NEWS_NANOS) {
      newsAt = now;
      board.news().forEach(this::say);
    }
    if (now - pulseAt > PULSE_NANOS) {
      pulseAt = now;
      pulse = board.pulse(lag.now(), tablesAreRead);
      say(new ViewUpdate.StatisticsChanged(pulse));
    }
  }

  private void tickOfTables() {
    if (!tablesAreRead && tables.isPast(tablesEnds)) {
      tablesAreRead = true;
    }
  }

  private void say(ViewUpdate news) {
    listeners.forEach(listener -> listener.accept(news));
  }

  /**
   * Hears what changes, on a thread of the views': a listener must not wait.
   *
   * @return ends it
   */
  public Runnable listen(Consumer<ViewUpdate> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Returns whether all that was on the log at the start was read, tables left out. */
  public boolean isCaughtUp() {
    return caughtUp;
  }

  /** Returns how the planner does. */
  public PlannerStatistics pulse() {
    return pulse;
  }

  /** Returns all workloads, by their ids. */
  public List<WorkloadRow> workloads() {
    return board.rows();
  }

  /** Returns the latest entries, the oldest first. */
  public List<LogEvent> entries() {
    return board.entries();
  }

  /** Returns a workload. */
  public Optional<WorkloadView> workload(String workloadId) {
    return board.workload(workloadId);
  }

  /** Returns a workload's tables as they are now, by their names. */
  public Optional<List<TableRow>> tables(String workloadId) {
    return board.tables(workloadId);
  }

  /** Returns what was learned, by hardware. */
  public List<LearningView> learning() {
    return board.learning();
  }

  /** Returns the line of a plan that is remembered. */
  public Optional<PlanSummary> line(String planId) {
    return board.line(planId);
  }

  /**
   * Returns a plan that is remembered.
   *
   * @throws IOException if the log does not give it
   */
  public Optional<ShardingPlan> plan(String planId) throws IOException {
    Optional<WorkloadProjection.Held> held = board.plan(planId);
    if (held.isEmpty()) {
      return Optional.empty();
    }
    SourcePosition at = held.get().at();
    boolean isCurrent = at.topic().equals(topics.currentPlans().name());
    return Optional.of(
        plans.read(planId, at, isCurrent ? topics.currentPlans() : topics.shardingPlans()));
  }

  /**
   * Returns what differs between two plans that are remembered.
   *
   * @throws IOException if the log does not give them
   * @throws IllegalArgumentException if they are of different workloads
   */
  public Optional<DiffView> diff(String earlierId, String laterId) throws IOException {
    Optional<ShardingPlan> earlier = plan(earlierId);
    Optional<ShardingPlan> later = plan(laterId);
    Optional<PlanSummary> earlierLine = line(earlierId);
    Optional<PlanSummary> laterLine = line(laterId);
    if (earlier.isEmpty() || later.isEmpty() || earlierLine.isEmpty() || laterLine.isEmpty()) {
      return Optional.empty();
    }
    String workload = later.get().workloadId();
    if (!earlier.get().workloadId().equals(workload)) {
      throw new IllegalArgumentException(
          "Plan %s is of another workload than plan %s; legal are two of one"
              .formatted(earlierId, laterId));
    }
    PlanDiff diff = PlanDiff.between(earlier.get(), later.get());
    return Optional.of(
        new DiffView(
            earlierLine.get(),
            laterLine.get(),
            diff.moved().stream()
                .map(
                    m ->
                        new DiffView.MovedShard(
                            m,
                            board.bytes(
                                workload, m.table(), m.region().rows(), m.region().columns())))
                .toList(),
            diff.added(),
            diff.dropped()));
  }

  @Override
  public void close() {
    recent.close();
    tables.close();
    plans.close();
    lag.close();
    try {
      registry.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
