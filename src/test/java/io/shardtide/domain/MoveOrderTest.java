package io.shardtide.domain;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
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
    return Overlap.moveOrder(Overlap.between(before, after), tables, Fixtures.cluster(3, memory));
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
      TableSpec table = Fixtures.table("t" + t, 1 + random.nextInt(9), 16, 1);
      specs.put(table.name(), table);
      if (random.nextInt(10) > 0) {
        before.addAll(cut(table, devices + random.nextInt(2), random));
      }
      after.addAll(cut(table, devices, random));
    }
    List<Overlap> overlaps = Overlap.between(before, after);
    long[] bytes = new long[devices + 1];
    overlaps.forEach(o -> bytes[o.fromDevice()] += o.bytes(specs));
    long[] last = new long[devices];
    overlaps.forEach(o -> last[o.toDevice()] += o.bytes(specs));
    // As tight as the new plan allows; a device may begin with more.
    long memory = Math.max(1, Arrays.stream(last).max().orElse(1));
    List<Move> moves = Overlap.moves(overlaps, specs);
    List<MoveStep> steps = Overlap.moveOrder(overlaps, specs, Fixtures.cluster(devices, memory));

    int[] made = new int[moves.size()];
    for (MoveStep step : steps) {
      Move move = moves.get(step.move());
      if (step.stage() != MoveStep.Stage.TO_HOST) {
        bytes[move.toDevice()] += move.bytes();
        assertThat(bytes[move.toDevice()]).isLessThanOrEqualTo(memory);
        made[step.move()]++;
      }
      if (step.stage() != MoveStep.Stage.FROM_HOST) {
        bytes[move.fromDevice()] -= move.bytes();
      }
      assertThat(bytes[move.fromDevice()]).isNotNegative();
    }
    for (int times : made) {
      assertThat(times).isEqualTo(1);
    }
    assertThat(Arrays.copyOf(bytes, devices)).isEqualTo(last);
  }

  private static List<Shard> cut(TableSpec table, int devices, Random random) {
    int middle = 4 * random.nextInt(4);
    List<Shard> shards = new ArrayList<>();
    if (middle > 0) {
      shards.add(Shard.ofColumns(table, 0, middle, random.nextInt(devices)));
    }
    shards.add(Shard.ofColumns(table, middle, 16 - middle, random.nextInt(devices)));
    return shards;
  }
}
