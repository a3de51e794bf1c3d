package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.TABLE_FILLS;
import static io.shardtide.wire.TopicType.TABLE_FORECASTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthStep;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.growth.TableForecasts;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.step.WorkloadStep;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.TestModels;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Registry;
import io.shardtide.wire.StoreSerdes;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Whatever is thrown at a topic, in any order: each event ends as a plan, as infeasible or as a
 * rejection, or it is seen to wait; it never ends twice, and never without a word.
 */
class EachEventEndsTest {
  private static final int PARTITIONS = 3;

  /** Three keys of partition 0, which the drivers have alone, and two of others. */
  private static final List<String> KEYS =
      Stream.concat(keys(false).limit(3), keys(true).limit(2)).toList();

  private static final String LATE = "late";
  private static final ModelBundle LATE_MODEL =
      ModelBundleBuilder.builder(TestModels.bundle())
          .hardware(LATE)
          .modelId("")
          .build()
          .identified();

  /** What happens. */
  enum Act {
    FITS,
    DOES_NOT_FIT,
    HARDWARE_WHOSE_MODEL_IS_LATE,
    STALE,
    DUPLICATE,
    DELETION,
    GARBAGE,
    UNKNOWN_SCHEMA,
    KEY_OF_ANOTHER,
    FILL,
    FILL_OF_NO_TABLE,
    GARBAGE_AS_FILL,
    KEY_BEGINS_TO_FAIL,
    MODEL_ARRIVES,
    FAILURES_END,
    TIME_PASSES
  }

  /**
   * @param key index of the key
   */
  record Step(Act act, int key) {}

  /** The three topologies that judge events and fills, on test drivers. */
  private static final class Planners implements AutoCloseable {
    private final Topics topics;
    private final Registry registry =
        Registry.connect("mock://" + UUID.randomUUID(), Map.of("missing.id.wait.ms", "600000"));
    private final PlainPredictors predictors = new PlainPredictors();
    private final Set<String> failing = new HashSet<>();
    private final Map<TopologyName, TopologyTestDriver> drivers = new TreeMap<>();
    private boolean late = true;
    private long events;
    private long fills;
    private Optional<byte[]> last = Optional.empty();

    /** How each event and fill ended, by its position. */
    private final Map<String, Set<String>> ends = new TreeMap<>();

    private final Map<String, String> reportOf = new TreeMap<>();

    Planners(Path state) {
      Topics plain = Topics.withPrefix("t.");
      topics =
          plain.withPartitions(
              plain.all().stream().collect(Collectors.toMap(Topic::name, t -> PARTITIONS)));
      registry.register(topics);
      Faults faults =
          new Faults() {
            @Override
            public void attempt(String key, String work) {
              if (failing.contains(key) && work.startsWith("record ")) {
                throw new StackOverflowError("injected");
              }
            }
          };
      ArrivingModels models =
          new ArrivingModels() {
            @Override
            public long changes() {
              return predictors.changes();
            }

            @Override
            public boolean isDecided(String modelId) {
              return true;
            }

            @Override
            public boolean isDecided(ClusterSpec cluster) {
              return !late || !cluster.hardware().equals(LATE);
            }
          };
      PlannerMetrics metrics = PlannerMetrics.unread();
      start(
          state,
          TopologyName.WORKLOAD,
          TopologyFixture.skeleton(TopologyName.WORKLOAD, registry, topics, metrics)
              .topology(
                  skeleton ->
                      faults.in(
                          new WorkloadTopology(skeleton, new WorkloadStep(predictors), models))));
      start(
          state,
          TopologyName.PLANNING,
          TopologyFixture.skeleton(TopologyName.PLANNING, registry, topics, metrics)
              .topology(
                  skeleton ->
                      faults.in(
                          new PlanningTopology(
                              skeleton,
                              TopologyFixture.planning(predictors),
                              models,
                              Runnable::run,
                              task -> {},
                              System::nanoTime))));
      start(
          state,
          TopologyName.GROWTH,
          TopologyFixture.skeleton(TopologyName.GROWTH, registry, topics, metrics)
              .topology(
                  skeleton ->
                      faults.in(
                          new GrowthTopology(skeleton, new GrowthStep(CapacityPolicy.DEFAULTS)))));
    }

    private void start(Path state, TopologyName name, Topology topology) {
      Properties properties = new Properties();
      properties.put(StreamsConfig.APPLICATION_ID_CONFIG, name.toString());
      properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "unused:1");
      properties.put(StreamsConfig.STATE_DIR_CONFIG, state.toString());
      drivers.put(name, new TopologyTestDriver(topology, properties));
    }

    private void pipe(TopologyName name, String topic, byte[] key, byte[] value) {
      drivers
          .get(name)
          .createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer())
          .pipeInput(key, value);
    }

    private void publish(String key, byte[] value) {
      ends.put("%s-0@%d".formatted(topics.of(WORKLOAD_CHANGES).name(), events++), new TreeSet<>());
      pipe(
          TopologyName.WORKLOAD,
          topics.of(WORKLOAD_CHANGES).name(),
          key.getBytes(StandardCharsets.UTF_8),
          value);
    }

    private void report(String key, byte[] value) {
      ends.put("%s-0@%d".formatted(topics.of(TABLE_FILLS).name(), fills++), new TreeSet<>());
      pipe(
          TopologyName.GROWTH,
          topics.of(TABLE_FILLS).name(),
          key.getBytes(StandardCharsets.UTF_8),
          value);
    }

    private byte[] event(String key, OptionalLong expected, Change... changes) {
      WorkloadChange change =
          new WorkloadChange(
              new UUID(7, events), key, Fixtures.TIME, "test", expected, List.of(changes));
      byte[] value =
          registry
              .serde(topics.of(WORKLOAD_CHANGES))
              .serializer()
              .serialize(topics.of(WORKLOAD_CHANGES).name(), change);
      last = Optional.of(value);
      return value;
    }

    private byte[] fill(String key, String table) {
      FillReport report =
          new FillReport(
              "r" + fills,
              key,
              "p",
              "run",
              "trainer",
              Instant.ofEpochMilli(1_000L * (fills + 1)),
              List.of(
                  new TableFill(table, List.of(new ShardFill(0, 0, 1_000, 500 + fills, 0, 0, 0)))));
      reportOf.put(report.reportId(), "%s-0@%d".formatted(topics.of(TABLE_FILLS).name(), fills));
      return registry
          .serde(topics.of(TABLE_FILLS))
          .serializer()
          .serialize(topics.of(TABLE_FILLS).name(), report);
    }

    private static Change[] tables(long memoryBytes, String hardware) {
      return new Change[] {
        new Change.ClusterSet(new ClusterSpec(2, memoryBytes, 65_536, 2, hardware)),
        Fixtures.upsert("t", 100_000, 64, 5),
        new Change.TableUpserted(Fixtures.hashed("h", 1_000, 64, 20))
      };
    }

    void act(Step step) {
      String key = KEYS.get(step.key());
      OptionalLong any = OptionalLong.empty();
      switch (step.act()) {
        case FITS -> publish(key, event(key, any, tables(Fixtures.GIB, Fixtures.HARDWARE)));
        case DOES_NOT_FIT -> publish(key, event(key, any, tables(1 << 20, Fixtures.HARDWARE)));
        case HARDWARE_WHOSE_MODEL_IS_LATE ->
            publish(key, event(key, any, tables(Fixtures.GIB, LATE)));
        case STALE ->
            publish(
                key, event(key, OptionalLong.of(1_000), tables(Fixtures.GIB, Fixtures.HARDWARE)));
        case DUPLICATE -> publish(key, last.orElse(new byte[0]));
        case DELETION -> publish(key, event(key, any, Fixtures.delete()));
        case GARBAGE -> publish(key, new byte[] {1, 2, 3});
        case UNKNOWN_SCHEMA ->
            publish(key, ByteBuffer.allocate(7).put((byte) 0).putInt(424_242).array());
        case KEY_OF_ANOTHER ->
            publish(key, event(key + "x", any, tables(Fixtures.GIB, Fixtures.HARDWARE)));
        case FILL -> report(key, fill(key, "h"));
        case FILL_OF_NO_TABLE -> report(key, fill(key, "none"));
        case GARBAGE_AS_FILL -> report(key, new byte[] {1, 2, 3});
        case KEY_BEGINS_TO_FAIL -> failing.add(key);
        case MODEL_ARRIVES -> {
          late = false;
          predictors.takeOver(LATE_MODEL);
        }
        case FAILURES_END -> {
          failing.clear();
          // Releases the keys of the workload topology.
          predictors.takeOver(TestModels.bundle());
        }
        case TIME_PASSES -> {}
      }
      flow();
      for (int i = 0; i < 3; i++) {
        drivers.values().forEach(d -> d.advanceWallClockTime(Duration.ofSeconds(1)));
        flow();
      }
    }

    /** Hands predictions on, and takes down how events ended. */
    private void flow() {
      for (TestRecord<byte[], byte[]> part :
          read(TopologyName.WORKLOAD, topics.of(COST_PREDICTIONS).name())) {
        CostPredictions value = value(topics.of(COST_PREDICTIONS), part.value());
        if (value.isDeletion()) {
          end(value.source(), "deleted");
        }
        for (TopologyName name : List.of(TopologyName.PLANNING, TopologyName.GROWTH)) {
          pipe(name, topics.of(COST_PREDICTIONS).name(), part.key(), part.value());
        }
      }
      for (TestRecord<byte[], byte[]> plan :
          read(TopologyName.PLANNING, topics.of(SHARDING_PLANS).name())) {
        ShardingPlan value = value(topics.of(SHARDING_PLANS), plan.value());
        end(value.origin().source(), "planned");
      }
      for (TestRecord<byte[], byte[]> infeasible :
          read(TopologyName.PLANNING, topics.of(INFEASIBLE_WORKLOADS).name())) {
        InfeasibleWorkload value = value(topics.of(INFEASIBLE_WORKLOADS), infeasible.value());
        end(value.source(), "infeasible");
      }
      for (TestRecord<byte[], byte[]> forecast :
          read(TopologyName.GROWTH, topics.of(TABLE_FORECASTS).name())) {
        TableForecasts value = value(topics.of(TABLE_FORECASTS), forecast.value());
        assertThat(ends.get(reportOf.get(value.reportId())).add("forecast")).isTrue();
      }
      for (TopologyName name : drivers.keySet()) {
        for (TestRecord<byte[], byte[]> rejection : read(name, topics.of(REJECTED_EVENTS).name())) {
          RejectedEvent value = value(topics.of(REJECTED_EVENTS), rejection.value());
          assertThat(ends.get(value.source().toString()).add("rejected")).isTrue();
        }
      }
    }

    private void end(SourcePosition source, String how) {
      ends.get(source.toString()).add(how);
    }

    private <V> V value(Topic<V> topic, byte[] value) {
      return registry.serde(topic).deserializer().deserialize(topic.name(), value);
    }

    private List<TestRecord<byte[], byte[]>> read(TopologyName name, String topic) {
      return drivers.get(name).producedTopicNames().contains(topic)
          ? drivers
              .get(name)
              .createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer())
              .readRecordsToList()
          : List.of();
    }

    /** Returns how each ended, with what waits. */
    Map<String, Set<String>> ends() {
      Map<String, Set<String>> all = new TreeMap<>();
      ends.forEach((source, how) -> all.put(source, new TreeSet<>(how)));
      drivers.forEach(
          (name, driver) ->
              held(driver)
                  .filter(held -> name != TopologyName.GROWTH || !isPrediction(held))
                  .forEach(held -> all.get(waitingEvent(held)).add("waits")));
      return all;
    }

    private static Stream<HeldRecord> held(TopologyTestDriver driver) {
      KeyValueStore<String, byte[]> room = driver.getKeyValueStore("quarantine");
      List<HeldRecord> held = new ArrayList<>();
      room.all()
          .forEachRemaining(
              entry -> {
                if (entry.key.indexOf(KeyedStore.SEPARATOR) >= 0) {
                  held.add(
                      StoreSerdes.of(Codec.HELD_RECORD)
                          .deserializer()
                          .deserialize("", entry.value));
                }
              });
      return held.stream();
    }

    /**
     * Returns whether these are predictions. An event ends by those of them that planning reads:
     * growth may still hold its copy behind a fill of the same key.
     */
    private boolean isPrediction(HeldRecord held) {
      return held.source().topic().equals(topics.of(COST_PREDICTIONS).name());
    }

    /** Returns the event that waits, or whose predictions do. */
    private String waitingEvent(HeldRecord held) {
      return isPrediction(held)
          ? value(topics.of(COST_PREDICTIONS), held.value().orElseThrow().toArray())
              .source()
              .toString()
          : held.source().toString();
    }

    @Override
    public void close() {
      drivers.values().forEach(TopologyTestDriver::close);
    }
  }

  private static Stream<String> keys(boolean elsewhere) {
    return IntStream.range(0, 100)
        .mapToObj(i -> "w" + i)
        .filter(
            key ->
                elsewhere
                    == (BuiltInPartitioner.partitionForKey(
                            key.getBytes(StandardCharsets.UTF_8), PARTITIONS)
                        != 0));
  }

  @Property(tries = 40)
  void each_event_ends_once(
      @ForAll @Size(min = 1, max = 30) List<Act> acts,
      @ForAll @Size(30) List<@IntRange(max = 4) Integer> keys)
      throws IOException {
    List<Step> steps = new ArrayList<>();
    for (int i = 0; i < acts.size(); i++) {
      steps.add(new Step(acts.get(i), keys.get(i)));
    }
    ends(steps).forEach((source, how) -> assertThat(how).as("%s of %s", source, steps).hasSize(1));
  }

  /** Each end that there is. */
  @Example
  void events_end_in_six_ways() throws IOException {
    List<Step> steps =
        List.of(
            new Step(Act.FITS, 0),
            new Step(Act.FILL, 0),
            new Step(Act.DOES_NOT_FIT, 1),
            new Step(Act.DELETION, 0),
            new Step(Act.HARDWARE_WHOSE_MODEL_IS_LATE, 2),
            new Step(Act.GARBAGE, 2),
            new Step(Act.FITS, 3));
    assertThat(ends(steps).values())
        .containsExactlyInAnyOrder(
            Set.of("planned"),
            Set.of("forecast"),
            Set.of("infeasible"),
            Set.of("deleted"),
            Set.of("waits"),
            Set.of("waits"),
            Set.of("rejected"));
  }

  /** What growth still holds behind a fill that failed has ended all the same where it plans. */
  @Example
  void an_event_ends_while_growth_holds_its_predictions() throws IOException {
    List<Step> steps =
        List.of(
            new Step(Act.FITS, 0),
            new Step(Act.KEY_BEGINS_TO_FAIL, 0),
            new Step(Act.FILL, 0),
            new Step(Act.FAILURES_END, 0),
            new Step(Act.DOES_NOT_FIT, 0));
    assertThat(ends(steps).values())
        .containsExactlyInAnyOrder(Set.of("planned"), Set.of("waits"), Set.of("infeasible"));
  }

  private static Map<String, Set<String>> ends(List<Step> steps) throws IOException {
    Path state = Files.createTempDirectory("each-event");
    try (Planners planners = new Planners(state)) {
      steps.forEach(planners::act);
      return planners.ends();
    } finally {
      delete(state);
    }
  }

  private static void delete(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      files
          .sorted(java.util.Comparator.reverseOrder())
          .forEach(
              file -> {
                try {
                  Files.deleteIfExists(file);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }
}
