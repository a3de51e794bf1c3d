package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.DistinctIds;
import io.shardtide.plan.Deduplication;
import io.shardtide.plan.HotOwner;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.DistinctShare;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.RowSpread;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Plans of tables whose ids repeat within a batch, and of tables with hot blocks of rows. */
class DeduplicationTest {
  private static final SearchSettings BRIEF = Fixtures.settings(1_000, 1_000, 10, 10, 0, 1_000);
  private static final ClusterSpec CLUSTER = KindsTest.cluster(16, 8, 40 * Fixtures.GIB);
  private static final TableConstraints ROW_WISE =
      TableConstraints.NONE.withKinds(Set.of(ShardKind.ROW_WISE));

  /** An unpooled table; of the lookups of a rank's 1,024 samples a share is of distinct ids. */
  private static TableSpec table(String name, double share) {
    return TableSpecBuilder.builder(Fixtures.table(name, 1L << 22, 64, 40))
        .pooled(false)
        .distinctShare(List.of(new DistinctShare(1_024, share)))
        .build();
  }

  private static TableSpec fixed(TableSpec table, boolean isDeduplicated) {
    return TableSpecBuilder.builder(table).deduplicated(Optional.of(isDeduplicated)).build();
  }

  private static TableSpec spread(TableSpec table, RowOrder... orders) {
    List<RowSpread> spreads =
        List.of(orders).stream()
            .map(
                order ->
                    new RowSpread(
                        order,
                        order == RowOrder.CONTIGUOUS ? hot() : Collections.nCopies(32, 1.0 / 32)))
            .toList();
    return TableSpecBuilder.builder(table).rowSpread(spreads).build();
  }

  /** The third of 16 blocks has four times the mean. */
  private static List<Double> hot() {
    List<Double> shares = new java.util.ArrayList<>(Collections.nCopies(16, 12.0 / 15 / 16));
    shares.set(2, 4.0 / 16);
    return shares;
  }

  private static SearchResult.Found plan(List<TableSpec> tables, PlanShards running) {
    SearchProblem problem = KindsTest.problem(tables, CLUSTER, running);
    SearchResult.Found found = (SearchResult.Found) CheckedSearch.search(problem, BRIEF);
    KindsTest.check(problem, found);
    return found;
  }

  private static SearchResult.Found plan(TableSpec... tables) {
    return plan(List.of(tables), PlanShards.NONE);
  }

  private static List<String> deduplicated(SearchResult.Found found) {
    return found.shards().stream()
        .filter(Shard::deduplicated)
        .map(Shard::table)
        .distinct()
        .toList();
  }

  @Test
  void ids_that_repeat_are_deduplicated_and_others_are_not() {
    SearchResult.Found found = plan(table("often", 0.02), table("never", 1));
    assertThat(deduplicated(found)).containsExactly("often");
    List<Deduplication> saved = found.insight().orElseThrow().deduplications();
    assertThat(saved).extracting(Deduplication::table).containsExactly("often");
    assertThat(saved.get(0).distinctShare()).isCloseTo(0.02, within(1e-9));
    assertThat(saved.get(0).savedMs()).isPositive();
    SearchResult.Found without = plan(fixed(table("often", 0.02), false), table("never", 1));
    assertThat(deduplicated(without)).isEmpty();
    assertThat(found.predictedMs()).isLessThan(0.7 * without.predictedMs());
  }

  @Test
  void what_a_publisher_decided_is_kept() {
    SearchResult.Found found =
        plan(fixed(table("never", 1), true), fixed(table("often", 0.02), false));
    assertThat(deduplicated(found)).containsExactly("never");
    assertThat(found.insight().orElseThrow().deduplications().get(0).savedMs()).isZero();
  }

  @Test
  void a_table_that_runs_with_all_ids_is_deduplicated_without_moving_rows() {
    TableSpec before = fixed(table("often", 0.02).withConstraints(ROW_WISE), false);
    SearchResult.Found running = plan(before);
    SearchResult.Found found =
        plan(List.of(table("often", 0.02).withConstraints(ROW_WISE)), running.placed());
    assertThat(deduplicated(found)).containsExactly("often");
    assertThat(found.shards())
        .extracting(Shard::region)
        .isEqualTo(running.shards().stream().map(Shard::region).toList());
    assertThat(deduplicated(plan(List.of(before), found.placed()))).isEmpty();
  }

  @Test
  void without_distinct_shares_the_use_of_rows_alone_deduplicates_nothing() {
    TableSpec used =
        TableSpecBuilder.builder(table("used", 0.5))
            .distinctShare(List.of())
            .accessCdf(Fixtures.cdf(1L << 22))
            .build();
    assertThat(deduplicated(plan(used))).isEmpty();
    SearchResult.Found asked = plan(fixed(used, true));
    assertThat(deduplicated(asked)).containsExactly("used");
    assertThat(HotRows.byTable(asked.shards())).isEmpty();
  }

  @Test
  void a_share_between_two_measured_ones_lies_between_them_and_beyond_them_goes_on() {
    TableSpec table =
        TableSpecBuilder.builder(table("t", 0.5))
            .distinctShare(List.of(new DistinctShare(256, 0.4), new DistinctShare(1_024, 0.1)))
            .build();
    assertThat(DistinctIds.share(table, 256, 16_384)).isEqualTo(0.4);
    assertThat(DistinctIds.share(table, 512, 16_384)).isCloseTo(0.2, within(1e-12));
    assertThat(DistinctIds.share(table, 4_096, 16_384)).isBetween(0.02, 0.1);
    assertThat(DistinctIds.share(table, 16, 16_384)).isBetween(0.4, 1.0);
  }

  /** Lookups that do not depend on each other, from a CDF, as TorchRec's ranks would draw them. */
  @Test
  void without_a_measured_share_it_follows_from_the_use_of_rows() {
    List<Double> shares = new java.util.ArrayList<>();
    for (double rows = 1; rows < 1L << 22; rows *= 4) {
      shares.add(Math.pow(rows / (1L << 22), 0.05));
    }
    shares.add(1.0);
    TableSpec table =
        TableSpecBuilder.builder(table("t", 0.5))
            .distinctShare(List.of())
            .accessCdf(new AccessCdf(shares))
            .build();
    double few = DistinctIds.share(table, 1, 16_384);
    double many = DistinctIds.share(table, 16_384, 16_384);
    assertThat(many).isPositive().isLessThan(few);
    assertThat(few).isLessThan(1);
  }

  @Test
  void a_split_table_costs_what_its_hottest_owner_costs() {
    TableSpec even = table("t", 1).withConstraints(ROW_WISE);
    SearchResult.Found hot = plan(spread(even, RowOrder.CONTIGUOUS));
    assertThat(hot.predictedMs()).isGreaterThan(2 * plan(even).predictedMs());
    assertThat(hot.shards()).allMatch(s -> s.rowOrder().equals(Optional.of(RowOrder.CONTIGUOUS)));
    HotOwner owner =
        HotOwner.of(TableSpec.byName(List.of(spread(even, RowOrder.CONTIGUOUS))), hot.shards())
            .get(0);
    assertThat(owner.device()).isEqualTo(2);
    assertThat(owner.factor()).isCloseTo(4, within(1e-9));
  }

  @Test
  void an_order_that_spreads_lookups_evenly_is_chosen_and_other_kinds_where_there_is_none() {
    TableSpec even = table("t", 1).withConstraints(ROW_WISE);
    SearchResult.Found found = plan(spread(even, RowOrder.CONTIGUOUS, RowOrder.ROUND_ROBIN));
    assertThat(found.shards())
        .allMatch(s -> s.rowOrder().equals(Optional.of(RowOrder.ROUND_ROBIN)));
    assertThat(found.predictedMs()).isCloseTo(plan(even).predictedMs(), within(1e-9));
    TableSpec free = table("t", 1);
    assertThat(plan(spread(free, RowOrder.CONTIGUOUS)).shards())
        .extracting(Shard::kind)
        .doesNotContain(ShardKind.ROW_WISE);
  }
}
