package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.CostSample;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.DriftAlarm;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Measured costs on Kafka's own test driver: samples, alarms, and what is wrong with them. */
class FeedbackTopologyTest {
  private static final byte[] KEY = Fixtures.WORKLOAD.getBytes(StandardCharsets.UTF_8);

  @TempDir private Path state;
  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final SimulatedTrainer trainer = new SimulatedTrainer();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private TopologyTestDriver driver;
  private TestOutputTopic<String, CostSample> samples;
  private TestOutputTopic<String, DriftAlarm> alarms;
  private TestOutputTopic<String, RejectedEvent> rejected;
  private ShardingPlan plan;

  @BeforeEach
  void start() {
    registry.register(topics);
    open();
    plan = trainer.plan();
    trainer.predictions.forEach(part -> put(topics.of(COST_PREDICTIONS), part));
    put(topics.of(SHARDING_PLANS), plan);
  }

  private void open() {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "feedback");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    driver =
        new TopologyTestDriver(
            TopologyFixture.skeleton(
                    TopologyName.FEEDBACK, registry, topics, new PlannerMetrics(meters))
                .topology(
                    skeleton ->
                        new FeedbackTopology(
                            skeleton, new FeedbackStep(modelId -> false), () -> 0)),
            properties);
    samples = output(topics.of(TRAINING_SAMPLES));
    alarms = output(topics.of(DRIFT_ALARMS));
    rejected = output(topics.of(REJECTED_EVENTS));
  }

  private <V> TestOutputTopic<String, V> output(Topic<V> topic) {
    return driver.createOutputTopic(
        topic.name(), new StringDeserializer(), registry.serde(topic).deserializer());
  }

  @AfterEach
  void stop() {
    driver.close();
  }

  private TestInputTopic<byte[], byte[]> input(Topic<?> topic) {
    return driver.createInputTopic(
        topic.name(), new ByteArraySerializer(), new ByteArraySerializer());
  }

  private <V> byte[] bytes(Topic<V> topic, V value) {
    return registry.serde(topic).serializer().serialize(topic.name(), value);
  }

  private <V> void put(Topic<V> topic, V value) {
    input(topic).pipeInput(KEY, bytes(topic, value));
  }

  private void measure(double factor) {
    put(topics.of(MEASURED_COSTS), trainer.measured(plan, d -> factor));
  }

  @Test
  void measured_costs_become_samples_keyed_by_hardware() {
    measure(1.25);
    List<TestRecord<String, CostSample>> records = samples.readRecordsToList();
    assertThat(records).hasSize(5);
    assertThat(records).extracting(TestRecord::key).containsOnly(TestModels.bundle().hardware());
    assertThat(records).extracting(r -> r.value().planId()).containsOnly(plan.planId());
    assertThat(alarms.isEmpty()).isTrue();
    assertThat(rejected.isEmpty()).isTrue();
  }

  /** The state is all that counts: a driver that begins in the middle ends with the same alarm. */
  @Test
  void drift_is_an_alarm_keyed_by_hardware_also_after_a_restart() {
    for (int i = 0; i < 50; i++) {
      measure(1);
    }
    measure(1.6);
    measure(1.6);
    Map<String, Object> before = stored();
    stop();
    open();
    before.forEach(this::restore);
    for (int i = 0; i < 10; i++) {
      measure(1.6);
    }
    List<TestRecord<String, DriftAlarm>> records = alarms.readRecordsToList();
    assertThat(records).hasSize(1);
    assertThat(records.get(0).key()).isEqualTo(TestModels.bundle().hardware());
    DriftAlarm alarm = records.get(0).value();
    assertThat(alarm.kind()).isEqualTo(DriftAlarm.AlarmKind.MODEL);
    assertThat(alarm.samples()).as("those before the restart count").isEqualTo(55);
  }

  /** Measures until a device that was well is known to be slow. */
  private void measureSlowDevice() {
    for (int i = 0; i < 50; i++) {
      measure(1);
    }
    for (int i = 0; i < 100 && slowDevices() == 0; i++) {
      put(topics.of(MEASURED_COSTS), trainer.measured(plan, d -> d == 1 ? 1.8 : 1));
    }
    assertThat(slowDevices()).isEqualTo(1);
  }

  private double slowDevices() {
    return meters.get("shardtide.slow.devices").gauge().value();
  }

  @Test
  void slow_devices_are_forgotten_when_their_partition_moves() {
    measureSlowDevice();
    stop();
    assertThat(slowDevices()).isZero();
    open();
  }

  @Test
  void slow_devices_are_forgotten_when_their_workload_is_deleted() {
    measureSlowDevice();
    CostPredictions last = trainer.predictions.get(trainer.predictions.size() - 1);
    put(
        topics.of(COST_PREDICTIONS),
        CostPredictionsBuilder.builder(last)
            .generation(last.generation() + 1)
            .part(0)
            .parts(1)
            .update(Optional.of(new CostPredictions.Update.Deleted("retired")))
            .build());
    assertThat(slowDevices()).isZero();
  }

  private Map<String, Object> stored() {
    Map<String, Object> all = new java.util.LinkedHashMap<>();
    for (String store :
        List.of("feedback-headers", "planned-tables", "measured-plans", "residual-windows")) {
      try (var entries = driver.<String, Object>getKeyValueStore(store).all()) {
        entries.forEachRemaining(entry -> all.put(store + "/" + entry.key, entry.value));
      }
    }
    return all;
  }

  private void restore(String name, Object value) {
    int slash = name.indexOf('/');
    driver
        .<String, Object>getKeyValueStore(name.substring(0, slash))
        .put(name.substring(slash + 1), value);
  }

  @Test
  void after_an_adoption_measurements_of_the_former_plan_are_outdated() {
    ShardingPlan next = trainer.plan(Fixtures.upsert("new", 1_000, 4, 1));
    trainer
        .predictions
        .subList(trainer.predictions.size() - 1, trainer.predictions.size())
        .forEach(part -> put(topics.of(COST_PREDICTIONS), part));
    put(topics.of(ACCEPTED_STATUSES), Fixtures.accepted(plan));
    put(topics.of(SHARDING_PLANS), next);
    measure(1);
    assertThat(rejected.isEmpty()).as("it was adopted").isTrue();
    put(topics.of(ACCEPTED_STATUSES), Fixtures.accepted(next));
    measure(1);
    assertRejected(RejectionReason.OUTDATED_MEASUREMENT);
  }

  private RejectedEvent assertRejected(RejectionReason reason) {
    RejectedEvent event = rejected.readValue();
    assertThat(event.reason()).isEqualTo(reason);
    assertThat(event.message()).isNotBlank();
    assertThat(event.source().topic()).isEqualTo(topics.of(MEASURED_COSTS).name());
    assertThat(rejected.isEmpty()).isTrue();
    return event;
  }

  /** What a client may write that does not check: any number in any field. */
  private void measureRaw(Consumer<io.shardtide.avro.MeasuredCosts> change) {
    io.shardtide.avro.MeasuredCosts avro =
        Codec.MEASURED_COSTS.toAvro().apply(trainer.measured(plan, d -> 1));
    avro.setDevices(new ArrayList<>(avro.getDevices()));
    change.accept(avro);
    Topic<io.shardtide.avro.MeasuredCosts> raw =
        new Topic<>(
            topics.of(MEASURED_COSTS).name(),
            new TopicType<>(
                MEASURED_COSTS.name(),
                new Codec<>(
                    io.shardtide.avro.MeasuredCosts.class,
                    Function.identity(),
                    Function.identity()),
                Optional.empty(),
                MEASURED_COSTS.retention(),
                1_000_000,
                1_000_000,
                Optional.empty()),
            1_000_000);
    input(raw).pipeInput(KEY, bytes(raw, avro));
  }

  @Test
  void invalid_costs_are_rejected() {
    for (double ms :
        new double[] {
          Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -1, 31_536_000_000.0
        }) {
      measureRaw(avro -> avro.getDevices().get(2).setComputeMs(ms));
      assertThat(assertRejected(RejectionReason.INVALID_MEASUREMENT).message())
          .contains("device 2")
          .contains(Double.toString(ms));
      measureRaw(avro -> avro.getDevices().get(0).setForwardCommMs(ms));
      assertRejected(RejectionReason.INVALID_MEASUREMENT);
      measureRaw(avro -> avro.getDevices().get(3).setBackwardCommMs(ms));
      assertRejected(RejectionReason.INVALID_MEASUREMENT);
    }
    measureRaw(avro -> avro.getDevices().get(2).setComputeMs(0));
    assertRejected(RejectionReason.INCOMPARABLE_MEASUREMENT);
    measureRaw(avro -> avro.getDevices().clear());
    assertRejected(RejectionReason.INVALID_MEASUREMENT);
    measureRaw(avro -> avro.setStep(-1));
    assertRejected(RejectionReason.INVALID_MEASUREMENT);
    measureRaw(avro -> avro.setSteps(0));
    assertRejected(RejectionReason.INVALID_MEASUREMENT);
    measureRaw(avro -> avro.setMeasurementId(""));
    assertRejected(RejectionReason.INVALID_MEASUREMENT);
    assertThat(samples.isEmpty()).isTrue();
    measure(1);
    assertThat(samples.readValuesToList()).as("the stream goes on").hasSize(5);
  }

  @Test
  void measurements_of_unknown_plans_are_rejected() {
    measureRaw(avro -> avro.setPlanId("nothing"));
    assertRejected(RejectionReason.UNKNOWN_PLAN);
    measureRaw(avro -> avro.getDevices().add(avro.getDevices().get(0)));
    assertThat(assertRejected(RejectionReason.INCOMPARABLE_MEASUREMENT).message())
        .contains("4 devices, got 5");
    MeasuredCosts taken = trainer.measured(plan, d -> 1);
    put(topics.of(MEASURED_COSTS), taken);
    put(topics.of(MEASURED_COSTS), taken);
    assertRejected(RejectionReason.DUPLICATE_MEASUREMENT);
    measureRaw(avro -> avro.setStep(taken.step() - 1));
    assertRejected(RejectionReason.STALE_MEASUREMENT);
    assertThat(samples.readValuesToList()).hasSize(5);
  }

  /** A clock that jumps changes the times that are shown, and nothing else. */
  @Test
  void jumps_of_measuredAt_change_nothing() {
    for (long year : new long[] {0, 100, -100}) {
      measureRaw(avro -> avro.setMeasuredAt(Fixtures.TIME.plusSeconds(year * 31_536_000)));
    }
    assertThat(samples.readValuesToList()).hasSize(15);
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void an_unreadable_record_is_rejected_by_one_topology_only() {
    byte[] noise = "noise".getBytes(StandardCharsets.UTF_8);
    input(topics.of(MEASURED_COSTS)).pipeInput(KEY, noise);
    assertRejected(RejectionReason.UNDECODABLE);
    input(topics.of(MEASURED_COSTS))
        .pipeInput(
            "other".getBytes(StandardCharsets.UTF_8),
            bytes(topics.of(MEASURED_COSTS), trainer.measured(plan, d -> 1)));
    assertRejected(RejectionReason.KEY_MISMATCH);
    input(topics.of(SHARDING_PLANS)).pipeInput(KEY, noise);
    assertThat(rejected.readValue().reason()).isEqualTo(RejectionReason.UNDECODABLE);
    input(topics.of(ACCEPTED_STATUSES)).pipeInput(KEY, noise);
    input(topics.of(PLAN_STATUS)).pipeInput(KEY, noise);
    input(topics.of(COST_PREDICTIONS)).pipeInput(KEY, noise);
    assertThat(rejected.isEmpty()).as("planning writes or rejects these").isTrue();
    measure(1);
    assertThat(samples.readValuesToList()).hasSize(5);
  }
}
