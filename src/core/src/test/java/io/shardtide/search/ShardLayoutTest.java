package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.option.TablePart;
import io.shardtide.plan.Region;
import io.shardtide.workload.ShardScope;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class ShardLayoutTest {
  private static final int COLUMNS = 4_096;
  private static final long ROWS = 1_000;

  /** Running parts of any width, at random places. */
  private static List<RunningTable.RunningPart> running(Random random, int parts, int places) {
    List<RunningTable.RunningPart> running = new ArrayList<>();
    int width = COLUMNS / parts;
    for (int part = 0; part < parts; part++) {
      running.add(
          new RunningTable.RunningPart(
              new TablePart(ShardScope.DEVICE, width),
              random.nextInt(places),
              new Region(part * width, width, 0, ROWS)));
    }
    return running;
  }

  private static int[] places(Random random, int parts, int places) {
    List<Integer> all = new ArrayList<>(IntStream.range(0, places).boxed().toList());
    Collections.shuffle(all, random);
    return all.subList(0, parts).stream().mapToInt(place -> place).toArray();
  }

  private static double kept(
      List<Integer> order, TablePart part, List<RunningTable.RunningPart> before) {
    double kept = 0;
    for (int i = 0; i < order.size(); i++) {
      for (RunningTable.RunningPart running : before) {
        if (running.place() == order.get(i)) {
          kept += running.region().commonElements(part.region(i, ROWS));
        }
      }
    }
    return kept;
  }

  /** As it is defined: each place where most of the table stays, the first of equals. */
  private static List<Integer> defined(
      int[] at, TablePart part, List<RunningTable.RunningPart> before) {
    List<Integer> left = new ArrayList<>(IntStream.of(at).sorted().boxed().toList());
    List<Integer> order = new ArrayList<>();
    for (RunningTable.RunningPart running : before) {
      if (left.remove((Integer) running.place())) {
        order.add(running.place());
      }
    }
    for (Integer place : left) {
      int best = 0;
      double bestKept = -1;
      for (int i = 0; i <= order.size(); i++) {
        List<Integer> with = new ArrayList<>(order);
        with.add(i, place);
        if (kept(with, part, before) > bestKept) {
          bestKept = kept(with, part, before);
          best = i;
        }
      }
      order.add(best, place);
    }
    return order;
  }

  @Property(tries = 100)
  void places_are_ordered_so_that_most_of_a_table_stays(@ForAll Random random) {
    int parts = 1 << random.nextInt(6);
    int places = parts + random.nextInt(8);
    List<RunningTable.RunningPart> before = running(random, 1 << random.nextInt(6), places);
    TablePart part = new TablePart(ShardScope.DEVICE, COLUMNS / parts);
    int[] at = places(random, parts, places);
    assertThat(ShardLayout.order(at.clone(), part, ROWS, before))
        .containsExactly(defined(at, part, before).stream().mapToInt(place -> place).toArray());
  }

  /** The search asks for each proposal: the work must not be of the fourth degree. */
  @Test
  void running_parts_are_found_by_place() {
    int parts = 256;
    Random random = new Random(1);
    List<RunningTable.RunningPart> running = running(random, parts / 2, parts);
    long[] looks = {0};
    List<RunningTable.RunningPart> counted =
        new AbstractList<>() {
          @Override
          public RunningTable.RunningPart get(int index) {
            looks[0]++;
            return running.get(index);
          }

          @Override
          public int size() {
            return running.size();
          }
        };
    ShardLayout.order(
        places(random, parts, parts),
        new TablePart(ShardScope.DEVICE, COLUMNS / parts),
        ROWS,
        counted);
    assertThat(looks[0]).isBetween(1L, 4L * parts);
  }
}
