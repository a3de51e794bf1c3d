package io.shardtide.views;

import io.shardtide.client.Endpoint;
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
import io.shardtide.log.RecordHandler;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Follows the log, and answers what is on it now. Follows all partitions, so that each instance
 * answers for all workloads. May be used by several threads.
 */
public final class Views implements AutoCloseable {
  /** How often who listens hears what changed. */
  private static final Duration NEWS = Duration.ofMillis(50);

  private static final Duration PULSE = Duration.ofSeconds(1);

  /** Records of each partition that are read at the start, where it is not all of them. */
  private static final StartPosition RECENT = StartPosition.last(2000);

  /** The same for records that may be large. */
  private static final StartPosition RECENT_LARGE = StartPosition.last(300);

  /** The same for samples, of which a measurement gives one for each device. */
  private static final StartPosition RECENT_SAMPLES = StartPosition.last(5000);

  private final Topics topics;
  private final Registry registry;
  private final LogProjection board;
  private final PlanReader plans;
  private final ConsumerLag lag;
  private final TopicReader recent;
  private final TopicReader tables;
  private final List<Consumer<ViewUpdate>> listeners = new CopyOnWriteArrayList<>();
  private volatile boolean caughtUp;
  private volatile boolean tablesAreRead;
  private volatile PlannerStatistics pulse;

  private Views(Endpoint endpoint, DetectorKind detector, Consumer<RuntimeException> failed) {
    topics = endpoint.topics();
    registry = endpoint.connectRegistry();
    board = new LogProjection(detector);
    plans = new PlanReader(endpoint, registry);
    lag = new ConsumerLag(endpoint);
    pulse = board.pulse(lag.now(), false);
    recent =
        recent(endpoint.reader(registry))
            .onCaughtUp(() -> caughtUp = true)
            .every(NEWS, this::news)
            .every(PULSE, this::beat)
            // Malformed events and reports are on rejected-events, which is shown.
            .onUndecodable(record -> {})
            .onFailure(failed);
    tables =
        endpoint
            .reader(registry)
            .handle(
                topics.costPredictions(),
                StartPosition.BEGINNING,
                Optional.of(CostPredictions::workloadId),
                (RecordHandler<CostPredictions>) board::take)
            .onCaughtUp(() -> tablesAreRead = true)
            .onFailure(failed);
    try {
      recent.open();
      tables.open();
    } catch (RuntimeException e) {
      close();
      throw e;
    }
    recent.start("views");
    tables.start("views-tables");
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

  private TopicReader recent(TopicReader reader) {
    follow(
        reader,
        topics.currentPlans(),
        StartPosition.BEGINNING,
        ShardingPlan::workloadId,
        board::takeCurrent);
    follow(reader, topics.workloadChanges(), RECENT_LARGE, WorkloadChange::workloadId, board::take);
    follow(reader, topics.shardingPlans(), RECENT_LARGE, ShardingPlan::workloadId, board::take);
    follow(reader, topics.planStatus(), RECENT, PlanStatus::workloadId, board::take);
    follow(reader, topics.measuredCosts(), RECENT, MeasuredCosts::workloadId, board::take);
    follow(
        reader, topics.infeasibleWorkloads(), RECENT, InfeasibleWorkload::workloadId, board::take);
    follow(reader, topics.trainingSamples(), RECENT_SAMPLES, CostSample::hardware, board::take);
    follow(reader, topics.driftAlarms(), RECENT, DriftAlarm::hardware, board::take);
    follow(reader, topics.modelDecisions(), RECENT, ModelDecision::hardware, board::take);
    follow(reader, topics.costModels(), RECENT, ModelBundle::hardware, board::take);
    return reader.handle(topics.rejectedEvents(), RECENT_LARGE, Optional.empty(), board::take);
  }

  private static <V> void follow(
      TopicReader reader,
      Topic<V> topic,
      StartPosition start,
      Function<V, String> keyOf,
      RecordHandler<V> handler) {
    reader.handle(topic, start, Optional.of(keyOf), handler);
  }

  private void news() {
    if (caughtUp) {
      board.news().forEach(this::say);
    }
  }

  private void beat() {
    pulse = board.pulse(lag.now(), tablesAreRead);
    say(new ViewUpdate.StatisticsChanged(pulse));
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
    return Optional.of(plans.read(planId, at));
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
                            m, board.bytes(workload, m.table(), m.rows(), m.columns())))
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
