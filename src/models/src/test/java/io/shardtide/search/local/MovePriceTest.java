package io.shardtide.search.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.PredictionInputs;
import io.shardtide.cost.TablePart;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ClusterSpecBuilder;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.PlanShards;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.models.ModelFiles;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.ShapeCosts;
import io.shardtide.search.TableGroup;
import io.shardtide.search.groups.GroupedProblem;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class MovePriceTest {
  private static final CostModel MODEL = new CostModel(ModelFiles.shippedForNodes());
  private static final PlainTowers TOWERS = new PlainTowers(MODEL.bundle());
  private static final SearchSettings SETTINGS = new SearchSettings(1, 1, 10, 10, 0, 1_000);

  private static ClusterSpec cluster(int devices) {
    ClusterSpec all = new ClusterSpec(devices, 200 * Fixtures.GIB, 65_536, 8, MODEL.hardware());
    return ClusterSpecBuilder.builder(all).replicaGroups(List.of(1, 2, 4)).build();
  }

  /** The assignment of a problem's tables, and what their moves are computed from. */
  private record RandomPlacement(
      SearchProblem problem, List<TableGroup> tables, Assignment assignment) {
    /** Places each table anywhere, in parts of any kind and of equal width. */
    static RandomPlacement randomly(SearchProblem problem, Random random) {
      List<TableGroup> tables = TableGroup.of(problem.tables());
      ShapeCosts costs = new ShapeCosts(tables, problem.cluster(), MODEL.evaluator());
      Places places = new Places(problem.cluster());
      Assignment assignment =
          new Assignment(costs, MODEL.towerSize(), tables.size(), places, problem.cluster());
      for (int t = 0; t < tables.size(); t++) {
        List<TablePart> possible =
            new ArrayList<>(
                TablePart.of(
                    problem.tables().get(t).table(), PredictionInputs.of(problem.cluster())));
        possible.add(new TablePart(ShardScope.DEVICE, tables.get(t).columns()));
        TablePart part = possible.get(random.nextInt(possible.size()));
        List<Integer> at =
            new ArrayList<>(
                IntStream.range(0, places.countOf(part.scope()))
                    .map(i -> places.firstOf(part.scope()) + i)
                    .boxed()
                    .toList());
        Collections.shuffle(at, random);
        for (int p = 0; p < tables.get(t).columns() / part.columns(); p++) {
          assignment.edit(t, at.get(p), ShapeCosts.NONE, costs.shape(t, part));
        }
      }
      return new RandomPlacement(problem, tables, assignment);
    }

    CurrentPlan running() {
      return new CurrentPlan(tables, problem.start(), assignment.places());
    }

    PlanShards shards() {
      Map<String, List<Shard>> byTable =
          ShardLayout.of(assignment, tables, problem.cluster(), running());
      return new PlanShards(
          byTable.values().stream().flatMap(List::stream).sorted(Shard.ORDER).toList(),
          problem.cluster().devices(),
          problem.synchronization().groups());
    }

    double moveMs() {
      MovePrice price =
          new MovePrice(
              running(), tables, problem.cluster(), SETTINGS, problem.synchronization().groups());
      price.refresh(assignment);
      return price.ms();
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
    List<TableSpec> tables = Plans.randomTables(random, 1 + random.nextInt(6));
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
