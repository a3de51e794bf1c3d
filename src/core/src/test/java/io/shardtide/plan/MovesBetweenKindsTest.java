package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RandomShardings;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.GroupLayout;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** Moves between plans of any kinds of shards, replayed cell by cell. */
class MovesBetweenKindsTest {
  private static final int PER_NODE = 2;
  private static final int COLUMNS = 16;

  private static ClusterSpec cluster(int devices, long memory) {
    return new ClusterSpec(devices, memory, 1_024, PER_NODE, "h");
  }

  /** The cells of tables on each device. */
  private static final class Cells {
    private final List<Map<String, TreeSet<Long>>> held = new ArrayList<>();

    Cells(int devices) {
      for (int d = 0; d < devices; d++) {
        held.add(new HashMap<>());
      }
    }

    void add(int device, String table, Region region) {
      TreeSet<Long> cells = held.get(device).computeIfAbsent(table, name -> new TreeSet<>());
      for (long cell : cells(region)) {
        assertThat(cells.add(cell)).as("held once").isTrue();
      }
    }

    void remove(int device, String table, Region region) {
      for (long cell : cells(region)) {
        assertThat(held.get(device).get(table).remove(cell)).as("held before").isTrue();
      }
      held.get(device).computeIfPresent(table, (name, left) -> left.isEmpty() ? null : left);
    }

    private static List<Long> cells(Region region) {
      List<Long> cells = new ArrayList<>();
      for (long row = region.rowOffset(); row < region.rowEnd(); row++) {
        for (int column = region.columnOffset(); column < region.columnEnd(); column++) {
          cells.add(row * COLUMNS + column);
        }
      }
      return cells;
    }

    /** Bytes of the elements, and of the state of each row of which there is one. */
    long bytes(int device, Map<String, TableSpec> tables) {
      return held.get(device).entrySet().stream()
          .mapToLong(
              of -> {
                TableSpec table = tables.get(of.getKey());
                long rows = of.getValue().stream().map(cell -> cell / COLUMNS).distinct().count();
                return (long)
                    (of.getValue().size() * table.bytesPerElement()
                        + rows * table.optimizerBytesPerRow());
              })
          .sum();
    }
  }

  private static List<Shard> shards(Collection<TableSpec> tables, int devices, Random random) {
    return new RandomShardings(cluster(devices, 1), random).cutByUse(List.copyOf(tables));
  }

  private static Cells cells(List<Shard> shards, int devices) {
    Cells cells = new Cells(devices);
    shards.forEach(
        shard -> shard.holders(devices).forEach(d -> cells.add(d, shard.table(), shard.region())));
    return cells;
  }

  /** Whatever the kinds, no device is above its memory at any step, and each cell arrives. */
  @Property(tries = 700)
  void no_device_is_ever_above_its_memory(
      @ForAll @IntRange(min = 1, max = 8) int tables,
      @ForAll @IntRange(min = 1, max = 3) int nodesBefore,
      @ForAll @IntRange(min = 1, max = 3) int nodes,
      @ForAll long seed) {
    Random random = new Random(seed);
    int devicesBefore = PER_NODE * nodesBefore;
    int devices = PER_NODE * nodes;
    Map<String, TableSpec> specs = new TreeMap<>();
    for (int t = 0; t < tables; t++) {
      TableSpec table =
          TableSpecBuilder.builder(Fixtures.table("t" + t, 1 + random.nextInt(9), COLUMNS, 1))
              .optimizerBytesPerRow(20 * random.nextInt(3))
              .build();
      specs.put(table.name(), table);
    }
    List<Shard> before = shards(specs.values(), devicesBefore, random);
    List<Shard> after = shards(specs.values(), devices, random);
    PlanShards planned = new PlanShards(after, devices);
    PlanShards running = new PlanShards(before, devicesBefore);
    List<Overlap> overlaps = Overlap.between(running, planned);
    Cells expected = cells(after, devices);
    List<DeviceMemory> needed = new ArrayList<>();
    for (int d = 0; d < devices; d++) {
      needed.add(new DeviceMemory(d, Math.max(1, expected.bytes(d, specs))));
    }
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                cluster(devices, needed.stream().mapToLong(DeviceMemory::bytes).max().orElse(1)))
            .memoryBytesByDevice(random.nextBoolean() ? needed : List.of())
            .build();
    UsableMemory memory = cluster.usableMemory();

    Cells held = new Cells(devices);
    for (Overlap overlap : overlaps) {
      if (overlap.fromDevice() == Shard.EVERY_DEVICE) {
        for (int d = 0; d < Math.min(devicesBefore, devices); d++) {
          if (overlap.toDevice() == Shard.EVERY_DEVICE) {
            held.add(d, overlap.table(), overlap.region());
          }
        }
      } else if (overlap.fromDevice() < devices) {
        held.add(overlap.fromDevice(), overlap.table(), overlap.region());
      }
    }
    List<Transfer> moves = Overlap.moves(overlaps, specs, planned);
    long bytes = 0;
    int[] made = new int[moves.size()];
    for (MoveStep step : Overlap.moveOrder(running, planned, specs, cluster)) {
      Transfer move = moves.get(step.move());
      int from = move.fromDevice();
      boolean isCopied = from == Shard.EVERY_DEVICE || move.toDevice() == Shard.EVERY_DEVICE;
      if (step.stage() != MoveStep.Stage.TO_HOST) {
        made[step.move()]++;
        for (int d = 0; d < devices; d++) {
          if (d == move.toDevice() || (move.toDevice() == Shard.EVERY_DEVICE && d != from)) {
            held.add(d, move.table(), move.region());
            assertThat(held.bytes(d, specs)).isLessThanOrEqualTo(memory.bytes(d));
            bytes += move.region().bytes(specs.get(move.table()));
          }
        }
      }
      if (step.stage() != MoveStep.Stage.FROM_HOST && !isCopied && from < devices) {
        held.remove(from, move.table(), move.region());
      }
    }
    assertThat(made).doesNotContain(0, 2);
    assertThat(held.held).isEqualTo(expected.held);
    assertThat(bytes).isEqualTo(moves.stream().mapToLong(Transfer::bytes).sum());
  }

  @Test
  void copies_are_moved_and_written_once() {
    TableSpec table = Fixtures.table("a", 10, COLUMNS, 1);
    PlanShards one = placed(new Sharding.TableWise(1), table, 4);
    PlanShards copies = placed(new Sharding.DataParallel(), table, 4);
    assertThat(copies.shards())
        .containsExactly(
            new Shard("a", Region.of(table), Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL));
    assertThat(Overlap.between(one, copies))
        .containsExactly(new Overlap("a", Region.of(table), 1, Shard.EVERY_DEVICE));
    assertThat(
            Overlap.moves(Overlap.between(one, copies), Map.of("a", table), copies).stream()
                .map(Transfer::bytes))
        .as("to each of the three others")
        .containsExactly(3 * table.bytes());
    assertThat(Overlap.between(copies, one))
        .as("a copy is there already")
        .containsExactly(new Overlap("a", Region.of(table), 1, 1));
    assertThat(
            Overlap.between(copies, placed(new Sharding.DataParallel(), table, 6)).stream()
                .filter(Overlap::changesDevice)
                .map(Overlap::toDevice))
        .as("the others keep theirs")
        .containsExactly(4, 5);
  }

  @Property
  void each_rank_of_other_groups_gets_its_copy_once(
      @ForAll @IntRange(min = 1, max = 3) int groupsBefore,
      @ForAll @IntRange(min = 1, max = 3) int groupsAfter,
      @ForAll @IntRange(min = 1, max = 4) int before,
      @ForAll @IntRange(min = 1, max = 4) int after,
      @ForAll boolean isStrided,
      @ForAll @IntRange(min = 0, max = 3) int device) {
    TableSpec table = Fixtures.table("a", 10, COLUMNS, 1);
    int holder = device % before;
    PlanShards one =
        grouped(new Sharding.TableWise(holder), table, before, groupsBefore, isStrided);
    PlanShards copies = grouped(new Sharding.DataParallel(), table, after, groupsAfter, isStrided);

    TreeMap<Integer, Integer> got = new TreeMap<>();
    for (Transfer move : Overlap.moves(Overlap.between(one, copies), Map.of("a", table), copies)) {
      int[] receivers = move.overlap().receivers(copies);
      assertThat(move.bytes()).isEqualTo(receivers.length * table.bytes());
      Arrays.stream(receivers).forEach(rank -> got.merge(rank, 1, Integer::sum));
    }
    for (int rank = 0; rank < copies.ranks(); rank++) {
      boolean isHeld = rank < one.ranks() && one.position(rank) == holder;
      assertThat(got.getOrDefault(rank, 0))
          .as("copies that rank %d gets, from %s to %s", rank, one, copies)
          .isBetween(isHeld ? 0 : 1, 1);
    }
  }

  private static PlanShards grouped(
      Sharding sharding, TableSpec table, int devices, int groups, boolean isStrided) {
    return new PlanShards(
        placed(sharding, table, devices).shards(),
        devices,
        new ReplicaGroups(
            groups, isStrided && groups > 1 ? GroupLayout.STRIDED : GroupLayout.CONSECUTIVE));
  }

  private static PlanShards placed(Sharding sharding, TableSpec table, int devices) {
    return new PlanShards(sharding.shards(table, cluster(devices, 1)), devices);
  }
}
