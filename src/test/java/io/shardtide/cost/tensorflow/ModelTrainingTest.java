package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ModelTrainingTest {
  private static final int BATCH = 65_536;
  private static final TrainingSettings SHORT = new TrainingSettings(7, 60, 60, 60, 3e-3, 0.2, 0);

  private static final ModelTraining.About TOY =
      new ModelTraining.About("toy", "a synthetic machine", true, List.of("synthetic"));

  /**
   * A simulated machine: computations are linear in columns times pooling factor, a third of them
   * forward; all-to-alls in the maximum bytes of a device, and other collectives in their buffer.
   */
  private static SampleSet samples(long seed, int count) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      tables.add(
          new TableSpec(
              Integer.toString(i),
              1000 + random.nextInt(1_000_000),
              128,
              1 + 20 * random.nextDouble(),
              Fixtures.reuse(),
              4));
    }
    int[] widths = {128, 64, 32};
    List<ComputeSample> compute = new ArrayList<>();
    for (int s = 0; s < count; s++) {
      List<SampledShard> shards = new ArrayList<>();
      double ms = 0.05;
      for (int n = 1 + random.nextInt(6); n > 0; n--) {
        SampledShard shard =
            SampledShard.ofColumns(random.nextInt(30), widths[random.nextInt(3)], BATCH);
        shards.add(shard);
        ms += 0.001 * shard.columns() * tables.get(shard.table()).poolingFactor();
      }
      compute.add(ComputeSample.of(shards, ms / 3, ms * 2 / 3));
    }
    List<CollectiveSample> collectives = new ArrayList<>();
    for (int devices : new int[] {2, 4}) {
      for (int s = 0; s < count / 4; s++) {
        double[] bytes = new double[devices];
        double max = 0;
        for (int d = 0; d < devices; d++) {
          bytes[d] = 1e6 * (1 + random.nextInt(100));
          max = Math.max(max, bytes[d]);
        }
        double[] ms = new double[devices];
        Arrays.fill(ms, 0.1 + 1e-8 * max * (devices - 1));
        collectives.add(sample(Collective.ALL_TO_ALL, devices, bytes, ms));
        for (Collective collective :
            List.of(Collective.REDUCE_SCATTER, Collective.ALL_GATHER, Collective.ALL_REDUCE)) {
          double factor = collective == Collective.ALL_REDUCE ? 2 : 1;
          double share = (devices - 1.0) / devices;
          collectives.add(
              sample(
                  collective,
                  devices,
                  new double[] {max},
                  new double[] {0.1 + 1e-8 * max * share * factor}));
        }
      }
    }
    return new SampleSet(tables, BATCH, compute, collectives);
  }

  private static CollectiveSample sample(
      Collective collective, int devices, double[] bytes, double[] ms) {
    return new CollectiveSample(collective, Optional.empty(), devices, devices, bytes, ms);
  }

  @Test
  void a_trained_model_predicts_other_samples_and_has_its_errors_on_the_card() {
    SampleSet train = samples(1, 4000);
    List<String> epochs = new ArrayList<>();
    ModelBundle bundle =
        ModelTraining.train(train, TOY, SHORT, (net, e, n, loss, mape) -> epochs.add(net));
    assertThat(epochs)
        .hasSize(300)
        .contains("compute", "all_to_all", "reduce_scatter", "all_gather", "all_reduce");
    assertThat(bundle.measuresDirections()).isTrue();
    assertThat(bundle.hardware()).isEqualTo("toy");
    assertThat(bundle.modelId()).isEqualTo(bundle.contentId());
    assertThat(bundle.card().computeSamples()).isEqualTo(4000);
    assertThat(bundle.card().collectiveSamples())
        .containsEntry("all_to_all", 2000)
        .containsEntry("all_reduce", 2000)
        .hasSize(4);
    assertThat(bundle.card().sources()).containsExactly("synthetic");
    assertThat(bundle.card().heldOutTables()).isEmpty();
    assertThat(bundle.card().errors())
        .containsKeys(
            "train.compute.mape",
            "validation.compute.mape",
            "test.compute.mape",
            "test.compute_without_reuse.mape",
            "train.all_to_all.2.mape",
            "validation.all_gather.4.mape",
            "test.all_reduce.4.mape")
        .hasSize(3 * 3 + 3 * 4 * 2);
    assertThat(bundle.card().errors().values()).allMatch(error -> error > 0 && error < 0.2);
    // Other samples of the same tables.
    SampleSet valid =
        new SampleSet(
            train.tables(),
            BATCH,
            samples(1, 4500).compute().subList(4000, 4500),
            samples(2, 400).collectives());
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      Evaluation evaluation = Evaluation.of(new CostModel(bundle), towers, valid);
      Accuracy.Compute compute = Accuracy.ofComputations(evaluation.computations());
      assertThat(compute.mape()).isLessThan(0.02);
      assertThat(compute.kendall()).isGreaterThan(0.98);
      assertThat(compute.forwardMape().orElseThrow()).isLessThan(0.03);
      assertThat(compute.backwardMape().orElseThrow()).isLessThan(0.03);
      for (Collective collective : Collective.values()) {
        assertThat(
                Accuracy.ofCollectives(
                        evaluation.collectives().stream()
                            .filter(c -> c.sample().collective() == collective)
                            .toList())
                    .mape())
            .as(collective.fileName())
            .isLessThan(0.02);
      }
    }
  }

  @Test
  void the_same_seed_gives_the_same_bits_and_another_seed_others() {
    SampleSet train = samples(1, 1000);
    TrainingSettings brief = new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0);
    ModelBundle first = ModelTraining.train(train, TOY, brief, TrainingProgress.SILENT);
    ModelBundle second = ModelTraining.train(train, TOY, brief, TrainingProgress.SILENT);
    assertThat(second.modelId()).isEqualTo(first.modelId());
    ModelBundle other =
        ModelTraining.train(
            train, TOY, new TrainingSettings(8, 3, 3, 3, 1e-3, 0.2, 0), TrainingProgress.SILENT);
    assertThat(other.modelId()).isNotEqualTo(first.modelId());
  }

  /** As NeuroShard's samples: the sum of forward and backward, all-to-alls by direction. */
  @Test
  void samples_without_parts_train_the_sum() {
    SampleSet train = samples(1, 1000);
    List<CollectiveSample> directed = new ArrayList<>();
    for (CollectiveSample c : train.collectives()) {
      if (c.collective() == Collective.ALL_TO_ALL) {
        for (Direction direction : Direction.values()) {
          directed.add(
              new CollectiveSample(
                  c.collective(),
                  Optional.of(direction),
                  c.devices(),
                  c.devicesPerNode(),
                  c.bytes(),
                  c.ms()));
        }
      }
    }
    ModelBundle bundle =
        ModelTraining.train(
            new SampleSet(
                train.tables(),
                BATCH,
                train.compute().stream()
                    .map(c -> new ComputeSample(c.shards(), c.computeMs()))
                    .toList(),
                directed),
            TOY,
            new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0),
            TrainingProgress.SILENT);
    assertThat(bundle.measuresDirections()).isFalse();
    assertThat(bundle.collectives().stream().map(CollectiveNet::shown))
        .containsExactly("all_to_all.backward", "all_to_all.forward");
  }

  @Test
  void held_out_tables_are_not_trained_on() {
    SampleSet train = samples(1, 1000);
    TrainingSettings brief = new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0.1);
    ModelBundle bundle = ModelTraining.train(train, TOY, brief, TrainingProgress.SILENT);
    assertThat(bundle.card().heldOutTables()).hasSize(3);
    assertThat(bundle.card().errors()).containsKey("unseen.compute.mape");
    assertThat(bundle.card().computeSamples()).isBetween(500, 900);
    // Other costs of these tables change their error but not the weights.
    List<ComputeSample> moreExpensive =
        train.compute().stream()
            .map(
                sample ->
                    sample.shards().stream()
                            .anyMatch(
                                shard ->
                                    bundle
                                        .card()
                                        .heldOutTables()
                                        .contains(train.tables().get(shard.table()).name()))
                        ? new ComputeSample(sample.shards(), 100 * sample.computeMs())
                        : sample)
            .toList();
    ModelBundle same =
        ModelTraining.train(
            new SampleSet(train.tables(), BATCH, moreExpensive, train.collectives()),
            TOY,
            brief,
            TrainingProgress.SILENT);
    assertThat(same.tower()).usingRecursiveComparison().isEqualTo(bundle.tower());
    assertThat(same.card().errors().get("unseen.compute.mape"))
        .isNotEqualTo(bundle.card().errors().get("unseen.compute.mape"));
    assertThatThrownBy(
            () -> ModelTraining.train(train, TOY, brief.holdingOut(0.9), TrainingProgress.SILENT))
        .hasMessageMatching(
            "at least 100 compute samples must have no shard of the 27 held-out tables, got \\d+ of 1000");
  }

  @Test
  void too_few_samples_are_rejected() {
    assertThatThrownBy(
            () -> ModelTraining.train(samples(1, 50), TOY, SHORT, TrainingProgress.SILENT))
        .hasMessage(
            "there must be at least 100 compute samples and 100 all-to-alls of each direction, got 50 and {all_gather=24, all_reduce=24, all_to_all=24, reduce_scatter=24}");
  }

  @Test
  void settings_have_ranges() {
    assertThatThrownBy(() -> new TrainingSettings(1, 0, 1, 9, 1e-3, 0, 0))
        .hasMessage("epochs and patience must be at least 1, got 0, 1 and 9");
    assertThatThrownBy(() -> new TrainingSettings(1, 1, 1, 9, Double.NaN, 0, 0))
        .hasMessage("initial learning rate must be above 0 and at most 1, got NaN");
    assertThatThrownBy(() -> new TrainingSettings(1, 1, 1, 9, 1e-3, 1.5, 0))
        .hasMessage("share of unknown reuse must be between 0 and 1, got 1.5");
    assertThatThrownBy(() -> TrainingSettings.defaults(1).holdingOut(1))
        .hasMessage("share of held-out tables must be 0 to below 1, got 1.0");
    TrainingSettings settings = TrainingSettings.defaults(1);
    assertThat(settings.learningRate(0, 100)).isEqualTo(settings.initialRate());
    assertThat(settings.learningRate(100, 100)).isEqualTo(settings.initialRate() / 100);
  }
}
