package io.shardtide.allocation;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;

class CurveSearchTest {
  private static final ModelBundle BUNDLE = TestModels.nodes();
  private static final PlainTowers TOWERS = new PlainTowers(BUNDLE);
  private static final CostModel MODEL = new CostModel(BUNDLE);
  private static final long GIB = 1L << 30;
  private static final Claim CLAIM = new Claim("ads", 2, 16, 1, 0);

  private final CurveSearch search = new CurveSearch(TOWERS, MODEL, SearchSettings.DEFAULTS);

  private static Pool pool(long memoryBytes) {
    List<PoolNode> nodes = new ArrayList<>();
    for (int n = 0; n < 16; n++) {
      nodes.add(new PoolNode("n" + n, ""));
    }
    return Pool.of(2, memoryBytes, 0, BUNDLE.hardware(), nodes);
  }

  private static List<TableSpec> tables(long rows) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      tables.add(new TableSpec("t" + t, rows, 64, 5 + 10 * t, ReuseHistogram.UNKNOWN, 4));
    }
    return tables;
  }

  private Curve search(Pool pool, List<TableSpec> tables, long generation, Optional<Curve> before) {
    Curve unknown = unknown(pool, CLUSTER, tables, generation);
    return search.complete(before.map(unknown::after).orElse(unknown));
  }

  private static Curve unknown(
      Pool pool, ClusterSpec cluster, List<TableSpec> tables, long generation) {
    return new Curve(
        CurveRequest.of(
            "", CLAIM.workloadId(), pool, List.copyOf(CurveSearch.devices(pool, CLAIM))),
        generation,
        cluster,
        tables,
        BUNDLE.modelId(),
        new TreeMap<>());
  }

  private static final ClusterSpec CLUSTER = new ClusterSpec(2, GIB, 65_536, 2, BUNDLE.hardware());

  /** Refines a curve of a workload whose plan runs on devices of the pool. */
  private Curve refine(Pool pool, List<TableSpec> tables, Curve curve, RunningPlan running) {
    ClusterSpec cluster = pool.cluster(CLUSTER, running.devices());
    return search.refine(unknown(pool, cluster, tables, 1).with(curve.points()).after(running));
  }

  private Curve refined(Pool pool, List<TableSpec> tables) {
    Curve curve = search(pool, tables, 1, Optional.empty());
    while (!curve.isRefined()) {
      curve = search.refine(curve);
    }
    return curve;
  }

  private static List<TableSpec> random(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 2 + random.nextInt(4); t > 0; t--) {
      tables.add(
          new TableSpec(
              "t" + t,
              1_000L << random.nextInt(14),
              4 << random.nextInt(6),
              1 + random.nextInt(100),
              ReuseHistogram.UNKNOWN,
              4));
    }
    // Their order breaks ties; curves are searched in that of names.
    tables.sort(Comparator.comparing(TableSpec::name));
    return tables;
  }

  private static void assertNeverSlowerWithMore(Curve curve) {
    double before = Double.POSITIVE_INFINITY;
    for (CurvePoint point : curve.throughput().points()) {
      double step = point.stepMs().orElse(Double.POSITIVE_INFINITY);
      assertThat(step)
          .as("%d devices of %s", point.devices(), curve.throughput())
          .isLessThanOrEqualTo(before);
      before = step;
    }
  }

  @Property(tries = 3, shrinking = ShrinkingMode.OFF)
  void more_devices_are_never_slower_and_no_point_is_worse_than_a_plan(@ForAll long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = random(random);
    Pool pool = pool(random.nextBoolean() ? GIB / 8 : 8 * GIB);
    Curve quick = search(pool, tables, 1, Optional.empty());
    assertNeverSlowerWithMore(quick);
    Curve refined = refined(pool, tables);
    assertNeverSlowerWithMore(refined);
    for (CurvePoint point : refined.throughput().points()) {
      // What the command plan --workloads finds.
      ClusterSpec cluster = pool.cluster(CLUSTER, point.devices());
      SearchResult plan =
          GroupSearch.search(
              new GroupedProblem(TOWERS.predict(tables, cluster), cluster, MODEL),
              SearchSettings.DEFAULTS);
      if (plan instanceof SearchResult.Found found) {
        assertThat(point.stepMs()).isPresent();
        assertThat(point.stepMs().getAsDouble())
            .as("%d devices", point.devices())
            .isLessThanOrEqualTo(found.predictedMs());
      }
      double less = point.stepMs().orElse(100) / 2;
      Curve bounded =
          refine(
              pool,
              tables,
              refined,
              new RunningPlan(1, BUNDLE.modelId(), point.devices() + 1, less));
      assertNeverSlowerWithMore(bounded);
      assertThat(bounded.throughput().samplesPerSecond(point.devices() + 1).getAsDouble())
          .as("a point between two others")
          .isGreaterThanOrEqualTo(65_536e3 / less * (1 - 1e-12));
    }
  }

  /** The quick search gives up what a whole one finds; both are on the same curve in the end. */
  @Test
  void a_point_that_is_worse_than_that_of_fewer_devices_has_theirs() {
    Pool pool = pool(8 * GIB);
    Curve curve = search(pool, tables(1_000_000), 1, Optional.empty());
    Curve bounded =
        refine(pool, tables(1_000_000), curve, new RunningPlan(1, BUNDLE.modelId(), 2, 0.001));
    assertThat(bounded.throughput().points())
        .allSatisfy(point -> assertThat(point.stepMs()).hasValue(0.001));
    assertThat(bounded.throughput().fewest(16)).isEqualTo(2);
    assertThat(bounded.points().get(16).stepMs().getAsDouble()).isGreaterThan(0.001);
  }

  @Test
  void it_is_searched_at_powers_of_two_nodes_and_between() {
    assertThat(CurveSearch.devices(pool(GIB), CLAIM)).containsExactly(2, 4, 6, 8, 12, 16);
    assertThat(CurveSearch.devices(pool(GIB), new Claim("ads", 5, 21, 1, 0)))
        .containsExactly(6, 8, 12, 16, 21);
    assertThat(CurveSearch.devices(pool(GIB), new Claim("ads", 40, 50, 1, 0)))
        .as("more than the pool has")
        .containsExactly(40);
  }

  @Test
  void more_devices_are_faster_where_tables_have_lookups() {
    Curve curve = search(pool(8 * GIB), tables(1_000_000), 3, Optional.empty());
    assertThat(curve.throughput().generation()).isEqualTo(3);
    assertThat(curve.throughput().modelId()).isEqualTo(BUNDLE.modelId());
    assertThat(curve.throughput().points())
        .extracting(CurvePoint::devices)
        .containsExactly(2, 4, 6, 8, 12, 16);
    assertThat(curve.throughput().samplesPerSecond(8).getAsDouble())
        .isGreaterThan(curve.throughput().samplesPerSecond(2).getAsDouble());
  }

  @Test
  void a_number_of_devices_with_too_little_memory_has_no_throughput() {
    // 8 tables of 10 million rows and 64 columns need 19.1 GiB.
    Curve curve = search(pool(4 * GIB), tables(10_000_000), 1, Optional.empty());
    assertThat(curve.throughput().samplesPerSecond(4)).isEmpty();
    assertThat(curve.throughput().samplesPerSecond(5)).isEmpty();
    assertThat(curve.throughput().samplesPerSecond(6)).isPresent();
    assertThat(curve.points().get(4).plan().isEmpty()).isTrue();
    assertThat(curve.points().get(6).plan().isEmpty()).isFalse();
  }

  @Test
  void the_order_of_tables_does_not_matter() {
    List<TableSpec> shuffled = new ArrayList<>(tables(1_000_000));
    Collections.shuffle(shuffled, new Random(1));
    assertThat(search(pool(8 * GIB), shuffled, 1, Optional.empty()).throughput())
        .isEqualTo(search(pool(8 * GIB), tables(1_000_000), 1, Optional.empty()).throughput());
  }

  @Test
  void a_generation_with_the_same_tables_takes_the_curve_before() {
    Curve first = search(pool(8 * GIB), tables(1_000_000), 1, Optional.empty());
    Curve second = search(pool(8 * GIB), tables(1_000_000), 2, Optional.of(first));
    assertThat(second.throughput().generation()).isEqualTo(2);
    assertThat(second.throughput().points()).isEqualTo(first.throughput().points());
    assertThat(second.points()).isEqualTo(first.points());
  }

  @Test
  void a_changed_table_is_searched_from_the_plans_before() {
    Curve first = search(pool(8 * GIB), tables(1_000_000), 1, Optional.empty());
    List<TableSpec> changed = new ArrayList<>(tables(1_000_000));
    changed.set(0, changed.get(0).withColumns(32));
    Curve warm = search(pool(8 * GIB), changed, 2, Optional.of(first));
    Curve cold = search(pool(8 * GIB), changed, 2, Optional.empty());
    assertThat(warm.throughput().points()).isNotEqualTo(first.throughput().points());
    for (CurvePoint point : cold.throughput().points()) {
      assertThat(warm.throughput().samplesPerSecond(point.devices()).getAsDouble())
          .isGreaterThan(0.8 * 65_536e3 / point.stepMs().getAsDouble());
    }
  }
}
