package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.TableSpec;
import io.shardtide.testing.Fixtures;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ModelTrainingTest {
  private static final TrainingSettings SHORT = new TrainingSettings(7, 60, 60, 60, 3e-3, 0.2, 0);

  private static final ModelTraining.About TOY =
      new ModelTraining.About("toy", "a synthetic machine", true, List.of("synthetic"));

  /**
   * A simulated machine: computations are linear in columns times pooling factor, all-to-alls in
   * the maximum columns of a device.
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
        SampledShard shard = new SampledShard(random.nextInt(30), widths[random.nextInt(3)]);
        shards.add(shard);
        ms += 0.001 * shard.width() * tables.get(shard.table()).poolingFactor();
      }
      compute.add(new ComputeSample(shards, ms));
    }
    TreeMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    for (int devices : new int[] {2, 4}) {
      List<CommunicationSample> list = new ArrayList<>();
      for (int s = 0; s < count / 2; s++) {
        int[] columns = new int[devices];
        double[] starts = new double[devices];
        double[] forward = new double[devices];
        double[] backward = new double[devices];
        int max = 0;
        double last = 0;
        for (int d = 0; d < devices; d++) {
          columns[d] = 64 + 4 * random.nextInt(100);
          starts[d] = 5 * random.nextDouble();
          max = Math.max(max, columns[d]);
          last = Math.max(last, starts[d]);
        }
        for (int d = 0; d < devices; d++) {
          forward[d] = last - starts[d] + 0.1 + 0.01 * max;
          backward[d] = 0.1 + 0.012 * max;
        }
        list.add(new CommunicationSample(columns, starts, forward, backward));
      }
      communication.put(devices, list);
    }
    return new SampleSet(tables, 65_536, compute, communication);
  }

  @Test
  void a_trained_model_predicts_other_samples_and_has_its_errors_on_the_card() {
    SampleSet train = samples(1, 4000);
    List<String> epochs = new ArrayList<>();
    ModelBundle bundle =
        ModelTraining.train(train, TOY, SHORT, (net, e, n, loss, mape) -> epochs.add(net));
    assertThat(epochs).hasSize(180).contains("compute", "forward", "backward");
    assertThat(bundle.hardware()).isEqualTo("toy");
    assertThat(bundle.modelId()).isEqualTo(bundle.contentId());
    assertThat(bundle.card().computeSamples()).isEqualTo(4000);
    assertThat(bundle.card().communicationSamples()).containsEntry(2, 2000).containsEntry(4, 2000);
    assertThat(bundle.card().sources()).containsExactly("synthetic");
    assertThat(bundle.card().heldOutTables()).isEmpty();
    assertThat(bundle.card().errors())
        .containsKeys(
            "train.compute.mape",
            "validation.compute.mape",
            "test.compute.mape",
            "test.compute_without_reuse.mape",
            "train.comm.2.backward_mape",
            "validation.comm.4.forward_mape",
            "test.comm.4.forward_mape")
        .hasSize(3 * 2 + 3 * 4);
    assertThat(bundle.card().errors().values()).allMatch(error -> error > 0 && error < 0.2);
    // Other samples of the same tables.
    SampleSet valid =
        new SampleSet(
            train.tables(),
            65_536,
            samples(1, 4500).compute().subList(4000, 4500),
            samples(2, 400).communication());
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      Evaluation evaluation = Evaluation.of(new CostModel(bundle), towers, valid);
      Accuracy.Compute compute = Accuracy.ofComputations(evaluation.computations());
      assertThat(compute.mape()).isLessThan(0.02);
      assertThat(compute.kendall()).isGreaterThan(0.98);
      Accuracy.Communication allToAll = Accuracy.ofAllToAlls(evaluation.allToAlls().get(4));
      assertThat(allToAll.forwardMape()).isLessThan(0.02);
      assertThat(allToAll.backwardMape()).isLessThan(0.02);
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
            new SampleSet(train.tables(), 65_536, moreExpensive, train.communication()),
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
            "there must be at least 100 compute and 100 communication samples, got 50 and 50");
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
