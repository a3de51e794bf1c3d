package io.shardtide.topology;

import static io.shardtide.wire.TopicType.ACCEPTED_STATUSES;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURVE_REQUESTS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;
import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.shardtide.allocation.PoolStep;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.RetrainingRun;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Faults in every handler of every topology, before and after its first write: the key goes into
 * quarantine, other keys go on, and a release makes up for all that waited.
 */
class QuarantineTest {
  private static final String BAD = "bad";
  private static final String GOOD = "good";
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();
  private static final int TICKS = 4;

  @TempDir private Path folder;
  private Topics topics = Topics.withPrefix("t.");
  private final Registry registry = Registry.connect("mock://" + UUID.randomUUID(), Map.of());
  private final PlainPredictors predictors = new PlainPredictors();
  private final List<Runnable> jobs = new ArrayList<>();
  private int runs;

  /** What a topology is given. */
  private sealed interface LifeStep {
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record PublishedInput(String topic, String key, byte[] value) implements LifeStep {}

    record Action(Runnable action) implements LifeStep {}
  }

  /** Throws at one place of the bad key's records or work, each time. */
  private static final class Injected implements Faults {
    private final Set<Place> seen = new LinkedHashSet<>();
    private final Optional<Place> fault;
    private String key = "";
    private String work = "";

    /** A place in a handler. */
    record Place(String work, boolean written) {}

    Injected(Optional<Place> fault) {
      this.fault = fault;
    }

    @Override
    public void attempt(String newKey, String newWork) {
      key = newKey;
      work = newWork.replaceAll("-0@\\d+$", "");
      at(false);
    }

    @Override
    public void write() {
      at(true);
    }

    private void at(boolean written) {
      if (key.equals(BAD)) {
        Place place = new Place(work, written);
        seen.add(place);
        if (fault.filter(place::equals).isPresent()) {
          throw new StackOverflowError("injected");
        }
      }
    }
  }

  /** A topology on a test driver. */
  private final class DrivenTopology implements AutoCloseable {
    private final SimpleMeterRegistry meters;
    private final TopologyTestDriver driver;

    DrivenTopology(Built built, Path state) {
      Properties properties = new Properties();
      properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "quarantine");
      properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
      properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
      meters = built.meters();
      driver = new TopologyTestDriver(built.topology(), properties);
    }

    void feed(List<LifeStep> steps) {
      for (LifeStep step : steps) {
        if (step instanceof LifeStep.PublishedInput input) {
          driver
              .createInputTopic(input.topic(), new StringSerializer(), new ByteArraySerializer())
              .pipeInput(input.key(), input.value());
        } else if (step instanceof LifeStep.Action action) {
          action.action().run();
        }
        tick();
      }
    }

    void tick() {
      for (int i = 0; i < TICKS; i++) {
        driver.advanceWallClockTime(Duration.ofMillis(200));
        List.copyOf(jobs).forEach(Runnable::run);
        jobs.clear();
      }
    }

    /** Returns what was written since the last call. */
    List<Output> output() {
      List<Output> records = new ArrayList<>();
      for (String topic : driver.producedTopicNames()) {
        driver
            .createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer())
            .readRecordsToList()
            .stream()
            .filter(record -> record.key() != null)
            .forEach(record -> records.add(new Output(topic, record.key(), record.value())));
      }
      return records;
    }

    double inQuarantine(TopologyName name) {
      return meters
          .get("shardtide.quarantine.keys")
          .tag("topology", name.toString())
          .gauge()
          .value();
    }

    @Override
    public void close() {
      driver.close();
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Output(String topic, byte[] key, byte[] value) {}

  private record Built(Topology topology, SimpleMeterRegistry meters) {}

  private Built build(TopologyName name, Faults faults) {
    SimpleMeterRegistry meters = new SimpleMeterRegistry();
    PlannerMetrics metrics = new PlannerMetrics(meters);
    Topology topology =
        switch (name) {
          case WORKLOAD ->
              TopologyFixture.skeleton(TopologyName.WORKLOAD, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new WorkloadTopology(
                                  skeleton, new WorkloadStep(predictors), predictors::changes)));
          case PLANNING ->
              TopologyFixture.skeleton(TopologyName.PLANNING, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new PlanningTopology(
                                  skeleton,
                                  TopologyFixture.planning(predictors),
                                  () -> 0,
                                  Runnable::run,
                                  jobs::add,
                                  System::nanoTime)));
          case FEEDBACK ->
              TopologyFixture.skeleton(TopologyName.FEEDBACK, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new FeedbackTopology(
                                  skeleton, new FeedbackStep(modelId -> false), () -> 0)));
          case TRAINING ->
              TopologyFixture.skeleton(TopologyName.TRAINING, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new TrainingTopology(
                                  skeleton,
                                  new RetrainingRun(
                                      (champion, towers, recent, old, sources, seed) -> champion,
                                      io.shardtide.testing.PlainTowers::new,
                                      policy(),
                                      InstantSource.fixed(Fixtures.TIME)),
                                  hardware -> Optional.of(named(hardware)),
                                  jobs::add,
                                  () -> 0)));
          case CURVES ->
              TopologyFixture.skeleton(TopologyName.CURVES, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new CurvesTopology(
                                  skeleton,
                                  TopologyFixture.curves(predictors),
                                  predictors::changes,
                                  jobs::add)));
          case POOL ->
              TopologyFixture.skeleton(TopologyName.POOL, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new PoolTopology(skeleton, new PoolStep(AllocationPolicy.DEFAULTS))));
          case GROWTH ->
              TopologyFixture.skeleton(TopologyName.GROWTH, registry, topics, metrics)
                  .topology(
                      skeleton ->
                          faults.in(
                              new GrowthTopology(
                                  skeleton, new GrowthStep(CapacityPolicy.DEFAULTS))));
        };
    return new Built(topology, meters);
  }

  private static TrainingPolicy policy() {
    return TrainingPolicyBuilder.builder(TrainingPolicy.DEFAULTS).samples(4).build();
  }

  private static ModelBundle named(String hardware) {
    return ModelBundleBuilder.builder(TestModels.bundle())
        .hardware(hardware)
        .modelId("")
        .build()
        .identified();
  }

  private <V> byte[] bytes(Topic<V> topic, V value) {
    return registry.serde(topic).serializer().serialize(topic.name(), value);
  }

  private <V> V value(Topic<V> topic, byte[] value) {
    return registry.serde(topic).deserializer().deserialize(topic.name(), value);
  }

  private <V> LifeStep input(Topic<V> topic, String key, V value) {
    return new LifeStep.PublishedInput(topic.name(), key, bytes(topic, value));
  }

  private LifeStep takeOver(ModelBundle bundle) {
    return new LifeStep.Action(() -> predictors.takeOver(bundle));
  }

  private LifeStep change(int number, String workload, Change... changes) {
    return input(
        topics.of(WORKLOAD_CHANGES),
        workload,
        new WorkloadChange(
            new UUID(workload.hashCode(), number),
            workload,
            Fixtures.TIME,
            "test",
            java.util.OptionalLong.empty(),
            List.of(changes)));
  }

  /** Returns the bytes that a topology without faults writes to some topics, as inputs. */
  private List<LifeStep> outputs(TopologyName name, List<LifeStep> steps, Topic<?>... of) {
    List<String> names = Stream.of(of).map(Topic::name).toList();
    try (DrivenTopology run =
        new DrivenTopology(build(name, new Injected(Optional.empty())), state())) {
      run.feed(steps);
      List<LifeStep> inputs = new ArrayList<>();
      for (Output record : run.output()) {
        if (names.contains(record.topic())) {
          inputs.add(
              new LifeStep.PublishedInput(
                  record.topic(),
                  new String(record.key(), StandardCharsets.UTF_8),
                  record.value()));
        }
      }
      return inputs;
    }
  }

  private Path state() {
    return folder.resolve("state-" + runs++);
  }

  /** Two workloads that change, then another model, then another change of each. */
  private List<LifeStep> changes() {
    List<LifeStep> steps = new ArrayList<>(List.of(takeOver(TestModels.bundle())));
    for (String id : List.of(BAD, GOOD)) {
      List<Change> all = new ArrayList<>(List.of(Fixtures.set(2, 8 * Fixtures.GIB)));
      for (int t = 0; t < 6; t++) {
        all.add(Fixtures.upsert("t" + t, 1_000_000, 64, 20));
      }
      steps.add(change(1, id, all.toArray(new Change[0])));
    }
    steps.add(takeOver(TestModels.otherBundle()));
    for (String id : List.of(BAD, GOOD)) {
      steps.add(change(2, id, Fixtures.upsert("t1", 2_000_000, 64, 10)));
    }
    return steps;
  }

  private List<LifeStep> steps(TopologyName name) {
    return switch (name) {
      case WORKLOAD -> changes();
      case PLANNING -> planning();
      case FEEDBACK -> feedback();
      case TRAINING -> training();
      case CURVES -> curves();
      case POOL -> pools();
      case GROWTH -> growth();
    };
  }

  /** Reports of hashed tables that are full at the end. */
  private List<LifeStep> growth() {
    List<LifeStep> changes = new ArrayList<>(List.of(takeOver(TestModels.bundle())));
    for (String id : List.of(BAD, GOOD)) {
      changes.add(
          change(
              1,
              id,
              Fixtures.set(2, 8 * Fixtures.GIB),
              new Change.TableUpserted(Fixtures.hashed("h", 1_000, 64, 20))));
    }
    List<LifeStep> steps =
        new ArrayList<>(outputs(TopologyName.WORKLOAD, changes, topics.of(COST_PREDICTIONS)));
    for (int report = 0; report < 3; report++) {
      for (String id : List.of(BAD, GOOD)) {
        FillReport fill =
            new FillReport(
                "r" + report,
                id,
                "p",
                "run",
                "trainer",
                Instant.ofEpochMilli(1_000L * report),
                List.of(
                    new TableFill(
                        "h", List.of(new ShardFill(0, 0, 1_000, 500L * report, 0, 0, 0)))));
        steps.add(input(topics.of(TABLE_FILLS), id, fill));
      }
    }
    return steps;
  }

  private List<LifeStep> planning() {
    List<LifeStep> steps =
        new ArrayList<>(outputs(TopologyName.WORKLOAD, changes(), topics.of(COST_PREDICTIONS)));
    for (LifeStep step :
        outputs(TopologyName.PLANNING, List.copyOf(steps), topics.of(SHARDING_PLANS))) {
      ShardingPlan plan =
          value(topics.of(SHARDING_PLANS), ((LifeStep.PublishedInput) step).value());
      steps.add(input(topics.of(PLAN_STATUS), plan.workloadId(), Fixtures.adopted(plan)));
    }
    return steps;
  }

  private List<LifeStep> feedback() {
    List<LifeStep> predicted =
        outputs(TopologyName.WORKLOAD, changes(), topics.of(COST_PREDICTIONS));
    List<LifeStep> steps = new ArrayList<>(predicted);
    Map<String, ShardingPlan> latest = new TreeMap<>();
    for (LifeStep step : outputs(TopologyName.PLANNING, predicted, topics.of(SHARDING_PLANS))) {
      ShardingPlan plan =
          value(topics.of(SHARDING_PLANS), ((LifeStep.PublishedInput) step).value());
      latest.put(plan.workloadId(), plan);
      steps.add(step);
    }
    SimulatedTrainer trainer = new SimulatedTrainer();
    latest.forEach(
        (id, plan) -> steps.add(input(topics.of(PLAN_STATUS), id, Fixtures.adopted(plan))));
    for (int i = 0; i < 3; i++) {
      latest.forEach(
          (id, plan) ->
              steps.add(input(topics.of(MEASURED_COSTS), id, trainer.measured(plan, d -> 1.1))));
    }
    return steps;
  }

  private List<LifeStep> training() {
    List<LifeStep> steps = new ArrayList<>();
    int number = 0;
    List<LifeStep> measured =
        outputs(TopologyName.FEEDBACK, feedback(), topics.of(TRAINING_SAMPLES));
    for (LifeStep step : measured.subList(0, 12)) {
      CostSample sample =
          value(topics.of(TRAINING_SAMPLES), ((LifeStep.PublishedInput) step).value());
      for (String hardware : List.of(BAD, GOOD)) {
        steps.add(
            input(
                topics.of(TRAINING_SAMPLES),
                hardware,
                CostSampleBuilder.builder(sample)
                    .hardware(hardware)
                    .measurementId("m" + number++)
                    .build()));
      }
    }
    return steps;
  }

  private static Change[] smallWorkload() {
    return new Change[] {
      new Change.ClusterSet(new ClusterSpec(2, Fixtures.GIB, 65_536, 2, BUNDLE.hardware())),
      Fixtures.upsert("t0", 200_000, 64, 20),
      Fixtures.upsert("t1", 200_000, 64, 20)
    };
  }

  private PoolChange pool(int number, String id, PoolUpdate... updates) {
    return new PoolChange(
        new UUID(id.hashCode(), number), id, Fixtures.TIME, "test", List.of(updates));
  }

  private List<LifeStep> poolChanges() {
    List<LifeStep> steps = new ArrayList<>();
    for (String id : List.of(BAD, GOOD)) {
      Pool nodes =
          Pool.of(
              2,
              8 * Fixtures.GIB,
              0,
              BUNDLE.hardware(),
              Stream.of("n1", "n2").map(n -> new PoolNode(id + n, "")).toList());
      steps.add(
          input(
              topics.of(POOL_CHANGES),
              id,
              pool(
                  1,
                  id,
                  new PoolUpdate.PoolSet(nodes),
                  new PoolUpdate.ClaimSet(new Claim(id, 2, 4, 1, 0)))));
    }
    return steps;
  }

  private List<LifeStep> curves() {
    List<LifeStep> steps = new ArrayList<>(List.of(takeOver(BUNDLE)));
    steps.addAll(
        outputs(
            TopologyName.WORKLOAD,
            List.of(
                takeOver(BUNDLE),
                change(1, BAD, smallWorkload()),
                change(1, GOOD, smallWorkload())),
            topics.of(COST_PREDICTIONS)));
    steps.addAll(outputs(TopologyName.POOL, poolChanges(), topics.of(CURVE_REQUESTS)));
    return steps;
  }

  private List<LifeStep> pools() {
    List<LifeStep> steps = new ArrayList<>(poolChanges());
    steps.addAll(outputs(TopologyName.CURVES, curves(), topics.of(THROUGHPUT_CURVES)));
    for (String id : List.of(BAD, GOOD)) {
      steps.add(
          input(topics.of(POOL_CHANGES), id, pool(2, id, new PoolUpdate.PoolNodeLost(id + "n1"))));
    }
    return steps;
  }

  /** Returns how many records of a workload or pool each topic got, quarantines aside. */
  private Map<String, Integer> counts(List<Output> records, String key) {
    Map<String, Integer> counts = new TreeMap<>();
    for (Output record : records) {
      String text =
          record.topic().equals(topics.of(TRAINING_SAMPLES).name())
              ? value(topics.of(TRAINING_SAMPLES), record.value()).workloadId()
              : new String(record.key(), StandardCharsets.UTF_8);
      if ((text.equals(key) || text.startsWith(key + "\0") || text.startsWith(key + "/"))
          && !record.topic().endsWith("-changelog")
          && !record.topic().equals(topics.of(QUARANTINE).name())) {
        counts.merge(record.topic(), 1, Integer::sum);
      }
    }
    return counts;
  }

  private List<Quarantine> quarantines(List<Output> records) {
    return records.stream()
        .filter(record -> record.topic().equals(topics.of(QUARANTINE).name()))
        .map(record -> value(topics.of(QUARANTINE), record.value()))
        .toList();
  }

  private List<RejectedEvent> rejected(List<Output> records) {
    return records.stream()
        .filter(record -> record.topic().equals(topics.of(REJECTED_EVENTS).name()))
        .map(record -> value(topics.of(REJECTED_EVENTS), record.value()))
        .toList();
  }

  @ParameterizedTest
  @EnumSource(TopologyName.class)
  void a_fault_in_a_handler_puts_its_key_into_quarantine_until_it_is_released(TopologyName name) {
    List<LifeStep> steps = steps(name);
    Injected none = new Injected(Optional.empty());
    List<Output> clean;
    try (DrivenTopology run = new DrivenTopology(build(name, none), state())) {
      run.feed(steps);
      clean = run.output();
    }
    assertThat(counts(clean, GOOD)).as("%s", name).isNotEmpty();
    assertThat(none.seen).as("%s", name).hasSizeGreaterThan(2);
    for (Injected.Place place : none.seen) {
      // Another model releases the key, and what was written is aborted once more.
      boolean isRecord =
          place.written()
              && place.work().startsWith("record ")
              && inputs(steps).size() < steps.size();
      inject(
          name,
          place,
          isRecord ? inputs(steps) : steps,
          isRecord ? written(name, inputs(steps)) : clean);
    }
  }

  /** Returns the steps without actions but the first. */
  private static List<LifeStep> inputs(List<LifeStep> steps) {
    return steps.stream()
        .filter(step -> step == steps.get(0) || step instanceof LifeStep.PublishedInput)
        .toList();
  }

  /** Returns what a topology without faults writes. */
  private List<Output> written(TopologyName name, List<LifeStep> steps) {
    try (DrivenTopology run =
        new DrivenTopology(build(name, new Injected(Optional.empty())), state())) {
      run.feed(steps);
      return run.output();
    }
  }

  private void inject(
      TopologyName name, Injected.Place place, List<LifeStep> steps, List<Output> clean) {
    Built faulty = build(name, new Injected(Optional.of(place)));
    if (place.written()) {
      try (DrivenTopology run = new DrivenTopology(faulty, state())) {
        assertThatThrownBy(() -> run.feed(steps))
            .as("%s %s", name, place)
            .hasStackTraceContaining("failed after it had written");
        jobs.clear();
      }
    }
    Map<String, Map<String, Object>> stores = new HashMap<>();
    List<Output> written;
    try (DrivenTopology run = new DrivenTopology(faulty, state())) {
      run.feed(steps);
      written = run.output();
      assertThat(counts(written, GOOD)).as("%s %s", name, place).isEqualTo(counts(clean, GOOD));
      Quarantine first = quarantines(written).get(0);
      assertThat(first.topology()).isEqualTo(name.toString());
      assertThat(first.key()).isEqualTo(BAD);
      assertThat(first.entered()).isTrue();
      assertThat(first.aborted()).isEqualTo(place.written());
      assertThat(first.error()).contains(place.work()).contains("StackOverflowError: injected");
      assertThat(first.source().map(SourcePosition::topic).map("record "::concat))
          .isEqualTo(Optional.of(place.work()).filter(work -> work.startsWith("record ")));
      List<Quarantine> all = quarantines(written);
      boolean isHeld = all.get(all.size() - 1).entered();
      assertThat(run.inQuarantine(name)).as("%s %s", name, place).isEqualTo(isHeld ? 1 : 0);
      if (!isHeld) {
        // Work that wrote nothing was tried again at the key's next record.
        assertThat(first.endsWithNextRecord()).isTrue();
        assertThat(counts(written, BAD).keySet()).containsAll(counts(clean, BAD).keySet());
        return;
      }
      for (String store : run.driver.getAllStateStores().keySet()) {
        Map<String, Object> entries = stores.computeIfAbsent(store, n -> new HashMap<>());
        run.driver
            .<String, Object>getKeyValueStore(store)
            .all()
            .forEachRemaining(entry -> entries.put(entry.key, entry.value));
      }
    }
    // A planner that starts later finds the changelogs, and tries again.
    try (DrivenTopology run =
        new DrivenTopology(build(name, new Injected(Optional.empty())), state())) {
      stores.forEach(
          (store, entries) ->
              entries.forEach((key, value) -> run.driver.getKeyValueStore(store).put(key, value)));
      run.tick();
      run.tick();
      List<Output> later = run.output();
      assertThat(quarantines(later)).as("%s %s", name, place).hasSize(1);
      assertThat(quarantines(later).get(0).entered()).isFalse();
      assertThat(run.inQuarantine(name)).isZero();
      assertThat(run.driver.getKeyValueStore("quarantine").all().hasNext()).isFalse();
      written.addAll(later);
      Set<String> topicsOfBad = new HashSet<>(counts(clean, BAD).keySet());
      if (name == TopologyName.PLANNING && !place.work().endsWith("plan-status")) {
        // Trainers report of plans that are there: this status comes before its plan, and is
        // rejected.
        topicsOfBad.remove(topics.of(ACCEPTED_STATUSES).name());
      }
      assertThat(counts(written, BAD).keySet())
          .as("%s %s: what waited is made up for", name, place)
          .containsAll(topicsOfBad);
      assertThat(counts(later, GOOD).keySet())
          .as("which plan runs is told again")
          .isSubsetOf(topics.of(ACCEPTED_STATUSES).name());
    }
  }

  /** Records before the deletion that still fail are rejected, and the workload can come back. */
  @Test
  void a_deletion_ends_a_quarantine() {
    List<LifeStep> steps = new ArrayList<>(changes());
    steps.add(change(3, BAD, Fixtures.delete()));
    steps.add(takeOver(BUNDLE));
    steps.add(change(4, BAD, smallWorkload()));
    Faults fault =
        new Faults() {
          @Override
          public void attempt(String key, String work) {
            if (work.equals("record t.workload-changes-0@0")) {
              throw new IllegalStateException("injected");
            }
          }
        };
    try (DrivenTopology run = new DrivenTopology(build(TopologyName.WORKLOAD, fault), state())) {
      run.feed(steps);
      List<Output> output = run.output();
      assertThat(quarantines(output))
          .extracting(Quarantine::entered)
          .containsExactly(true, true, false);
      List<RejectedEvent> rejected = rejected(output);
      assertThat(rejected).hasSize(1);
      assertThat(rejected.get(0).reason()).isEqualTo(RejectionReason.QUARANTINED);
      assertThat(rejected.get(0).source().offset()).isZero();
      assertThat(rejected.get(0).message()).contains("IllegalStateException: injected");
      assertThat(counts(output, BAD)).containsKey(topics.of(COST_PREDICTIONS).name());
      assertThat(run.inQuarantine(TopologyName.WORKLOAD)).isZero();
    }
  }

  /** A key's records are in order on one partition alone: one elsewhere is no second workload. */
  @ParameterizedTest
  @EnumSource(TopologyName.class)
  void a_record_on_another_partition_than_its_keys_is_rejected(TopologyName name) {
    List<LifeStep> steps = steps(name);
    // The driver has partition 0 alone.
    int count = 2;
    while (partition(GOOD, count) != 0 || partition(BAD, count) == 0) {
      count++;
    }
    int partitions = count;
    Topics unchecked = topics;
    topics =
        topics.withPartitions(
            unchecked.all().stream().collect(Collectors.toMap(Topic::name, t -> partitions)));
    Set<String> skipped =
        switch (name) {
          case FEEDBACK ->
              Set.of(topics.of(COST_PREDICTIONS).name(), topics.of(PLAN_STATUS).name());
          case CURVES ->
              Set.of(topics.of(COST_PREDICTIONS).name(), topics.of(SHARDING_PLANS).name());
          case GROWTH -> Set.of(topics.of(COST_PREDICTIONS).name());
          default -> Set.of();
        };
    List<String> wrong =
        steps.stream()
            .filter(LifeStep.PublishedInput.class::isInstance)
            .map(LifeStep.PublishedInput.class::cast)
            .filter(input -> input.key().equals(BAD) && !skipped.contains(input.topic()))
            .map(LifeStep.PublishedInput::topic)
            .toList();
    assertThat(wrong).isNotEmpty();
    try (DrivenTopology run =
        new DrivenTopology(build(name, new Injected(Optional.empty())), state())) {
      run.feed(steps);
      List<Output> output = run.output();
      List<RejectedEvent> rejections =
          rejected(output).stream().filter(r -> r.workloadId().orElse("").equals(BAD)).toList();
      assertThat(rejections).extracting(r -> r.source().topic()).isEqualTo(wrong);
      assertThat(rejections)
          .allMatch(r -> r.reason() == RejectionReason.WRONG_PARTITION)
          .allMatch(
              r ->
                  r.message()
                      .startsWith(
                          "The record must be on partition %d of %d"
                              .formatted(partition(BAD, partitions), partitions)))
          .allMatch(r -> r.message().contains("got partition 0"))
          .allMatch(r -> r.message().contains("partitioner=murmur2_random"));
      assertThat(counts(output, BAD).keySet()).containsOnly(topics.of(REJECTED_EVENTS).name());
      assertThat(counts(output, GOOD)).isNotEmpty();
      assertThat(rejected(output)).as("of the other key").hasSameSizeAs(rejections);
    }
  }

  /** As Kafka's own client chooses it. */
  private static int partition(String key, int partitions) {
    return BuiltInPartitioner.partitionForKey(key.getBytes(StandardCharsets.UTF_8), partitions);
  }

  /** As on a cluster of 0.2.0, whose topics take 1 MiB. */
  @Test
  void predictions_above_the_limit_are_rejected_before_anything_is_written() {
    topics = topics.limitedTo(Map.of(topics.of(CURRENT_PREDICTIONS).name(), 40_000));
    assertThat(topics.of(COST_PREDICTIONS).maxMessageBytes()).isEqualTo(16 << 20);
    List<LifeStep> steps =
        List.of(
            change(
                1,
                BAD,
                Fixtures.set(2, 8 * Fixtures.GIB),
                Fixtures.upsert("narrow", 1_000_000, 64, 20),
                Fixtures.upsert("wide", 1_000_000, 4_096, 20)),
            change(
                2,
                BAD,
                Fixtures.set(2, 8 * Fixtures.GIB),
                Fixtures.upsert("narrow", 1_000_000, 64, 20)));
    try (DrivenTopology run =
        new DrivenTopology(build(TopologyName.WORKLOAD, new Faults() {}), state())) {
      run.feed(steps);
      List<Output> output = run.output();
      assertThat(rejected(output)).hasSize(1);
      RejectedEvent rejection = rejected(output).get(0);
      assertThat(rejection.reason()).isEqualTo(RejectionReason.RECORD_TOO_LARGE);
      assertThat(rejection.message())
          .contains("The predictions of table \"wide\" are too large")
          .contains("the limit of t.current-predictions, got ");
      assertThat(quarantines(output)).isEmpty();
      assertThat(output)
          .filteredOn(record -> record.topic().equals(topics.of(COST_PREDICTIONS).name()))
          .extracting(record -> value(topics.of(COST_PREDICTIONS), record.value()).generation())
          .containsOnly(1L);
    }
  }

  /** Beyond the bound, records are rejected with a reason that says so. */
  @Test
  void a_quarantine_holds_a_bounded_part_of_the_log() {
    List<LifeStep> steps = new ArrayList<>();
    List<Change> all = new ArrayList<>(List.of(Fixtures.set(2, 8 * Fixtures.GIB)));
    for (int t = 0; t < 5_000; t++) {
      all.add(Fixtures.upsert("a rather long name of a table ".repeat(8) + t, 1_000, 64, 20));
    }
    int number = 0;
    while (number < 40) {
      steps.add(change(number++, BAD, all.toArray(new Change[0])));
    }
    Injected fault =
        new Injected(Optional.of(new Injected.Place("record t.workload-changes", false)));
    try (DrivenTopology run = new DrivenTopology(build(TopologyName.WORKLOAD, fault), state())) {
      run.feed(steps);
      List<RejectedEvent> rejected = rejected(run.output());
      assertThat(rejected).hasSizeBetween(1, 39);
      assertThat(rejected)
          .allMatch(r -> r.reason() == RejectionReason.QUARANTINED)
          .allMatch(r -> r.message().contains("which holds at most 32 MiB of its records"));
    }
  }
}
