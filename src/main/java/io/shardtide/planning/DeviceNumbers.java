package io.shardtide.planning;

import io.shardtide.domain.DeviceCost;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.search.SearchResult;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Numbers the devices of a plan so that much of it stays where it is. Devices are alike, so that a
 * search from scratch numbers them at will and costs depend on no number; which of them keeps the
 * shards of device 3 is free to choose.
 */
final class DeviceNumbers {
  private DeviceNumbers() {}

  /**
   * Returns the plan with devices numbered anew: the pair of an old and a new device that share the
   * most bytes is made one, then the next among those left.
   *
   * @param running shards of the plan before; some of its devices may be gone
   * @param found the new plan
   * @param tables the tables of the new plan by name
   */
  static SearchResult.Found keep(
      List<Shard> running, SearchResult.Found found, Map<String, TableSpec> tables) {
    int devices = found.deviceCosts().size();
    long[][] shared = new long[devices][devices];
    for (Overlap overlap : Overlap.between(running, found.shards(), tables)) {
      if (overlap.fromDevice() < devices) {
        shared[overlap.toDevice()][overlap.fromDevice()] += overlap.bytes();
      }
    }
    record Pair(int from, int to, long bytes) {}
    List<Pair> pairs = new ArrayList<>();
    for (int to = 0; to < devices; to++) {
      for (int from = 0; from < devices; from++) {
        if (shared[to][from] > 0) {
          pairs.add(new Pair(from, to, shared[to][from]));
        }
      }
    }
    pairs.sort(
        Comparator.comparingLong(Pair::bytes)
            .reversed()
            .thenComparingInt(Pair::from)
            .thenComparingInt(Pair::to));
    int[] number = new int[devices];
    Arrays.fill(number, -1);
    boolean[] taken = new boolean[devices];
    for (Pair pair : pairs) {
      if (number[pair.to()] < 0 && !taken[pair.from()]) {
        number[pair.to()] = pair.from();
        taken[pair.from()] = true;
      }
    }
    int free = 0;
    for (int d = 0; d < devices; d++) {
      if (number[d] < 0) {
        while (taken[free]) {
          free++;
        }
        number[d] = free;
        taken[free] = true;
      }
    }
    return renumber(found, number);
  }

  private static SearchResult.Found renumber(SearchResult.Found found, int[] number) {
    List<Shard> shards =
        found.shards().stream()
            .map(
                s ->
                    new Shard(
                        s.table(),
                        s.kind(),
                        s.columnOffset(),
                        s.columns(),
                        s.rowOffset(),
                        s.rows(),
                        number[s.device()]))
            .toList();
    DeviceCost[] costs = new DeviceCost[number.length];
    for (int d = 0; d < number.length; d++) {
      costs[number[d]] = found.deviceCosts().get(d);
    }
    return new SearchResult.Found(shards, List.of(costs), found.predictedMs(), found.evaluations());
  }
}
