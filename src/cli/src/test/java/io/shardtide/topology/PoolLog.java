package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.allocation.PoolStep;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.WorkloadChange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;

/** A log of a pool and its workloads, made by the topologies, without a broker. */
public final class PoolLog implements AutoCloseable {
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();

  /** Four nodes, n1 to n4, of two devices each. */
  public static final Pool NODES =
      Pool.of(
          2,
          8 * Fixtures.GIB,
          0,
          BUNDLE.hardware(),
          Stream.of("n1", "n2", "n3", "n4").map(n -> new PoolNode(n, "")).toList());

  private static final ClusterSpec CLUSTER =
      new ClusterSpec(2, Fixtures.GIB, 65_536, 2, BUNDLE.hardware());

  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final MemoryRecords records = new MemoryRecords();
  private final Path state;
  private final List<TopologyTestDriver> drivers = new ArrayList<>();
  private final TopologyTestDriver curves;
  private final TopologyTestDriver pool;
  private final TestInputTopic<String, WorkloadChange> changes;
  private final TestInputTopic<String, CostPredictions> predicted;
  private final TestInputTopic<String, CostPredictions> followed;
  private final TestInputTopic<String, PoolChange> pools;
  private final TestInputTopic<String, CurveReport> reports;
  private final TestInputTopic<String, CurveRequest> requests;
  private final TestInputTopic<String, ShardingPlan> planned;
  private final TestOutputTopic<String, CostPredictions> predictions;
  private final TestOutputTopic<String, CurveRequest> requested;
  private final TestOutputTopic<String, CurveReport> reported;
  private final TestOutputTopic<String, Allocation> allocations;
  private final TestOutputTopic<String, WorkloadChange> sent;
  private final TestOutputTopic<String, ShardingPlan> plans;

  /**
   * @param state an empty folder for state stores
   */
  public PoolLog(Path state) {
    this.state = state;
    records.add(BUNDLE);
    PlainPredictors predictors = new PlainPredictors();
    predictors.takeOver(BUNDLE);
    PlannerMetrics metrics = PlannerMetrics.unread();
    TopologyTestDriver workload =
        driver(
            "workload",
            TopologyFixture.skeleton(TopologyName.WORKLOAD, registry, topics, metrics)
                .topology(
                    skeleton ->
                        new WorkloadTopology(
                            skeleton, new WorkloadStep(predictors), predictors::changes)));
    TopologyTestDriver planning =
        driver(
            "planning",
            TopologyFixture.skeleton(TopologyName.PLANNING, registry, topics, metrics)
                .topology(
                    skeleton ->
                        new PlanningTopology(
                            skeleton,
                            TopologyFixture.planning(predictors),
                            () -> 0,
                            Runnable::run,
                            task -> {},
                            () -> 0)));
    curves =
        driver(
            "curves",
            TopologyFixture.skeleton(TopologyName.CURVES, registry, topics, metrics)
                .topology(
                    skeleton ->
                        new CurvesTopology(
                            skeleton,
                            TopologyFixture.curves(predictors),
                            predictors::changes,
                            Runnable::run)));
    pool =
        driver(
            "pool",
            TopologyFixture.skeleton(TopologyName.POOL, registry, topics, metrics)
                .topology(
                    skeleton ->
                        new PoolTopology(skeleton, new PoolStep(AllocationPolicy.DEFAULTS))));
    changes = input(workload, topics.of(WORKLOAD_CHANGES));
    predictions = output(workload, topics.of(COST_PREDICTIONS));
    predicted = input(planning, topics.of(COST_PREDICTIONS));
    plans = output(planning, topics.of(SHARDING_PLANS));
    followed = input(curves, topics.of(COST_PREDICTIONS));
    requests = input(curves, topics.of(CURVE_REQUESTS));
    planned = input(curves, topics.of(SHARDING_PLANS));
    reported = output(curves, topics.of(THROUGHPUT_CURVES));
    pools = input(pool, topics.of(POOL_CHANGES));
    reports = input(pool, topics.of(THROUGHPUT_CURVES));
    requested = output(pool, topics.of(CURVE_REQUESTS));
    allocations = output(pool, topics.of(ALLOCATIONS));
    sent = output(pool, topics.of(WORKLOAD_CHANGES));
  }

  private TopologyTestDriver driver(String name, Topology topology) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    TopologyTestDriver driver = new TopologyTestDriver(topology, properties);
    drivers.add(driver);
    return driver;
  }

  private <V> TestInputTopic<String, V> input(TopologyTestDriver driver, Topic<V> topic) {
    return driver.createInputTopic(
        topic.name(), new StringSerializer(), registry.serde(topic).serializer());
  }

  private <V> TestOutputTopic<String, V> output(TopologyTestDriver driver, Topic<V> topic) {
    return driver.createOutputTopic(
        topic.name(), new StringDeserializer(), registry.serde(topic).deserializer());
  }

  /** Returns what is on the log so far. */
  public MemoryRecords records() {
    return records;
  }

  /** Publishes an event of a pool, and waits for what follows from it. */
  public void publish(PoolChange event) {
    records.add(TopicType.POOL_CHANGES, event);
    pools.pipeInput(event.poolId(), event);
    settle();
  }

  /** Publishes the first event of a workload, with some tables. */
  public void workload(String id, int tables) {
    List<Change> all = new ArrayList<>(List.of(new Change.ClusterSet(CLUSTER)));
    for (int t = 0; t < tables; t++) {
      all.add(Fixtures.upsert("t" + t, 200_000, 64, 20));
    }
    change(id, all.toArray(new Change[0]));
  }

  /** Publishes an event of a workload, and waits for what follows from it. */
  public void change(String id, Change... changed) {
    pipe(
        new WorkloadChange(
            UUID.randomUUID(), id, Fixtures.TIME, "test", OptionalLong.empty(), List.of(changed)));
    settle();
  }

  private void pipe(WorkloadChange event) {
    records.add(TopicType.WORKLOAD_CHANGES, event);
    changes.pipeInput(event.workloadId(), event);
  }

  /** Lets an allocation no longer wait for curves. */
  public void pass(Duration time) {
    pool.advanceWallClockTime(time);
    settle();
  }

  /** Carries records between the topologies until there are none. */
  private void settle() {
    boolean moved = true;
    while (moved) {
      moved = false;
      for (CostPredictions part : predictions.readValuesToList()) {
        records.add(TopicType.COST_PREDICTIONS, part);
        followed.pipeInput(part.workloadId(), part);
        predicted.pipeInput(part.workloadId(), part);
        moved = true;
      }
      for (ShardingPlan plan : plans.readValuesToList()) {
        records.add(TopicType.SHARDING_PLANS, plan);
        planned.pipeInput(plan.workloadId(), plan);
        moved = true;
      }
      for (CurveRequest request : requested.readValuesToList()) {
        requests.pipeInput(request.workloadId(), request);
        moved = true;
      }
      // A search runs in one look and is taken in the next.
      curves.advanceWallClockTime(TopologyName.CURVES.tick());
      curves.advanceWallClockTime(TopologyName.CURVES.tick());
      for (CurveReport report : reported.readValuesToList()) {
        records.add(TopicType.THROUGHPUT_CURVES, report);
        reports.pipeInput(report.poolId(), report);
        moved = true;
      }
      pool.advanceWallClockTime(TopologyName.POOL.tick());
      for (WorkloadChange change : sent.readValuesToList()) {
        pipe(change);
        moved = true;
      }
    }
    allocations.readValuesToList().forEach(a -> records.add(TopicType.ALLOCATIONS, a));
  }

  @Override
  public void close() {
    drivers.forEach(TopologyTestDriver::close);
  }
}
