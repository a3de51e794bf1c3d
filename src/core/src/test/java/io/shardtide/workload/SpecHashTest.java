package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.allocation.PoolStep;
import io.shardtide.testing.Fixtures;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Ids of what has clusters and tables: data on the log, which no later field may change. */
class SpecHashTest {
  private static final CommCodec FP16 =
      new CommCodec("fp16", 2, 100, 1, true, List.of(Direction.FORWARD));

  private static final ClusterSpec CLUSTER =
      ClusterSpecBuilder.builder(new ClusterSpec(16, 1L << 34, 65_536, 8, "h100"))
          .hostMemoryBytesPerDevice(1L << 36)
          .reservedMemoryBytesPerDevice(1 << 30)
          .countsStepMemory(true)
          .backwardBytesPerElement(2)
          .replicaGroups(List.of(1, 2))
          .synchronizationSteps(8)
          .codecs(List.of(FP16))
          .build();

  private static final TableSpec TABLE =
      TableSpecBuilder.builder(Fixtures.table("user-id", 1_000_000, 64, 12.5))
          .optimizerBytesPerElement(4)
          .constraints(
              new TableConstraints(
                  Set.of(ShardKind.ROW_WISE), 32, Optional.of("item-id"), true, true))
          .pooled(false)
          .build();

  private static final TableKernel KERNEL = TableKernel.NONE;
  private static final Optional<OutputType> FP16_OUTPUTS = Optional.of(OutputType.FP16);

  private static String id(ClusterSpec cluster) {
    return SpecHash.put(new CanonicalHash("cluster"), cluster).hex();
  }

  private static String id(TableSpec table) {
    return SpecHash.put(new CanonicalHash("table"), table).hex();
  }

  private static String id(CommCodec codec) {
    return new CanonicalHash("codec").put(codec).hex();
  }

  /** Never to be edited: events with these ids are on logs. */
  @Test
  void ids_stay_what_they_are() {
    assertThat(
            List.of(
                id(CLUSTER),
                id(TABLE),
                PoolStep.clusterEventId("a".repeat(64), "w", 7, CLUSTER).toString()))
        .containsExactly(
            "0472642e87c6796dabaacbc5e1529269307fc428329dba52846dd7a0e4dde961",
            "09297eef2b470b5d2e34b21cff7030ae3979ba96d8e832113273a70167c6490e",
            "93a03240-2024-3ccd-a3c8-0da4e6450e1a");
  }

  @Test
  void each_field_of_a_cluster_is_in_its_id() {
    Map<String, Consumer<ClusterSpecBuilder>> changes = new LinkedHashMap<>();
    changes.put("devices", b -> b.devices(32));
    changes.put("memoryBytesPerDevice", b -> b.memoryBytesPerDevice(1L << 35));
    changes.put("batchSize", b -> b.batchSize(1 << 17));
    changes.put("devicesPerNode", b -> b.devicesPerNode(4));
    changes.put("hardware", b -> b.hardware("a100"));
    changes.put("hostMemoryBytesPerDevice", b -> b.hostMemoryBytesPerDevice(0));
    changes.put("reservedMemoryBytesPerDevice", b -> b.reservedMemoryBytesPerDevice(0));
    changes.put("countsStepMemory", b -> b.countsStepMemory(false));
    changes.put("forwardBytesPerElement", b -> b.forwardBytesPerElement(2));
    changes.put("backwardBytesPerElement", b -> b.backwardBytesPerElement(4));
    changes.put("replicaGroups", b -> b.replicaGroups(List.of(1)));
    changes.put("synchronizationSteps", b -> b.synchronizationSteps(16));
    changes.put("codecs", b -> b.codecs(List.of()));
    changes.put("optimizer", b -> b.optimizer(Optional.of(Optimizer.SGD)));
    changes.put("pipeline", b -> b.pipeline(Optional.of(TrainingPipeline.SPARSE_DIST)));
    changes.put(
        "memoryBytesByDevice", b -> b.memoryBytesByDevice(List.of(new DeviceMemory(3, 1L << 33))));
    changes.put("devicesPerHost", b -> b.devicesPerHost(4));
    check(
        ClusterSpec.class,
        changes,
        ClusterSpecBuilder::builder,
        CLUSTER,
        ClusterSpecBuilder::build,
        SpecHashTest::id);
  }

  @Test
  void each_field_of_a_codec_is_in_its_id() {
    Map<String, Consumer<CommCodecBuilder>> changes = new LinkedHashMap<>();
    changes.put("name", b -> b.name("bf16"));
    changes.put("bytesPerElement", b -> b.bytesPerElement(1));
    changes.put("gigabytesPerSecond", b -> b.gigabytesPerSecond(200));
    changes.put("density", b -> b.density(0.5));
    changes.put("canBeSummed", b -> b.canBeSummed(false));
    changes.put("directions", b -> b.directions(List.of(Direction.BACKWARD)));
    check(
        CommCodec.class,
        changes,
        CommCodecBuilder::builder,
        FP16,
        CommCodecBuilder::build,
        SpecHashTest::id);
  }

  @Test
  void each_field_of_a_kernel_is_in_its_tables_id() {
    Map<String, Consumer<TableKernelBuilder>> changes = new LinkedHashMap<>();
    changes.put("computeKernel", b -> b.computeKernel(Optional.of(ComputeKernel.DENSE)));
    changes.put("cacheLoadFactor", b -> b.cacheLoadFactor(OptionalDouble.of(0.5)));
    changes.put("cacheAlgorithm", b -> b.cacheAlgorithm(Optional.of(CacheAlgorithm.LFU)));
    changes.put("outputType", b -> b.outputType(FP16_OUTPUTS));
    changes.put("stochasticRounding", b -> b.stochasticRounding(Optional.of(false)));
    check(
        TableKernel.class,
        changes,
        TableKernelBuilder::builder,
        KERNEL,
        TableKernelBuilder::build,
        kernel -> id(TableSpecBuilder.builder(TABLE).kernel(kernel).build()));
  }

  @Test
  void each_field_of_a_storage_is_in_its_tables_id() {
    HashedStorage storage =
        new HashedStorage(3, 5, 16, Eviction.LRU, Fixtures.cdf(3), Optional.of("full"));
    Map<String, Consumer<HashedStorageBuilder>> changes = new LinkedHashMap<>();
    changes.put("ids", b -> b.ids(4));
    changes.put("idsPerDay", b -> b.idsPerDay(6));
    changes.put("slotBytes", b -> b.slotBytes(8));
    changes.put("eviction", b -> b.eviction(Eviction.AGE));
    changes.put("hitShares", b -> b.hitShares(AccessCdf.UNKNOWN));
    changes.put("resizeReason", b -> b.resizeReason(Optional.empty()));
    check(
        HashedStorage.class,
        changes,
        HashedStorageBuilder::builder,
        storage,
        HashedStorageBuilder::build,
        of -> id(TableSpecBuilder.builder(TABLE).storage(Optional.of(of)).build()));
  }

  @Test
  void each_field_of_a_table_is_in_its_id() {
    Map<String, Consumer<TableSpecBuilder>> changes = new LinkedHashMap<>();
    changes.put("name", b -> b.name("ad-id"));
    changes.put("rows", b -> b.rows(1_000_001));
    changes.put("columns", b -> b.columns(128));
    changes.put("poolingFactor", b -> b.poolingFactor(13));
    changes.put("reuseHistogram", b -> b.reuseHistogram(Fixtures.reuse()));
    changes.put("bytesPerElement", b -> b.bytesPerElement(2));
    changes.put("accessCdf", b -> b.accessCdf(Fixtures.cdf(TABLE.rows())));
    changes.put("optimizerBytesPerElement", b -> b.optimizerBytesPerElement(8));
    changes.put("optimizerBytesPerRow", b -> b.optimizerBytesPerRow(4));
    changes.put("constraints", b -> b.constraints(TableConstraints.NONE));
    changes.put("pooled", b -> b.pooled(true));
    changes.put("optimizer", b -> b.optimizer(Optional.of(Optimizer.ADAM)));
    changes.put("enforceHbm", b -> b.enforceHbm(true));
    changes.put("features", b -> b.features(List.of(new TableFeature("a", 25, 0.5, 1))));
    changes.put("idWeights", b -> b.idWeights(Optional.of(IdWeights.GIVEN)));
    changes.put(
        "kernel",
        b -> b.kernel(TableKernelBuilder.builder(KERNEL).outputType(FP16_OUTPUTS).build()));
    changes.put("storage", b -> b.storage(Optional.of(HashedStorage.PLAIN)));
    changes.put("distinctShare", b -> b.distinctShare(List.of(new DistinctShare(512, 0.5))));
    changes.put("deduplicated", b -> b.deduplicated(Optional.of(false)));
    changes.put(
        "rowSpread",
        b -> b.rowSpread(List.of(new RowSpread(RowOrder.CONTIGUOUS, List.of(0.25, 0.75)))));
    check(
        TableSpec.class,
        changes,
        TableSpecBuilder::builder,
        TABLE,
        TableSpecBuilder::build,
        SpecHashTest::id);
  }

  @Test
  void each_field_of_a_feature_is_in_the_id_of_its_table() {
    Map<String, TableFeature> others = new LinkedHashMap<>();
    others.put("name", new TableFeature("b", 6.25, 4, 2));
    others.put("poolingFactor", new TableFeature("a", 6.2501, 4, 2));
    others.put("batchShare", new TableFeature("a", 6.25, 4.0001, 2));
    others.put("duplicates", new TableFeature("a", 6.25, 4, 2.0001));
    assertThat(others.keySet())
        .containsExactlyElementsOf(
            Arrays.stream(TableFeature.class.getRecordComponents())
                .map(RecordComponent::getName)
                .toList());
    String id = id(with(new TableFeature("a", 6.25, 4, 2)));
    others.forEach((name, other) -> assertThat(id(with(other))).as(name).isNotEqualTo(id));
    assertThat(id(with(new TableFeature("a", 12.5))))
        .as("what all tables have")
        .isEqualTo(id(TABLE));
  }

  private static TableSpec with(TableFeature feature) {
    return TableSpecBuilder.builder(TABLE).features(List.of(feature)).build();
  }

  @Test
  void each_field_of_constraints_is_in_the_id_of_their_table() {
    Map<String, Consumer<TableConstraintsBuilder>> changes = new LinkedHashMap<>();
    changes.put("kinds", b -> b.kinds(Set.of(ShardKind.TABLE_WISE)));
    changes.put("leastColumns", b -> b.leastColumns(16));
    changes.put("sameDevicesAs", b -> b.sameDevicesAs(Optional.empty()));
    changes.put("mayBeCached", b -> b.mayBeCached(false));
    changes.put("mayHaveHotRows", b -> b.mayHaveHotRows(false));
    check(
        TableConstraints.class,
        changes,
        TableConstraintsBuilder::builder,
        TABLE.constraints(),
        TableConstraintsBuilder::build,
        constraints -> id(TableSpecBuilder.builder(TABLE).constraints(constraints).build()));
  }

  /** Checks that a change of each component of a record changes its id. */
  private static <T, B> void check(
      Class<T> type,
      Map<String, Consumer<B>> changes,
      Function<T, B> builder,
      T value,
      Function<B, T> build,
      Function<T, String> id) {
    assertThat(changes.keySet())
        .as("add a new field at the end, with its default in SpecHash, and here")
        .containsExactlyElementsOf(
            Arrays.stream(type.getRecordComponents()).map(RecordComponent::getName).toList());
    changes.forEach(
        (name, change) -> {
          B other = builder.apply(value);
          change.accept(other);
          assertThat(id.apply(build.apply(other))).as(name).isNotEqualTo(id.apply(value));
        });
  }
}
