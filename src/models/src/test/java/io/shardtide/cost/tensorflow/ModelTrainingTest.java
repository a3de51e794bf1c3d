package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.LinkDataSheet;
import io.shardtide.cost.Links;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.SampleSet;
import io.shardtide.models.ModelFiles;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class ModelTrainingTest {
  private static final int BATCH = 65_536;
  private static final TrainingSettings SHORT =
      new TrainingSettings(7, 60, 60, 60, 3e-3, 0.2, 0, 64);

  private static final TrainingProgress SILENT = (net, epoch, epochs, train, validation) -> {};

  private static final ModelTraining.About TOY =
      new ModelTraining.About("toy", "a synthetic machine", true, List.of("synthetic"));

  private static List<TableSpec> tables(Random random) {
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
    return tables;
  }

  /**
   * A simulated machine: a shard takes a launch, and a nanosecond for each 64 columns of a lookup;
   * backward twice as much. Collectives take a start and time for the bytes on the wire.
   */
  private static SampleSet samples(long seed, int count) {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random);
    int[] widths = {128, 64, 32};
    double[] shares = {1, 1, 0.5, 0.25};
    List<ComputeSample> compute = new ArrayList<>();
    for (int s = 0; s < count; s++) {
      List<DeviceShard> shards = new ArrayList<>();
      double ms = 0.05;
      for (int n = 1 + random.nextInt(6); n > 0; n--) {
        int table = random.nextInt(30);
        int columns = widths[random.nextInt(3)];
        double share = shares[random.nextInt(4)];
        boolean isCopy = share == 1 && random.nextInt(4) == 0;
        double outputs = isCopy ? BATCH / 4.0 : BATCH;
        shards.add(
            new DeviceShard(
                tables.get(table).withColumns(columns),
                outputs,
                share,
                isCopy,
                OptionalDouble.empty(),
                BATCH));
        ms += 0.01 + outputs * share * tables.get(table).poolingFactor() * columns / 64 * 1e-6;
      }
      compute.add(ComputeSample.of(shards, ms, 2 * ms));
    }
    List<CollectiveSample> collectives = new ArrayList<>();
    for (int s = 0; s < count / 2; s++) {
      int devices = random.nextBoolean() ? 4 : 8;
      collectives.add(allToAll(Direction.FORWARD, devices, random));
      collectives.add(allToAll(Direction.BACKWARD, devices, random));
      collectives.add(buffer(Collective.REDUCE_SCATTER, devices, random));
      collectives.add(buffer(Collective.ALL_GATHER, devices, random));
      collectives.add(buffer(Collective.ALL_REDUCE, devices, random));
    }
    return new SampleSet(tables.stream().map(TableSpec::name).toList(), compute, collectives);
  }

  /** The slowest link ends last, on all devices: in a node, or between nodes of 4. */
  private static CollectiveSample allToAll(Direction direction, int devices, Random random) {
    double[] bytes = new double[devices];
    double max = 0;
    for (int d = 0; d < devices; d++) {
      bytes[d] = 1e6 + 1e4 * random.nextInt(1000);
      max = Math.max(max, bytes[d]);
    }
    double ms = 0.1 + max * 3 * 1e-8 + (devices == 4 ? 0 : 0.05 + max * 4 * 1e-7);
    double[] onEach = new double[devices];
    Arrays.fill(onEach, direction == Direction.FORWARD ? ms : 1.2 * ms);
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.of(direction), devices, 4, bytes, onEach);
  }

  private static CollectiveSample buffer(Collective collective, int devices, Random random) {
    double bytes = 1e7 * (1 + random.nextDouble());
    double ms = 0.05 + bytes * (devices - 1) / devices * (devices == 4 ? 1e-8 : 5e-8);
    return new CollectiveSample(
        collective,
        Optional.empty(),
        devices,
        4,
        new double[] {bytes},
        new double[] {collective == Collective.ALL_REDUCE ? 2 * ms : ms});
  }

  @Test
  void a_trained_model_predicts_other_samples_and_has_its_errors_on_the_card() {
    SampleSet train = samples(1, 1000);
    List<String> epochs = new ArrayList<>();
    ModelBundle bundle = train(train, TOY, SHORT, (net, e, n, loss, mape) -> epochs.add(net));
    List<String> nets =
        List.of(
            "all_gather",
            "all_reduce",
            "all_to_all.backward",
            "all_to_all.forward",
            "reduce_scatter");
    assertThat(epochs).hasSize(6 * 60).contains("compute").containsAll(nets);
    assertThat(bundle.hardware()).isEqualTo("toy");
    assertThat(bundle.modelId()).isEqualTo(bundle.contentId());
    assertThat(bundle.measuresDirections()).isTrue();
    assertThat(bundle.collectives())
        .extracting(CollectiveNet::shown)
        .containsExactlyInAnyOrderElementsOf(nets);
    assertThat(bundle.card().computeSamples()).isEqualTo(1000);
    assertThat(bundle.card().collectiveSamples())
        .containsOnlyKeys(nets)
        .containsEntry("all_reduce", 500)
        .containsEntry("all_to_all.forward", 500);
    assertThat(bundle.card().sources()).containsExactly("synthetic");
    assertThat(bundle.card().heldOutTables()).isEmpty();
    assertThat(bundle.card().errors())
        .containsKeys(
            "train.compute.mape",
            "validation.compute.mape",
            "test.compute.mape",
            "test.compute_with_reuse_only.mape",
            "test.compute_without_reuse.mape",
            "train.all_to_all.backward.4.mape",
            "validation.all_to_all.forward.8.mape",
            "test.reduce_scatter.8.mape")
        .hasSize(3 * 3 + 3 * 2 * 5);
    assertThat(bundle.card().errors().values()).allMatch(error -> error > 0 && error < 0.2);
    // Other samples of the same tables.
    SampleSet valid =
        new SampleSet(
            train.tables(),
            samples(1, 1500).compute().subList(1000, 1500),
            samples(2, 400).collectives());
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      Evaluation evaluation = Evaluation.of(new CostModel(bundle), towers, valid);
      Accuracy compute = Accuracy.ofComputations(evaluation.computations());
      assertThat(compute.mape()).isLessThan(0.02);
      assertThat(compute.kendall().getAsDouble()).isGreaterThan(0.98);
      assertThat(compute.forwardMape().getAsDouble()).isLessThan(0.03);
      assertThat(compute.backwardMape().getAsDouble()).isLessThan(0.03);
      assertThat(evaluation.notPredicted()).isZero();
      for (String net : nets) {
        assertThat(
                Accuracy.ofCollectives(
                    evaluation.collectives().stream()
                        .filter(c -> c.sample().shown().equals(net))
                        .toList()))
            .as(net)
            .satisfies(accuracy -> assertThat(accuracy.samples()).isEqualTo(200))
            .satisfies(accuracy -> assertThat(accuracy.mape()).isLessThan(0.02));
      }
    }
  }

  @Test
  void without_parts_a_model_predicts_sums_only() {
    SampleSet train = samples(1, 300);
    List<ComputeSample> wholes =
        train.compute().stream().map(s -> new ComputeSample(s.shards(), s.computeMs())).toList();
    List<CollectiveSample> allToAlls =
        train.collectives().stream().filter(c -> c.collective() == Collective.ALL_TO_ALL).toList();
    List<CollectiveSample> fewBuffers =
        train.collectives().stream()
            .filter(c -> c.collective() == Collective.ALL_REDUCE)
            .limit(99)
            .toList();
    List<CollectiveSample> collectives = new ArrayList<>(allToAlls);
    collectives.addAll(fewBuffers);
    ModelBundle bundle =
        train(
            new SampleSet(train.tables(), wholes, collectives),
            TOY,
            new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0, 64),
            SILENT);
    assertThat(bundle.measuresDirections()).isFalse();
    assertThat(bundle.collectives())
        .as("with 100 samples or more")
        .extracting(CollectiveNet::shown)
        .containsExactly("all_to_all.backward", "all_to_all.forward");
    assertThat(bundle.card().collectiveSamples()).hasSize(2);
  }

  @Test
  void the_same_seed_gives_the_same_bits_and_another_seed_others() {
    SampleSet train = samples(1, 300);
    TrainingSettings brief = new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0, 64);
    ModelBundle first = train(train, TOY, brief, SILENT);
    ModelBundle second = train(train, TOY, brief, SILENT);
    assertThat(second.modelId()).isEqualTo(first.modelId());
    ModelBundle other =
        train(train, TOY, new TrainingSettings(8, 3, 3, 3, 1e-3, 0.2, 0, 64), SILENT);
    assertThat(other.modelId()).isNotEqualTo(first.modelId());
  }

  /** As NeuroShard's samples: the sum of forward and backward, all-to-alls by direction. */
  @Test
  void samples_without_parts_train_the_sum() {
    SampleSet train = samples(1, 300);
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
        train(
            new SampleSet(
                train.tables(),
                train.compute().stream()
                    .map(c -> new ComputeSample(c.shards(), c.computeMs()))
                    .toList(),
                directed),
            TOY,
            new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0, 64),
            SILENT);
    assertThat(bundle.measuresDirections()).isFalse();
    assertThat(bundle.collectives().stream().map(CollectiveNet::shown))
        .containsExactly("all_to_all.backward", "all_to_all.forward");
  }

  @Test
  void held_out_tables_are_not_trained_on() {
    SampleSet train = samples(1, 1000);
    TrainingSettings brief = new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0.1, 64);
    ModelBundle bundle = train(train, TOY, brief, SILENT);
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
                                    bundle.card().heldOutTables().contains(shard.table().name()))
                        ? ComputeSample.of(
                            sample.shards(), 100 * sample.computeMs(), sample.computeMs())
                        : sample)
            .toList();
    ModelBundle same =
        train(
            new SampleSet(train.tables(), moreExpensive, train.collectives()), TOY, brief, SILENT);
    assertThat(same.tower()).usingRecursiveComparison().isEqualTo(bundle.tower());
    assertThat(same.card().errors().get("unseen.compute.mape"))
        .isNotEqualTo(bundle.card().errors().get("unseen.compute.mape"));
    assertThatThrownBy(() -> train(train, TOY, brief.holdingOut(0.9), SILENT))
        .hasMessageMatching(
            "at least 100 compute samples must have no shard of the 27 held-out tables, got \\d+ of"
                + " 1000");
  }

  /** Measured ones stay, by direction: an all-reduce is needed backward only. */
  @Test
  void a_data_sheet_predicts_the_collectives_that_were_not_measured() {
    SampleSet many = samples(1, 200);
    Links links =
        new Links(
            new LinkDataSheet(370, 460, 48, 20, 15, 370, 20, OptionalDouble.of(64)), List.of());
    TrainingSettings brief = new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0, 64);
    List<CollectiveSample> measured =
        many.collectives().stream()
            .filter(
                c ->
                    c.collective() == Collective.ALL_GATHER
                        || c.direction().equals(Optional.of(Direction.FORWARD)))
            .toList();
    ModelBundle bundle =
        ModelTraining.train(
            many.with(many.compute(), measured),
            Optional.of(links),
            Optional.empty(),
            TOY,
            brief,
            SILENT);
    assertThat(bundle.fromDataSheet())
        .containsExactly("reduce_scatter.forward", "all_to_all.backward", "all_reduce.backward");
    assertThat(bundle.collectives())
        .filteredOn(net -> net.source() == CollectiveSource.MEASURED)
        .extracting(CollectiveNet::shown)
        .containsExactly("all_gather", "all_to_all.forward");
    assertThat(bundle.card().collectiveSamples())
        .containsOnlyKeys("all_gather", "all_to_all.forward");
    assertThat(bundle.card().errors().keySet())
        .as("errors are those of measured collectives")
        .noneMatch(name -> name.contains("reduce") || name.contains("all_to_all.backward"));
    assertThat(bundle.card().sources()).containsExactly("synthetic", links.describe());
    ModelBundle all =
        ModelTraining.train(many, Optional.of(links), Optional.empty(), TOY, brief, SILENT);
    assertThat(all.fromDataSheet()).as("nothing is left to the data sheet").isEmpty();
  }

  private static ModelBundle train(
      SampleSet samples,
      ModelTraining.About about,
      TrainingSettings settings,
      TrainingProgress progress) {
    return ModelTraining.train(
        samples, Optional.empty(), Optional.empty(), about, settings, progress);
  }

  private static ModelBundle trainFrom(ModelBundle source, SampleSet samples) {
    return ModelTraining.train(
        samples,
        Optional.empty(),
        Optional.of(source),
        TOY,
        new TrainingSettings(7, 3, 3, 3, 1e-3, 0.2, 0, 64),
        SILENT);
  }

  @Test
  void a_model_that_starts_from_another_has_its_costs_of_caches() {
    SampleSet few = samples(1, 200);
    ModelBundle nodes = ModelFiles.shippedForNodes();
    ModelBundle bundle = trainFrom(nodes, few);
    ModelOrigin origin = new ModelOrigin(nodes.hardware(), nodes.modelId());
    assertThat(bundle.cachesFrom()).contains(origin);
    assertThat(bundle.card().computeSamples()).as("computed ones do not count").isEqualTo(200);
    assertThat(bundle.card().sources())
        .as("the simulator's costs are far from this machine's")
        .containsExactly("synthetic");
    assertThat(trainFrom(nodes, few).modelId()).isEqualTo(bundle.modelId());
    assertThat(trainFrom(bundle, few).cachesFrom())
        .as("of the hardware that they were measured on")
        .contains(origin);
    SampleSet cached =
        few.with(
            few.compute().stream()
                .map(
                    sample ->
                        ComputeSample.of(
                            sample.shards().stream().map(ModelTrainingTest::cached).toList(),
                            sample.computeMs(),
                            sample.computeMs()))
                .toList(),
            few.collectives());
    assertThat(trainFrom(nodes, cached).cachesFrom()).as("measured").isEmpty();
  }

  private static DeviceShard cached(DeviceShard shard) {
    return new DeviceShard(
        shard.table(), shard.samples(), shard.rowShare(), false, OptionalDouble.of(0.5), BATCH);
  }

  /** Returns samples of a machine on which several shards overlap, so that terms are far off. */
  private static SampleSet overlapping(SampleSet samples, double slowness) {
    return samples.with(
        samples.compute().stream()
            .map(
                s -> {
                  double forward = s.forwardMs().orElseThrow();
                  return ComputeSample.of(
                      s.shards(),
                      slowness * Math.pow(forward, 1.5),
                      slowness * Math.pow(s.computeMs() - forward, 1.5));
                })
            .toList(),
        samples.collectives());
  }

  /** Twice as slow, and nothing else: all that the source knows is right, and few epochs do. */
  @Test
  void training_starts_from_weights_that_are_near() {
    ModelBundle source = train(overlapping(samples(1, 1000), 1), TOY, SHORT, SILENT);
    ModelBundle bundle = trainFrom(source, overlapping(samples(2, 200), 2));
    assertThat(bundle.card().sources())
        .containsExactly("synthetic", "first weights: toy, " + source.shown());
    assertThat(bundle.cachesFrom()).as("the source knows none").isEmpty();
    assertThat(bundle.card().errors().get("test.compute.mape")).isLessThan(0.15);
    assertThat(sum(bundle.forwardCoefficients()) / sum(source.forwardCoefficients()))
        .isCloseTo(2, Offset.offset(0.2));
  }

  private static double sum(List<Double> numbers) {
    return numbers.stream().mapToDouble(n -> n).sum();
  }

  @Test
  void a_source_of_other_sizes_is_rejected() {
    ModelBundle shipped = ModelFiles.shipped();
    DenseLayer wide = new DenseLayer(10, 8, new float[80], new float[8]);
    List<DenseLayer> head = new ArrayList<>(shipped.head());
    head.add(
        0,
        new DenseLayer(
            head.get(0).inputs(), 10, new float[10 * head.get(0).inputs()], new float[10]));
    head.set(1, wide);
    ModelBundle other = ModelBundleBuilder.builder(shipped).head(head.subList(0, 2)).build();
    assertThatThrownBy(() -> trainFrom(other, samples(1, 200)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "must have [64, 64, 12, 8, 8] outputs, got [64, 64, 12, 10, 8] of model ");
  }

  @Test
  void too_few_samples_are_rejected() {
    assertThatThrownBy(() -> train(samples(1, 50), TOY, SHORT, SILENT))
        .hasMessage(
            "there must be at least 100 compute samples and 100 all-to-alls of each direction, got"
                + " 50 and {all_gather=25, all_reduce=25, all_to_all.backward=25,"
                + " all_to_all.forward=25, reduce_scatter=25}. If collectives cannot be measured,"
                + " give the links of a data sheet (pretrain --links)");
    SampleSet many = samples(1, 200);
    List<CollectiveSample> forward =
        many.collectives().stream()
            .filter(c -> !c.direction().equals(Optional.of(Direction.BACKWARD)))
            .toList();
    assertThatThrownBy(
            () -> train(new SampleSet(many.tables(), many.compute(), forward), TOY, SHORT, SILENT))
        .hasMessageEndingWith(
            "got 200 and {all_gather=100, all_reduce=100, all_to_all.forward=100,"
                + " reduce_scatter=100}. If collectives cannot be measured, give the links of a"
                + " data sheet (pretrain --links)");
  }

  @Test
  void settings_have_ranges() {
    assertThatThrownBy(() -> new TrainingSettings(1, 0, 1, 9, 1e-3, 0, 0, 64))
        .hasMessage("epochs must be at least 1, got 0");
    assertThatThrownBy(() -> new TrainingSettings(1, 1, 1, 9, Double.NaN, 0, 0, 64))
        .hasMessage("initial learning rate must be above 0 and at most 1, got NaN");
    assertThatThrownBy(() -> new TrainingSettings(1, 1, 1, 9, 1e-3, 1.5, 0, 64))
        .hasMessage("share of unknown reuse must be between 0 and 1, got 1.5");
    assertThatThrownBy(() -> TrainingSettings.defaults(1).holdingOut(1))
        .hasMessage("share of held-out tables must be 0 to below 1, got 1.0");
    TrainingSettings settings = TrainingSettings.defaults(1);
    assertThat(settings.learningRate(0, 100)).isEqualTo(settings.initialRate());
    assertThat(settings.learningRate(100, 100)).isEqualTo(settings.initialRate() / 100);
  }
}
