package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.drop;
import static io.shardtide.testing.Fixtures.event;
import static io.shardtide.testing.Fixtures.set;
import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.domain.Change;
import io.shardtide.domain.Effort;
import io.shardtide.domain.InfeasibleWorkload;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.PlanningSettings;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.planning.Planner;
import io.shardtide.planning.PlanningStep;
import io.shardtide.planning.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.UUID;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The topologies on Kafka's own test driver: what goes in, what comes out, and where what is wrong
 * ends up.
 */
class TopologyTest {
  private static final byte[] KEY = Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8);

  @TempDir private Path state;
  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final PlainPredictors predictors = new PlainPredictors();
  private final List<Runnable> deep = new ArrayList<>();
  private PlanningSettings settings = PlanningSettings.eachGeneration(SearchSettings.QUICK);
  private long nanos;
  private TestInputTopic<byte[], byte[]> statuses;
  private TestOutputTopic<String, RejectedEvent> rejectedStatuses;
  private TopologyTestDriver workload;
  private TopologyTestDriver planning;
  private TestInputTopic<byte[], byte[]> changes;
  private TestOutputTopic<String, CostPredictions> predictions;
  private TestOutputTopic<String, RejectedEvent> rejected;
  private TestInputTopic<String, CostPredictions> predicted;
  private TestOutputTopic<String, ShardingPlan> plans;
  private TestOutputTopic<String, ShardingPlan> current;
  private TestOutputTopic<String, InfeasibleWorkload> infeasible;

  @BeforeEach
  void start() {
    workload = driver("workload", workloadTopology());
    planning = driver("planning", planningTopology());
    changes =
        workload.createInputTopic(
            topics.workloadChanges().name(), new ByteArraySerializer(), new ByteArraySerializer());
    predictions = output(workload, topics.costPredictions());
    rejected = output(workload, topics.rejectedEvents());
    predicted =
        planning.createInputTopic(
            topics.costPredictions().name(),
            new StringSerializer(),
            registry.serde(topics.costPredictions()).serializer());
    statuses =
        planning.createInputTopic(
            topics.planStatus().name(), new ByteArraySerializer(), new ByteArraySerializer());
    rejectedStatuses = output(planning, topics.rejectedEvents());
    plans = output(planning, topics.shardingPlans());
    current = output(planning, topics.currentPlans());
    infeasible = output(planning, topics.infeasibleWorkloads());
  }

  private Topology workloadTopology() {
    return WorkloadTopology.build(
        topics,
        registry,
        new WorkloadStep(predictors),
        predictors::changes,
        PlannerMetrics.unread());
  }

  private Topology planningTopology() {
    return PlanningTopology.build(
        topics,
        registry,
        new PlanningStep(
            predictors, settings, new Planner(InstantSource.fixed(Fixtures.TIME), () -> 0)),
        deep::add,
        () -> nanos,
        PlannerMetrics.unread());
  }

  private TopologyTestDriver driver(String name, Topology topology) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    return new TopologyTestDriver(topology, properties);
  }

  private <V> TestOutputTopic<String, V> output(TopologyTestDriver driver, Topic<V> topic) {
    return driver.createOutputTopic(
        topic.name(), new StringDeserializer(), registry.serde(topic).deserializer());
  }

  @AfterEach
  void stop() {
    workload.close();
    planning.close();
  }

  private byte[] bytes(WorkloadChange event) {
    return registry
        .serde(topics.workloadChanges())
        .serializer()
        .serialize(topics.workloadChanges().name(), event);
  }

  private void publish(WorkloadChange event) {
    changes.pipeInput(event.workloadId().getBytes(StandardCharsets.UTF_8), bytes(event));
    predictions
        .readKeyValuesToList()
        .forEach(record -> predicted.pipeInput(record.key, record.value));
  }

  @Test
  void a_change_becomes_a_plan() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 200_000, 64, 5)));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.generation()).isEqualTo(1);
    assertThat(plan.source().topic()).isEqualTo("t.workload-changes");
    assertThat(plan.source().offset()).isZero();
    assertThat(plan.planId()).isEqualTo(plan.contentId());
    assertThat(current.readValue()).isEqualTo(plan);
    publish(event(upsert("c", 100, 4, 1)));
    assertThat(plans.readValue().previousPlanId()).contains(plan.planId());
    assertThat(plans.isEmpty()).as("a generation is planned once").isTrue();
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void what_does_not_fit_is_reported_and_the_last_plan_stays() {
    publish(event(set(2, Fixtures.MIB), upsert("a", 1_000, 64, 5)));
    ShardingPlan good = current.readValue();
    publish(event(upsert("b", 1_000_000, 64, 5)));
    InfeasibleWorkload bad = infeasible.readValue();
    assertThat(bad.generation()).isEqualTo(2);
    assertThat(bad.shortfall().proven()).isTrue();
    assertThat(current.isEmpty()).isTrue();
    publish(event(drop("b")));
    assertThat(current.readValue().previousPlanId()).contains(good.planId());
  }

  private void restart(PlanningSettings other) {
    stop();
    settings = other;
    start();
  }

  /** Lets time pass for both topologies. */
  private void pass(Duration time) {
    nanos += time.toNanos();
    workload.advanceWallClockTime(time);
    predictions
        .readKeyValuesToList()
        .forEach(record -> predicted.pipeInput(record.key, record.value));
    planning.advanceWallClockTime(time);
  }

  @Test
  void changes_that_arrive_close_together_are_planned_once() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofMillis(5));
    publish(event(upsert("b", 100_000, 64, 5)));
    pass(Duration.ofMillis(5));
    publish(event(upsert("c", 100_000, 64, 5)));
    assertThat(plans.isEmpty()).as("it is not quiet yet").isTrue();
    pass(Duration.ofMillis(25));
    ShardingPlan plan = plans.readValue();
    assertThat(plan.firstGeneration()).isEqualTo(1);
    assertThat(plan.generation()).isEqualTo(3);
    assertThat(plan.effort()).isEqualTo(Effort.QUICK);
    assertThat(plan.settings()).isEqualTo(SearchSettings.QUICK);
    assertThat(plans.isEmpty()).isTrue();
  }

  @Test
  void changes_without_a_pause_are_planned_when_they_have_waited_long_enough() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    for (int i = 0; i < 99; i++) {
      pass(Duration.ofMillis(5));
      publish(event(upsert("b" + i, 100, 4, 1)));
    }
    assertThat(plans.isEmpty()).isTrue();
    pass(Duration.ofMillis(5));
    assertThat(plans.readValue().generation()).isEqualTo(100);
  }

  @Test
  void a_deeper_search_begins_when_a_workload_rests_and_runs_elsewhere() {
    restart(PlanningSettings.DEFAULTS);
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5), upsert("b", 9_000, 64, 9)));
    pass(Duration.ofMillis(25));
    ShardingPlan quick = plans.readValue();
    pass(Duration.ofMillis(4_900));
    assertThat(deep).as("five seconds of rest are not over").isEmpty();
    pass(Duration.ofMillis(200));
    assertThat(deep).hasSize(1);
    publish(event(upsert("c", 1_000, 64, 5)));
    pass(Duration.ofMillis(25));
    assertThat(plans.readValue().previousPlanId())
        .as("a change does not wait for it")
        .contains(quick.planId());
    deep.remove(0).run();
    pass(Duration.ofMillis(25));
    assertThat(plans.isEmpty()).as("what it found is of yesterday").isTrue();
    pass(Duration.ofMillis(5_100));
    assertThat(deep).as("the next generation is searched").hasSize(1);
  }

  /** As under a steady load, where there is always a workload that has come to rest. */
  @Test
  void deeper_searches_take_an_eighth_of_the_time_while_changes_come() {
    restart(PlanningSettings.DEFAULTS);
    for (String id : List.of("quiet-1", "quiet-2", "quiet-3")) {
      publish(of(id, set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    }
    pass(Duration.ofMillis(25));
    pass(Duration.ofSeconds(6));
    assertThat(deep).as("one at a time").hasSize(1);
    publish(of("busy", set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    pass(Duration.ofSeconds(1));
    deep.remove(0).run();
    pass(Duration.ofMillis(5));
    assertThat(deep).as("it rests").isEmpty();
    pass(Duration.ofMillis(7 * 1_005 - 10));
    assertThat(deep).isEmpty();
    pass(Duration.ofMillis(10));
    assertThat(deep).hasSize(1);
    deep.remove(0).run();
    pass(Duration.ofMillis(5));
    assertThat(deep).as("nobody waited for the processor").hasSize(1);
  }

  private static WorkloadChange of(String workloadId, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(),
        workloadId,
        Fixtures.TIME,
        "test",
        OptionalLong.empty(),
        List.of(changes));
  }

  private void report(ShardingPlan plan, PlanStatus.StatusKind kind, long step) {
    PlanStatus status =
        new PlanStatus(
            plan.workloadId(),
            plan.planId(),
            kind,
            step,
            Optional.empty(),
            "trainer",
            "",
            Fixtures.TIME);
    statuses.pipeInput(
        KEY,
        registry
            .serde(topics.planStatus())
            .serializer()
            .serialize(topics.planStatus().name(), status));
  }

  @Test
  void trainers_decide_which_plan_runs() {
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    ShardingPlan first = plans.readValue();
    report(first, PlanStatus.StatusKind.ADOPTED, 7);
    publish(event(upsert("b", 1_000, 64, 5)));
    ShardingPlan second = plans.readValue();
    publish(event(upsert("c", 1_000, 64, 5)));
    assertThat(plans.readValue().previousPlanId()).contains(first.planId());
    report(second, PlanStatus.StatusKind.ADOPTED, 6);
    assertThat(rejectedStatuses.readValue().reason()).isEqualTo(RejectionReason.STALE_STATUS);
    statuses.pipeInput(KEY, "noise".getBytes(StandardCharsets.UTF_8));
    RejectedEvent noise = rejectedStatuses.readValue();
    assertThat(noise.reason()).isEqualTo(RejectionReason.UNDECODABLE);
    assertThat(noise.source().topic()).isEqualTo(topics.planStatus().name());
    report(second, PlanStatus.StatusKind.ADOPTED, 7);
    publish(event(upsert("d", 1_000, 64, 5)));
    assertThat(plans.readValue().previousPlanId()).contains(second.planId());
  }

  @Test
  void a_poisonous_prediction_is_set_aside() {
    TestInputTopic<byte[], byte[]> raw =
        planning.createInputTopic(
            topics.costPredictions().name(), new ByteArraySerializer(), new ByteArraySerializer());
    raw.pipeInput(KEY, "noise".getBytes(StandardCharsets.UTF_8));
    assertThat(rejectedStatuses.readValue().source().topic())
        .isEqualTo(topics.costPredictions().name());
    publish(event(set(4, Fixtures.GIB), upsert("a", 100_000, 64, 5)));
    assertThat(plans.readValue().generation()).isEqualTo(1);
  }

  /** Live changes come first; then what a new model concerns, the most promising first. */
  @Test
  void a_new_model_replans_when_no_change_waits() {
    restart(PlanningSettings.DEFAULTS);
    String[] ids = {"calm", "uneven", "live"};
    for (String id : ids) {
      publish(
          new WorkloadChange(
              UUID.randomUUID(),
              id,
              Fixtures.TIME,
              "test",
              OptionalLong.empty(),
              List.of(
                  set(2, Fixtures.GIB),
                  upsert("big", id.equals("uneven") ? 2_000_000 : 10_000, 4, 90),
                  upsert("small", 10_000, 4, 90))));
    }
    pass(Duration.ofMillis(25));
    assertThat(plans.readValuesToList()).hasSize(3);
    predictors.takeOver(Fixtures.otherBundle());
    publish(
        new WorkloadChange(
            UUID.randomUUID(),
            "live",
            Fixtures.TIME,
            "test",
            OptionalLong.empty(),
            List.of(upsert("new", 1_000, 4, 5))));
    for (int i = 0; i < 12; i++) {
      pass(Duration.ofMillis(10));
    }
    List<ShardingPlan> after = plans.readValuesToList();
    assertThat(after)
        .extracting(ShardingPlan::modelId)
        .containsOnly(Fixtures.otherBundle().modelId());
    assertThat(after)
        .extracting(ShardingPlan::workloadId)
        .containsExactlyInAnyOrder("calm", "uneven", "live");
  }

  @Test
  void workloads_do_not_see_one_another() {
    WorkloadChange here = event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    WorkloadChange there =
        new WorkloadChange(
            here.eventId(),
            Fixtures.WORKLOAD + "-2",
            Fixtures.TIME,
            "test",
            OptionalLong.of(0),
            List.of(set(3, Fixtures.GIB), upsert("z", 1_000, 64, 5)));
    publish(here);
    publish(there);
    assertThat(plans.readValue().shards()).allMatch(s -> s.table().equals("a"));
    ShardingPlan other = plans.readValue();
    assertThat(other.shards()).allMatch(s -> s.table().equals("z"));
    assertThat(other.deviceCosts()).hasSize(3);
    assertThat(other.previousPlanId()).isEmpty();
  }

  /**
   * Each is reported with its bytes and its position, the workload is untouched, and the stream
   * goes on.
   */
  @Test
  void what_is_wrong_is_quarantined_and_the_stream_goes_on() {
    WorkloadChange first = event(set(2, Fixtures.GIB), upsert("a", 1_000, 64, 5));
    publish(first);
    ShardingPlan before = plans.readValue();
    byte[] noise = "noise".getBytes(StandardCharsets.UTF_8);
    byte[] unknownSchema = bytes(first);
    unknownSchema[1] = 9;

    assertRejected(1, KEY, noise, RejectionReason.UNDECODABLE);
    assertRejected(2, KEY, null, RejectionReason.UNDECODABLE);
    assertRejected(3, KEY, unknownSchema, RejectionReason.UNKNOWN_SCHEMA);
    assertRejected(4, null, bytes(first), RejectionReason.KEY_MISMATCH);
    assertRejected(5, KEY, bytes(first), RejectionReason.DUPLICATE_EVENT);
    assertRejected(6, KEY, bytes(event(drop("nope"))), RejectionReason.UNKNOWN_TABLE);
    assertRejected(
        7, KEY, bytes(event(OptionalLong.of(0), drop("a"))), RejectionReason.STALE_GENERATION);
    assertRejected(
        8,
        KEY,
        bytes(
            event(
                new Change.ClusterSet(
                    new io.shardtide.domain.ClusterSpec(1, 1, 1, 1, "unheard-of")))),
        RejectionReason.UNKNOWN_HARDWARE);
    assertRejected(9, KEY, tooMany(), RejectionReason.TOO_MANY_CHANGES);
    assertRejected(10, KEY, none(), RejectionReason.NO_CHANGES);

    publish(event(OptionalLong.of(1), upsert("b", 10, 4, 1)));
    ShardingPlan after = plans.readValue();
    assertThat(after.generation()).isEqualTo(2);
    assertThat(after.source().offset()).isEqualTo(11);
    assertThat(after.previousPlanId()).contains(before.planId());
    assertThat(rejected.isEmpty()).isTrue();
  }

  private void assertRejected(int offset, byte[] key, byte[] value, RejectionReason reason) {
    changes.pipeInput(key, value);
    RejectedEvent rejection = rejected.readValue();
    assertThat(rejection.reason()).isEqualTo(reason);
    assertThat(rejection.source().topic()).isEqualTo(topics.workloadChanges().name());
    assertThat(rejection.source().offset()).isEqualTo(offset);
    assertThat(rejection.message()).containsAnyOf("legal", "must").isNotBlank();
    assertThat(rejection.value().map(b -> b.toArray()).orElse(null)).isEqualTo(value);
    assertThat(rejection.key().map(b -> b.toArray()).orElse(null)).isEqualTo(key);
    assertThat(predictions.isEmpty()).isTrue();
  }

  /** The record of a publisher whose library does not check: 10,001 changes, as bytes. */
  private byte[] tooMany() {
    Change[] some = Fixtures.times(10_000, drop("x")).toArray(new Change[0]);
    return withCount(bytes(event(some)), 10_000, 10_001, new byte[] {2, 2, 'x'});
  }

  private byte[] none() {
    return withCount(bytes(event(drop("x"))), 1, 0, null);
  }

  /** Rewrites the count of the only array block, and adds an item or drops all. */
  private static byte[] withCount(byte[] event, int count, int newCount, byte[] item) {
    byte[] from = zigzag(count);
    int at = event.length - 1 - 3 * count - from.length;
    assertThat(Arrays.copyOfRange(event, at, at + from.length)).isEqualTo(from);
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    out.write(event, 0, at);
    if (newCount > 0) {
      out.writeBytes(zigzag(newCount));
      out.write(event, at + from.length, 3 * count);
      out.writeBytes(item);
    }
    out.write(0);
    return out.toByteArray();
  }

  private static byte[] zigzag(int value) {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    int rest = value << 1;
    while ((rest & ~0x7f) != 0) {
      out.write((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    out.write(rest);
    return out.toByteArray();
  }

  @Test
  void an_event_of_10000_tables_is_one_generation() {
    Change[] many = new Change[10_000];
    many[0] = set(64, 80 * Fixtures.GIB);
    for (int i = 1; i < many.length; i++) {
      many[i] = upsert("t%05d".formatted(i), 1_000, 4, 1);
    }
    WorkloadChange event = event(many);
    changes.pipeInput(KEY, bytes(event));
    List<CostPredictions> parts = predictions.readValuesToList();
    assertThat(parts).hasSize(9_999);
    assertThat(parts.get(9_998).isLast()).isTrue();
    assertThat(parts).allMatch(p -> p.generation() == 1 && p.eventId().equals(event.eventId()));
  }

  /** Old ids are forgotten in the order in which they came, and both of their entries go. */
  @Test
  void the_memory_of_applied_events_is_bounded() {
    publish(event(upsert("a", 1, 4, 1)));
    KafkaWorkloadStoreProbe probe = new KafkaWorkloadStoreProbe(workload);
    assertThat(probe.entries()).isEqualTo(2);
    probe.jumpTo(KafkaWorkloadStore.REMEMBERED_EVENTS);
    publish(event(upsert("b", 1, 4, 1)));
    assertThat(probe.entries()).as("the first event is forgotten").isEqualTo(2);
    publish(event(upsert("c", 1, 4, 1)));
    assertThat(probe.entries()).isEqualTo(4);
  }

  /** Looks into the stores of the running topology. */
  private static final class KafkaWorkloadStoreProbe {
    private final TopologyTestDriver driver;

    KafkaWorkloadStoreProbe(TopologyTestDriver driver) {
      this.driver = driver;
    }

    long entries() {
      long count = 0;
      try (var all = driver.getKeyValueStore("applied-events").all()) {
        while (all.hasNext()) {
          all.next();
          count++;
        }
      }
      return count;
    }

    void jumpTo(long generation) {
      driver
          .<String, io.shardtide.domain.WorkloadHeader>getKeyValueStore("workload-headers")
          .put(
              Fixtures.WORKLOAD,
              new io.shardtide.domain.WorkloadHeader(
                  generation,
                  java.util.Optional.empty(),
                  java.util.Optional.empty(),
                  java.util.Optional.empty()));
    }
  }

  /**
   * The descriptions are golden files: a change of a name or of a store changes the names of
   * changelogs, which a running system must be moved to. Write them anew with {@code
   * -Dtopologies.write=true}.
   */
  @ParameterizedTest
  @ValueSource(strings = {"workload", "planning", "feedback", "training"})
  void the_topology_is_as_described(String name) throws Exception {
    Topics named = Topics.withPrefix(Topics.DEFAULT_PREFIX);
    String described = Topologies.describe(named).get(name);
    Path file = Path.of("topologies", name + ".txt");
    if (Boolean.getBoolean("topologies.write")) {
      Files.writeString(file, described);
    }
    assertThat(file).content().isEqualTo(described);
  }
}
