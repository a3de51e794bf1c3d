package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.Shapes;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.models.ModelFiles;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.PlainTowers;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class TensorFlowTowersTest {
  /** Several calls of TensorFlow, known and unknown reuse, every width. */
  @Test
  void tensorflow_and_plain_java_agree_to_2e_5() {
    Random random = new Random(1);
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      tables.add(
          new TableSpec(
              "t" + i,
              1 + random.nextInt(20_000_000),
              4 * (1 + random.nextInt(64)),
              100 * random.nextDouble(),
              random.nextBoolean() ? Fixtures.reuse() : ReuseHistogram.UNKNOWN,
              4));
    }
    try (TensorFlowTowers tensorflow = new TensorFlowTowers(ModelFiles.shipped());
        PlainTowers plain = new PlainTowers(ModelFiles.shipped())) {
      List<TablePrediction> expected = plain.predict(tables, 65_536);
      List<TablePrediction> actual = tensorflow.predict(tables, 65_536);
      assertThat(tensorflow.modelId()).isEqualTo(ModelFiles.shipped().modelId());
      assertThat(actual).hasSameSizeAs(expected);
      for (int t = 0; t < tables.size(); t++) {
        assertThat(actual.get(t).table()).isEqualTo(tables.get(t));
        for (int width = 4; width <= tables.get(t).columns(); width += 4) {
          float[] a = actual.get(t).tower(width);
          float[] e = expected.get(t).tower(width);
          double scale = 0;
          for (float value : e) {
            scale = Math.max(scale, value);
          }
          for (int i = 0; i < e.length; i++) {
            assertThat((double) a[i])
                .isCloseTo(e[i], org.assertj.core.data.Offset.offset(2e-5 * scale));
          }
        }
      }
      assertThat(tensorflow.predict(List.of(), 65_536)).isEmpty();
    }
  }

  /** A curve's predictions take seconds, and a live change must not wait for them. */
  @Test
  @Timeout(120)
  void a_call_does_not_wait_for_another_one() throws Exception {
    ShardShape shape = new Shapes(Fixtures.table("a", 100_000, 128, 5), 65_536).ofColumns(128);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    List<ShardShape> slow =
        new AbstractList<>() {
          @Override
          public ShardShape get(int index) {
            begun.countDown();
            try {
              end.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            return shape;
          }

          @Override
          public int size() {
            return 1;
          }
        };
    try (TensorFlowTowers towers = new TensorFlowTowers(ModelFiles.shipped())) {
      FutureTask<List<float[]>> other = new FutureTask<>(() -> towers.towers(slow));
      new Thread(other).start();
      begun.await();
      List<float[]> live = towers.towers(List.of(shape));
      end.countDown();
      assertThat(other.get().get(0)).isEqualTo(live.get(0));
    }
  }

  @Test
  void a_prediction_is_the_same_in_another_session() {
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < 70; i++) {
      tables.add(Fixtures.table("t" + i, 1000L * (i + 1), 128, i));
    }
    try (TensorFlowTowers first = new TensorFlowTowers(ModelFiles.shipped());
        TensorFlowTowers second = new TensorFlowTowers(ModelFiles.shipped())) {
      List<TablePrediction> expected = first.predict(tables, 65_536);
      List<TablePrediction> again = second.predict(tables, 65_536);
      for (int t = 0; t < tables.size(); t++) {
        for (int width = 4; width <= 128; width += 4) {
          assertThat(again.get(t).tower(width)).containsExactly(expected.get(t).tower(width));
        }
      }
    }
  }
}
