package io.shardtide.testing;

import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.Insight;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanMoves;
import io.shardtide.plan.PlanPrediction;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * A plan with random moves, between random shardings of any kind over devices of which some may be
 * new or gone.
 *
 * @param plan the plan
 * @param before the shards before it
 * @param tables the tables by name
 * @param memory the memory of each rank: just what the plan's fullest device needs, or each one
 */
public record RandomMoves(
    ShardingPlan plan, PlanShards before, Map<String, TableSpec> tables, UsableMemory memory) {

  /** Returns one of up to 5 devices in a group, up to 2 groups and the given number of tables. */
  public static RandomMoves of(int tables, long seed) {
    Random random = new Random(seed);
    ReplicaGroups groups =
        random.nextInt(4) > 0 ? ReplicaGroups.ONE : new ReplicaGroups(2, layout(random));
    int devices = 1 + random.nextInt(5);
    int earlier = Math.max(1, devices + (groups.areSeveral() ? 0 : random.nextInt(3) - 1));
    Map<String, TableSpec> specs = new HashMap<>();
    List<Shard> before = new ArrayList<>();
    List<Shard> after = new ArrayList<>();
    for (int t = 0; t < tables; t++) {
      TableSpec table =
          TableSpecBuilder.builder(Fixtures.table("t" + t, 1 + random.nextInt(9), 16, 1))
              .optimizerBytesPerRow(20 * random.nextInt(3))
              .build();
      specs.put(table.name(), table);
      List<Shard> shards = shards(table, earlier, random);
      // Some tables are new, and many stay.
      int kept = random.nextInt(10);
      before.addAll(kept == 0 ? List.of() : shards);
      after.addAll(kept < 6 || earlier > devices ? shards(table, devices, random) : shards);
    }
    after.sort(Shard.ORDER);
    PlanShards previous = new PlanShards(before, earlier, groups);
    PlanShards next = new PlanShards(after, devices, groups);
    List<DeviceCost> costs =
        IntStream.range(0, devices).mapToObj(d -> cost(random, bytes(after, d, specs))).toList();
    long fullest = costs.stream().mapToLong(DeviceCost::memoryBytes).max().orElseThrow();
    List<Overlap> overlaps = Overlap.between(previous, next);
    List<DeviceMemory> byRank =
        IntStream.range(0, next.ranks())
            .mapToObj(
                rank ->
                    new DeviceMemory(
                        rank, Math.max(1, costs.get(next.position(rank)).memoryBytes())))
            .toList();
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(Fixtures.cluster(next.ranks(), Math.max(1, fullest)))
            .memoryBytesByDevice(new Random(~seed).nextBoolean() ? byRank : List.of())
            .build();
    PlanMoves moves =
        new PlanMoves(
            Overlap.moves(overlaps, specs, next),
            Overlap.moveOrder(previous, next, specs, cluster));
    ShardingPlan sample = Samples.plan();
    Replication replication =
        groups.areSeveral() ? new Replication(groups, 7, random.nextDouble()) : Replication.NONE;
    PlanPrediction prediction =
        new PlanPrediction(
            costs,
            stepMs(costs) + replication.msPerStep(),
            new Insight(
                0,
                0,
                sample.prediction().insight().bottleneck(),
                explanations(specs, random),
                List.of()),
            List.of(),
            0,
            List.of(),
            List.of());
    ShardingPlan plan =
        new ShardingPlan(
                "",
                sample.origin(),
                "moves",
                after,
                replication,
                List.of(),
                List.of(),
                prediction,
                moves,
                sample.run())
            .identified();
    return new RandomMoves(plan, previous, specs, cluster.usableMemory());
  }

  /** Returns the memory of each rank with so many eighths of it more. */
  public UsableMemory memory(int moreEighths) {
    TreeMap<Integer, Long> more = new TreeMap<>();
    memory.byDevice().forEach((rank, bytes) -> more.put(rank, bytes + moreEighths * bytes / 8));
    return new UsableMemory(
        memory.bytesPerDevice() + moreEighths * memory.bytesPerDevice() / 8, more);
  }

  private static GroupLayout layout(Random random) {
    return random.nextBoolean() ? GroupLayout.STRIDED : GroupLayout.CONSECUTIVE;
  }

  private static List<Shard> shards(TableSpec table, int devices, Random random) {
    int kind = random.nextInt(8);
    int middle = 4 * random.nextInt(4);
    List<Sharding.ColumnPart> parts = new ArrayList<>();
    if (middle > 0) {
      parts.add(new Sharding.ColumnPart(middle, random.nextInt(devices)));
    }
    parts.add(new Sharding.ColumnPart(16 - middle, random.nextInt(devices)));
    Sharding sharding =
        kind == 0
            ? new Sharding.DataParallel()
            : kind == 1 ? new Sharding.RowWise() : Sharding.ofColumns(parts);
    return sharding.shards(table, Fixtures.cluster(devices, 1));
  }

  private static DeviceCost cost(Random random, long memoryBytes) {
    return new DeviceCost(
        5 * random.nextDouble(), 10 + random.nextDouble(), 5 * random.nextDouble(), memoryBytes, 0);
  }

  private static double stepMs(List<DeviceCost> costs) {
    return costs.stream().mapToDouble(DeviceCost::totalMs).max().orElseThrow();
  }

  private static List<Explanation> explanations(Map<String, TableSpec> tables, Random random) {
    return tables.keySet().stream()
        .sorted()
        .filter(table -> random.nextBoolean())
        .map(
            table ->
                new Explanation(
                    Explanation.ExplainedAction.MOVE,
                    table,
                    0,
                    1,
                    Explanation.Cause.COMPUTATION,
                    random.nextDouble() - 0.25))
        .sorted(Explanation.ORDER)
        .toList();
  }

  private static long bytes(List<Shard> shards, int device, Map<String, TableSpec> tables) {
    List<Overlap> held =
        shards.stream()
            .filter(shard -> shard.isCopied() || shard.device() == device)
            .map(shard -> new Overlap(shard.table(), shard.region(), device, device))
            .toList();
    return bytes(held, tables);
  }

  /** Returns the bytes of parts on one device; parts of the same rows share their state. */
  public static long bytes(List<Overlap> parts, Map<String, TableSpec> tables) {
    Map<String, BitSet> rows = new HashMap<>();
    double sum = 0;
    for (Overlap part : parts) {
      sum += Fixtures.elements(part.region()) * tables.get(part.table()).bytesPerElement();
      rows.computeIfAbsent(part.table(), name -> new BitSet())
          .set((int) part.region().rowOffset(), (int) part.region().rowEnd());
    }
    for (Map.Entry<String, BitSet> of : rows.entrySet()) {
      sum += of.getValue().cardinality() * tables.get(of.getKey()).optimizerBytesPerRow();
    }
    return Math.round(sum);
  }
}
