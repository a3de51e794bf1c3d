package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.allocation.CurveStep;
import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanningSettings;
import io.shardtide.step.Planner;
import io.shardtide.step.PlanningStep;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** The workload and the planning topology, one after the other, without a broker. */
abstract class TopologyFixture {
  static final byte[] KEY = Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8);

  @TempDir private Path state;
  final Topics topics = Topics.withPrefix("t.");
  final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), registrySettings());
  final PlainPredictors predictors = new PlainPredictors();
  final List<Runnable> deep = new ArrayList<>();

  /** Runs searches that answer changes, at once. */
  Executor live = Runnable::run;

  BiFunction<GroupedProblem, SearchSettings, SearchResult> search = GroupSearch::search;
  PlannerMetrics metrics = PlannerMetrics.unread();
  Faults faults = new Faults() {};

  PlanningSettings settings = PlanningSettings.eachGeneration(SearchSettings.QUICK);
  long nanos;
  TestInputTopic<byte[], byte[]> statuses;
  TestOutputTopic<String, RejectedEvent> rejectedStatuses;
  TopologyTestDriver workload;
  TopologyTestDriver planning;
  TestInputTopic<byte[], byte[]> changes;
  TestOutputTopic<String, CostPredictions> predictions;
  TestOutputTopic<String, RejectedEvent> rejected;
  TestInputTopic<String, CostPredictions> predicted;
  TestOutputTopic<String, ShardingPlan> plans;
  TestOutputTopic<String, ShardingPlan> current;
  TestOutputTopic<String, AcceptedStatus> accepted;
  TestOutputTopic<String, InfeasibleWorkload> infeasible;

  @BeforeEach
  void start() {
    workload = driver("workload", workloadTopology());
    changes =
        workload.createInputTopic(
            topics.of(WORKLOAD_CHANGES).name(),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    predictions = output(workload, topics.of(COST_PREDICTIONS));
    rejected = output(workload, topics.of(REJECTED_EVENTS));
    startPlanning();
  }

  void startPlanning() {
    planning = driver("planning", planningTopology());
    predicted =
        planning.createInputTopic(
            topics.of(COST_PREDICTIONS).name(),
            new StringSerializer(),
            registry.serde(topics.of(COST_PREDICTIONS)).serializer());
    statuses =
        planning.createInputTopic(
            topics.of(PLAN_STATUS).name(), new ByteArraySerializer(), new ByteArraySerializer());
    rejectedStatuses = output(planning, topics.of(REJECTED_EVENTS));
    plans = output(planning, topics.of(SHARDING_PLANS));
    current = output(planning, topics.of(CURRENT_PLANS));
    accepted = output(planning, topics.of(ACCEPTED_STATUSES));
    infeasible = output(planning, topics.of(INFEASIBLE_WORKLOADS));
  }

  /** Returns one that does not retry. */
  static RegistryRetry noRetry() {
    return new RegistryRetry(
        TopologyName.WORKLOAD, Duration.ZERO, new CountDownLatch(1), (topology, reason) -> {});
  }

  /** Returns what topologies have in common, without retries. */
  static Skeleton skeleton(
      TopologyName name, Registry registry, Topics topics, PlannerMetrics metrics) {
    return new Skeleton(
        name, registry, topics, metrics, noRetry(), new FailedAttempts(System::nanoTime));
  }

  /** Returns a step that plans each generation, at the same time and in no time. */
  static PlanningStep planning(PlainPredictors predictors) {
    return new PlanningStep(
        predictors,
        PlanningSettings.eachGeneration(SearchSettings.QUICK),
        new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0));
  }

  /** Returns a step that predicts curves with quick searches. */
  static CurveStep curves(PlainPredictors predictors) {
    return new CurveStep(
        cluster -> predictors.of(cluster.hardware()), predictors::get, SearchSettings.QUICK);
  }

  /** All are there. */
  ArrivingModels models() {
    return predictors::changes;
  }

  Topology workloadTopology() {
    return skeleton(TopologyName.WORKLOAD, registry, topics, PlannerMetrics.unread())
        .topology(
            skeleton ->
                faults.in(new WorkloadTopology(skeleton, new WorkloadStep(predictors), models())));
  }

  Topology planningTopology() {
    return skeleton(TopologyName.PLANNING, registry, topics, metrics)
        .topology(
            skeleton ->
                faults.in(
                    new PlanningTopology(
                        skeleton,
                        new PlanningStep(
                            predictors,
                            settings,
                            new Planner(
                                InstantSource.fixed(Fixtures.TIME),
                                () -> 0,
                                (problem, budget) -> search.apply(problem, budget))),
                        models(),
                        live,
                        deep::add,
                        () -> nanos)));
  }

  TopologyTestDriver driver(String name, Topology topology) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    return new TopologyTestDriver(topology, properties);
  }

  <V> TestOutputTopic<String, V> output(TopologyTestDriver driver, Topic<V> topic) {
    return driver.createOutputTopic(
        topic.name(), new StringDeserializer(), registry.serde(topic).deserializer());
  }

  @AfterEach
  void stop() {
    workload.close();
    planning.close();
  }

  byte[] bytes(WorkloadChange event) {
    return registry
        .serde(topics.of(WORKLOAD_CHANGES))
        .serializer()
        .serialize(topics.of(WORKLOAD_CHANGES).name(), event);
  }

  /** Starts again, without any state. */
  void restart(PlanningSettings other) {
    stop();
    settings = other;
    start();
  }

  /** Returns the settings of the registry's client. */
  Map<String, String> registrySettings() {
    return Map.of();
  }

  /** Lets time pass for both topologies. */
  void pass(Duration time) {
    nanos += time.toNanos();
    workload.advanceWallClockTime(time);
    predictions
        .readKeyValuesToList()
        .forEach(record -> predicted.pipeInput(record.key, record.value));
    planning.advanceWallClockTime(time);
  }

  static WorkloadChange of(String workloadId, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(),
        workloadId,
        Fixtures.TIME,
        "test",
        OptionalLong.empty(),
        List.of(changes));
  }

  void publish(WorkloadChange event) {
    changes.pipeInput(event.workloadId().getBytes(StandardCharsets.UTF_8), bytes(event));
    predictions
        .readKeyValuesToList()
        .forEach(record -> predicted.pipeInput(record.key, record.value));
  }
}
