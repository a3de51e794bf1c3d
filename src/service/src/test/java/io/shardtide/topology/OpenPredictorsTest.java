package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which of many models have an open session, and what they predict. */
class OpenPredictorsTest {
  private static final List<TableSpec> TABLES =
      List.of(Fixtures.table("a", 1_000, 16, 1), Fixtures.table("b", 50_000, 64, 20));

  private final Set<CountedPredictor> open = ConcurrentHashMap.newKeySet();

  /** Predicts with another one while it is open. */
  private final class CountedPredictor implements TowerPredictor {
    private final TowerPredictor predictor;

    CountedPredictor(TowerPredictor predictor) {
      this.predictor = predictor;
      open.add(this);
    }

    private <V> V opened(Function<TowerPredictor, V> call) {
      assertThat(open).contains(this);
      V value = call.apply(predictor);
      assertThat(open).as("not closed while it predicts").contains(this);
      return value;
    }

    @Override
    public String modelId() {
      return predictor.modelId();
    }

    @Override
    public Optional<String> proxyHardware() {
      return predictor.proxyHardware();
    }

    @Override
    public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
      return opened(p -> p.predict(tables, batchSize));
    }

    @Override
    public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
      return opened(p -> p.predict(tables, cluster));
    }

    @Override
    public List<float[]> towers(List<ShardShape> shapes) {
      return opened(p -> p.towers(shapes));
    }

    @Override
    public void close() {
      assertThat(open.remove(this)).as("closed once").isTrue();
      predictor.close();
    }
  }

  /** Returns the predictors of hardware that begins with the model of another one. */
  private List<ReplaceablePredictor> begin(int count) {
    OpenPredictors predictors =
        new OpenPredictors(
            bundle -> new CountedPredictor(new TensorFlowTowers(bundle)), PlannerMetrics.unread());
    return IntStream.range(0, count)
        .mapToObj(i -> new ReplaceablePredictor(begun("h" + i), predictors))
        .toList();
  }

  private static ModelBundle begun(String hardware) {
    return NearestModel.begin(
            List.of(TestModels.bundle()), new ClusterSpec(2, Fixtures.GIB, 65_536, 2, hardware))
        .orElseThrow();
  }

  private static List<List<Float>> predict(TowerPredictor predictor) {
    return predictor.predict(TABLES, 65_536).stream()
        .map(
            prediction ->
                prediction.towers().values().stream().flatMap(OpenPredictorsTest::floats).toList())
        .toList();
  }

  private static Stream<Float> floats(float[] tower) {
    return IntStream.range(0, tower.length).mapToObj(i -> tower[i]);
  }

  @Test
  void a_model_of_its_own_is_opened_at_once_and_a_copy_when_it_predicts() {
    OpenPredictors predictors =
        new OpenPredictors(
            bundle -> new CountedPredictor(new TensorFlowTowers(bundle)), PlannerMetrics.unread());
    try (ReplaceablePredictor own = new ReplaceablePredictor(TestModels.bundle(), predictors);
        ReplaceablePredictor copy = new ReplaceablePredictor(begun("h"), predictors)) {
      assertThat(open).extracting(TowerPredictor::modelId).containsExactly(own.modelId());
      assertThat(predict(copy)).isEqualTo(predict(own));
      assertThat(open).hasSize(2);
    }
    assertThat(open).isEmpty();
  }

  @Test
  void of_many_models_those_used_last_are_open_and_one_that_was_closed_predicts_the_same() {
    List<ReplaceablePredictor> all = begin(3 * OpenPredictors.MOST_UNUSED);
    List<List<Float>> expected = predict(all.get(0));
    for (ReplaceablePredictor predictor : all) {
      assertThat(predict(predictor)).isEqualTo(expected);
      assertThat(open).hasSizeLessThanOrEqualTo(OpenPredictors.MOST_UNUSED);
    }
    List<ReplaceablePredictor> last =
        all.subList(all.size() - OpenPredictors.MOST_UNUSED, all.size());
    assertThat(open)
        .extracting(TowerPredictor::modelId)
        .containsExactlyInAnyOrderElementsOf(
            last.stream().map(ReplaceablePredictor::modelId).toList());
    assertThat(predict(all.get(0))).as("opened again").isEqualTo(expected);
    all.forEach(ReplaceablePredictor::close);
    assertThat(open).isEmpty();
  }

  /** Four threads, twice as many models as stay open, some of which are replaced meanwhile. */
  @Test
  void a_predictor_is_never_closed_while_it_predicts() throws Exception {
    List<ReplaceablePredictor> all = begin(2 * OpenPredictors.MOST_UNUSED);
    List<List<Float>> expected = predict(all.get(0));
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Callable<Void>> tasks = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        Random random = new Random(t);
        tasks.add(
            () -> {
              for (int i = 0; i < 100; i++) {
                ReplaceablePredictor one = all.get(random.nextInt(all.size()));
                if (i % 25 == 24) {
                  one.close();
                }
                assertThat(predict(one)).isEqualTo(expected);
              }
              return null;
            });
      }
      for (Future<Void> done : threads.invokeAll(tasks)) {
        done.get();
      }
    } finally {
      threads.shutdown();
    }
    assertThat(open).hasSizeLessThanOrEqualTo(OpenPredictors.MOST_UNUSED);
    all.forEach(ReplaceablePredictor::close);
    assertThat(open).isEmpty();
  }
}
