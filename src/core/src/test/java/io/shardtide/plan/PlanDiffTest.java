package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class PlanDiffTest {
  private static Shard shard(String table, int columns, int offset, int width, int device) {
    return Fixtures.shard(Fixtures.table(table, 100, columns, 1), offset, width, device);
  }

  private static PlanShards placed(Shard... shards) {
    return Plans.placed(List.of(shards));
  }

  @Test
  void what_moved_came_and_went_is_told_apart() {
    PlanDiff diff =
        PlanDiff.between(
            placed(shard("a", 16, 0, 8, 0), shard("a", 16, 8, 8, 1), shard("old", 4, 0, 4, 2)),
            placed(shard("a", 16, 0, 12, 0), shard("a", 16, 12, 4, 2), shard("new", 4, 0, 4, 2)));
    assertThat(diff.added()).containsExactly("new");
    assertThat(diff.dropped()).containsExactly("old");
    assertThat(diff.moved())
        .containsExactly(
            new Overlap("a", new Region(8, 4, 0, 100), 1, 0),
            new Overlap("a", new Region(12, 4, 0, 100), 1, 2));
  }

  /** Each column that both plans have is among what moved if, and only if, its device differs. */
  @Property(tries = 300)
  void exactly_what_changes_its_device_moves(@ForAll Random random) {
    List<Shard> earlier = shards(random);
    List<Shard> later = shards(random);
    SortedMap<String, Integer> before = columns(earlier);
    SortedMap<String, Integer> after = columns(later);
    SortedMap<String, List<Integer>> expected = new TreeMap<>();
    after.forEach(
        (column, device) -> {
          if (before.containsKey(column) && !before.get(column).equals(device)) {
            expected.put(column, List.of(before.get(column), device));
          }
        });
    SortedMap<String, List<Integer>> said = new TreeMap<>();
    PlanDiff diff = PlanDiff.between(Plans.placed(earlier), Plans.placed(later));
    for (Overlap moved : diff.moved()) {
      for (int c = moved.region().columnOffset(); c < moved.region().columnEnd(); c++) {
        assertThat(
                said.put(column(moved.table(), c), List.of(moved.fromDevice(), moved.toDevice())))
            .as("said once")
            .isNull();
      }
    }
    assertThat(said).isEqualTo(expected);
    assertThat(PlanDiff.between(Plans.placed(later), Plans.placed(later)))
        .isEqualTo(new PlanDiff(List.of(), new TreeSet<>(), new TreeSet<>()));
  }

  /** Some of five tables, each cut somewhere, on three devices. */
  private static List<Shard> shards(Random random) {
    List<Shard> shards = new ArrayList<>();
    for (int t = 0; t < 5; t++) {
      if (random.nextInt(4) > 0) {
        for (int offset = 0; offset < 16; ) {
          int width = 4 * (1 + random.nextInt(4 - offset / 4));
          shards.add(shard("t" + t, 16, offset, width, random.nextInt(3)));
          offset += width;
        }
      }
    }
    return shards;
  }

  private static SortedMap<String, Integer> columns(List<Shard> shards) {
    SortedMap<String, Integer> devices = new TreeMap<>();
    for (Shard shard : shards) {
      for (int c = shard.columnOffset(); c < shard.region().columnEnd(); c++) {
        devices.put(column(shard.table(), c), shard.device());
      }
    }
    return devices;
  }

  private static String column(String table, int column) {
    return table + "/" + column;
  }
}
