package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.Retraining;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.CostQuantity;
import io.shardtide.domain.DriftAlarm;
import io.shardtide.domain.DriftAlarmBuilder;
import io.shardtide.domain.ModelDecision;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.domain.TrainingPolicyBuilder;
import io.shardtide.learning.RetrainingRun;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Machine;
import io.shardtide.testing.Machine.CostChange;
import io.shardtide.testing.MeasuredMachine;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Samples in, models and decisions out, trained by TensorFlow. */
class TrainingTopologyTest {
  private static final String HARDWARE = Fixtures.bundle().hardware();

  @TempDir private Path state;
  private final Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final List<Runnable> trainings = new ArrayList<>();
  private ModelBundle champion = Fixtures.bundle();
  private TrainingPolicy policy = TrainingPolicy.DEFAULTS;
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
            TrainingTopology.build(
                topics,
                registry,
                training,
                hardware -> Optional.of(champion).filter(b -> b.hardware().equals(hardware)),
                trainings::add,
                () -> 0,
                PlannerMetrics.unread(),
                RegistryRetry.none()),
            properties);
    samples = input(topics.trainingSamples());
    alarms = input(topics.driftAlarms());
    models = output(topics.costModels());
    decisions = output(topics.modelDecisions());
    rejected = output(topics.rejectedEvents());
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

  private void train() {
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
  void after_a_drift_the_retrained_model_is_published() {
    measure(CostChange.NONE, 30, 1, "a", 1);
    alarm(DriftAlarm.AlarmKind.STRAGGLER, champion.modelId());
    alarm(DriftAlarm.AlarmKind.MODEL, "another model");
    measure(CostChange.ALL, 9, 2, "a", 1);
    tick();
    assertThat(trainings).as("nothing asks for a training").isEmpty();
    alarm(DriftAlarm.AlarmKind.MODEL, champion.modelId());
    measure(CostChange.ALL, 11, 3, "a", 1);
    train();
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isTrue();
    assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.DRIFT);
    ModelBundle challenger = models.readValue();
    assertThat(decision.challengerId()).contains(challenger.modelId());
    assertThat(error(challenger, new Machine(0, CostChange.ALL, 0).measure(40, 9)))
        .isLessThan(0.036);
    champion = challenger;
    tick();
    assertThat(trainings).as("samples count anew").isEmpty();
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void without_a_gain_the_champion_stays_and_the_next_job_needs_twice_the_samples() {
    measure(CostChange.NONE, 125, 1, "a", 1);
    train();
    ModelDecision decision = decisions.readValue();
    assertThat(decision.published()).as(decision.reason()).isFalse();
    assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.SAMPLES);
    assertThat(decision.reason()).startsWith("The champion stays, because");
    assertThat(models.isEmpty()).isTrue();
    measure(CostChange.NONE, 125, 2, "a", 1);
    tick();
    assertThat(trainings).isEmpty();
    measure(CostChange.NONE, 125, 3, "a", 1);
    tick();
    assertThat(trainings).hasSize(1);
  }

  /** One of three trainers reports ten times what it measures. */
  @Test
  void one_wrong_trainer_has_a_bounded_influence() {
    for (int i = 0; i < 42; i++) {
      measure(CostChange.NONE, 1, 10 + i, "a", 1);
      measure(CostChange.NONE, 1, 100 + i, "b", 1);
      measure(CostChange.NONE, 1, 1_000 + i, "liar", 10);
    }
    train();
    ModelDecision decision = decisions.readValue();
    ModelBundle predicts = models.isEmpty() ? champion : models.readValue();
    assertThat(error(predicts, new Machine(0, CostChange.NONE, 0).measure(40, 9)))
        .as(decision.reason())
        .isLessThan(0.1);
  }

  @Test
  void a_model_published_meanwhile_is_not_replaced() {
    alarm(DriftAlarm.AlarmKind.MODEL, champion.modelId());
    measure(CostChange.ALL, 11, 3, "a", 1);
    tick();
    trainings.remove(0).run();
    champion = Fixtures.otherBundle();
    tick();
    assertThat(decisions.isEmpty()).isTrue();
    assertThat(models.isEmpty()).isTrue();
    assertThat(trainings).as("the alarm was about the other").isEmpty();
  }

  @Test
  void invalid_samples_are_rejected() {
    samples.pipeInput(
        HARDWARE,
        MeasuredMachine.sample(
            "m",
            "plan",
            "a",
            new CostSample.Computation(0, List.of(Fixtures.table("t", 10, 4, 1)), Double.NaN, 1)));
    assertThat(rejected.readValue().reason()).isEqualTo(RejectionReason.INVALID_MEASUREMENT);
    samples.pipeInput(
        "other",
        MeasuredMachine.samples(new Machine(0, CostChange.NONE, 0).measure(1, 1), "x", "a", 1)
            .get(0));
    assertThat(rejected.readValue().reason()).isEqualTo(RejectionReason.KEY_MISMATCH);
  }

  @Test
  void the_number_of_kept_samples_is_bounded_and_older_ones_are_a_reservoir() {
    stop();
    policy =
        TrainingPolicyBuilder.builder()
            .enabled(false)
            .samples(1)
            .samplesAfterDrift(1)
            .schedule(Duration.ofHours(1))
            .recent(50)
            .old(20)
            .gain(0.1)
            .oldMargin(0.1)
            .seed(1)
            .build();
    start();
    measure(CostChange.NONE, 60, 1, "a", 1);
    assertThat(numbers("newest-samples")).hasSize(50).allMatch(n -> n >= 250);
    assertThat(numbers("older-samples"))
        .hasSize(20)
        .anyMatch(n -> n < 125)
        .anyMatch(n -> n >= 125)
        .allMatch(n -> n < 250);
    tick();
    assertThat(trainings).as("not enabled").isEmpty();
  }

  private List<Long> numbers(String store) {
    List<Long> numbers = new ArrayList<>();
    try (var all = driver.<String, CostSample>getKeyValueStore(store).all()) {
      all.forEachRemaining(e -> numbers.add(Long.parseLong(e.key.substring(e.key.length() - 19))));
    }
    return numbers;
  }
}
