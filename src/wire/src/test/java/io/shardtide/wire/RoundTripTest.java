package io.shardtide.wire;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.avro.SplitPredicted;
import io.shardtide.avro.TablePredicted;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.CostPredictionsBuilder;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.Range;
import io.shardtide.option.DerivedTables;
import io.shardtide.option.HotColdTable;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveState;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.StoredPool;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.Baseline;
import io.shardtide.state.FeedbackState;
import io.shardtide.state.PendingWork;
import io.shardtide.state.PlanHistory;
import io.shardtide.state.PlanningState;
import io.shardtide.state.ResidualWindow;
import io.shardtide.state.SpeedHistory;
import io.shardtide.state.TrainingState;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.Samples;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.DistinctShare;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.HashedStorageBuilder;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.RowSpread;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableKernelBuilder;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.VersionedTable;
import io.shardtide.workload.WorkloadChange;
import io.shardtide.workload.WorkloadState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.common.serialization.Serde;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RoundTripTest {
  private final Topics topics = Topics.withPrefix("test.");

  static Stream<Arguments> values() {
    return Stream.of(
        Arguments.of(Codec.WORKLOAD_CHANGE, Samples.change()),
        Arguments.of(Codec.SHARDING_PLAN, Samples.plan()),
        Arguments.of(Codec.SHARDING_PLAN, Samples.withRepeats(Samples.plan())),
        Arguments.of(
            Codec.TABLE_SPEC,
            TableSpecBuilder.builder(Samples.table())
                .pooled(false)
                .distinctShare(List.of(new DistinctShare(512, 0.0625)))
                .deduplicated(Optional.of(true))
                .rowSpread(List.of(new RowSpread(RowOrder.HASHED, List.of(0.25, 0.75))))
                .build()),
        Arguments.of(
            Codec.SHARDING_PLAN,
            Samples.withKernels(
                Samples.plan(),
                List.of(
                    new PlannedKernel("a", Samples.kernel(), true),
                    new PlannedKernel("b", TableKernel.NONE, true)))),
        Arguments.of(
            Codec.TABLE_SPEC,
            TableSpecBuilder.builder(Fixtures.table("a", 5, 4, 1))
                .kernel(Samples.kernel())
                .build()),
        Arguments.of(
            Codec.TABLE_SPEC,
            TableSpecBuilder.builder(Samples.table())
                .storage(Optional.of(Samples.storage()))
                .build()),
        Arguments.of(Codec.TABLE_SPEC, Fixtures.hashed("a", 5, 4, 1)),
        Arguments.of(Codec.INFEASIBLE_WORKLOAD, Samples.infeasible()),
        Arguments.of(Codec.INFEASIBLE_WORKLOAD, Samples.expectedInfeasible()),
        Arguments.of(Codec.REJECTED_EVENT, Samples.rejected()),
        Arguments.of(Codec.TABLE_SPEC, Samples.table()),
        Arguments.of(Codec.TRAINING_STATE, TrainingState.begin(7)),
        Arguments.of(
            Codec.TRAINING_STATE,
            TrainingState.begin(7).received(true).alarmed("m").with().olderKept(3).build()),
        Arguments.of(Codec.POOL_CHANGE, PoolSamples.change()),
        Arguments.of(Codec.CURVE_REQUEST, PoolSamples.request()),
        Arguments.of(Codec.CURVE_REQUEST, PoolSamples.request().withdrawn()),
        Arguments.of(Codec.CURVE_REPORT, PoolSamples.report()),
        Arguments.of(Codec.CURVE_REPORT, new CurveReport("p", "w", Optional.empty())),
        Arguments.of(Codec.ALLOCATION, PoolSamples.allocation()),
        Arguments.of(Codec.POOL_HEADER, StoredPool.empty("p")),
        Arguments.of(Codec.POOL_HEADER, PoolSamples.header()),
        Arguments.of(Codec.POOL_MEMBER, PoolSamples.member()),
        Arguments.of(
            Codec.POOL_MEMBER,
            new PoolMember(PoolSamples.request(), Optional.empty(), Optional.empty(), false)),
        Arguments.of(Codec.CURVE_HEADER, CurveState.NONE),
        Arguments.of(
            Codec.CURVE_HEADER,
            CurveState.NONE
                .with(3, Optional.of(Samples.cluster()))
                .with(PoolSamples.request())
                .with(PoolSamples.report(), "id")),
        Arguments.of(Codec.FILL_REPORT, GrowthSamples.report()),
        Arguments.of(Codec.TABLE_FORECASTS, GrowthSamples.forecasts(Optional.empty())),
        Arguments.of(
            Codec.TABLE_FORECASTS, GrowthSamples.forecasts(Optional.of(new Range(1, 2, 3)))),
        Arguments.of(
            Codec.TABLE_FORECASTS,
            GrowthSamples.forecasts(
                Optional.of(new Range(1, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY)))),
        Arguments.of(Codec.GROWTH_HEADER, GrowthState.NONE),
        Arguments.of(Codec.GROWTH_HEADER, GrowthSamples.header()),
        Arguments.of(Codec.TABLE_GROWTH, GrowthSamples.growth()),
        Arguments.of(Codec.WORKLOAD_HEADER, WorkloadState.NONE),
        Arguments.of(
            Codec.WORKLOAD_HEADER,
            new WorkloadState(
                3,
                Optional.of(Samples.cluster()),
                Optional.of("model"),
                Optional.of(new WorkloadState.AppliedEvent(UUID.randomUUID(), Fixtures.at(9))))),
        Arguments.of(Codec.PLANNING_HEADER, PlanningState.NONE),
        Arguments.of(
            Codec.PLANNING_HEADER,
            new PlanningState(
                Optional.of(
                    new PlanningState.PredictedGeneration(
                        4, Fixtures.at(9), "model", Fixtures.cluster(2, 5))),
                true,
                3,
                PendingWork.MODEL_PENDING,
                new PlanHistory(
                    List.of("a", "b"),
                    Optional.of("a"),
                    Optional.empty(),
                    OptionalLong.of(17),
                    "run-1"),
                Samples.speeds().slow())),
        Arguments.of(
            Codec.SHARDING_PLAN,
            Samples.with(
                Samples.plan(),
                List.of(
                    new CollectiveCodec(
                        ShardScope.NODE, Direction.FORWARD, new CommCodec("fp16", 2), 0.25),
                    new CollectiveCodec(
                        ShardScope.CLUSTER,
                        Direction.BACKWARD,
                        new CommCodec("top", 7.5, 120, 0.25, false, List.of(Direction.BACKWARD)),
                        1.5)))),
        Arguments.of(Codec.PLAN_STATUS, Samples.status()),
        Arguments.of(
            Codec.ACCEPTED_STATUS, AcceptedStatus.of("w", Optional.empty(), PlanHistory.NONE)),
        Arguments.of(
            Codec.ACCEPTED_STATUS,
            new AcceptedStatus(
                "w",
                Optional.of(Samples.status()),
                Optional.of("p"),
                Optional.of("q"),
                OptionalLong.of(7),
                "run")),
        Arguments.of(Codec.DEVICE_SPEEDS, Samples.speeds()),
        Arguments.of(Codec.MEASURED_COSTS, Samples.measured()),
        Arguments.of(Codec.COST_SAMPLE, Samples.sample(Samples.computation())),
        Arguments.of(Codec.COST_SAMPLE, Samples.sample(Samples.communication())),
        Arguments.of(Codec.DRIFT_ALARM, Samples.alarm(OptionalInt.empty())),
        Arguments.of(Codec.DRIFT_ALARM, Samples.alarm(OptionalInt.of(3))),
        Arguments.of(Codec.MODEL_DECISION, Samples.decision()),
        Arguments.of(Codec.FEEDBACK_HEADER, FeedbackState.NONE),
        Arguments.of(
            Codec.FEEDBACK_HEADER,
            FeedbackState.NONE
                .with(Fixtures.cluster(2, 5), 3)
                .with()
                .plans(
                    new PlanHistory(
                        List.of("a", "b"),
                        Optional.of("a"),
                        Optional.empty(),
                        OptionalLong.of(17),
                        "run-1"))
                .build()
                .measured(Samples.measured())
                .with()
                .speeds(
                    List.of(
                        SpeedHistory.none(1, CostPart.COMPUTATION).slow(1.5, 0.1, Fixtures.TIME),
                        SpeedHistory.none(3, CostPart.COMMUNICATION)
                            .slow(1.5, 0.1, Fixtures.TIME)
                            .recovered()
                            .with()
                            .fast(1)
                            .build()))
                .build()),
        Arguments.of(Codec.RESIDUAL_WINDOW, ResidualWindow.begin("model").plus(0.25, 8)),
        Arguments.of(
            Codec.RESIDUAL_WINDOW,
            ResidualWindow.begin("model")
                .calibrated(new Baseline(0.5, 0.01))
                .slow("plan", Fixtures.TIME)),
        Arguments.of(
            Codec.RESIDUAL_WINDOW, ResidualWindow.begin("model").back(Optional.of("plan"))),
        Arguments.of(Codec.DATED_TABLE, new VersionedTable(Samples.table(), 7)));
  }

  @ParameterizedTest
  @MethodSource("values")
  <V, A extends SpecificRecord> void a_value_survives_json_and_stores(Codec<V, A> codec, V value) {
    JsonLines<V, A> lines = new JsonLines<>(codec);
    String line = lines.write(value);
    assertThat(line).doesNotContain("\n");
    assertThat(lines.read(line)).isEqualTo(value);
    Serde<V> serde = StoreSerdes.of(codec);
    assertThat(serde.deserializer().deserialize("t", serde.serializer().serialize("t", value)))
        .isEqualTo(value);
    assertThat(serde.serializer().serialize("t", null)).isNull();
    assertThat(serde.deserializer().deserialize("t", null)).isNull();
  }

  /** A store of an earlier version loses nothing that it had. */
  @ParameterizedTest
  @MethodSource("values")
  <V, A extends SpecificRecord> void a_value_in_a_store_of_an_earlier_version_is_read(
      Codec<V, A> codec, V value) throws IOException {
    for (Schema earlier : SchemaTest.versions(codec)) {
      GenericRecord record;
      try {
        record = EarlierRecords.of(codec, earlier, value);
      } catch (AvroTypeException e) {
        assertThat(e).hasMessageStartingWith("Found io.shardtide.avro.TableResized, expecting ");
        continue;
      }
      V read = StoreSerdes.of(codec).deserializer().deserialize("t", EarlierRecords.stored(record));
      assertThat(EarlierRecords.of(codec, earlier, read)).isEqualTo(record);
    }
  }

  @Test
  void fields_that_an_earlier_version_lacks_have_their_defaults() throws IOException {
    Schema earlier = StoreSerdes.released("ShardingPlan").get(0);
    ShardingPlan full =
        Samples.with(
            Samples.plan(),
            List.of(
                new CollectiveCodec(
                    ShardScope.DEVICE, Direction.FORWARD, new CommCodec("fp16", 2), 0.5)));
    byte[] stored = EarlierRecords.stored(EarlierRecords.of(Codec.SHARDING_PLAN, earlier, full));
    ShardingPlan read = StoreSerdes.of(Codec.SHARDING_PLAN).deserializer().deserialize("t", stored);
    assertThat(read.codecs()).isEmpty();
    assertThat(read.shards()).isEqualTo(full.shards());
  }

  /** A collective's names are strings, so that a new one is rejected with a message. */
  @Test
  void a_report_with_an_unknown_collective_is_rejected() {
    JsonLines<MeasuredCosts, ?> lines = new JsonLines<>(Codec.MEASURED_COSTS);
    String line = lines.write(Samples.measured());
    assertThatThrownBy(() -> lines.read(line.replace("all_reduce", "broadcast")))
        .isInstanceOf(RejectedException.class)
        .hasMessage(
            "collective must be one of all_to_all, reduce_scatter, all_gather, all_reduce, got"
                + " \"broadcast\"");
  }

  /** A line of an export of an earlier version, or one that a person wrote. */
  @Test
  void fields_that_a_line_leaves_out_have_their_defaults() {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    String line =
        """
        {"eventId":"f3e147a1-1ee8-8ee9-40ae-7fded993e7bf","workloadId":"feed","occurredAt":1795256130000,"source":"me","changes":[
        {"io.shardtide.avro.TableUpserted":{"table":{"name":"a","rows":5,"columns":4,"poolingFactor":1.5,"accessCdf":[0.5,1,1],"kernel":{"outputType":{"string":"BF16"}}}}},
        {"io.shardtide.avro.TableUpserted":{"table":{"name":"h","rows":5,"columns":4,"poolingFactor":1.5,"storage":{"io.shardtide.avro.HashedStorage":{"eviction":"lfu"}}}}},
        {"io.shardtide.avro.TableResized":{"tableName":"i","rows":7}},
        {"io.shardtide.avro.ClusterSet":{"cluster":{"hardware":"h","devices":3,"memoryBytesPerDevice":100,"batchSize":64,"devicesPerNode":8,"forwardBytesPerElement":2}}},
        {"io.shardtide.avro.TableDropped":{"name":"b"}}]}
        """;
    WorkloadChange event = lines.read(line);
    assertThat(event.expectedGeneration()).isEmpty();
    assertThat(event.changes())
        .containsExactly(
            new Change.TableUpserted(
                TableSpecBuilder.builder(Fixtures.table("a", 5, 4, 1.5))
                    .accessCdf(new AccessCdf(List.of(0.5, 1.0, 1.0)))
                    .kernel(
                        TableKernelBuilder.builder(TableKernel.NONE)
                            .outputType(Optional.of(OutputType.BF16))
                            .build())
                    .build()),
            new Change.TableUpserted(
                TableSpecBuilder.builder(Fixtures.table("h", 5, 4, 1.5))
                    .storage(
                        Optional.of(
                            HashedStorageBuilder.builder(HashedStorage.PLAIN)
                                .eviction(Eviction.LFU)
                                .build()))
                    .build()),
            Fixtures.resize("i", 7, ""),
            new Change.ClusterSet(
                ClusterSpecBuilder.builder(new ClusterSpec(3, 100, 64, 8, "h"))
                    .forwardBytesPerElement(2)
                    .build()),
            new Change.TableDropped("b"));
    assertThatThrownBy(() -> lines.read(line.replace("\"rows\":5,", "")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("Not a WorkloadChange in Avro's JSON encoding")
        .hasMessageContaining("rows");
    assertThatThrownBy(() -> lines.read(line.replace("[0.5,1,1]", "[0.5,1]")))
        .isInstanceOf(RejectedException.class)
        .hasMessage("entries of the access CDF of table \"a\" must be 3 for its 5 rows, got 2");
  }

  @Test
  void a_value_survives_a_topic() {
    Registry registry = Registry.connect("mock://round-trip", java.util.Map.of());
    registry.register(topics);
    assertThat(through(registry, topics.of(WORKLOAD_CHANGES), Samples.change()))
        .satisfies(change -> assertThat(change.changes()).isEqualTo(Samples.change().changes()));
    assertThat(through(registry, topics.of(SHARDING_PLANS), Samples.plan()))
        .isEqualTo(Samples.plan());
    assertThat(through(registry, topics.of(INFEASIBLE_WORKLOADS), Samples.infeasible()))
        .isEqualTo(Samples.infeasible());
    assertThat(through(registry, topics.of(REJECTED_EVENTS), Samples.rejected()))
        .isEqualTo(Samples.rejected());
    assertThat(through(registry, topics.of(COST_MODELS), TestModels.bundle()).contentId())
        .isEqualTo(TestModels.bundle().modelId());
    assertSame(through(registry, topics.of(COST_PREDICTIONS), Samples.predictions()));
    assertThat(registry.serde(topics.of(SHARDING_PLANS)).serializer().serialize("t", null))
        .isNull();
    assertThat(registry.serde(topics.of(SHARDING_PLANS)).deserializer().deserialize("t", null))
        .isNull();
  }

  private static <V> V through(Registry registry, Topic<V> topic, V value) {
    Serde<V> serde = registry.serde(topic);
    return serde
        .deserializer()
        .deserialize(topic.name(), serde.serializer().serialize(topic.name(), value));
  }

  /** Floats are the record that plans are made from: every bit must survive. */
  @Test
  void predictions_survive_a_store_bit_for_bit() {
    VersionedPrediction dated = new VersionedPrediction(predictionOfSplits(), 12);
    Serde<VersionedPrediction> serde = StoreSerdes.of(Codec.DATED_PREDICTION);
    assertSame(
        serde.deserializer().deserialize("t", serde.serializer().serialize("t", dated)), dated);
  }

  @Test
  void truncated_predictions_of_a_store_are_refused() {
    io.shardtide.avro.DatedPrediction avro =
        TablePredictionMapping.toAvro(new VersionedPrediction(predictionOfSplits(), 12));
    avro.setFloats(avro.getFloats().slice(0, avro.getFloats().remaining() - 4));
    assertThatThrownBy(() -> TablePredictionMapping.fromAvro(avro))
        .hasMessageStartingWith("bytes of 22 arrays of floats must be a multiple of 88, got ");
  }

  private static TablePrediction predictionOfSplits() {
    TablePrediction columns =
        ((Update.Predicted) Samples.predictions().update().orElseThrow()).prediction();
    int length = columns.tower(4).length;
    float[] rows = new float[length];
    Arrays.fill(rows, Float.MIN_VALUE);
    float[] copies = new float[length];
    Arrays.fill(copies, -0f);
    TableSpec table =
        TableSpecBuilder.builder(columns.table()).accessCdf(AccessCdf.UNKNOWN).build();
    TableSpec hot =
        table.withConstraints(TableConstraints.NONE.withKinds(Set.of(ShardKind.DATA_PARALLEL)));
    int width = table.columns();
    TablePart copy = new TablePart(ShardScope.COPIES, width);
    Map<Option, float[]> inGroups = new LinkedHashMap<>(columns.towers());
    inGroups.put(new Option(0, copy), rows);
    TablePrediction others =
        new TablePrediction(table, inGroups, DerivedTables.NONE, Map.of(), columns.outOfRange());
    Map<Option, float[]> towers = new LinkedHashMap<>(columns.towers());
    towers.put(
        new Option(0, new TablePart(ShardScope.CLUSTER, width, 1, OptionalDouble.of(0.25))), rows);
    towers.put(new Option(0, copy), copies);
    towers.put(
        new Option(0, new TablePart(ShardScope.DEVICE, width, 3, OptionalDouble.empty())), copies);
    columns
        .towers()
        .forEach((option, tower) -> towers.put(new Option(0, true, option.part()), tower));
    towers.put(new Option(0, true, new TablePart(ShardScope.CLUSTER, width)), rows);
    Map<Long, HotColdTable> cuts = new LinkedHashMap<>();
    for (long hotRows : List.of(256L, 1024L)) {
      cuts.put(hotRows, new HotColdTable(hot, table));
      towers.put(new Option(hotRows, copy), copies);
      columns
          .towers()
          .forEach((option, tower) -> towers.put(new Option(hotRows, option.part()), tower));
      towers.put(new Option(hotRows, new TablePart(ShardScope.CLUSTER, width)), rows);
    }
    Map<ReplicaGroups, TablePrediction> byGroups = new LinkedHashMap<>();
    byGroups.put(new ReplicaGroups(2, GroupLayout.STRIDED), others);
    byGroups.put(new ReplicaGroups(4, GroupLayout.CONSECUTIVE), others);
    return new TablePrediction(
        columns.table(),
        towers,
        new DerivedTables(cuts, Optional.of(table.withPoolingFactor(0.5))),
        byGroups,
        columns.outOfRange());
  }

  /** Until 0.2.0, copies of the rows that are not hot were predicted, too. */
  @Test
  void copies_of_rows_that_are_not_hot_are_left_out() {
    TablePrediction prediction = predictionOfSplits();
    TablePredicted avro = TablePredictionMapping.toAvro(prediction);
    List<SplitPredicted> splits = new ArrayList<>(avro.getByUse().get(0).getOthers().getSplits());
    SplitPredicted copies = SplitPredicted.newBuilder(splits.get(0)).setScope("copies").build();
    splits.add(copies);
    avro.getByUse().get(0).getOthers().setSplits(splits);
    assertSame(TablePredictionMapping.fromAvro(avro), prediction);
  }

  private static void assertSame(VersionedPrediction read, VersionedPrediction written) {
    assertThat(read.since()).isEqualTo(written.since());
    assertSame(read.prediction(), written.prediction());
  }

  private static void assertSame(TablePrediction read, TablePrediction of) {
    assertThat(read.table()).isEqualTo(of.table());
    assertThat(read.outOfRange()).isEqualTo(of.outOfRange());
    assertThat(List.copyOf(read.towers().keySet())).isEqualTo(List.copyOf(of.towers().keySet()));
    read.towers()
        .forEach((option, tower) -> assertThat(tower).containsExactly(of.towers().get(option)));
    assertThat(read.derived()).isEqualTo(of.derived());
    assertThat(List.copyOf(read.byGroups().keySet()))
        .isEqualTo(List.copyOf(of.byGroups().keySet()));
    read.byGroups().forEach((groups, table) -> assertSame(table, of.byGroups().get(groups)));
  }

  private static void assertSame(CostPredictions read) {
    CostPredictions written = Samples.predictions();
    assertThat(read.part()).isEqualTo(written.part());
    assertThat(read.parts()).isEqualTo(written.parts());
    assertThat(read.generation()).isEqualTo(written.generation());
    assertThat(read.source()).isEqualTo(written.source());
    assertThat(read.modelId()).isEqualTo(written.modelId());
    assertThat(read.cluster()).isEqualTo(written.cluster());
    Update.Predicted a = (Update.Predicted) read.update().orElseThrow();
    Update.Predicted b = (Update.Predicted) written.update().orElseThrow();
    assertThat(a.prediction().table()).isEqualTo(b.prediction().table());
    assertThat(a.prediction().tower(8)).containsExactly(b.prediction().tower(8));
  }

  @Test
  void parts_about_no_table_and_about_a_dropped_one_survive() {
    Registry registry = Registry.connect("mock://parts", java.util.Map.of());
    CostPredictions full = Samples.predictions();
    for (Optional<Update> update :
        java.util.List.of(
            Optional.<Update>empty(),
            Optional.<Update>of(new Update.Dropped("gone")),
            Optional.<Update>of(new Update.Deleted("retired")))) {
      CostPredictions part =
          CostPredictionsBuilder.builder(full)
              .generation(1)
              .modelId("m")
              .part(0)
              .parts(1)
              .proxyHardware(update.map(u -> "simulated"))
              .update(update)
              .build();
      assertThat(through(registry, topics.of(COST_PREDICTIONS), part)).isEqualTo(part);
      assertThat(part.isLast()).isTrue();
    }
    assertThatThrownBy(
            () ->
                CostPredictionsBuilder.builder()
                    .workloadId("w")
                    .generation(1)
                    .eventId(full.eventId())
                    .source(full.source())
                    .modelId("m")
                    .part(2)
                    .parts(2)
                    .cluster(full.cluster())
                    .proxyHardware(Optional.empty())
                    .update(Optional.empty())
                    .build())
        .hasMessage("part must be between 0 and 1, got 2");
  }

  @Test
  void an_invalid_line_is_refused() {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    assertThatThrownBy(() -> lines.read("{\"eventId\":1}"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("Not a WorkloadChange in Avro's JSON encoding");
    assertThatThrownBy(() -> lines.read("")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void a_bundle_survives_its_json() {
    JsonLines<ModelBundle, ?> lines = new JsonLines<>(Codec.MODEL_BUNDLE);
    assertThat(lines.read(lines.write(TestModels.bundle())).contentId())
        .isEqualTo(TestModels.bundle().modelId());
  }

  @Test
  void topic_names_are_unique() {
    assertThat(topics.all())
        .extracting(Topic::name)
        .doesNotHaveDuplicates()
        .allMatch(n -> n.startsWith("test."));
    assertThat(topics.of(CURRENT_PLANS).config()).containsEntry("cleanup.policy", "compact");
    assertThat(topics.of(WORKLOAD_CHANGES).config())
        .containsEntry("retention.ms", "-1")
        .containsEntry("max.message.bytes", Integer.toString(TopicType.LARGE_RECORD_BYTES));
  }

  /**
   * An event of 10,000 tables with all that a table of one feature may have before it is resized is
   * below the limit, and so is one of 10,000 resizes with reasons.
   */
  @Test
  void the_largest_valid_event_is_below_the_size_limit() {
    Registry registry = Registry.connect("mock://largest", java.util.Map.of());
    Change[] changes = new Change[10_000];
    for (int i = 0; i < changes.length; i++) {
      long rows = TableSpec.MAX_ROWS;
      changes[i] =
          new Change.TableUpserted(
              TableSpecBuilder.builder(
                      new TableSpec("%0255d".formatted(i), rows, 4096, 1e6, Fixtures.reuse(), 64))
                  .accessCdf(Fixtures.cdf(rows))
                  .optimizerBytesPerElement(64)
                  .optimizerBytesPerRow(64)
                  .storage(
                      Optional.of(
                          new HashedStorage(
                              HashedStorage.MAX_IDS,
                              HashedStorage.MAX_IDS_PER_DAY,
                              HashedStorage.MAX_SLOT_BYTES,
                              Eviction.NONE,
                              Fixtures.cdf(HashedStorage.MAX_IDS),
                              Optional.empty())))
                  .build());
    }
    assertThat(size(registry, changes)).isBetween(4_000_000, TopicType.LARGE_RECORD_BYTES * 2 / 3);
    for (int i = 0; i < changes.length; i++) {
      changes[i] =
          Fixtures.resize(
              "%0255d".formatted(i), TableSpec.MAX_ROWS, "r".repeat(HashedStorage.MAX_REASON));
    }
    assertThat(size(registry, changes)).isBetween(4_000_000, TopicType.LARGE_RECORD_BYTES * 2 / 3);
  }

  private int size(Registry registry, Change... changes) {
    return registry
        .serde(topics.of(WORKLOAD_CHANGES))
        .serializer()
        .serialize("t", Fixtures.event(changes))
        .length;
  }
}
