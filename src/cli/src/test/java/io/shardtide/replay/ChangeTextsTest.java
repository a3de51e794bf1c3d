package io.shardtide.replay;

import static io.shardtide.testing.Fixtures.event;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
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
import java.util.UUID;
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
            "table a of 2.4 MiB is added: rows 10,000, columns 64, lookups per sample 2",
            "table a: access cdf none -> 0.1250+0.2500+0.3750+0.5000+0.6250+0.7500+0.8750+1",
            "table a: access cdf 0.1250+0.2500+0.3750+0.5000+0.6250+0.7500+0.8750+1 ->"
                + " 0.06250+0.2500+0.3750+0.5000+0.6250+0.7500+0.8750+1",
            "table a: unchanged",
            "table a: access cdf 0.06250+0.2500+0.3750+0.5000+0.6250+0.7500+0.8750+1 -> none");
    assertThat(texts(table(TABLE), table(Fixtures.withReuse(TABLE, Fixtures.reuse()))).get(1))
        .startsWith("table a: reuse histogram none -> 0.");
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
            "table a of 6.1 MiB is added: rows 10,000, columns 64, lookups per sample 2, bytes per"
                + " element 2, optimizer bytes per element 8, optimizer bytes per row 0.5000");
  }

  @Test
  void a_tables_features_are_described() {
    TableSpec two =
        TABLE.withFeatures(List.of(new TableFeature("f", 20, 0.5, 4), new TableFeature("g", 1.5)));
    TableSpec weighted =
        TableSpecBuilder.builder(two).idWeights(Optional.of(IdWeights.GIVEN)).build();
    assertThat(texts(table(TABLE), table(two), table(weighted), table(TABLE)))
        .endsWith(
            "table a: lookups per sample 2 -> 4, features none -> (name f, lookups per sample 20, batch"
                + " share 0.5000, duplicates 4)+(name g, lookups per sample 1.500, batch share 1,"
                + " duplicates 1)",
            "table a: id weights none -> given",
            "table a: lookups per sample 4 -> 2, features (name f, lookups per sample 20, batch share"
                + " 0.5000, duplicates 4)+(name g, lookups per sample 1.500, batch share 1,"
                + " duplicates 1) -> none, id weights given -> none");
    assertThat(texts(table(weighted)))
        .containsExactly(
            "table a of 2.4 MiB is added: rows 10,000, columns 64, lookups per sample 4, features (name"
                + " f, lookups per sample 20, batch share 0.5000, duplicates 4)+(name g, lookups per"
                + " sample 1.500, batch share 1, duplicates 1), id weights given");
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
            "table a: restricted to kinds none -> row_wise+table_row_wise",
            "table a: least columns 0 -> 32, same devices as none -> b, restricted to kinds"
                + " row_wise+table_row_wise -> none");
    assertThat(texts(table(rows)))
        .containsExactly(
            "table a of 2.4 MiB is added: rows 10,000, columns 64, lookups per sample 2, restricted to"
                + " kinds row_wise+table_row_wise");
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
            "table a of 2.6 MiB is added: rows 10,000, columns 64, lookups per sample 2, storage (ids"
                + " 0, ids per day 0, slot bytes 16, eviction none)");
    assertThat(texts(table(plain), table(known), table(plain)))
        .endsWith(
            "table a: ids 0 -> 3, ids per day 0 -> 0.5000, slot bytes 16 -> 24, eviction none -> lru,"
                + " hit shares none -> 0.5000+1",
            "table a: ids 3 -> 0, ids per day 0.5000 -> 0, slot bytes 24 -> 16, eviction lru -> none,"
                + " hit shares 0.5000+1 -> none");
    assertThat(texts(table(TABLE), table(plain)).get(1))
        .startsWith("table a: restricted to kinds none -> table_wise+")
        .endsWith(", storage none -> (ids 0, ids per day 0, slot bytes 16, eviction none)");
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
            "table a: compute kernel none -> fused_uvm_caching, cache load factor none -> 0.2500,"
                + " cache algorithm none -> LFU, output type none -> FP16, stochastic rounding none"
                + " -> false");
    assertThat(texts(table(kernel)).get(0))
        .endsWith(
            "lookups per sample 2, compute kernel fused_uvm_caching, cache load factor 0.2500, cache"
                + " algorithm LFU, output type FP16, stochastic rounding false");
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
            "the cluster is set: devices 8, memory bytes per device 80.0 GiB, batch size 65,536,"
                + " devices per node 8, hardware h100",
            "cluster: host memory bytes per device 0 B -> 64.0 GiB, reserved memory bytes per device"
                + " 0 B -> 4.0 GiB, counts step memory false -> true, forward bytes per element 4 ->"
                + " 2, backward bytes per element 4 -> 1.500, replica groups 1 -> 1+2,"
                + " synchronization steps 1 -> 20, pipeline none -> prefetch",
            "cluster: host memory bytes per device 64.0 GiB -> 0 B, reserved memory bytes per device"
                + " 4.0 GiB -> 0 B, counts step memory true -> false, forward bytes per element 2 ->"
                + " 4, backward bytes per element 1.500 -> 4, replica groups 1+2 -> 1,"
                + " synchronization steps 20 -> 1, pipeline prefetch -> none",
            "cluster: unchanged");
    assertThat(
            texts(cluster(ClusterSpecBuilder.builder(CLUSTER).forwardBytesPerElement(2).build())))
        .containsExactly(
            "the cluster is set: devices 8, memory bytes per device 80.0 GiB, batch size 65,536,"
                + " devices per node 8, hardware h100, forward bytes per element 2");
    ClusterSpec unequal =
        ClusterSpecBuilder.builder(CLUSTER)
            .memoryBytesByDevice(
                List.of(
                    new DeviceMemory(6, 40 * Fixtures.GIB), new DeviceMemory(7, 96 * Fixtures.GIB)))
            .devicesPerHost(4)
            .build();
    assertThat(texts(cluster(CLUSTER), cluster(unequal)).get(1))
        .isEqualTo(
            "cluster: memory bytes by device none -> (device 6, bytes 40.0 GiB)+(device 7, bytes"
                + " 96.0 GiB), devices per host 0 -> 4");
    assertThat(
            texts(cluster(CLUSTER), cluster(new ClusterSpec(7, Fixtures.GIB, 64, 4, "cpu"))).get(1))
        .isEqualTo(
            "cluster: devices 8 -> 7, memory bytes per device 80.0 GiB -> 1.0 GiB, batch size 65,536"
                + " -> 64, devices per node 8 -> 4, hardware h100 -> cpu");
  }

  @Test
  void the_changes_of_a_pool_are_described() {
    Pool pool =
        Pool.of(
            8, Fixtures.GIB, 0, "h100", List.of(new PoolNode("n1", "r"), new PoolNode("n2", "")));
    Pool other =
        Pool.of(
            8,
            2 * Fixtures.GIB,
            0,
            "h100",
            List.of(new PoolNode("n1", "r"), new PoolNode("n3", "")));
    PoolState state = PoolState.empty("gpus");
    List<String> lines = new ArrayList<>();
    for (PoolUpdate update :
        List.of(
            new PoolUpdate.PoolSet(pool),
            new PoolUpdate.ClaimSet(new Claim("ads", 2, 8, 1, 0)),
            new PoolUpdate.PoolSet(other),
            new PoolUpdate.PoolSet(other),
            new PoolUpdate.ClaimSet(new Claim("ads", 2, 16, 1.5, 0)),
            new PoolUpdate.PoolNodeAdded(new PoolNode("n4", "r")),
            new PoolUpdate.PoolNodeLost("n1"),
            new PoolUpdate.ClaimWithdrawn("ads"))) {
      PoolChange event =
          new PoolChange(UUID.randomUUID(), "gpus", Fixtures.TIME, "test", List.of(update));
      lines.addAll(ChangeTexts.describe(state, event));
      state = state.apply(event);
    }
    assertThat(lines)
        .containsExactly(
            "the pool is set: devices per node 8, memory bytes per device 1.0 GiB, host memory"
                + " bytes per device 0 B, hardware h100, nodes 2",
            "ads claims least devices 2, most devices 8, weight 1, priority 0",
            "the pool: memory bytes per device 1.0 GiB -> 2.0 GiB, n3 none -> (name n3, rack ), n2"
                + " (name n2, rack ) -> none",
            "the pool: unchanged",
            "the claim of ads: most devices 8 -> 16, weight 1 -> 1.500",
            "node n4 is added, in rack r",
            "node n1 is lost",
            "ads withdraws its claim");
  }
}
