package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class MovePriceTest {
  private static final CostModel MODEL = new CostModel(TestModels.nodes());
  private static final PlainTowers TOWERS = new PlainTowers(MODEL.bundle());
  private static final SearchSettings SETTINGS = Fixtures.settings(1, 1, 10, 10, 0, 1_000);

  private static ClusterSpec cluster(int devices) {
    ClusterSpec all = new ClusterSpec(devices, 200 * Fixtures.GIB, 65_536, 8, MODEL.hardware());
    return ClusterSpecBuilder.builder(all).replicaGroups(List.of(1, 2, 4)).build();
  }

  /** The places of a problem's tables, and what their moves are computed from. */
  private record RandomPlacement(SearchProblem problem, LocalSearch search, State state) {
    /** Places each table anywhere, in parts of any kind and of equal width. */
    static RandomPlacement randomly(SearchProblem problem, Random random) {
      LocalSearch search = new LocalSearch(problem, SETTINGS, 1, LocalSearch.NOTHING);
      State state = search.empty();
      Places places = search.places;
      for (int t = 0; t < search.tables.size(); t++) {
        int columns = search.tables.get(t).columns();
        List<Option> possible =
            problem.tables().get(t).towers().keySet().stream()
                .filter(option -> option.hotRows() == 0)
                .filter(o -> !o.part().isOnDevice() || o.part().columns() == columns)
                .toList();
        Option option = possible.get(random.nextInt(possible.size()));
        TablePart part = option.part();
        List<Integer> at =
            new ArrayList<>(
                IntStream.range(0, places.countOf(part.scope()))
                    .map(i -> places.firstOf(part.scope()) + i)
                    .boxed()
                    .toList());
        Collections.shuffle(at, random);
        for (int p = 0; p < part.count(columns); p++) {
          state.add(t, search.ways.find(t, option), at.get(p));
        }
      }
      return new RandomPlacement(problem, search, state);
    }

    PlanShards shards() {
      Map<String, List<Shard>> byTable = ShardLayout.of(state, search.tables, search.running);
      return new PlanShards(
          byTable.values().stream().flatMap(List::stream).sorted(Shard.ORDER).toList(),
          problem.cluster().devices(),
          problem.synchronization().groups());
    }

    double moveMs() {
      return search.annealing(state, false).objective.movePrice.ms;
    }
  }

  private static SearchProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, ReplicaGroups groups, PlanShards running) {
    return new GroupedProblem(
            TOWERS.predict(tables, cluster), cluster, MODEL, running, false, List.of())
        .inGroup(groups);
  }

  /** Whatever the groups, and also where devices were added or removed. */
  @Property(tries = 60)
  void the_price_is_that_of_the_difference_between_the_plans(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (TableSpec table : Plans.randomTables(random, 1 + random.nextInt(6))) {
      TableConstraints any = TableConstraints.NONE.withKinds(EnumSet.allOf(ShardKind.class));
      tables.add(random.nextBoolean() ? table : table.withConstraints(any));
    }
    ClusterSpec before = cluster(8 << random.nextInt(3));
    ClusterSpec after = random.nextBoolean() ? before : cluster(8 << random.nextInt(3));
    List<ReplicaGroups> both =
        before.groupings().stream().filter(after.groupings()::contains).toList();
    ReplicaGroups groups = both.get(random.nextInt(both.size()));
    PlanShards running =
        RandomPlacement.randomly(problem(tables, before, groups, PlanShards.NONE), random).shards();
    tables.add(Plans.randomTable(random, "new"));
    RandomPlacement next =
        RandomPlacement.randomly(problem(tables, after, groups, running), random);
    double ms =
        Overlap.moves(
                Overlap.between(running, next.shards()), TableSpec.byName(tables), next.shards())
            .stream()
            .mapToDouble(SETTINGS::moveMs)
            .sum();
    assertThat(next.moveMs()).isCloseTo(ms, within(1e-9 * Math.max(1, ms)));
  }
}
