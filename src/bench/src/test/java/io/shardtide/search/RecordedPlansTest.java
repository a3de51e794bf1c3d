package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.search.reference.BeamSearch;
import io.shardtide.search.reference.ReferenceSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Plans;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * A replay searches every plan of a log again and must find the same one, on any machine and in any
 * later version. These are searches of this version, by {@link Plans#digest}: they change only with
 * the search, or with the shipped model, and then logs of earlier versions no longer replay.
 */
class RecordedPlansTest {
  private static final SearchSettings SETTINGS = Fixtures.settings(2_000, 4_000, 10, 1, 0, 1_000);

  private static List<TableSpec> tables(int count, long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(
          Fixtures.table(
              "t%02d".formatted(t),
              1L << (8 + random.nextInt(15)),
              4 * (1 + random.nextInt(32)),
              1 + random.nextInt(60)));
    }
    return tables;
  }

  private static SearchProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, List<Shard> running) {
    return Plans.problem(new CostModel(ModelFiles.shipped()), tables, cluster, running);
  }

  private static SearchResult search(
      List<TableSpec> tables, ClusterSpec cluster, List<Shard> running) {
    return LocalSearch.search(problem(tables, cluster, running), SETTINGS);
  }

  private static List<Shard> shards(SearchResult result) {
    return ((SearchResult.Found) result).shards();
  }

  private static void assertSame(List<SearchResult> results, String... digests) {
    assertThat(results.stream().map(Plans::digest)).containsExactly(digests);
  }

  @Test
  void plans_from_scratch_are_the_same_in_every_version() {
    ClusterSpec five = Fixtures.cluster(5, 8 * Fixtures.GIB);
    ClusterSpec two = Fixtures.cluster(2, 8 * Fixtures.GIB);
    ClusterSpec many = Fixtures.cluster(24, 8 * Fixtures.GIB);
    assertSame(
        List.of(
            search(tables(10, 1), five, List.of()),
            search(tables(3, 2), five, List.of()),
            search(tables(6, 3), two, List.of()),
            search(tables(30, 8), many, List.of())),
        "58b514d6e630",
        "fa6b3a842e66",
        "a1a380a608d2",
        "606104cd7689");
  }

  @Test
  void plans_from_a_running_plan_are_the_same_in_every_version() {
    List<TableSpec> tables = tables(12, 4);
    SearchResult first = search(tables, Fixtures.cluster(6, 8 * Fixtures.GIB), List.of());
    List<TableSpec> changed = new ArrayList<>(tables);
    changed.set(2, Fixtures.table("t02", 1 << 20, 128, 40));
    changed.set(3, tables.get(3).withColumns(tables.get(3).columns() + 4));
    changed.remove(7);
    changed.add(Fixtures.table("t99", 1 << 18, 64, 30));
    SearchResult second = search(changed, Fixtures.cluster(6, 8 * Fixtures.GIB), shards(first));
    SearchResult third = search(changed, Fixtures.cluster(4, 8 * Fixtures.GIB), shards(second));
    SearchResult fourth = search(changed, Fixtures.cluster(7, 8 * Fixtures.GIB), shards(third));
    assertSame(List.of(second, third, fourth), "f0eef205907b", "e46aff1c71d0", "47c458c9b2bb");
  }

  /** With 1.05 times, and with 1.4 times the bytes of the tables. */
  @Test
  void plans_for_little_memory_are_the_same_in_every_version() {
    List<TableSpec> tables = new ArrayList<>();
    for (TableSpec table : tables(14, 5)) {
      // With prime numbers of columns there would be no plan.
      tables.add(table.withColumns(Integer.highestOneBit(table.columns())));
    }
    long bytes = tables.stream().mapToLong(TableSpec::bytes).sum();
    ClusterSpec tight = Fixtures.cluster(6, bytes / 6 * 21 / 20);
    SearchResult packed = search(tables, tight, List.of());
    ClusterSpec loose = Fixtures.cluster(6, bytes / 6 * 7 / 5);
    SearchResult placed = search(tables, loose, List.of());
    SearchResult repaired = search(tables, tight, shards(placed));
    List<TableSpec> narrow =
        List.of(
            Fixtures.table("a", 60, 8, 1),
            Fixtures.table("b", 50, 8, 1),
            Fixtures.table("c", 70, 8, 1));
    assertThat(List.of(packed, placed, repaired)).hasOnlyElementsOfType(SearchResult.Found.class);
    SearchResult none = search(narrow, Fixtures.cluster(4, 1_500), List.of());
    assertSame(
        List.of(packed, placed, repaired, none),
        "3d947d3aae8d",
        "ca9471ebca02",
        "4feb09381f90",
        "02701264b074");
  }

  /** 496 of 500 rows, which no simple order packs. */
  @Test
  void shuffled_packings_are_the_same_in_every_version() {
    int[] rows = {46, 24, 27, 31, 54, 42, 46, 35, 39, 51, 26, 26, 49};
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < rows.length; t++) {
      tables.add(Fixtures.table("t%02d".formatted(t), rows[t], 4, 5));
    }
    assertSame(List.of(search(tables, Fixtures.cluster(5, 1_600), List.of())), "2848285b0ddc");
  }

  @Test
  void plans_of_the_reference_search_are_the_same_in_every_version() {
    ReferenceSettings settings = new ReferenceSettings(2, 4, 5, 4, 1.0, 1.5);
    SearchProblem roomy = problem(tables(9, 6), Fixtures.cluster(4, 8 * Fixtures.GIB), List.of());
    List<TableSpec> tables = tables(9, 7);
    long bytes = tables.stream().mapToLong(TableSpec::bytes).sum();
    SearchProblem tight = problem(tables, Fixtures.cluster(4, bytes / 4 * 23 / 20), List.of());
    assertSame(
        List.of(BeamSearch.search(roomy, settings), BeamSearch.search(tight, settings)),
        "ca680f3a0139",
        "ed8ac57efe67");
  }
}
