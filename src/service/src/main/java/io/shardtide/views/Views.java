package io.shardtide.views;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.CURRENT_ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static java.util.Map.entry;

import io.shardtide.client.Endpoint;
import io.shardtide.log.RecordHandler;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.plan.PlanDiff;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.views.DiffView.MovedShard;
import io.shardtide.wire.Extension;
import io.shardtide.wire.PredictionKey;
import io.shardtide.wire.Registry;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * What the dashboard shows, kept up to date from the log. Each instance reads all partitions, and
 * so serves all workloads. Thread-safe.
 */
public final class Views implements AutoCloseable {
  /** What a GET request selects by its parameters, all of which are required. */
  @FunctionalInterface
  public interface Query {
    /** Returns what is written as JSON; empty if it does not exist. */
    Optional<?> run(Views views, UnaryOperator<String> parameter) throws IOException;
  }

  /** What the dashboard gets, by the path at which it is served. */
  public static final Map<String, Query> QUERIES =
      Map.ofEntries(
          entry("/api/workloads", (views, of) -> Optional.of(views.log().rows())),
          entry("/api/workload", (views, of) -> views.workload(of.apply("id"))),
          entry("/api/tables", (views, of) -> views.log().tables(of.apply("workload"))),
          entry("/api/plan", (views, of) -> views.plan(of.apply("id"))),
          entry("/api/diff", (views, of) -> views.diff(of.apply("earlier"), of.apply("later"))),
          entry("/api/pools", (views, of) -> Optional.of(views.pools().rows())),
          entry("/api/pool", (views, of) -> views.pools().pool(of.apply("id"))),
          entry("/api/learning", (views, of) -> Optional.of(views.log().learning())),
          entry("/api/events", (views, of) -> Optional.of(views.log().events())),
          entry("/api/statistics", (views, of) -> Optional.of(views.statistics())));

  /** Interval between updates of the listeners. */
  private static final Duration UPDATES = Duration.ofMillis(100);

  private static final Duration STATISTICS = Duration.ofSeconds(1);

  /** How long one of the two readers may be behind the other. */
  private static final Duration UNKNOWN = Duration.ofMinutes(1);

  /** How many of the latest records of a partition are read at the start. */
  private static final StartPosition RECENT = new StartPosition(2000);

  /** The same for topics whose records may be large. */
  private static final StartPosition RECENT_LARGE = new StartPosition(300);

  /**
   * The same for samples, of which a measurement has one for each device, and for curves, of which
   * each change of a workload's tables has one of about a kilobyte.
   */
  private static final StartPosition RECENT_SMALL = new StartPosition(5000);

  private final Topics topics;
  private final Registry registry;
  private final LogProjection projection;
  private final PoolsProjection pools;
  private final PlanReader plans;
  private final ConsumerLag lag;
  private final TopicReader recent;
  private final TopicReader tables;
  private final List<Consumer<ViewUpdate>> listeners = new CopyOnWriteArrayList<>();
  private volatile boolean caughtUp;
  private volatile boolean tablesAreRead;
  private volatile PlannerStatistics statistics;

  private Views(Endpoint endpoint, Set<Extension> extensions, Consumer<RuntimeException> failed) {
    topics = endpoint.topics();
    registry = endpoint.connectRegistry();
    projection = new LogProjection();
    pools = new PoolsProjection(projection::isSimulated);
    plans = PlanReader.of(endpoint, registry);
    lag = new ConsumerLag(endpoint);
    statistics = projection.statistics(lag.now(), false);
    recent =
        followWorkloads(endpoint.reader(registry))
            .onCaughtUp(() -> caughtUp = true)
            .every(UPDATES, this::sendUpdates)
            .every(STATISTICS, this::sendStatistics)
            .every(UNKNOWN, this::forgetUnknown)
            // Malformed events and reports are on rejected-events, which is shown.
            .onUndecodable(record -> {})
            .onFailure(failed);
    if (extensions.contains(Extension.POOLS)) {
      followPools();
    }
    if (extensions.contains(Extension.GROWTH)) {
      followLatest(
          recent, CURRENT_FORECASTS, projection::apply, of -> of.forecasts = Optional.empty());
    }
    tables =
        endpoint
            .reader(registry)
            .handle(topics.of(CURRENT_PREDICTIONS), StartPosition.BEGINNING, projection::apply)
            .onTombstone(topics.of(CURRENT_PREDICTIONS), (at, key) -> predictionDeleted(key))
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
   * Starts to read the log.
   *
   * @param endpoint the cluster and the schema registry
   * @param extensions those of the planner, which are shown too: the topics of others do not exist
   * @param failed called with the error that ends the views, if one does
   * @throws IllegalStateException if the planner's topics do not exist
   */
  public static Views start(
      Endpoint endpoint, Set<Extension> extensions, Consumer<RuntimeException> failed) {
    return new Views(endpoint, extensions, failed);
  }

  private TopicReader followWorkloads(TopicReader reader) {
    followLatest(reader, CURRENT_PLANS, projection::applyCurrent, WorkloadProjection::planDeleted);
    return reader
        .handle(topics.of(WORKLOAD_CHANGES), RECENT_LARGE, projection::apply)
        .handle(topics.of(SHARDING_PLANS), RECENT_LARGE, projection::apply)
        .handle(
            topics.of(ACCEPTED_STATUSES),
            RECENT,
            (at, writtenAt, accepted) ->
                accepted.status().ifPresent(status -> projection.apply(at, writtenAt, status)))
        .handle(topics.of(MEASURED_COSTS), RECENT, projection::apply)
        .handle(topics.of(INFEASIBLE_WORKLOADS), RECENT, projection::apply)
        .handle(topics.of(TRAINING_SAMPLES), RECENT_SMALL, projection::apply)
        .handle(topics.of(DRIFT_ALARMS), RECENT, projection::apply)
        .handle(topics.of(MODEL_DECISIONS), RECENT, projection::apply)
        .handle(topics.of(COST_MODELS), RECENT, projection::apply)
        .handle(topics.of(REJECTED_EVENTS), RECENT_LARGE, projection::apply);
  }

  private void followPools() {
    recent
        .handle(topics.of(POOL_CHANGES), StartPosition.BEGINNING, pools::apply)
        .handle(topics.of(THROUGHPUT_CURVES), RECENT_SMALL, pools::apply)
        .handle(topics.of(ALLOCATIONS), RECENT_LARGE, pools::apply)
        .handle(topics.of(CURRENT_ALLOCATIONS), StartPosition.BEGINNING, pools::applyCurrent)
        .latestOnlyAtStart(topics.of(CURRENT_ALLOCATIONS));
  }

  private <V> void followLatest(
      TopicReader reader,
      TopicType<V> type,
      RecordHandler<V> handler,
      Consumer<WorkloadProjection> tombstone) {
    reader
        .handle(topics.of(type), StartPosition.BEGINNING, handler)
        .onTombstone(topics.of(type), (at, id) -> projection.delete(id, tombstone))
        .latestOnlyAtStart(topics.of(type));
  }

  private void sendUpdates() {
    if (caughtUp) {
      projection.drainUpdates().forEach(this::notifyListeners);
      pools.drainUpdates().forEach(this::notifyListeners);
    }
  }

  private void sendStatistics() {
    statistics = projection.statistics(lag.now(), tablesAreRead);
    notifyListeners(ViewUpdate.of(statistics));
  }

  private void forgetUnknown() {
    if (caughtUp && tablesAreRead) {
      projection.forgetUnknown();
    }
  }

  private void predictionDeleted(String keyText) {
    PredictionKey key = PredictionKey.parse(keyText);
    projection.delete(
        key.workloadId(),
        workload ->
            key.table().ifPresentOrElse(workload.tables::remove, workload::predictionsDeleted));
  }

  private void notifyListeners(ViewUpdate update) {
    listeners.forEach(listener -> listener.accept(update));
  }

  /**
   * Adds a listener, which is called on a thread of the views and must not block.
   *
   * @return removes the listener
   */
  public Runnable listen(Consumer<ViewUpdate> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Returns whether the records that were on the log at the start are read, predictions aside. */
  public boolean isCaughtUp() {
    return caughtUp;
  }

  /** Returns the planner's statistics, at most a second old. */
  public PlannerStatistics statistics() {
    return statistics;
  }

  /** Returns what is known of workloads and hardware. */
  public LogProjection log() {
    return projection;
  }

  /** Returns a workload; empty if it does not exist. */
  public Optional<WorkloadView> workload(String workloadId) {
    return projection.workload(workloadId, pools.share(workloadId));
  }

  /** Returns the pools; none if they are not read. */
  public PoolsProjection pools() {
    return pools;
  }

  /**
   * Returns a plan; empty if it is not one of the latest.
   *
   * @throws IOException if its record cannot be read
   */
  public Optional<ShardingPlan> plan(String planId) throws IOException {
    Optional<WorkloadProjection.LocatedPlan> located = projection.plan(planId);
    return located.isEmpty()
        ? Optional.empty()
        : Optional.of(plans.read(planId, located.get().at()));
  }

  /**
   * Compares two plans of a workload; empty if one of them is not one of the latest.
   *
   * @throws IOException if their records cannot be read
   * @throws IllegalArgumentException if they are of different workloads
   */
  public Optional<DiffView> diff(String earlierId, String laterId) throws IOException {
    Optional<ShardingPlan> earlier = plan(earlierId);
    Optional<ShardingPlan> later = plan(laterId);
    if (earlier.isEmpty() || later.isEmpty()) {
      return Optional.empty();
    }
    String workload = later.get().workloadId();
    if (!earlier.get().workloadId().equals(workload)) {
      throw new IllegalArgumentException(
          "Plan %s is of workload \"%s\" and plan %s of workload \"%s\", expected two plans of one workload"
              .formatted(earlierId, earlier.get().workloadId(), laterId, workload));
    }
    PlanDiff diff = PlanDiff.between(earlier.get(), later.get());
    int groupSize = later.get().prediction().deviceCosts().size();
    int ranks = later.get().ranks();
    return Optional.of(
        new DiffView(
            diff.moved().stream()
                .map(m -> new MovedShard(m, projection.bytes(workload, m, groupSize, ranks)))
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
    registry.close();
  }
}
