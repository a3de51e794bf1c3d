package io.shardtide.replay;

import static io.shardtide.testing.Fixtures.event;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import io.shardtide.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What `why` says of a change. */
class ChangeTextsTest {
  private static final TableSpec TABLE = Fixtures.table("a", 10_000, 64, 2);
  private static final ClusterSpec CLUSTER =
      new ClusterSpec(8, 80 * Fixtures.GIB, 65_536, 8, "h100");

  private static List<String> texts(Change... changes) {
    List<String> lines = new ArrayList<>();
    Workload workload = Workload.empty(Fixtures.WORKLOAD);
    for (Change change : changes) {
      lines.addAll(ChangeTexts.describe(workload, event(change)));
      workload = workload.apply(event(change));
    }
    return lines;
  }

  private static Change table(TableSpec table) {
    return new Change.TableUpserted(table);
  }

  private static Change cluster(ClusterSpec cluster) {
    return new Change.ClusterSet(cluster);
  }

  @Test
  void a_tables_use_is_described() {
    TableSpec known = TableSpecBuilder.builder(TABLE).accessCdf(Fixtures.cdf(10_000)).build();
    List<Double> shares = new ArrayList<>(known.accessCdf().shares());
    shares.set(0, shares.get(0) / 2);
    TableSpec changed = TableSpecBuilder.builder(TABLE).accessCdf(new AccessCdf(shares)).build();
    assertThat(texts(table(TABLE), table(known), table(changed), table(changed), table(TABLE)))
        .containsExactly(
            "table a is added: 10,000 rows, 64 columns, 2 lookups per sample, 2.4 MiB",
            "table a: access CDF now known",
            "table a: access CDF changed",
            "table a: unchanged",
            "table a: access CDF no longer known");
    assertThat(texts(table(TABLE), table(Fixtures.withReuse(TABLE, Fixtures.reuse()))).get(1))
        .isEqualTo("table a: reuse histogram changed");
  }

  @Test
  void a_tables_bytes_are_described() {
    TableSpec optimized =
        TableSpecBuilder.builder(new TableSpec("a", 10_000, 64, 2, ReuseHistogram.UNKNOWN, 2))
            .optimizerBytesPerElement(8)
            .optimizerBytesPerRow(0.5)
            .build();
    assertThat(texts(table(TABLE), table(optimized)).get(1))
        .isEqualTo(
            "table a: bytes per element 4 -> 2, optimizer bytes per element 0 -> 8, optimizer bytes"
                + " per row 0 -> 0.5000");
    assertThat(texts(table(optimized)))
        .containsExactly(
            "table a is added: 10,000 rows, 64 columns, 2 lookups per sample, 6.1 MiB");
  }

  @Test
  void a_tables_features_are_described() {
    TableSpec two =
        TABLE.withFeatures(List.of(new TableFeature("f", 20, 0.5, 4), new TableFeature("g", 1.5)));
    TableSpec weighted =
        TableSpecBuilder.builder(two).idWeights(Optional.of(IdWeights.GIVEN)).build();
    assertThat(texts(table(TABLE), table(two), table(weighted), table(TABLE)))
        .endsWith(
            "table a: lookups per sample 2 -> 4, features one -> f of 20 lookups in 0.1250 of the"
                + " samples and g of 1.500 lookups",
            "table a: weights of ids none -> given",
            "table a: lookups per sample 4 -> 2, features f of 20 lookups in 0.1250 of the samples"
                + " and g of 1.500 lookups -> one, weights of ids given -> none");
    assertThat(texts(table(weighted)))
        .containsExactly(
            "table a is added: 10,000 rows, 64 columns, 4 lookups per sample, 2.4 MiB, features f"
                + " of 20 lookups in 0.1250 of the samples and g of 1.500 lookups, weights of ids"
                + " given");
  }

  @Test
  void a_tables_constraints_are_described() {
    TableSpec rows =
        TABLE.withConstraints(
            new TableConstraints(
                Set.of(ShardKind.ROW_WISE, ShardKind.TABLE_ROW_WISE), 0, Optional.empty()));
    TableSpec wide = TABLE.withConstraints(new TableConstraints(Set.of(), 32, Optional.of("b")));
    assertThat(texts(table(Fixtures.table("b", 8, 64, 1)), table(TABLE), table(rows), table(wide)))
        .endsWith(
            "table a: allowed kinds all -> row_wise or table_row_wise",
            "table a: allowed kinds row_wise or table_row_wise -> all, least columns of a part 0 ->"
                + " 32, same devices as (none) -> b");
    assertThat(texts(table(rows)))
        .containsExactly(
            "table a is added: 10,000 rows, 64 columns, 2 lookups per sample, 2.4 MiB, allowed"
                + " kinds row_wise or table_row_wise");
  }

  @Test
  void a_tables_storage_is_described() {
    TableSpec plain = Fixtures.hashed("a", 10_000, 64, 2);
    TableSpec known =
        TableSpecBuilder.builder(plain)
            .storage(
                Optional.of(
                    new HashedStorage(3, 0.5, 24, Eviction.LRU, Fixtures.cdf(3), Optional.empty())))
            .build();
    assertThat(texts(table(plain)))
        .containsExactly(
            "table a is added: 10,000 rows, 64 columns, 2 lookups per sample, 2.6 MiB, storage a"
                + " hash table");
    assertThat(texts(table(plain), table(known), table(plain)))
        .endsWith(
            "table a: ids 0 -> 3, ids per day 0 -> 0.5000, bytes of a slot's key 16 -> 24, eviction"
                + " none -> lru, hit shares (not known) -> 0.5000 1",
            "table a: ids 3 -> 0, ids per day 0.5000 -> 0, bytes of a slot's key 24 -> 16, eviction"
                + " lru -> none, hit shares 0.5000 1 -> (not known)");
    assertThat(texts(table(TABLE), table(plain)).get(1))
        .startsWith(
            "table a: storage a fixed number of rows -> a hash table, allowed kinds all -> ");
  }

  /** An upsert says what it does, which is not all that it states. */
  @Test
  void a_resize_is_described() {
    TableSpec plain = Fixtures.hashed("a", 10_000, 64, 2);
    assertThat(
            texts(
                table(plain),
                Fixtures.resize("a", 2_000_000, "it is full in 3 days"),
                table(plain),
                Fixtures.resize("a", 5, "")))
        .endsWith(
            "table a is resized: 10,000 -> 2,000,000 slots: it is full in 3 days",
            "table a: unchanged",
            "table a is resized: 2,000,000 -> 5 slots");
  }

  @Test
  void a_tables_kernel_is_described() {
    TableSpec kernel =
        TableSpecBuilder.builder(TABLE)
            .kernel(
                new TableKernel(
                    Optional.of(ComputeKernel.FUSED_UVM_CACHING),
                    OptionalDouble.of(0.25),
                    Optional.of(CacheAlgorithm.LFU),
                    Optional.of(OutputType.FP16),
                    Optional.of(false)))
            .build();
    assertThat(texts(table(TABLE), table(kernel)).get(1))
        .isEqualTo(
            "table a: compute kernel (not decided) -> fused_uvm_caching, cache load factor (not"
                + " decided) -> 0.2500, cache algorithm (not decided) -> LFU, output type (not"
                + " decided) -> FP16, stochastic rounding (not decided) -> off");
    assertThat(texts(table(kernel)).get(0))
        .endsWith(
            "2.4 MiB, compute kernel fused_uvm_caching, cache load factor 0.2500, cache algorithm"
                + " LFU, output type FP16, stochastic rounding off");
  }

  @Test
  void what_a_cluster_reserves_and_sends_is_described() {
    ClusterSpec other =
        ClusterSpecBuilder.builder(new ClusterSpec(8, 80 * Fixtures.GIB, 65_536, 8, "h100"))
            .hostMemoryBytesPerDevice(64 * Fixtures.GIB)
            .reservedMemoryBytesPerDevice(4 * Fixtures.GIB)
            .countsStepMemory(true)
            .forwardBytesPerElement(2)
            .backwardBytesPerElement(1.5)
            .replicaGroups(List.of(1, 2))
            .synchronizationSteps(20)
            .pipeline(Optional.of(TrainingPipeline.PREFETCH))
            .build();
    assertThat(texts(cluster(CLUSTER), cluster(other), cluster(CLUSTER), cluster(CLUSTER)))
        .containsExactly(
            "the cluster is set: 8 devices of 80.0 GiB, batch size 65,536, 8 devices per node,"
                + " hardware h100",
            "cluster: host memory per device 0 B -> 64.0 GiB, reserved memory per device 0 B -> 4.0"
                + " GiB, memory of a step not counted -> counted, forward bytes per element on the"
                + " wire 4 -> 2, backward bytes per element on the wire 4 -> 1.500, replica groups"
                + " 1 -> 1 or 2, steps between synchronizations 1 -> 20, training pipeline (none"
                + " named) -> prefetch",
            "cluster: host memory per device 64.0 GiB -> 0 B, reserved memory per device 4.0 GiB ->"
                + " 0 B, memory of a step counted -> not counted, forward bytes per element on the"
                + " wire 2 -> 4, backward bytes per element on the wire 1.500 -> 4, replica groups"
                + " 1 or 2 -> 1, steps between synchronizations 20 -> 1, training pipeline prefetch"
                + " -> (none named)",
            "cluster: unchanged");
    assertThat(
            texts(cluster(ClusterSpecBuilder.builder(CLUSTER).forwardBytesPerElement(2).build())))
        .containsExactly(
            "the cluster is set: 8 devices of 80.0 GiB, batch size 65,536, 8 devices per node,"
                + " hardware h100, forward bytes per element on the wire 2");
    ClusterSpec unequal =
        ClusterSpecBuilder.builder(CLUSTER)
            .memoryBytesByDevice(
                List.of(
                    new DeviceMemory(6, 40 * Fixtures.GIB), new DeviceMemory(7, 96 * Fixtures.GIB)))
            .devicesPerHost(4)
            .build();
    assertThat(texts(cluster(CLUSTER), cluster(unequal)).get(1))
        .isEqualTo(
            "cluster: memory of single devices (as of all) -> device 6 40.0 GiB and device 7 96.0"
                + " GiB, devices per host 8 -> 4");
    assertThat(
            texts(cluster(CLUSTER), cluster(new ClusterSpec(7, Fixtures.GIB, 64, 4, "cpu"))).get(1))
        .isEqualTo(
            "cluster: devices 8 -> 7, memory per device 80.0 GiB -> 1.0 GiB, batch size 65,536 ->"
                + " 64, devices per node 8 -> 4, hardware h100 -> cpu");
  }
}
