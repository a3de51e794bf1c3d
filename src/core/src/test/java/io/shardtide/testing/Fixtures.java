package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Region;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.Change.ClusterSet;
import io.shardtide.workload.Change.TableDropped;
import io.shardtide.workload.Change.TableUpserted;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.DistinctShare;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.RowSpread;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;

/** Values that tests begin with. */
public final class Fixtures {
  public static final long MIB = 1L << 20;
  public static final long GIB = 1L << 30;
  public static final String WORKLOAD = "feed-ranking";
  public static final Instant TIME = Instant.parse("2026-11-21T10:15:30Z");

  /** Hardware of the first of the test models. */
  public static final String HARDWARE = "simulated";

  private Fixtures() {}

  public static TableSpec table(String name, long rows, int columns, double poolingFactor) {
    return new TableSpec(name, rows, columns, poolingFactor, ReuseHistogram.UNKNOWN, 4);
  }

  /** Returns a hash table of which nothing is known but its slots. */
  public static TableSpec hashed(String name, long rows, int columns, double poolingFactor) {
    return TableSpecBuilder.builder(table(name, rows, columns, poolingFactor))
        .storage(Optional.of(HashedStorage.PLAIN))
        .build();
  }

  public static Change resize(String name, long rows, String reason) {
    return new Change.TableResized(name, rows, reason);
  }

  public static TableSpec withReuse(TableSpec table, ReuseHistogram reuse) {
    return TableSpecBuilder.builder(table).reuseHistogram(reuse).build();
  }

  /** Returns columns of a table on a device: the whole table or a range of its columns. */
  public static Shard shard(TableSpec table, int columnOffset, int columns, int device) {
    return new Shard(
        table.name(),
        Region.ofColumns(table, columnOffset, columns),
        device,
        columns == table.columns() ? ShardKind.TABLE_WISE : ShardKind.COLUMN_WISE);
  }

  public static double elements(Region region) {
    return (double) region.rows() * region.columns();
  }

  /** Returns the same speed of another device. */
  public static DeviceSpeed on(int device, DeviceSpeed speed) {
    return new DeviceSpeed(
        device, speed.part(), speed.slowdown(), speed.standardError(), speed.since());
  }

  /** Settings of a search that reads means only, with parts of equal width. */
  public static SearchSettings settings(
      long evaluationsPerTable,
      long repairEvaluations,
      double moveGigabytesPerSecond,
      double moveOverheadMs,
      double reshardMs,
      long paybackSteps) {
    return new SearchSettings(
        evaluationsPerTable,
        repairEvaluations,
        moveGigabytesPerSecond,
        moveOverheadMs,
        reshardMs,
        paybackSteps,
        ColumnCuts.EQUAL,
        0);
  }

  /** Returns a table with one to three features of any batch sizes and duplicates, or weights. */
  public static TableSpec withFeatures(TableSpec table, Random random) {
    List<TableFeature> features = new ArrayList<>();
    for (int i = 0, count = 1 + random.nextInt(3); i < count; i++) {
      features.add(
          new TableFeature(
              "f" + i,
              random.nextInt(8) == 0 ? 0 : Math.pow(10, 1.5 * random.nextDouble()),
              random.nextBoolean() ? 1 : 0.1 + 2 * random.nextDouble(),
              random.nextBoolean() ? 1 : 1 + 4 * random.nextDouble()));
    }
    IdWeights weights = random.nextBoolean() ? IdWeights.GIVEN : IdWeights.LEARNED;
    return TableSpecBuilder.builder(table.withFeatures(features))
        .idWeights(random.nextBoolean() ? Optional.empty() : Optional.of(weights))
        .build();
  }

  public static ClusterSpec cluster(int devices, long memoryBytes) {
    return new ClusterSpec(devices, memoryBytes, 65_536, 8, HARDWARE);
  }

  /** Returns a cluster of which about each third device has 0.3 to 3 times the memory. */
  public static ClusterSpec withUnequalMemory(Random random, ClusterSpec cluster) {
    List<DeviceMemory> unequal = new ArrayList<>();
    for (int d = 0; d < cluster.devices(); d++) {
      if (random.nextInt(3) == 0) {
        double bytes = cluster.memoryBytesPerDevice() * (0.3 + 2.7 * random.nextDouble());
        unequal.add(
            new DeviceMemory(
                d,
                Math.max(
                    cluster.reservedMemoryBytesPerDevice() + 1,
                    (long) Math.min(ClusterSpec.MAX_MEMORY_BYTES, bytes))));
      }
    }
    return ClusterSpecBuilder.builder(cluster).memoryBytesByDevice(unequal).build();
  }

  /** Returns whether the devices of a cluster can form so many replica groups. */
  public static boolean canFormGroups(ClusterSpec cluster, int count) {
    try {
      ClusterSpecBuilder.builder(cluster).replicaGroups(List.of(count)).build();
      return true;
    } catch (RejectedException e) {
      assertThat(e).hasMessageContaining("replica groups");
      return false;
    }
  }

  /** Shares that fall by half from one to the next. */
  public static ReuseHistogram reuse() {
    Double[] shares = new Double[ReuseHistogram.SIZE];
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = Math.pow(0.5, k + 1);
      sum += shares[k];
    }
    shares[0] += 1 - sum;
    return new ReuseHistogram(Arrays.asList(shares));
  }

  /** Shares that rise evenly from one entry to the next. */
  public static AccessCdf cdf(long rows) {
    int size = AccessCdf.size(rows);
    return new AccessCdf(
        IntStream.rangeClosed(1, size).mapToObj(entry -> (double) entry / size).toList());
  }

  public static Change upsert(String name, long rows, int columns, double poolingFactor) {
    return new TableUpserted(table(name, rows, columns, poolingFactor));
  }

  public static Change drop(String name) {
    return new TableDropped(name);
  }

  /** Returns the change that deletes the workload. */
  public static Change delete() {
    return new Change.WorkloadDeleted("retired");
  }

  public static Change set(int devices, long memoryBytes) {
    return new ClusterSet(cluster(devices, memoryBytes));
  }

  public static WorkloadChange event(Change... changes) {
    return event(OptionalLong.empty(), changes);
  }

  public static WorkloadChange event(OptionalLong expectedGeneration, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), WORKLOAD, TIME, "test", expectedGeneration, List.of(changes));
  }

  /** An event of another workload than {@link #WORKLOAD}. */
  public static WorkloadChange eventOf(String workloadId, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workloadId, TIME, "test", OptionalLong.empty(), List.of(changes));
  }

  /** A trainer adopted a plan. */
  public static PlanStatus adopted(ShardingPlan plan) {
    return new PlanStatus(
        plan.workloadId(),
        plan.planId(),
        PlanStatus.StatusKind.ADOPTED,
        1,
        Optional.empty(),
        "trainer",
        "run",
        TIME,
        1,
        1);
  }

  /** Planning accepted that a trainer adopted a plan. */
  public static AcceptedStatus accepted(ShardingPlan plan) {
    PlanStatus status = adopted(plan);
    return new AcceptedStatus(
        plan.workloadId(),
        Optional.of(status),
        Optional.of(plan.planId()),
        Optional.empty(),
        OptionalLong.of(status.step()),
        status.run());
  }

  /** An event whose id depends on its number only, so that two runs publish the same bytes. */
  public static WorkloadChange numbered(int number, Change... changes) {
    return new WorkloadChange(
        UUID.nameUUIDFromBytes(Integer.toString(number).getBytes(StandardCharsets.UTF_8)),
        WORKLOAD,
        TIME,
        "test",
        OptionalLong.empty(),
        List.of(changes));
  }

  public static SourcePosition at(long offset) {
    return new SourcePosition("workload-changes", 0, offset);
  }

  public static <T> List<T> times(int count, T value) {
    return Collections.nCopies(count, value);
  }

  /** Returns a table whose ids repeat, whose rows are used unequally, or both. */
  public static TableSpec repeating(TableSpec table, Random random) {
    TableSpecBuilder spec = TableSpecBuilder.builder(table);
    if (table.poolingFactor() > 0 && random.nextBoolean()) {
      double lookups = 512 * table.poolingFactor();
      double least = Math.min(1, 1 / lookups);
      double most = Math.min(1, table.rows() / lookups);
      double share = least + (Math.max(least, most) - least) * random.nextDouble();
      spec.distinctShare(List.of(new DistinctShare(512, Math.min(1, share))));
    }
    if (!table.pooled() && random.nextInt(3) == 0) {
      spec.deduplicated(Optional.of(random.nextBoolean()));
    }
    if (random.nextBoolean()) {
      spec.rowSpread(
          List.of(RowOrder.values()).subList(0, 1 + random.nextInt(3)).stream()
              .map(order -> new RowSpread(order, spread(1 + random.nextInt(64), random)))
              .toList());
    }
    return spec.build();
  }

  private static List<Double> spread(int blocks, Random random) {
    double[] uses = random.doubles(blocks).map(u -> Math.pow(u, 4)).toArray();
    double sum = Arrays.stream(uses).sum();
    return Arrays.stream(uses).mapToObj(u -> u / sum).toList();
  }
}
