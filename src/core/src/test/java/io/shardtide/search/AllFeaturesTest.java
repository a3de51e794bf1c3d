package io.shardtide.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ShapeLoad;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.plan.Bottleneck;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Transfer;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.RandomShardings;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.HashedStorageBuilder;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/**
 * All features of a search at once: nodes of which the last may be smaller, devices of unequal
 * memory, replica groups, host memory, codecs, slow devices; tables that are pooled or not, with
 * hot rows, constraints, optimizers, kernels, hash tables and features of any batch sizes; and
 * running plans of other tables on other devices. Every cost on the way is compared with one from
 * scratch, and so is all that a plan says of itself.
 */
class AllFeaturesTest {
  private static final List<ShardKind> KINDS = List.of(ShardKind.values());
  private static final List<Used> MODELS =
      List.of(new Used(TestModels.nodes()), new Used(TestModels.h200()));

  /** A model; only one of them predicts launch groups. */
  private record Used(CostModel model, PlainTowers towers) {
    Used(ModelBundle bundle) {
      this(new CostModel(bundle), new PlainTowers(bundle));
    }
  }

  /** What is searched. */
  private record Scene(SearchProblem problem, SearchSettings settings) {}

  /** Draws what is searched. */
  private static final class Scenes {
    private final Random random;
    private final Used used;

    /** Whether kernels may demand host memory, which all clusters have then. */
    private final boolean needsHost;

    Scenes(long seed) {
      random = new Random(seed);
      used = MODELS.get(random.nextInt(MODELS.size()));
      needsHost = random.nextInt(4) == 0;
    }

    Scene draw() {
      List<TableSpec> tables = new ArrayList<>();
      for (int t = 0, count = 1 + random.nextInt(10); t < count; t++) {
        tables.add(table("t%02d".formatted(t), tables));
      }
      ClusterSpec cluster = cluster(tables);
      ReplicaGroups groups = any(cluster.groupings());
      PlanShards running = random.nextInt(3) == 0 ? PlanShards.NONE : running(tables, cluster);
      if (random.nextBoolean()) {
        groups = cluster.groupings().contains(running.groups()) ? running.groups() : groups;
      }
      SearchProblem problem =
          new GroupedProblem(
                  predicted(tables, cluster),
                  cluster,
                  used.model(),
                  running,
                  false,
                  random.nextInt(3) == 0 ? slow(cluster.devices()) : List.of())
              .inGroup(groups);
      return new Scene(problem, settings());
    }

    /** Brief: the checks take longer than the search. */
    private SearchSettings settings() {
      boolean isFree = random.nextInt(3) == 0;
      return Fixtures.settings(
          5 + random.nextInt(10),
          random.nextInt(3) * 400L,
          isFree ? 1e6 : 10,
          isFree ? 0 : random.nextInt(3),
          random.nextInt(2) * 10,
          1 + random.nextInt(1_000));
    }

    private List<TablePrediction> predicted(List<TableSpec> tables, ClusterSpec cluster) {
      return used.towers()
          .predict(
              tables.stream().map(t -> t.withDefaultOptimizer(cluster.optimizer())).toList(),
              cluster);
    }

    private <T> T any(List<T> of) {
      return of.get(random.nextInt(of.size()));
    }

    private ClusterSpec cluster(List<TableSpec> tables) {
      int nodes = 1 + random.nextInt(4);
      int perNode = 1 + random.nextInt(16 / nodes);
      int devices = Math.max(1, nodes * perNode - (random.nextInt(4) == 0 ? 1 : 0));
      // From too little to enough for many copies, and now and then more than all tables need.
      double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
      boolean hasHost = needsHost || random.nextInt(3) == 0;
      double slack = random.nextInt(4) == 0 ? 100 : (hasHost ? 0.05 : 1) + 3 * random.nextDouble();
      long memory = memory(slack * bytes / devices);
      long hostMemory = hasHost ? memory((1 + random.nextInt(8)) * bytes / devices) : 0;
      ClusterSpec plain =
          new ClusterSpec(devices, memory, 16_384, perNode, used.model().hardware());
      Optional<TrainingPipeline> pipeline =
          random.nextInt(4) == 0
              ? Optional.of(any(List.of(TrainingPipeline.values())))
              : Optional.empty();
      ClusterSpec unequal =
          random.nextInt(3) == 0 ? Fixtures.withUnequalMemory(random, plain) : plain;
      return ClusterSpecBuilder.builder(unequal)
          .hostMemoryBytesPerDevice(hostMemory)
          .countsStepMemory(pipeline.isPresent() || random.nextInt(4) == 0)
          .pipeline(pipeline)
          .forwardBytesPerElement(random.nextBoolean() ? 4 : 2)
          .replicaGroups(groups(plain))
          .synchronizationSteps(1 + random.nextInt(100))
          .codecs(codecs())
          .optimizer(optimizer())
          .build();
    }

    private static long memory(double bytes) {
      return (long) Math.min(ClusterSpec.MAX_MEMORY_BYTES, bytes + 1024);
    }

    private List<Integer> groups(ClusterSpec cluster) {
      List<Integer> groups = new ArrayList<>();
      for (int count = 1; count <= 4; count++) {
        if (random.nextInt(3) == 0 && Fixtures.canFormGroups(cluster, count)) {
          groups.add(count);
        }
      }
      return groups.isEmpty() ? ClusterSpec.ONE_GROUP : groups;
    }

    private List<CommCodec> codecs() {
      List<CommCodec> codecs = new ArrayList<>();
      if (random.nextInt(3) == 0) {
        codecs.add(new CommCodec("fp16", 2));
      }
      if (random.nextInt(3) == 0) {
        List<Direction> directions = random.nextBoolean() ? List.of(Direction.FORWARD) : List.of();
        double speed = 50 + random.nextInt(500);
        codecs.add(new CommCodec("int8", 1, speed, 1, random.nextBoolean(), directions));
      }
      return codecs;
    }

    private Optional<Optimizer> optimizer() {
      return random.nextBoolean()
          ? Optional.empty()
          : Optional.of(any(List.of(Optimizer.values())));
    }

    private List<DeviceSpeed> slow(int ranks) {
      List<DeviceSpeed> slow = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        if (random.nextInt(ranks) == 0) {
          CostPart part = any(List.of(CostPart.COMPUTATION, CostPart.COMMUNICATION));
          slow.add(new DeviceSpeed(rank, part, 1.1 + random.nextDouble(), 0, Fixtures.TIME));
        }
      }
      return slow;
    }

    private TableSpec table(String name, List<TableSpec> others) {
      TableSpec plain = Plans.randomTable(random, name);
      // Powers of two can be split evenly, many rows have to be, and one cannot be.
      long rows =
          switch (random.nextInt(6)) {
            case 0 -> 1L << (18 + random.nextInt(12));
            case 1 -> 1 + random.nextInt(3);
            default -> plain.rows();
          };
      int columns = random.nextInt(3) == 0 ? plain.columns() : 8 << random.nextInt(5);
      TableSpecBuilder spec =
          TableSpecBuilder.builder(plain)
              .rows(rows)
              .columns(columns)
              .pooled(random.nextInt(3) > 0)
              .bytesPerElement(any(List.of(1.0, 2.0, 4.0)))
              .optimizer(optimizer())
              .enforceHbm(random.nextInt(4) == 0)
              .kernel(kernel())
              .storage(storage());
      if (random.nextBoolean()) {
        spec.accessCdf(skewed(rows, random.nextBoolean() ? 0.02 : random.nextDouble()));
      }
      TableSpec plainUse = random.nextInt(4) > 0 ? spec.build() : features(spec.build());
      TableSpec built = random.nextInt(3) > 0 ? plainUse : Fixtures.repeating(plainUse, random);
      return random.nextInt(5) > 0 ? built : constrained(built, others);
    }

    /** Whole numbers of outputs are counted exactly, others are not. */
    private TableSpec features(TableSpec table) {
      return random.nextBoolean()
          ? Fixtures.withFeatures(table, random)
          : table.withFeatures(List.of(new TableFeature("a", 3), new TableFeature("b", 1.5, 2, 1)));
    }

    private TableKernel kernel() {
      Optional<ComputeKernel> named =
          Optional.of(any(List.of(ComputeKernel.values())))
              .filter(kernel -> random.nextInt(3) == 0)
              .filter(kernel -> needsHost || !kernel.isInHostMemory());
      return new TableKernel(
          named,
          random.nextInt(4) == 0 ? OptionalDouble.of(0.2) : OptionalDouble.empty(),
          Optional.empty(),
          Optional.of(any(List.of(OutputType.values()))).filter(type -> random.nextInt(3) == 0),
          Optional.empty());
    }

    private Optional<HashedStorage> storage() {
      return random.nextInt(5) > 0
          ? Optional.empty()
          : Optional.of(
              HashedStorageBuilder.builder(HashedStorage.PLAIN)
                  .slotBytes(any(List.of(0.0, 0.3, 16.0, 1024.0)))
                  .eviction(any(List.of(Eviction.values())))
                  .build());
    }

    /** The most used rows get more of the lookups the smaller the exponent is. */
    private static AccessCdf skewed(long rows, double exponent) {
      List<Double> shares = new ArrayList<>();
      for (double ranked = 1; ranked < rows; ranked *= 4) {
        shares.add(Math.pow(ranked / rows, exponent));
      }
      shares.add(1.0);
      return new AccessCdf(shares);
    }

    /** Random constraints that do not contradict each other in one table. */
    private TableSpec constrained(TableSpec table, List<TableSpec> others) {
      while (true) {
        Set<ShardKind> kinds = EnumSet.noneOf(ShardKind.class);
        for (int i = random.nextInt(4); i > 0; i--) {
          kinds.add(any(KINDS));
        }
        String other = others.isEmpty() ? "missing" : any(others).name();
        try {
          return table.withConstraints(
              new TableConstraints(
                  kinds,
                  random.nextInt(3) == 0 ? 4 * random.nextInt(10) : 0,
                  random.nextInt(3) == 0 ? Optional.of(other) : Optional.empty(),
                  random.nextInt(4) > 0,
                  random.nextInt(4) > 0));
        } catch (RejectedException e) {
          assertThat(e.getMessage()).containsPattern("contradict each other|must allow");
        }
      }
    }

    /** A plan of about the same tables, on these devices or others: any one, or a found one. */
    private PlanShards running(List<TableSpec> tables, ClusterSpec cluster) {
      List<TableSpec> before = new ArrayList<>(tables);
      if (random.nextBoolean()) {
        before.remove(random.nextInt(before.size()));
      }
      if (random.nextBoolean()) {
        before.add(table("zz-dropped", before));
      }
      before.replaceAll(t -> random.nextInt(8) == 0 ? table(t.name(), List.of()) : t);
      ClusterSpec then = random.nextBoolean() ? cluster : cluster(tables);
      ReplicaGroups groups = any(then.groupings());
      SearchProblem problem =
          new GroupedProblem(predicted(before, then), then, used.model()).inGroup(groups);
      if (random.nextBoolean()
          && LocalSearch.search(problem, settings()) instanceof SearchResult.Found found) {
        return found.placed();
      }
      ClusterSpec group = then.group(groups);
      List<Shard> shards =
          random.nextBoolean()
              ? anyShards(before, group)
              : shards(new LocalSearch(problem, settings(), 1, LocalSearch.NOTHING));
      return new PlanShards(shards.stream().sorted(Shard.ORDER).toList(), group.devices(), groups);
    }

    /** Shards of any kinds and widths, some of them cached, of which a search keeps what it can. */
    private List<Shard> anyShards(List<TableSpec> tables, ClusterSpec group) {
      RandomShardings shardings = new RandomShardings(group, random);
      OptionalDouble cache =
          random.nextBoolean() ? OptionalDouble.empty() : OptionalDouble.of(0.114);
      return shardings.cutByUse(tables).stream()
          .map(s -> s.isCopied() ? s : Plans.cached(s, cache))
          .toList();
    }

    /** A plan of ways that a search may choose, at any places. */
    private List<Shard> shards(LocalSearch search) {
      State state = state(search);
      return state == null
          ? List.of()
          : ShardLayout.of(state, search.tables, search.running).values().stream()
              .flatMap(List::stream)
              .toList();
    }

    /** Gives each table a way at any places, whether there is room or not; null if one has none. */
    State state(LocalSearch search) {
      State state = search.empty();
      for (int t = 0; t < search.tables.size(); t++) {
        if (search.ways.of(t).length == 0) {
          return null;
        }
        Way way = any(List.of(search.ways.of(t)));
        int first = search.places.firstOf(way.scope);
        int count = search.places.countOf(way.scope);
        if (way.isInOneNode) {
          int node = search.places.ofNode(search.places.nodeOf[random.nextInt(count)]);
          first = search.places.first[node];
          count = search.places.size(node);
        }
        if (count < way.parts) {
          return null;
        }
        List<Integer> at = new ArrayList<>(IntStream.range(first, first + count).boxed().toList());
        Collections.shuffle(at, random);
        for (int part = 0; part < way.parts; part++) {
          state.add(t, way, at.get(part));
        }
      }
      return state;
    }
  }

  /** What plans of some scenes had. */
  private final Map<String, Integer> seen = new TreeMap<>();

  private void count(String feature, boolean is) {
    seen.merge(feature, is ? 1 : 0, Integer::sum);
  }

  @Property(tries = 100)
  void whatever_is_on_at_once_a_plan_is_as_from_scratch(@ForAll long seed) {
    search(seed);
  }

  private void search(long seed) {
    Scenes scenes = new Scenes(seed);
    Scene scene = scenes.draw();
    SearchProblem problem = scene.problem();
    SearchResult result = CheckedSearch.search(problem, scene.settings());
    assertThat(LocalSearch.search(problem, scene.settings())).isEqualTo(result);
    if (result instanceof SearchResult.Found found) {
      checkCells(problem, found);
      checkConstraints(problem, found);
      checkCosts(problem, found);
      checkInsight(problem, found);
      count(problem, found);
    }
    count("infeasible", result instanceof SearchResult.NotFound);
    checkRepair(scene, result);
    checkPrice(scene, scenes);
  }

  private static Map<String, List<Shard>> byTable(List<Shard> shards) {
    return shards.stream().collect(Collectors.groupingBy(Shard::table));
  }

  /** Every cell of every table once, in parts of equal width on different devices. */
  private static void checkCells(SearchProblem problem, SearchResult.Found found) {
    Map<String, List<Shard>> byTable = byTable(found.shards());
    assertThat(byTable).hasSize(problem.tables().size());
    for (TablePrediction prediction : problem.tables()) {
      TableSpec table = prediction.table();
      List<Shard> shards = byTable.get(table.name());
      Shard other = HotRows.others(shards).get(0);
      assertThat(
              Sharding.of(table, Plans.withAllIds(shards), problem.cluster())
                  .shards(table, problem.cluster()))
          .extracting(shard -> shard.isCopied() ? shard : other.at(shard.region(), shard.device()))
          .isEqualTo(shards);
      assertThat(shards.stream().mapToDouble(s -> Fixtures.elements(s.region())).sum())
          .isEqualTo((double) table.rows() * table.columns());
      List<Shard> others = HotRows.others(shards);
      assertThat(others.stream().map(Shard::columns).distinct()).hasSize(1);
      assertThat(others.stream().map(Shard::device)).doesNotHaveDuplicates();
    }
  }

  private static void checkConstraints(SearchProblem problem, SearchResult.Found found) {
    Map<String, List<Shard>> byTable = byTable(found.shards());
    for (TablePrediction prediction : problem.tables()) {
      TableSpec table = prediction.table();
      TableConstraints constraints = table.constraints();
      List<Shard> shards = byTable.get(table.name());
      List<Shard> others = HotRows.others(shards);
      assertThat(shards).allMatch(shard -> constraints.allows(shard.kind()));
      if (others.size() > 1 && others.get(0).columns() < table.columns()) {
        assertThat(others.get(0).columns()).isGreaterThanOrEqualTo(constraints.leastColumns());
      }
      checkKernel(table, others);
      if (table.storage().isPresent()) {
        assertThat(shards).as("one slot an id").noneMatch(Shard::isCopied);
      }
      if (!table.mayBeCached()) {
        assertThat(shards).allMatch(shard -> shard.cacheShare().isEmpty());
      }
      boolean isDeduplicated = others.get(0).deduplicated();
      assertThat(table.mayHave(isDeduplicated, others.get(0).kind().scope())).isTrue();
      assertThat(isDeduplicated && table.pooled()).isFalse();
      if (isDeduplicated && table.deduplicated().isEmpty()) {
        assertThat(table.distinctShare()).isNotEmpty();
      }
      if (!constraints.mayHaveHotRows()) {
        assertThat(HotRows.of(shards)).isEmpty();
      }
      if (others.get(0).kind() == ShardKind.TABLE_COLUMN_WISE) {
        assertThat(others.stream().map(s -> problem.cluster().node(s.device())).distinct())
            .hasSize(1);
      }
      constraints
          .sameDevicesAs()
          .map(byTable::get)
          .ifPresent(
              same -> {
                assertThat(devices(shards)).isEqualTo(devices(same));
                assertThat(shards).hasSameSizeAs(same);
                assertThat(shards.get(0).kind()).isEqualTo(same.get(0).kind());
              });
    }
  }

  private static void checkKernel(TableSpec table, List<Shard> shards) {
    TableKernel kernel = table.kernel();
    for (Shard shard : shards) {
      kernel
          .computeKernel()
          .ifPresent(
              named ->
                  assertThat(kernel.planned(shard.kind(), shard.cacheShare(), ComputeKernel.FUSED))
                      .isEqualTo(named));
      if (shard.cacheShare().isPresent() && kernel.cacheLoadFactor().isPresent()) {
        double share = shard.cacheShare().getAsDouble();
        assertThat(share).isIn(kernel.cacheLoadFactor().getAsDouble(), TableKernel.NO_CACHE);
      }
    }
  }

  private static Set<Integer> devices(List<Shard> shards) {
    return shards.stream().map(Shard::device).collect(Collectors.toSet());
  }

  /** The step, each device's costs and memory, and no device above what it has. */
  private static void checkCosts(SearchProblem problem, SearchResult.Found found) {
    ClusterSpec cluster = problem.cluster();
    StepCost cost = cost(problem, found, found.shards());
    assertThat(found.predictedMs()).isEqualTo(cost.predictedMs() + found.replication().msPerStep());
    assertThat(found.replication().groups()).isEqualTo(problem.synchronization().groups());
    assertThat(found.insight().orElseThrow().lowerBoundMs())
        .isLessThanOrEqualTo(found.predictedMs());
    Map<String, TableSpec> tables =
        TableSpec.byName(problem.tables().stream().map(TablePrediction::table).toList());
    long[] bytes = new long[cluster.devices()];
    long[] hostBytes = new long[cluster.devices()];
    double[] keyBytes = new double[cluster.devices()];
    for (Shard shard : found.shards()) {
      TableSpec table = tables.get(shard.table());
      shard
          .holders(cluster.devices())
          .forEach(
              d -> {
                bytes[d] += bytes(table, shard, cluster);
                hostBytes[d] += hostBytes(table, shard, cluster);
                keyBytes[d] += weightAndKeyBytes(table, shard);
              });
    }
    assertThat(found.deviceCosts()).hasSize(cluster.devices());
    for (int d = 0; d < cluster.devices(); d++) {
      DeviceCost of = found.deviceCosts().get(d);
      assertThat(of.computeMs()).isEqualTo(cost.computeMs()[d]);
      assertThat(of.forwardCommMs()).isEqualTo(cost.forwardCommMs()[d]);
      assertThat(of.backwardCommMs()).isEqualTo(cost.backwardCommMs()[d]);
      // Blocks of rows count as the first one of their part.
      assertThat(of.memoryBytes()).isBetween(bytes[d], cluster.usableMemory().bytes(d));
      assertThat((double) of.memoryBytes()).isGreaterThanOrEqualTo(Math.floor(keyBytes[d]));
      assertThat(of.hostMemoryBytes()).isBetween(hostBytes[d], cluster.hostMemoryBytesPerDevice());
    }
  }

  /** Bytes of weights and state in device memory; a named pipeline has state as FBGEMM has it. */
  private static long bytes(TableSpec table, Shard shard, ClusterSpec cluster) {
    if (cluster.pipeline().isEmpty() || shard.cacheShare().isEmpty()) {
      return table.bytes(shard.rows(), shard.columns(), shard.cacheShare(), false);
    }
    double weights =
        shard.cacheShare().getAsDouble() * table.cachedBytes(shard.rows(), shard.columns());
    return (long) Math.ceil(weights)
        + table.bytes(shard.rows(), shard.columns(), OptionalDouble.of(0), true);
  }

  /** Bytes of the weights that device memory holds, and of the keys of all of a shard's slots. */
  private static double weightAndKeyBytes(TableSpec table, Shard shard) {
    double weights = shard.columns() * table.bytesPerElement() * shard.cacheShare().orElse(1);
    double keys = table.storage().map(HashedStorage::slotBytes).orElse(0.0);
    return shard.rows() * (weights + keys);
  }

  private static long hostBytes(TableSpec table, Shard shard, ClusterSpec cluster) {
    if (shard.cacheShare().isEmpty()) {
      return 0;
    }
    return cluster.pipeline().isEmpty()
        ? table.hostBytes(shard.rows(), shard.columns(), false)
        : table.bytes(shard.rows(), shard.columns())
            - table.bytes(shard.rows(), shard.columns(), OptionalDouble.of(0), true);
  }

  private static StepCost cost(
      SearchProblem problem, SearchResult.Found found, List<Shard> shards) {
    return StepCost.of(
        problem.tables(),
        shards,
        new StepCollectives(problem.cluster(), found.collectives().codecs()),
        problem.model(),
        problem.slowdowns());
  }

  private static void checkInsight(SearchProblem problem, SearchResult.Found found) {
    int devices = problem.cluster().devices();
    Bottleneck bottleneck = found.insight().orElseThrow().bottleneck();
    assertThat(bottleneck.device()).isBetween(0, devices - 1);
    Set<String> leaders =
        problem.tables().stream()
            .flatMap(t -> t.table().constraints().sameDevicesAs().stream())
            .collect(Collectors.toSet());
    boolean isShared =
        leaders.contains(bottleneck.table())
            || problem.tables().stream()
                .filter(t -> t.table().name().equals(bottleneck.table()))
                .anyMatch(t -> t.table().constraints().sameDevicesAs().isPresent());
    if (!isShared && !problem.synchronization().groups().areSeveral()) {
      List<Shard> without =
          found.shards().stream().filter(s -> !s.table().equals(bottleneck.table())).toList();
      assertThat(bottleneck.gainMs())
          .as("gain of a plan without table %s", bottleneck.table())
          .isCloseTo(
              found.predictedMs() - cost(problem, found, without).predictedMs(),
              within(tolerance(problem, found)));
    }
    Set<String> names = byTable(found.shards()).keySet();
    Set<Explanation> distinct = new HashSet<>();
    for (Explanation explanation : found.insight().orElseThrow().explanations()) {
      assertThat(names).contains(explanation.table());
      assertThat(explanation.gainMs()).isFinite();
      assertThat(explanation.toDevice()).isLessThan(devices);
      assertThat(explanation.fromDevice()).isLessThan(Math.max(1, problem.running().devices()));
      assertThat(distinct.add(explanation)).as("%s is said once", explanation).isTrue();
      if (explanation.kind() == Explanation.ExplainedAction.HOT_ROWS) {
        checkHotRows(problem, found, explanation);
      }
    }
  }

  /** Searches count loads in units; gains are rounded by them if outputs are no multiple. */
  private static double tolerance(SearchProblem problem, SearchResult.Found found) {
    boolean areExact =
        problem.tables().stream()
            .map(TablePrediction::table)
            .allMatch(t -> t.pooled() && t.outputsPerSample() == Math.rint(t.outputsPerSample()));
    return areExact ? 1e-9 : 0.01 * found.predictedMs();
  }

  /** The gain of hot rows is that over a plan whose table is uncut, on the same devices. */
  private static void checkHotRows(
      SearchProblem problem, SearchResult.Found found, Explanation explanation) {
    if (problem.synchronization().groups().areSeveral()) {
      return;
    }
    List<Shard> uncut = new ArrayList<>();
    for (TablePrediction prediction : problem.tables()) {
      TableSpec table = prediction.table();
      List<Shard> shards = byTable(found.shards()).get(table.name());
      if (table.name().equals(explanation.table())) {
        Sharding.HotColdSplit split =
            (Sharding.HotColdSplit) Sharding.of(table, Plans.withAllIds(shards), problem.cluster());
        OptionalDouble cacheShare = HotRows.others(shards).get(0).cacheShare();
        split
            .others()
            .shards(table, problem.cluster())
            .forEach(shard -> uncut.add(Plans.cached(shard, cacheShare)));
      } else {
        uncut.addAll(shards);
      }
    }
    assertThat(explanation.gainMs())
        .isCloseTo(
            cost(problem, found, uncut).predictedMs() - found.predictedMs(),
            within(tolerance(problem, found)));
  }

  /** A search from a running plan returns the repaired one, whose moves cost what is said. */
  private void checkRepair(Scene scene, SearchResult result) {
    SearchProblem problem = scene.problem();
    if (problem.reusablePlan().isEmpty()
        || problem.tables().isEmpty()
        || !(result instanceof SearchResult.Found found)) {
      return;
    }
    LocalSearch search = new LocalSearch(problem, scene.settings(), 1, LocalSearch.NOTHING);
    State state = new Repair(search).run();
    count("repaired", state != null);
    if (state != null) {
      Map<String, List<Shard>> byTable = ShardLayout.of(state, search.tables, search.running);
      assertThat(byTable).isEqualTo(byTable(found.shards()));
      List<Transfer> moves = found.moves(problem.running(), problem.tables());
      checkPrice(search, problem, state, moves, scene.settings());
      count("moved", !moves.isEmpty());
    }
  }

  /** The price of moves, of any plan, is that of the difference between the plans. */
  private static void checkPrice(Scene scene, Scenes scenes) {
    SearchProblem problem = scene.problem();
    LocalSearch search = new LocalSearch(problem, scene.settings(), 1, LocalSearch.NOTHING);
    State state = scenes.state(search);
    if (state != null) {
      Map<String, List<Shard>> byTable = ShardLayout.of(state, search.tables, search.running);
      PlanShards next =
          new PlanShards(
              byTable.values().stream().flatMap(List::stream).sorted(Shard.ORDER).toList(),
              problem.cluster().devices(),
              problem.synchronization().groups());
      Map<String, TableSpec> tables =
          TableSpec.byName(problem.tables().stream().map(TablePrediction::table).toList());
      List<Transfer> moves =
          io.shardtide.plan.Overlap.moves(
              io.shardtide.plan.Overlap.between(problem.reusablePlan(), next), tables, next);
      checkPrice(search, problem, state, moves, scene.settings());
    }
  }

  /** Compares the price of each table; of one that had other rows or columns it is an estimate. */
  private static void checkPrice(
      LocalSearch search,
      SearchProblem problem,
      State state,
      List<Transfer> moves,
      SearchSettings of) {
    MovePrice price =
        new MovePrice(
            search.running, search.tables, search.cluster, of, problem.synchronization().groups());
    price.refresh(state);
    assertThat(search.annealing(state, true).objective.movePrice.ms).isEqualTo(price.ms);
    Map<String, List<Shard>> before = byTable(problem.reusablePlan().shards());
    for (int t = 0; t < search.tables.size(); t++) {
      Set<String> names = new HashSet<>();
      boolean isSame = true;
      for (TablePrediction prediction : search.tables.get(t).tables()) {
        TableSpec table = prediction.table();
        names.add(table.name());
        List<Shard> shards = before.getOrDefault(table.name(), List.of());
        isSame &=
            shards.isEmpty()
                || (shards.stream().mapToInt(s -> s.region().columnEnd()).max().getAsInt()
                        == table.columns()
                    && shards.stream().mapToLong(s -> s.region().rowEnd()).max().getAsLong()
                        == table.rows());
      }
      double ms =
          moves.stream().filter(m -> names.contains(m.table())).mapToDouble(of::moveMs).sum();
      if (isSame) {
        assertThat(price.ofTable[t])
            .as("price of moves of %s from %s", names, before)
            .isCloseTo(ms, within(1e-9 * Math.max(1, ms)));
      }
    }
  }

  private void count(SearchProblem problem, SearchResult.Found found) {
    List<Shard> shards = found.shards();
    for (ShardKind kind : KINDS) {
      count(kind.label(), shards.stream().anyMatch(s -> s.kind() == kind));
    }
    count("hot rows", !HotRows.byTable(shards).isEmpty());
    count("distinct ids", shards.stream().anyMatch(Shard::deduplicated));
    count("row orders", shards.stream().anyMatch(s -> s.rowOrder().isPresent()));
    count("caches", shards.stream().anyMatch(s -> s.cacheShare().isPresent()));
    count("without a cache", shards.stream().anyMatch(s -> s.cacheShare().orElse(1) == 0));
    count(
        "shorter outputs",
        problem.tables().stream()
            .anyMatch(t -> ShapeLoad.sentShare(t.table(), problem.cluster()) < 1));
    Map<String, List<Shard>> hashed = byTable(shards);
    hashed
        .keySet()
        .retainAll(
            problem.tables().stream()
                .map(TablePrediction::table)
                .filter(t -> t.storage().isPresent())
                .map(TableSpec::name)
                .toList());
    count("hashed", !hashed.isEmpty());
    count(
        "hashed, cached",
        hashed.values().stream().anyMatch(of -> of.get(0).cacheShare().isPresent()));
    count(
        "hashed, cut by columns",
        hashed.values().stream().anyMatch(of -> of.get(of.size() - 1).columnOffset() > 0));
    count("codecs", !found.collectives().codecs().isEmpty());
    count("groups", problem.synchronization().groups().areSeveral());
    count("slow devices", problem.slowdowns().factor(0, CostPart.COMPUTATION) > 1);
    count("launch groups", problem.model().hardware().equals(MODELS.get(1).model().hardware()));
    ClusterSpec cluster = problem.cluster();
    count(
        "features with a whole number of outputs",
        problem.tables().stream().anyMatch(t -> t.table().outputsPerSample() == 3));
    count(
        "features with other outputs",
        problem.tables().stream()
            .map(t -> t.table().outputsPerSample())
            .anyMatch(outputs -> outputs != Math.rint(outputs)));
    count("smaller node", cluster.devices() % cluster.devicesPerNode() != 0);
    Set<String> names = byTable(shards).keySet();
    count(
        "same devices",
        problem.tables().stream()
            .anyMatch(
                t -> t.table().constraints().sameDevicesAs().filter(names::contains).isPresent()));
    found
        .insight()
        .orElseThrow()
        .explanations()
        .forEach(explanation -> count("explained " + explanation.kind(), true));
  }

  /** Otherwise the property would prove less than it claims. */
  @Test
  void random_scenes_have_every_feature() {
    for (Explanation.ExplainedAction kind : Explanation.ExplainedAction.values()) {
      count("explained " + kind, kind == Explanation.ExplainedAction.GROUPS);
    }
    for (long seed = 0; seed < 300 && (seed < 2 || seen.containsValue(0)); seed++) {
      search(seed);
    }
    assertThat(seen).allSatisfy((feature, count) -> assertThat(count).as(feature).isPositive());
  }
}
