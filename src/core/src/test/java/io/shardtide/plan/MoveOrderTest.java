package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class MoveOrderTest {
  private static final MoveStep.Stage DIRECT = MoveStep.Stage.DIRECT;

  private static Shard shard(String table, int device) {
    return new Shard(table, new Region(0, 4, 0, 10), device, ShardKind.TABLE_WISE);
  }

  private static List<MoveStep> order(List<Shard> before, List<Shard> after, long memory) {
    Map<String, TableSpec> tables = new HashMap<>();
    after.forEach(s -> tables.put(s.table(), Fixtures.table(s.table(), s.rows(), s.columns(), 1)));
    return Overlap.moveOrder(
        Plans.placed(before), Plans.placed(after), tables, Fixtures.cluster(3, memory));
  }

  @Test
  void a_move_waits_until_there_is_room() {
    // Device 1 is full until b has left it.
    assertThat(
            order(
                List.of(shard("a", 0), shard("b", 1)), List.of(shard("a", 1), shard("b", 2)), 160))
        .containsExactly(new MoveStep(1, DIRECT), new MoveStep(0, DIRECT));
  }

  @Test
  void two_full_devices_trade_places_through_the_host() {
    assertThat(
            order(
                List.of(shard("a", 0), shard("b", 1)), List.of(shard("a", 1), shard("b", 0)), 160))
        .containsExactly(
            new MoveStep(0, MoveStep.Stage.TO_HOST),
            new MoveStep(1, DIRECT),
            new MoveStep(0, MoveStep.Stage.FROM_HOST));
  }

  @Test
  void what_comes_from_a_device_that_is_gone_only_needs_room() {
    assertThat(order(List.of(shard("a", 7)), List.of(shard("a", 1)), 160))
        .containsExactly(new MoveStep(0, DIRECT));
  }

  /** Whatever the plans, no device is above its memory at any step, and everything arrives. */
  @Property(tries = 2_000)
  void no_device_is_ever_above_its_memory(
      @ForAll @IntRange(min = 1, max = 12) int tables,
      @ForAll @IntRange(min = 1, max = 5) int devices,
      @ForAll long seed) {
    Random random = new Random(seed);
    Map<String, TableSpec> specs = new HashMap<>();
    List<Shard> before = new ArrayList<>();
    List<Shard> after = new ArrayList<>();
    for (int t = 0; t < tables; t++) {
      TableSpec table =
          withRowState(
              Fixtures.table("t" + t, 1 + random.nextInt(9), 16, 1), 20 * random.nextInt(3));
      specs.put(table.name(), table);
      if (random.nextInt(10) > 0) {
        before.addAll(cut(table, devices + random.nextInt(2), random));
      }
      after.addAll(cut(table, devices, random));
    }
    List<Overlap> overlaps = Overlap.between(Plans.placed(before), Plans.placed(after));
    List<List<Overlap>> held = lists(devices + 1);
    overlaps.forEach(o -> held.get(o.fromDevice()).add(o));
    List<List<Overlap>> last = lists(devices);
    overlaps.forEach(o -> last.get(o.toDevice()).add(o));
    // As tight as the new plan allows; a device may begin with more.
    long memory = Math.max(1, last.stream().mapToLong(l -> bytes(l, specs)).max().orElse(1));
    List<Transfer> moves = Overlap.moves(overlaps, specs, Plans.placed(after));
    List<MoveStep> steps =
        Overlap.moveOrder(
            Plans.placed(before), Plans.placed(after), specs, Fixtures.cluster(devices, memory));

    int[] made = new int[moves.size()];
    for (MoveStep step : steps) {
      Transfer move = moves.get(step.move());
      if (step.stage() != MoveStep.Stage.TO_HOST) {
        held.get(move.toDevice()).add(move.overlap());
        assertThat(bytes(held.get(move.toDevice()), specs)).isLessThanOrEqualTo(memory);
        made[step.move()]++;
      }
      if (step.stage() != MoveStep.Stage.FROM_HOST) {
        assertThat(held.get(move.fromDevice()).remove(move.overlap())).isTrue();
      }
    }
    for (int times : made) {
      assertThat(times).isEqualTo(1);
    }
    for (int d = 0; d < devices; d++) {
      assertThat(held.get(d)).containsExactlyInAnyOrderElementsOf(last.get(d));
    }
  }

  private static List<List<Overlap>> lists(int count) {
    return Stream.<List<Overlap>>generate(ArrayList::new).limit(count).toList();
  }

  /** Returns the bytes of parts on a device: those of the same rows are one shard's. */
  private static long bytes(List<Overlap> parts, Map<String, TableSpec> specs) {
    return parts.stream().collect(Collectors.groupingBy(Overlap::table)).values().stream()
        .mapToLong(
            of -> {
              int columns = of.stream().mapToInt(o -> o.region().columns()).sum();
              return specs.get(of.get(0).table()).bytes(of.get(0).region().rows(), columns);
            })
        .sum();
  }

  private static TableSpec withRowState(TableSpec table, double bytesPerRow) {
    return TableSpecBuilder.builder(table).optimizerBytesPerRow(bytesPerRow).build();
  }

  /** Two halves become one shard on a device that has just room for it. */
  @Test
  void parts_that_are_joined_share_the_state_of_their_rows() {
    TableSpec table = withRowState(Fixtures.table("a", 10, 8, 1), 4);
    List<Shard> halves = List.of(Fixtures.shard(table, 0, 4, 0), Fixtures.shard(table, 4, 4, 1));
    assertThat(
            Overlap.moveOrder(
                Plans.placed(halves),
                Plans.placed(List.of(Fixtures.shard(table, 0, 8, 0))),
                Map.of("a", table),
                Fixtures.cluster(2, table.bytes())))
        .containsExactly(new MoveStep(0, DIRECT));
  }

  private static List<Shard> cut(TableSpec table, int devices, Random random) {
    int middle = 4 * random.nextInt(4);
    List<Shard> shards = new ArrayList<>();
    if (middle > 0) {
      shards.add(Fixtures.shard(table, 0, middle, random.nextInt(devices)));
    }
    shards.add(Fixtures.shard(table, middle, 16 - middle, random.nextInt(devices)));
    return shards;
  }
}
