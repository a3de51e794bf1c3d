package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.LinkDataSheet;
import io.shardtide.cost.Links;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.StepCollectives;
import io.shardtide.models.ModelFiles;
import io.shardtide.samples.SampleFolderReader;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.ModelText;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Trains the models that tests of core begin with, which need no TensorFlow: the shipped ones, but
 * with hidden layers of 8 instead of 64, on some of the samples.
 */
final class TinyModels {
  private static final Path FOLDER = Path.of("src/core/src/test/resources/models");
  private static final int BATCH = 65_536;
  private static final int[] WIDTHS = {4, 8, 16, 32, 64, 128};

  /** Features and terms of models of before launch groups and optimizers. */
  private static final int OLD_FEATURES = 32;

  private static final int OLD_TERMS = 19;

  private TinyModels() {}

  /** Trains all of them again, in half a minute, and writes them. */
  public static void main(String[] args) throws IOException {
    Files.createDirectories(FOLDER);
    for (ModelBundle tiny : List.of(simulated(), nodes(), h200())) {
      Files.write(FOLDER.resolve(tiny.hardware() + ".txt"), ModelText.write(tiny));
    }
  }

  /** Learns what the shipped model says of columns on one node; of before launch groups. */
  static ModelBundle simulated() throws IOException {
    return beforeLaunchGroups(
        train(1, columns(1_000, 1_500), ModelFiles.shipped(), Optional.empty()));
  }

  /** Of samples of all kinds on nodes of 8 devices; of before launch groups. */
  static ModelBundle nodes() throws IOException {
    SampleSet all = samples("simulated-8xh100");
    return beforeLaunchGroups(
        train(
            3,
            all.with(some(all.compute(), 12), some(all.collectives(), 4)),
            ModelFiles.shippedForNodes(),
            Optional.empty()));
  }

  /** Of measurements, with six optimizers; its collectives are of a data sheet. */
  static ModelBundle h200() throws IOException {
    SampleSet all = samples("h200");
    return train(
        1,
        all.with(some(all.compute(), 2), List.of()),
        ModelFiles.shippedForH200(),
        Optional.of(
            new Links(
                LinkDataSheet.of(
                    Map.of("nvlink-gbs", 370.0, "nvls-gbs", 460.0, "nic-gbs", 48.0), List.of()),
                List.of())));
  }

  /** Returns columns of the tables of the reference kit, as the shipped model costs them. */
  static SampleSet columns(int computations, int allToAlls) throws IOException {
    List<TableSpec> tables =
        SampleFolderReader.tables(Path.of("src/models/src/test/resources/reference/tables.jsonl"));
    Random random = new Random(1);
    List<ComputeSample> drawn = new ArrayList<>();
    for (int s = 0; s < computations; s++) {
      List<DeviceShard> shards = new ArrayList<>();
      for (int n = 1 + random.nextInt(15); n > 0; n--) {
        int columns = WIDTHS[random.nextInt(WIDTHS.length)];
        TableSpec table = tables.get(random.nextInt(tables.size()));
        shards.add(DeviceShard.ofColumns(table.withColumns(columns), BATCH));
      }
      drawn.add(new ComputeSample(shards, 1));
    }
    CostModel teacher = new CostModel(ModelFiles.shipped());
    SampleSet set = new SampleSet(tables.stream().map(TableSpec::name).toList(), drawn, List.of());
    List<ComputeSample> compute;
    try (TensorFlowTowers towers = new TensorFlowTowers(teacher.bundle())) {
      compute =
          Evaluation.of(teacher, towers, set).computations().stream()
              .map(one -> new ComputeSample(one.sample().shards(), one.predictedMs()))
              .toList();
    }
    List<CollectiveSample> collectives = new ArrayList<>();
    for (int s = 0; s < allToAlls; s++) {
      collectives.addAll(allToAlls(teacher, 1 << (1 + random.nextInt(7)), random));
    }
    return set.with(compute, collectives);
  }

  private static List<CollectiveSample> allToAlls(CostModel teacher, int devices, Random random) {
    double[] elements = new double[devices];
    Arrays.setAll(elements, d -> 4.0 * random.nextInt(512) * BATCH);
    ClusterSpec cluster = Fixtures.cluster(devices, Fixtures.GIB);
    CommunicationCost cost = StepCollectives.of(cluster).allToAll(teacher.evaluator(), elements);
    double[] bytes = Arrays.stream(elements).map(own -> own / devices * 4).toArray();
    return List.of(
        allToAll(Direction.FORWARD, bytes, cost.forwardMs()),
        allToAll(Direction.BACKWARD, bytes, cost.backwardMs()));
  }

  private static CollectiveSample allToAll(Direction direction, double[] bytes, double[] ms) {
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.of(direction), ms.length, ms.length, bytes, ms);
  }

  private static SampleSet samples(String folder) throws IOException {
    return SampleFolderReader.read(Path.of("models/samples", folder, "train"), Optional.empty());
  }

  private static <T> List<T> some(List<T> all, int each) {
    return IntStream.range(0, all.size()).filter(i -> i % each == 0).mapToObj(all::get).toList();
  }

  private static ModelBundle train(
      long seed, SampleSet samples, ModelBundle like, Optional<Links> links) {
    ModelTraining.About about =
        new ModelTraining.About(
            like.hardware(), "For tests of core", like.card().simulated(), List.of("TinyModels"));
    ModelBundle tiny =
        ModelTraining.train(
            samples,
            links,
            Optional.empty(),
            about,
            new TrainingSettings(seed, 100, 20, 100, 8e-3, 0.2, 0, 8),
            (net, epoch, epochs, train, validation) -> {});
    ModelCard card = tiny.card();
    return ModelBundleBuilder.builder(tiny)
        .card(
            new ModelCard(
                card.description(),
                card.simulated(),
                card.seed(),
                card.computeSamples(),
                card.collectiveSamples(),
                card.sources(),
                card.heldOutTables(),
                new TreeMap<>(card.errors().subMap("test.compute", "test.d")),
                card.beganAs()))
        .build();
  }

  /**
   * Returns a model without costs of launches, whose head does not read how wide shards are. What
   * else later models have is the same in all of its samples, so that nothing changes without it.
   */
  private static ModelBundle beforeLaunchGroups(ModelBundle bundle) {
    List<DenseLayer> head = new ArrayList<>(bundle.head());
    head.set(0, withInputs(head.get(0), head.get(0).inputs() - 1));
    List<DenseLayer> tower = new ArrayList<>(bundle.tower());
    tower.set(0, withInputs(tower.get(0), OLD_FEATURES));
    DenseLayer last = tower.get(2);
    tower.set(2, withInputs(last, tower.get(1).outputs() + OLD_FEATURES));
    return ModelBundleBuilder.builder(bundle)
        .tower(tower)
        .head(head)
        .features(bundle.features().subList(0, OLD_FEATURES))
        .forwardCoefficients(bundle.forwardCoefficients().subList(0, OLD_TERMS))
        .backwardCoefficients(bundle.backwardCoefficients().subList(0, OLD_TERMS))
        .launches(Optional.empty())
        .optimizers(List.of())
        .build();
  }

  private static DenseLayer withInputs(DenseLayer layer, int first) {
    return new DenseLayer(
        first,
        layer.outputs(),
        Arrays.copyOf(layer.weights(), first * layer.outputs()),
        layer.biases());
  }
}
