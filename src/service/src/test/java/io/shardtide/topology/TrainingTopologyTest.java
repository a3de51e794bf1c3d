package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.DRIFT_ALARMS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.retraining.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.plan.CostQuantity;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.DriftAlarmBuilder;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.Machine.CostChange;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The retraining topology: samples and alarms in, models and decisions out. */
class TrainingTopologyTest {
  private static final String HARDWARE = TestModels.bundle().hardware();

  @TempDir private Path state;
  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final List<Runnable> trainings = new ArrayList<>();
  private ModelBundle champion = TestModels.bundle();

  /** A fifth of the default number of samples. */
  private TrainingPolicy policy =
      TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS).samples(100).build();

  private TopologyTestDriver driver;
  private TestInputTopic<String, CostSample> samples;
  private TestInputTopic<String, DriftAlarm> alarms;
  private TestOutputTopic<String, ModelBundle> models;
  private TestOutputTopic<String, ModelDecision> decisions;
  private TestOutputTopic<String, RejectedEvent> rejected;

  @BeforeEach
  void start() {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "training");
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
    RetrainingRun training =
        new RetrainingRun(
            Retraining::retrain, TensorFlowTowers::new, policy, InstantSource.fixed(Fixtures.TIME));
    driver =
        new TopologyTestDriver(
            TopologyFixture.skeleton(
                    TopologyName.TRAINING, registry, topics, PlannerMetrics.unread())
                .topology(
                    skeleton ->
                        new TrainingTopology(
                            skeleton,
                            training,
                            hardware ->
                                Optional.of(champion).filter(b -> b.hardware().equals(hardware)),
                            trainings::add,
                            () -> 0)),
            properties);
    samples = input(topics.of(TRAINING_SAMPLES));
    alarms = input(topics.of(DRIFT_ALARMS));
    models = output(topics.of(COST_MODELS));
    decisions = output(topics.of(MODEL_DECISIONS));
    rejected = output(topics.of(REJECTED_EVENTS));
  }

  @AfterEach
  void stop() {
    driver.close();
  }

  private <V> TestInputTopic<String, V> input(Topic<V> topic) {
    return driver.createInputTopic(
        topic.name(), new StringSerializer(), registry.serde(topic).serializer());
  }

  private <V> TestOutputTopic<String, V> output(Topic<V> topic) {
    return driver.createOutputTopic(
        topic.name(), new StringDeserializer(), registry.serde(topic).deserializer());
  }

  /** Publishes samples of a source that reports its computations times a factor. */
  private void measure(CostChange change, int plans, long seed, String source, double factor) {
    MeasuredMachine.samples(
            new Machine(0, change, 0.03).measure(plans, seed), source + seed + "-", source, factor)
        .forEach(sample -> samples.pipeInput(HARDWARE, sample));
  }

  private void alarm(DriftAlarm.AlarmKind kind, String modelId) {
    alarms.pipeInput(
        HARDWARE,
        DriftAlarmBuilder.builder()
            .hardware(HARDWARE)
            .modelId(modelId)
            .kind(kind)
            .quantity(CostQuantity.COMPUTE)
            .workloadId(Fixtures.WORKLOAD)
            .device(
                kind == DriftAlarm.AlarmKind.STRAGGLER ? OptionalInt.of(2) : OptionalInt.empty())
            .planId("plan")
            .detector("test")
            .samples(40)
            .usualRatio(1)
            .recentRatio(1.6)
            .measuredAt(Fixtures.TIME)
            .build());
  }

  private void tick() {
    driver.advanceWallClockTime(Duration.ofMillis(500));
  }

  private void retrain() {
    tick();
    assertThat(trainings).hasSize(1);
    trainings.remove(0).run();
    tick();
  }

  private static double error(ModelBundle bundle, SampleSet samples) {
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      return Accuracy.ofComputations(
              Evaluation.of(new CostModel(bundle), towers, samples).computations())
          .mape();
    }
  }

  @Test
  void a_drift_is_learned_and_the_challenger_is_published() {
    measure(CostChange.NONE, 14, 1, "a", 1);
    alarm(DriftAlarm.AlarmKind.STRAGGLER, champion.modelId());
    alarm(DriftAlarm.AlarmKind.MODEL, "another model");
    measure(CostChange.ALL, 9, 2, "a", 1);
    tick();
    assertThat(trainings).as("no retraining is due").isEmpty();
    alarm(DriftAlarm.AlarmKind.MODEL, champion.modelId());
    measure(CostChange.ALL, 11, 3, "a", 1);
    retrain();
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.DRIFT);
    ModelBundle challenger = models.readValue();
    assertThat(decision.challengerId()).contains(challenger.modelId());
    assertThat(error(challenger, new Machine(0, CostChange.ALL, 0).measure(40, 9)))
        .isLessThan(0.036);
    champion = challenger;
    tick();
    assertThat(trainings).as("the count of new samples restarts").isEmpty();
    assertThat(rejected.isEmpty()).isTrue();
  }

  /** All devices are slower than the model by a factor from the first measurement: no alarm. */
  @Test
  void a_model_of_other_hardware_is_retrained_without_an_alarm() {
    champion = NearestModel.begin(List.of(champion), renamed()).orElseThrow();
    assertThat(champion.hardware()).isEqualTo("new");
    measureNew(9, 2);
    tick();
    assertThat(trainings).as("36 computations").isEmpty();
    measureNew(2, 3);
    retrain();
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.COLD_START);
    champion = models.readValue();
    assertThat(champion.card().beganAs().map(ModelOrigin::hardware)).contains(HARDWARE);
    assertThat(champion.describeOrigin().orElseThrow())
        .matches("began as simulated, fine-tuned on [1-9]\\d* computations of new");
    assertThat(error(champion, new Machine(0, CostChange.ALL, 0).measure(40, 9))).isLessThan(0.05);
    measureNew(10, 4);
    tick();
    assertThat(trainings).as("40 more are not twice as many").isEmpty();
    measureNew(1, 5);
    tick();
    assertThat(trainings).hasSize(1);
  }

  private static ClusterSpec renamed() {
    return new ClusterSpec(4, Fixtures.GIB, 65_536, 4, "new");
  }

  private void measureNew(int plans, long seed) {
    MeasuredMachine.samples(
            new Machine(0, CostChange.ALL, 0.03).measure(plans, seed), seed + "-", "a", 1)
        .forEach(
            sample ->
                samples.pipeInput(
                    "new", CostSampleBuilder.builder(sample).hardware("new").build()));
  }

  @Test
  void without_a_change_the_challenger_is_rejected_and_twice_as_many_samples_are_required() {
    measure(CostChange.NONE, 25, 1, "a", 1);
    retrain();
    assertRejected(ModelDecision.Trigger.SAMPLES);
    measure(CostChange.NONE, 25, 2, "a", 1);
    tick();
    assertThat(trainings).isEmpty();
    measure(CostChange.NONE, 25, 3, "a", 1);
    tick();
    assertThat(trainings).hasSize(1);
  }

  private void assertRejected(ModelDecision.Trigger trigger) {
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isFalse();
    assertThat(decision.trigger()).isEqualTo(trigger);
    assertThat(decision.reason()).startsWith("Champion kept, ");
    assertThat(models.isEmpty()).isTrue();
  }

  /**
   * The influence of a source is bounded by {@code SourceQuota}: one of three trainers reports ten
   * times its costs and has three fifths of the samples. All devices became slower, so that a
   * challenger must be published: keeping the champion would fail this test.
   */
  @Test
  @Tag("nightly")
  void a_faulty_trainer_with_most_samples_does_not_spoil_the_challenger() {
    for (int i = 0; i < 5; i++) {
      measure(CostChange.ALL, 2, 10 + i, "a", 1);
      measure(CostChange.ALL, 2, 20 + i, "b", 1);
      measure(CostChange.ALL, 6, 30 + i, "faulty", 10);
    }
    assertAccurateChallenger();
  }

  /**
   * The influence of a label is bounded by {@code Winsorizer}: one of five trainers reports a tenth
   * of its costs. The relative error of a right prediction of these labels would be 900%, more than
   * that of the champion, and a good challenger would be rejected.
   */
  @Test
  @Tag("nightly")
  void a_faulty_trainer_with_low_costs_does_not_prevent_a_good_challenger() {
    for (int i = 0; i < 6; i++) {
      for (String source : List.of("a", "b", "c", "d")) {
        measure(CostChange.ALL, 1, 10 + i, source, 1);
      }
      measure(CostChange.ALL, 1, 10 + i, "faulty", 0.1);
    }
    assertAccurateChallenger();
  }

  private void assertAccurateChallenger() {
    retrain();
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(error(models.readValue(), new Machine(0, CostChange.ALL, 0).measure(40, 9)))
        .as("the champion's is 0.375")
        .isLessThan(0.05);
  }

  /**
   * The evaluation rejects a challenger that is not better, however small its error is: nothing
   * changed, but one of three trainers reports ten times its costs.
   */
  @Test
  @Tag("nightly")
  void a_challenger_from_faulty_samples_is_rejected() {
    for (int i = 0; i < 10; i++) {
      measure(CostChange.NONE, 1, 10 + i, "a", 1);
      measure(CostChange.NONE, 1, 100 + i, "b", 1);
      measure(CostChange.NONE, 1, 1_000 + i, "faulty", 10);
    }
    retrain();
    assertRejected(ModelDecision.Trigger.SAMPLES);
  }

  @Test
  void a_challenger_of_a_replaced_champion_is_dropped() {
    alarm(DriftAlarm.AlarmKind.MODEL, champion.modelId());
    measure(CostChange.ALL, 11, 3, "a", 1);
    tick();
    trainings.remove(0).run();
    champion = TestModels.otherBundle();
    tick();
    assertThat(decisions.isEmpty()).isTrue();
    assertThat(models.isEmpty()).isTrue();
    assertThat(trainings).as("the alarm was about the old champion").isEmpty();
  }

  @Test
  void invalid_samples_are_rejected() {
    samples.pipeInput(
        HARDWARE,
        MeasuredMachine.sample(
            "m",
            "plan",
            "a",
            new CostSample.Computation(
                0,
                List.of(DeviceShard.ofColumns(Fixtures.table("t", 10, 4, 1), 100)),
                Double.NaN,
                OptionalDouble.empty(),
                1)));
    assertThat(rejected.readValue().reason()).isEqualTo(RejectionReason.INVALID_MEASUREMENT);
    samples.pipeInput(
        "other",
        MeasuredMachine.samples(new Machine(0, CostChange.NONE, 0).measure(1, 1), "x", "a", 1)
            .get(0));
    assertThat(rejected.readValue().reason()).isEqualTo(RejectionReason.KEY_MISMATCH);
  }

  @Test
  void the_number_of_stored_samples_is_bounded_and_older_ones_are_of_all_times() {
    stop();
    policy =
        TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS)
            .enabled(false)
            .samples(1)
            .samplesAfterDrift(1)
            .schedule(Duration.ofHours(1))
            .recent(25)
            .old(10)
            .build();
    start();
    measure(CostChange.NONE, 30, 1, "a", 1);
    assertThat(numbers("newest-samples")).hasSize(25).allMatch(n -> n >= 125);
    assertThat(numbers("older-samples"))
        .hasSize(10)
        .anyMatch(n -> n < 63)
        .anyMatch(n -> n >= 63)
        .allMatch(n -> n < 125);
    tick();
    assertThat(trainings).as("retraining is disabled").isEmpty();
  }

  private List<Long> numbers(String store) {
    List<Long> numbers = new ArrayList<>();
    try (var all = driver.<String, CostSample>getKeyValueStore(store).all()) {
      all.forEachRemaining(e -> numbers.add(Long.parseLong(e.key.substring(e.key.length() - 19))));
    }
    return numbers;
  }
}
