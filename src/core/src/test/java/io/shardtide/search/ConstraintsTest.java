package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Shortfall;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Plans keep to the constraints of tables, or the constraint that prevents a plan is named. */
class ConstraintsTest {
  private static final SearchSettings BRIEF = Fixtures.settings(200, 1_000, 10, 10, 0, 1_000);
  private static final List<ShardKind> KINDS = List.of(ShardKind.values());
  private static final Pattern KIND_ALLOWED =
      Pattern.compile("[wW]ith (\\w+) allowed for table (\\S+) it would fit$");

  private static SearchProblem problem(ClusterSpec cluster, TableSpec... tables) {
    return KindsTest.problem(List.of(tables), cluster, PlanShards.NONE);
  }

  private static TableConstraints only(ShardKind... kinds) {
    return new TableConstraints(EnumSet.copyOf(Arrays.asList(kinds)), 0, Optional.empty());
  }

  private static TableConstraints sameAs(String table) {
    return new TableConstraints(Set.of(), 0, Optional.of(table));
  }

  /** As in TorchRec, of which a plan's kinds are. */
  @Test
  void a_table_that_is_too_narrow_for_two_parts_is_one_shard_of_its_kind() {
    ClusterSpec cluster = Fixtures.cluster(8, 64 * Fixtures.GIB);
    for (ShardKind kind : List.of(ShardKind.COLUMN_WISE, ShardKind.TABLE_COLUMN_WISE)) {
      TableSpec narrow =
          Fixtures.table("narrow", 100_000, 64, 2).withConstraints(only(kind).withLeastColumns(40));
      TableSpec wide = Fixtures.table("wide", 100_000, 160, 2).withConstraints(only(kind));
      SearchResult.Found found =
          (SearchResult.Found) LocalSearch.search(problem(cluster, narrow, wide), BRIEF);
      assertThat(found.shards()).allMatch(shard -> shard.kind() == kind);
      assertThat(found.shards().stream().filter(shard -> shard.table().equals("narrow")))
          .singleElement()
          .satisfies(shard -> assertThat(shard.columns()).isEqualTo(64));
      assertThat(found.shards().stream().filter(shard -> shard.table().equals("wide")))
          .hasSizeGreaterThan(1);
    }
  }

  /** One part of a table too narrow to be cut is no part of one that must be whole. */
  @Test
  void tables_on_the_same_devices_have_one_kind_also_where_one_is_too_narrow() {
    TableSpec narrow =
        Fixtures.table("narrow", 100_000, 64, 2)
            .withConstraints(
                new TableConstraints(
                    Set.of(ShardKind.COLUMN_WISE, ShardKind.ROW_WISE), 40, Optional.empty()));
    TableSpec whole =
        Fixtures.table("whole", 100_000, 64, 2)
            .withConstraints(
                new TableConstraints(
                    Set.of(ShardKind.TABLE_WISE, ShardKind.ROW_WISE), 0, Optional.of("narrow")));
    SearchProblem problem = problem(Fixtures.cluster(8, 64 * Fixtures.GIB), narrow, whole);
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    assertThat(found.shards()).allMatch(shard -> shard.kind() == ShardKind.ROW_WISE);
  }

  /** Random constraints that do not contradict each other in one table. */
  private static TableSpec constrained(Random random, TableSpec table, List<TableSpec> others) {
    while (true) {
      Set<ShardKind> kinds = EnumSet.noneOf(ShardKind.class);
      if (random.nextBoolean()) {
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
          kinds.add(KINDS.get(random.nextInt(KINDS.size())));
        }
      }
      int least = random.nextInt(3) == 0 ? 4 * random.nextInt(20) : 0;
      String other =
          others.isEmpty() || random.nextInt(8) == 0
              ? "missing"
              : others.get(random.nextInt(others.size())).name();
      Optional<String> same = random.nextInt(3) == 0 ? Optional.of(other) : Optional.empty();
      try {
        return table.withConstraints(new TableConstraints(kinds, least, same));
      } catch (RejectedException e) {
        assertThat(e).hasMessageContaining("contradict each other");
      }
    }
  }

  private static List<TableSpec> tables(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    List<TableSpec> plain = new ArrayList<>(Plans.randomTables(random, 3 + random.nextInt(8)));
    plain.add(Fixtures.table("u-many-rows", 1L << 27, 64, 3));
    plain.add(Fixtures.table("v-three-rows", 3, 32, 100));
    for (TableSpec table : plain) {
      tables.add(random.nextInt(3) == 0 ? table : constrained(random, table, tables));
    }
    return tables;
  }

  private static ClusterSpec cluster(Random random) {
    int perNode = 1 + random.nextInt(4);
    int devices = Math.max(1, perNode * (1 + random.nextInt(4)) - random.nextInt(2));
    return KindsTest.cluster(devices, perNode, (1 + random.nextInt(60)) * Fixtures.GIB);
  }

  @Property(tries = 200)
  void a_plan_keeps_to_all_constraints_or_one_is_named(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random);
    ClusterSpec cluster = cluster(random);
    SearchProblem problem = KindsTest.problem(tables, cluster, PlanShards.NONE);
    if (random.nextInt(4) == 0) {
      problem =
          new SearchProblem(
              KindsTest.TOWERS.predict(tables, cluster.batchSize()),
              cluster,
              KindsTest.MODEL,
              PlanShards.NONE);
    }
    SearchResult result = CheckedSearch.search(problem, BRIEF);
    assertThat(Plans.digest(LocalSearch.search(problem, BRIEF))).isEqualTo(Plans.digest(result));
    check(problem, result);
  }

  /** The constraints, or the devices, change under a running plan. */
  @Property(tries = 100)
  void a_repair_keeps_to_the_constraints_of_now(@ForAll long seed) {
    Random random = new Random(seed);
    ClusterSpec before = cluster(random);
    List<TableSpec> tables = tables(random);
    List<TableSpec> plain =
        tables.stream().map(t -> t.withConstraints(TableConstraints.NONE)).toList();
    SearchResult running =
        LocalSearch.search(
            KindsTest.problem(random.nextBoolean() ? plain : tables, before, PlanShards.NONE),
            BRIEF);
    if (running instanceof SearchResult.Found found) {
      ClusterSpec now = random.nextBoolean() ? before : cluster(random);
      SearchProblem changed =
          KindsTest.problem(tables, now, new PlanShards(found.shards(), before.devices()));
      check(changed, CheckedSearch.search(changed, BRIEF));
    }
  }

  private static void check(SearchProblem problem, SearchResult result) {
    if (result instanceof SearchResult.Found found) {
      KindsTest.check(problem, found);
      checkConstraints(problem, found.shards());
    } else if (result instanceof SearchResult.NotFound notFound) {
      String message = notFound.shortfall().message();
      SearchProblem free = with(problem, "", TableConstraints.NONE);
      boolean wouldFit = LocalSearch.search(free, BRIEF) instanceof SearchResult.Found;
      assertThat(message.endsWith(" it would fit")).as(message).isEqualTo(wouldFit);
      Matcher matcher = KIND_ALLOWED.matcher(message);
      if (matcher.find()) {
        ShardKind kind = TableConstraints.kindsOf(List.of(matcher.group(1))).iterator().next();
        TableSpec named = table(problem, matcher.group(2));
        Set<ShardKind> more = EnumSet.copyOf(named.constraints().kinds());
        assertThat(more.add(kind)).isTrue();
        SearchProblem relaxed = with(problem, named.name(), named.constraints().withKinds(more));
        assertThat(LocalSearch.search(relaxed, BRIEF)).isInstanceOf(SearchResult.Found.class);
      }
    }
  }

  private static TableSpec table(SearchProblem problem, String name) {
    return problem.tables().stream()
        .map(TablePrediction::table)
        .filter(table -> table.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** Returns a problem with other constraints of one table, or of all. */
  private static SearchProblem with(
      SearchProblem problem, String name, TableConstraints constraints) {
    List<TablePrediction> tables =
        problem.tables().stream()
            .map(
                t ->
                    name.isEmpty() || t.table().name().equals(name)
                        ? new TablePrediction(
                            t.table().withConstraints(constraints),
                            t.towers(),
                            t.derived(),
                            Map.of(),
                            t.outOfRange())
                        : t)
            .toList();
    return new SearchProblem(tables, problem.cluster(), problem.model(), PlanShards.NONE);
  }

  private static void checkConstraints(SearchProblem problem, List<Shard> all) {
    Map<String, List<Shard>> byTable = all.stream().collect(Collectors.groupingBy(Shard::table));
    ClusterSpec cluster = problem.cluster();
    for (TablePrediction prediction : problem.tables()) {
      TableSpec table = prediction.table();
      TableConstraints constraints = table.constraints();
      List<Shard> shards = byTable.get(table.name());
      if (constraints.isEmpty()) {
        continue;
      }
      assertThat(shards.stream().map(Shard::columns).distinct()).hasSize(1);
      for (Shard shard : shards) {
        if (!constraints.kinds().isEmpty()) {
          assertThat(constraints.kinds()).contains(shard.kind());
        }
        if (shard.columns() < table.columns()) {
          assertThat(shard.columns()).isGreaterThanOrEqualTo(constraints.leastColumns());
        }
      }
      if (shards.get(0).kind() == ShardKind.TABLE_COLUMN_WISE) {
        assertThat(shards.stream().map(s -> cluster.node(s.device())).distinct()).hasSize(1);
      }
      constraints
          .sameDevicesAs()
          .map(byTable::get)
          .ifPresent(
              others -> {
                assertThat(devices(shards)).isEqualTo(devices(others));
                assertThat(shards).hasSameSizeAs(others);
                assertThat(shards.get(0).kind()).isEqualTo(others.get(0).kind());
              });
    }
  }

  private static Set<Integer> devices(List<Shard> shards) {
    return shards.stream().map(Shard::device).collect(Collectors.toSet());
  }

  private static Set<ShardKind> kinds(SearchProblem problem) {
    SearchResult.Found found = (SearchResult.Found) LocalSearch.search(problem, BRIEF);
    check(problem, found);
    return found.shards().stream().map(Shard::kind).collect(Collectors.toSet());
  }

  private static String message(SearchProblem problem) {
    SearchResult.NotFound notFound = (SearchResult.NotFound) LocalSearch.search(problem, BRIEF);
    check(problem, notFound);
    return notFound.shortfall().message();
  }

  /** Each kind that the cluster has is what a table is sharded by if nothing else is allowed. */
  @Test
  void the_only_allowed_kind_is_used() {
    TableSpec table = Fixtures.table("ads", 1_000_000, 64, 10);
    for (ShardKind kind : ShardKind.values()) {
      SearchProblem problem =
          problem(KindsTest.cluster(8, 4, 8 * Fixtures.GIB), table.withConstraints(only(kind)));
      assertThat(kinds(problem)).containsExactly(kind);
    }
  }

  @Test
  void a_table_that_is_too_large_for_a_device_names_the_kind_that_would_fit() {
    TableSpec ads =
        Fixtures.table("ads", 60_000_000, 64, 10).withConstraints(only(ShardKind.TABLE_WISE));
    assertThat(message(problem(KindsTest.cluster(8, 8, 10 * Fixtures.GIB), ads)))
        .isEqualTo(
            "The narrowest shard of table ads that its constraints allow, 64 columns, needs 14.3"
                + " GiB, and a device has 10.0 GiB. Maybe use fewer rows or fewer bytes per"
                + " element. 4.3 GiB short; with column_wise allowed for table ads it would fit");
    TableSpec narrow =
        Fixtures.table("ads", 60_000_000, 4, 10).withConstraints(only(ShardKind.TABLE_WISE));
    assertThat(message(problem(KindsTest.cluster(8, 8, Fixtures.GIB / 2), narrow)))
        .endsWith(" short; with row_wise allowed for table ads it would fit");
  }

  /** A hashed table is never copied, so that copies are no advice; what else helps is. */
  @Test
  void copies_of_a_hashed_table_are_not_advised() {
    TableSpec copied =
        Fixtures.table("a", 1_000, 64, 10).withConstraints(only(ShardKind.DATA_PARALLEL));
    ClusterSpec cluster = KindsTest.cluster(8, 8, Fixtures.GIB);
    TableSpec fixed = Fixtures.table("b", 5_000, 64, 10);
    TableConstraints onRows = sameAs("a").withKinds(Set.of(ShardKind.ROW_WISE));
    assertThat(message(problem(cluster, copied, fixed.withConstraints(onRows))))
        .endsWith("ith data_parallel allowed for table b it would fit");
    TableSpec hashed = Fixtures.hashed("b", 5_000, 64, 10);
    for (TableConstraints constraints : List.of(onRows, sameAs("a"))) {
      assertThat(message(problem(cluster, copied, hashed.withConstraints(constraints))))
          .endsWith("ith other devices for table b than those of table a it would fit");
    }
    assertThat(message(problem(cluster, Fixtures.hashed("c", 60_000_000, 64, 10))))
        .as("nothing of its constraints")
        .endsWith(" of host memory a device, cached tables would fit");
  }

  @Test
  void a_least_width_that_prevents_a_plan_is_named() {
    TableSpec ads =
        Fixtures.table("ads", 60_000_000, 64, 10)
            .withConstraints(
                new TableConstraints(
                    EnumSet.of(ShardKind.TABLE_WISE, ShardKind.COLUMN_WISE), 32, Optional.empty()));
    assertThat(kinds(problem(KindsTest.cluster(8, 8, 8 * Fixtures.GIB), ads)))
        .containsExactly(ShardKind.COLUMN_WISE);
    assertThat(message(problem(KindsTest.cluster(8, 8, 6 * Fixtures.GIB), ads)))
        .startsWith(
            "The narrowest shard of table ads that its constraints allow, 32 columns, needs 7.2"
                + " GiB")
        .endsWith("with row_wise allowed for table ads it would fit");
  }

  @Test
  void copies_on_all_devices_count_as_often_as_there_are_devices() {
    TableSpec one = Fixtures.table("a", 1_000_000, 64, 1);
    ClusterSpec cluster = KindsTest.cluster(4, 4, 320_000_000);
    TableConstraints copied = only(ShardKind.DATA_PARALLEL);
    assertThat(kinds(problem(cluster, one.withConstraints(copied))))
        .containsExactly(ShardKind.DATA_PARALLEL);
    TableSpec other = Fixtures.table("b", 1_000_000, 64, 1).withConstraints(copied);
    assertThat(message(problem(cluster, one.withConstraints(copied), other)))
        .isEqualTo(
            "The tables need 1.9 GiB, and 4 devices of 305.2 MiB have 1.2 GiB. 732.4 MiB short;"
                + " with column_wise allowed for table a it would fit");
  }

  @Test
  void tables_on_the_same_devices_move_together() {
    List<TableSpec> tables = new ArrayList<>(Plans.randomTables(new Random(3), 20));
    for (int t = 1; t < 20; t += 3) {
      String leader = tables.get(t - 1).name();
      tables.set(t, tables.get(t).withConstraints(sameAs(leader)));
    }
    SearchProblem problem =
        KindsTest.problem(tables, KindsTest.cluster(8, 4, 8 * Fixtures.GIB), PlanShards.NONE);
    assertThat(kinds(problem)).isNotEmpty();
  }

  /** Together they are larger than a device, and neither may be cut. */
  @Test
  void tables_that_do_not_fit_on_the_same_devices_are_named() {
    TableSpec a = Fixtures.table("a", 1_000_000, 64, 1).withConstraints(only(ShardKind.TABLE_WISE));
    TableSpec b = Fixtures.table("b", 1_000_000, 64, 1).withConstraints(sameAs("a"));
    assertThat(message(problem(KindsTest.cluster(2, 2, 300_000_000), a, b)))
        .isEqualTo(
            "The narrowest shard of table a with the 1 tables on its devices, 128 columns, needs"
                + " 488.3 MiB, and a device has 286.1 MiB. Maybe use fewer rows or fewer bytes per"
                + " element. 202.2 MiB short; with column_wise allowed for table a it would fit");
    TableSpec wide =
        b.withConstraints(new TableConstraints(Set.of(ShardKind.TABLE_WISE), 0, Optional.of("a")));
    assertThat(message(problem(KindsTest.cluster(2, 2, 300_000_000), a, wide)))
        .endsWith("with other devices for table b than those of table a it would fit");
  }

  /** A later event may change the table that others refer to. */
  @Test
  void tables_on_the_same_devices_without_a_kind_in_common_are_named() {
    TableSpec a = Fixtures.table("a", 1_000, 64, 1).withConstraints(only(ShardKind.ROW_WISE));
    TableSpec b =
        Fixtures.table("b", 1_000, 64, 1)
            .withConstraints(
                new TableConstraints(Set.of(ShardKind.TABLE_WISE), 0, Optional.of("a")));
    assertThat(message(problem(KindsTest.cluster(2, 2, Fixtures.GIB), a, b)))
        .startsWith(
            "No sharding that the constraints allow exists on 2 devices, 2 on a node, for a"
                + " (row_wise), b (table_wise)")
        .endsWith("With table_wise allowed for table a it would fit");
  }

  @Test
  void a_table_that_is_not_there_constrains_nothing() {
    TableSpec a = Fixtures.table("a", 1_000, 64, 1).withConstraints(sameAs("dropped"));
    assertThat(kinds(problem(KindsTest.cluster(2, 2, Fixtures.GIB), a))).isNotEmpty();
  }

  /** Where a node has one device, or there is one node, row shards in a node do not exist. */
  @Test
  void kinds_that_the_cluster_does_not_have_are_named() {
    TableSpec a = Fixtures.table("a", 1_000, 64, 1).withConstraints(only(ShardKind.TABLE_ROW_WISE));
    for (ClusterSpec cluster :
        List.of(KindsTest.cluster(4, 1, Fixtures.GIB), KindsTest.cluster(4, 4, Fixtures.GIB))) {
      Shortfall shortfall =
          ((SearchResult.NotFound) LocalSearch.search(problem(cluster, a), BRIEF)).shortfall();
      assertThat(shortfall.message())
          .isEqualTo(
              "No sharding that the constraints allow exists on 4 devices, %d on a node, for a (table_row_wise). With table_wise allowed for table a it would fit"
                  .formatted(cluster.devicesPerNode()));
      assertThat(shortfall.bytesShort()).as("there is enough memory").isZero();
    }
  }

  /** TorchRec plans them, too: a single shard, whatever it is called. */
  @Property(tries = 100)
  void on_one_device_all_kinds_are_one_thing(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (ShardKind kind : ShardKind.values()) {
      TableSpec table = Plans.randomTables(random, 1).get(0);
      boolean isPooled = kind.isPooledOnly() || random.nextBoolean();
      Set<ShardKind> kinds = EnumSet.of(kind);
      if (random.nextInt(3) == 0) {
        kinds.add(KINDS.get(random.nextInt(KINDS.size())));
      }
      tables.add(
          TableSpecBuilder.builder(table)
              .name(kind.label())
              .columns(Math.max(8, table.columns()))
              .pooled(isPooled)
              .constraints(new TableConstraints(kinds, 0, Optional.empty()))
              .build());
    }
    ClusterSpec cluster = KindsTest.cluster(1, 1 + random.nextInt(2), 400 * Fixtures.GIB);
    SearchProblem problem = KindsTest.problem(tables, cluster, PlanShards.NONE);
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    for (int t = 0; t < tables.size(); t++) {
      TableConstraints constraints = tables.get(t).constraints();
      assertThat(constraints.allows(found.shards().get(t).kind())).isTrue();
    }
    SearchProblem running = KindsTest.problem(tables, cluster, new PlanShards(found.shards(), 1));
    assertThat(((SearchResult.Found) CheckedSearch.search(running, BRIEF)).shards())
        .as("a plan that runs stays")
        .isEqualTo(found.shards());
  }

  @Test
  void a_table_of_one_row_has_no_row_shards() {
    TableSpec one = Fixtures.table("one", 1, 64, 1);
    ClusterSpec cluster = KindsTest.cluster(4, 2, Fixtures.GIB);
    assertThat(kinds(problem(cluster, one))).hasSize(1);
    assertThat(message(problem(cluster, one.withConstraints(only(ShardKind.ROW_WISE)))))
        .contains("for one (row_wise; too few rows for a block on each device: 1)")
        .endsWith("With table_wise allowed for table one it would fit");
  }

  @Test
  void a_table_of_the_most_rows_is_split_over_all_devices_or_is_too_large() {
    TableSpec most = Fixtures.table("most", TableSpec.MAX_ROWS, 4, 1);
    ClusterSpec large = KindsTest.cluster(16, 8, 80 * Fixtures.GIB);
    assertThat(kinds(problem(large, most))).containsExactly(ShardKind.ROW_WISE);
    assertThat(message(problem(large, most.withConstraints(only(ShardKind.TABLE_ROW_WISE)))))
        .endsWith("with row_wise allowed for table most it would fit");
    assertThat(message(problem(KindsTest.cluster(8, 8, 80 * Fixtures.GIB), most)))
        .startsWith("The smallest shard of table most, 8,589,934,592 rows of 4 columns, needs");
  }

  @Test
  void there_may_be_more_nodes_than_tables() {
    TableSpec a =
        Fixtures.table("a", 10_000_000, 64, 30).withConstraints(only(ShardKind.GRID_SHARD));
    assertThat(kinds(problem(KindsTest.cluster(32, 2, 8 * Fixtures.GIB), a)))
        .containsExactly(ShardKind.GRID_SHARD);
  }

  /** The node is gone that held the row shards: another kind that is allowed takes over. */
  @Test
  void a_cluster_that_cannot_have_the_running_kind_gets_another_one() {
    TableSpec a =
        Fixtures.table("a", 1_000_000, 64, 10)
            .withConstraints(only(ShardKind.TABLE_ROW_WISE, ShardKind.ROW_WISE));
    ClusterSpec two = KindsTest.cluster(8, 4, Fixtures.GIB);
    SearchResult.Found running =
        (SearchResult.Found)
            LocalSearch.search(
                problem(two, a.withConstraints(only(ShardKind.TABLE_ROW_WISE))), BRIEF);
    SearchProblem smaller =
        KindsTest.problem(
            List.of(a), KindsTest.cluster(4, 4, Fixtures.GIB), new PlanShards(running.shards(), 8));
    assertThat(kinds(smaller)).containsExactly(ShardKind.ROW_WISE);
    assertThat(kinds(with(smaller, "a", only(ShardKind.ROW_WISE)))).hasSize(1);
  }

  /** Each of the new nodes has half of the rows: neither can be kept as if it had all of them. */
  @Test
  void row_shards_of_a_node_that_became_two_are_placed_again() {
    TableSpec a =
        Fixtures.table("a", 1_000_000, 64, 10).withConstraints(only(ShardKind.TABLE_ROW_WISE));
    SearchProblem before = problem(KindsTest.cluster(8, 4, Fixtures.GIB), a);
    PlanShards running = ((SearchResult.Found) LocalSearch.search(before, BRIEF)).placed();
    SearchProblem after =
        KindsTest.problem(List.of(a), KindsTest.cluster(8, 2, Fixtures.GIB), running);
    SearchResult result = CheckedSearch.search(after, BRIEF);
    assertThat(result).isInstanceOf(SearchResult.Found.class);
    check(after, result);
  }

  /** Nodes of three devices became nodes of two: the last two have two thirds of the rows. */
  @Test
  void row_shards_of_a_node_that_became_a_smaller_one_move() {
    TableSpec a =
        Fixtures.table("a", 900_000, 64, 10).withConstraints(only(ShardKind.TABLE_ROW_WISE));
    PlanShards running =
        new PlanShards(
            new Sharding.TableRowWise(2).shards(a, KindsTest.cluster(9, 3, Fixtures.GIB)), 9);
    SearchProblem after =
        KindsTest.problem(List.of(a), KindsTest.cluster(8, 2, Fixtures.GIB), running);
    LocalSearch search = CheckedSearch.of(after, BRIEF);
    assertThat(search.running.get(0).parts()).isEmpty();
    State repaired = new Repair(search).run();
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(after, BRIEF);
    check(after, found);
    double moveMs = found.moves(running, after.tables()).stream().mapToDouble(BRIEF::moveMs).sum();
    assertThat(search.annealing(repaired, true).objective.movePrice.ms)
        .isPositive()
        .isCloseTo(moveMs, within(1e-9));
  }

  /**
   * Five rows on four devices would be two on each of the first two, one on the third, and none.
   */
  @Test
  void a_table_whose_only_kind_leaves_a_device_without_rows_has_no_plan() {
    TableSpec a = Fixtures.table("a", 5, 64, 10).withConstraints(only(ShardKind.TABLE_ROW_WISE));
    ClusterSpec cluster = KindsTest.cluster(8, 4, Fixtures.GIB);
    assertThat(message(problem(cluster, a)))
        .isEqualTo(
            "No sharding that the constraints allow exists on 8 devices, 4 on a node, for a"
                + " (table_row_wise; too few rows for a block on each device: 5). With table_wise"
                + " allowed for table a it would fit");
    PlanShards running = new PlanShards(new Sharding.TableRowWise(1).shards(a, cluster), 8);
    TableSpec whole = a.withConstraints(only(ShardKind.TABLE_ROW_WISE, ShardKind.TABLE_WISE));
    SearchProblem problem = KindsTest.problem(List.of(whole), cluster, running);
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    assertThat(found.shards()).extracting(Shard::kind).containsExactly(ShardKind.TABLE_WISE);
  }

  @Test
  void constraints_of_several_tables_are_named_together() {
    TableConstraints whole = only(ShardKind.TABLE_WISE);
    TableSpec[] tables =
        Stream.of("a", "b")
            .map(name -> Fixtures.table(name, 1_500_000, 64, 1).withConstraints(whole))
            .toArray(TableSpec[]::new);
    assertThat(message(problem(KindsTest.cluster(3, 3, 300_000_000), tables)))
        .endsWith("80.1 MiB short; without the constraints of tables a, b it would fit");
  }
}
