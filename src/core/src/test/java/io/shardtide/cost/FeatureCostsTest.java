package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.option.Option;
import io.shardtide.option.PredictionInputs;
import io.shardtide.option.TablePart;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Shard;
import io.shardtide.search.LocalSearch;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.RandomShardings;
import io.shardtide.testing.StepCosts;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** What features of a table change in its costs, of shards of all kinds and whole plans. */
class FeatureCostsTest {
  private static final List<ModelBundle> MODELS = List.of(TestModels.nodes(), TestModels.h200());

  private static final int BATCH = 4_096;

  /** What is costed: one table, in shards of any kind. */
  private static final class Scene {
    final ModelBundle bundle;
    final CostModel model;
    final ClusterSpec cluster;
    final TableSpec table;
    final List<Shard> shards;

    Scene(Random random) {
      bundle = MODELS.get(random.nextInt(MODELS.size()));
      model = new CostModel(bundle);
      int perNode = 1 + random.nextInt(4);
      cluster =
          ClusterSpecBuilder.builder(
                  new ClusterSpec(
                      perNode * (1 + random.nextInt(3)),
                      80 * Fixtures.GIB,
                      BATCH,
                      perNode,
                      bundle.hardware()))
              .countsStepMemory(true)
              .build();
      long rows = 100L + random.nextInt(1_000_000);
      TableSpec plain =
          Fixtures.table("t", rows, 8 << random.nextInt(4), 0.5 + 20 * random.nextDouble());
      AccessCdf cdf = random.nextBoolean() ? AccessCdf.UNKNOWN : Fixtures.cdf(rows);
      TableSpecBuilder builder = TableSpecBuilder.builder(plain).accessCdf(cdf);
      if (random.nextBoolean()) {
        builder.reuseHistogram(Fixtures.reuse());
      }
      table = builder.pooled(random.nextInt(4) > 0).build();
      shards = new RandomShardings(cluster, random).ofAnyKind(List.of(table));
    }

    /** Predicts a step of the shards, were they of another description of the table. */
    Cost cost(TableSpec other, int batchSize) {
      ClusterSpec of = ClusterSpecBuilder.builder(cluster).batchSize(batchSize).build();
      CostEvaluator evaluator = model.evaluator();
      List<DeviceLoad> loads =
          StepCost.loads(List.of(other), shards, of, evaluator, new PlainTowers(bundle));
      return new Cost(StepCosts.of(evaluator, of, loads), loads);
    }

    TableSpec with(TableFeature... features) {
      return table.withFeatures(List.of(features));
    }
  }

  private record Cost(StepCost step, List<DeviceLoad> loads) {
    void assertSame(Cost other) {
      List<DeviceCost> expected = other.step.deviceCosts(other.loads);
      List<DeviceCost> got = step.deviceCosts(loads);
      for (int d = 0; d < got.size(); d++) {
        assertSame(got.get(d).computeMs(), expected.get(d).computeMs());
        assertSame(got.get(d).forwardCommMs(), expected.get(d).forwardCommMs());
        assertSame(got.get(d).backwardCommMs(), expected.get(d).backwardCommMs());
        assertThat(got.get(d).memoryBytes()).isCloseTo(expected.get(d).memoryBytes(), within(1L));
      }
      assertSame(step.predictedMs(), other.step.predictedMs());
    }

    private static void assertSame(double got, double expected) {
      assertThat(got).isCloseTo(expected, within(1e-6 * expected + 1e-9));
    }
  }

  @Property(tries = 60)
  void half_of_the_samples_cost_what_half_of_the_batch_does(@ForAll long seed) {
    Scene scene = new Scene(new Random(seed));
    double lookups = scene.table.poolingFactor();
    Cost half = scene.cost(scene.table, BATCH / 2);
    scene.cost(scene.with(new TableFeature("a", lookups, 0.5, 1)), BATCH).assertSame(half);
    scene.cost(scene.with(new TableFeature("a", lookups, 1, 2)), BATCH).assertSame(half);
    scene.cost(scene.with(new TableFeature("a", lookups, 1.5, 3)), BATCH).assertSame(half);
  }

  @Property(tries = 60)
  void two_features_cost_what_twice_the_batch_does(@ForAll long seed) {
    Scene scene = new Scene(new Random(seed));
    double lookups = scene.table.poolingFactor();
    scene
        .cost(scene.with(new TableFeature("a", lookups), new TableFeature("b", lookups)), BATCH)
        .assertSame(scene.cost(scene.table, 2 * BATCH));
  }

  /** Only the sums of lookups and outputs count, whatever features they are of. */
  @Property(tries = 60)
  void features_are_summed(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = new Scene(random);
    TableSpec any =
        TableSpecBuilder.builder(Fixtures.withFeatures(scene.table, random))
            .idWeights(Optional.empty())
            .build();
    double outputs = any.outputsPerSample();
    TableSpec one = scene.with(new TableFeature("sum", any.poolingFactor() / outputs, outputs, 1));
    scene.cost(any, BATCH).assertSame(scene.cost(one, BATCH));
    ShardShape shape = new Shapes(any, BATCH).ofColumns(4);
    assertThat(shape.lookups()).isEqualTo(BATCH * any.poolingFactor());
    assertThat(shape.outputs()).isEqualTo(BATCH * (any.pooled() ? outputs : any.poolingFactor()));
  }

  /** Recorded predictions, which searches read, are those of shapes. */
  @Property(tries = 30)
  void parts_of_predictions_have_the_loads_of_their_shapes(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = new Scene(random);
    TableSpec table = Fixtures.withFeatures(scene.table, random);
    PlainTowers towers = new PlainTowers(scene.bundle);
    TablePrediction prediction = towers.predict(List.of(table), scene.cluster).get(0);
    TableShapes shapes = new TableShapes(table, BATCH);
    CostEvaluator evaluator = scene.model.evaluator();
    for (Option option : prediction.towers().keySet()) {
      if (option.hotRows() > 0) {
        continue;
      }
      TablePart part = option.part();
      float[] tower = prediction.towers().get(option);
      ShardShape shape = shapes.of(part, PredictionInputs.of(scene.cluster));
      ShapeLoad load = prediction.load(option, evaluator, scene.cluster).orElseThrow();
      ShapeLoad ofShape = ShapeLoad.of(evaluator, tower, table, shape, part.scope(), scene.cluster);
      ShardScope scope = part.collectives(table);
      assertThat(load.elements()).containsOnlyKeys(scope);
      assertThat(load.elements(scope)).isCloseTo(ofShape.elements(scope), within(1.0));
      assertThat(load.bytes()).isCloseTo(ofShape.bytes(), within(1L));
    }
  }

  /** Each weight, and its gradient where it is learned, takes 4 bytes; nothing else is known. */
  @Property(tries = 60)
  void weights_take_memory_and_nothing_else(@ForAll long seed) {
    Random random = new Random(seed);
    Scene scene = new Scene(random);
    TableSpec table = Fixtures.withFeatures(scene.table, random);
    for (IdWeights weights : IdWeights.values()) {
      TableSpec weighted = TableSpecBuilder.builder(table).idWeights(Optional.of(weights)).build();
      TableSpec plain = TableSpecBuilder.builder(table).idWeights(Optional.empty()).build();
      Cost with = scene.cost(weighted, BATCH);
      Cost without = scene.cost(plain, BATCH);
      assertThat(with.step.predictedMs()).isEqualTo(without.step.predictedMs());
      double[] lookups = lookups(scene, plain);
      for (int d = 0; d < lookups.length; d++) {
        assertThat(with.loads.get(d).bytes() - without.loads.get(d).bytes())
            .isCloseTo(
                Math.round(weights.bytesPerLookup() * lookups[d]),
                within((long) scene.shards.size()));
      }
    }
  }

  private static double[] lookups(Scene scene, TableSpec table) {
    double[] lookups = new double[scene.cluster.devices()];
    TableShapes shapes = new TableShapes(table, BATCH);
    List<Option> options = Option.of(scene.shards);
    for (int i = 0; i < options.size(); i++) {
      Shard shard = scene.shards.get(i);
      double own = shapes.of(options.get(i).part(), shard.device(), scene.cluster).lookups();
      shard.holders(scene.cluster.devices()).forEach(d -> lookups[d] += own);
    }
    return lookups;
  }

  /** Features share the table's rows: a search knows that each of them is sent. */
  @Test
  void a_plan_of_many_features_balances_what_they_send() {
    ModelBundle bundle = TestModels.nodes();
    ClusterSpec cluster = new ClusterSpec(4, 80 * Fixtures.GIB, 65_536, 4, bundle.hardware());
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      TableSpec plain = Fixtures.table("t" + t, 100_000_000, 64, 4);
      TableFeature[] features = new TableFeature[t == 0 ? 4 : 1];
      Arrays.setAll(features, i -> new TableFeature("f" + i, 4.0 / features.length));
      tables.add(plain.withFeatures(List.of(features)));
    }
    SearchResult.Found found = (SearchResult.Found) search(bundle, tables, cluster);
    double predicted =
        StepCosts.of(
                tables, found.shards(), cluster, new CostModel(bundle), new PlainTowers(bundle))
            .predictedMs();
    assertThat(found.predictedMs()).isCloseTo(predicted, within(1e-6 * predicted));
    List<TableSpec> plain = tables.stream().map(t -> t.withFeatures(List.of())).toList();
    SearchResult.Found asOne = (SearchResult.Found) search(bundle, plain, cluster);
    double ofOne =
        StepCosts.of(
                tables, asOne.shards(), cluster, new CostModel(bundle), new PlainTowers(bundle))
            .predictedMs();
    assertThat(found.predictedMs()).isLessThan(0.95 * ofOne);
  }

  private static SearchResult search(
      ModelBundle bundle, List<TableSpec> tables, ClusterSpec cluster) {
    return LocalSearch.search(
        new SearchProblem(
            new PlainTowers(bundle).predict(tables, cluster),
            cluster,
            new CostModel(bundle),
            PlanShards.NONE,
            Synchronization.NONE,
            Slowdowns.none(cluster.devices())),
        Fixtures.settings(100, 2_000, 10, 10, 0, 1_000));
  }
}
