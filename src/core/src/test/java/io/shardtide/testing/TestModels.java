package io.shardtide.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.ShapeBasis;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Models that tests begin with: trained as the shipped ones are, but of some KB. TinyModels, in the
 * tests of models, trains them.
 */
public final class TestModels {
  private static final ModelBundle COLUMNS = load("simulated");
  private static final ModelBundle NODES = load("simulated-8xh100");
  private static final ModelBundle H200 = load("h200");

  private TestModels() {}

  private static ModelBundle load(String name) {
    try (InputStream file = TestModels.class.getResourceAsStream("/models/" + name + ".txt")) {
      return ModelText.read(new String(file.readAllBytes(), UTF_8).lines().toList());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Of columns on one node, of before launch groups. */
  public static ModelBundle bundle() {
    return COLUMNS;
  }

  /** Of all kinds of shards on nodes of 8 devices, of before launch groups. */
  public static ModelBundle nodes() {
    return NODES;
  }

  /** Of a real GPU with all kinds of shards, launch groups and optimizers. */
  public static ModelBundle h200() {
    return H200;
  }

  /** The same weights under another seed: another model as far as anyone can tell. */
  public static ModelBundle otherBundle() {
    ModelCard card = COLUMNS.card();
    return with(COLUMNS, card.seed() + 1, card.computeSamples());
  }

  /** Returns a model as if it had been retrained on a number of computations. */
  public static ModelBundle measured(ModelBundle bundle, int computations) {
    return with(bundle, bundle.card().seed(), computations);
  }

  private static ModelBundle with(ModelBundle bundle, long seed, int computations) {
    ModelCard card = bundle.card();
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .card(
            new ModelCard(
                card.description(),
                card.simulated(),
                seed,
                computations,
                card.collectiveSamples(),
                card.sources(),
                card.heldOutTables(),
                card.errors(),
                card.beganAs()))
        .build()
        .identified();
  }

  /** Returns a model as if measurements of running plans had changed it, by nothing. */
  public static ModelBundle fineTuned(ModelBundle bundle) {
    double[] none = new double[ShapeBasis.SIZE];
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .correction(
            Optional.of(
                new LogCorrection(
                    List.of(
                        new LogCorrection.Member(0, none, none),
                        new LogCorrection.Member(0, none, none)))))
        .build()
        .identified();
  }

  /** The same computation, and collectives with coefficients and weights of one digit. */
  public static ModelBundle allCollectives() {
    return withCollectives(
        collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1),
        collective(Collective.ALL_TO_ALL, Direction.BACKWARD, 2),
        collective(Collective.REDUCE_SCATTER, Direction.FORWARD, 3),
        collective(Collective.ALL_GATHER, Direction.BACKWARD, 4),
        collective(Collective.ALL_REDUCE, Direction.BACKWARD, 5));
  }

  /** The same computation with other collectives. */
  public static ModelBundle withCollectives(CollectiveNet... nets) {
    return ModelBundleBuilder.builder(COLUMNS)
        .modelId("")
        .collectives(List.of(nets))
        .build()
        .identified();
  }

  /** Returns a net as if its costs came from a data sheet. */
  public static CollectiveNet fromDataSheet(CollectiveNet net) {
    return new CollectiveNet(
        net.collective(),
        net.direction(),
        net.features(),
        net.coefficients(),
        net.layers(),
        net.correction(),
        CollectiveSource.DATA_SHEET);
  }

  /** Terms and inputs of one collective count differently, and each collective costs its factor. */
  public static CollectiveNet collective(
      Collective collective, Direction direction, double factor) {
    List<String> terms = CollectiveInputs.terms(collective);
    List<Double> coefficients = new ArrayList<>();
    for (int t = 0; t < terms.size(); t++) {
      coefficients.add(factor * (1 + t % 9) * (terms.get(t).startsWith("bytes") ? 1e-8 : 1e-3));
    }
    List<Feature> features =
        CollectiveInputs.features(collective).stream()
            .map(name -> new Feature(name, 1, 10, 0, 40))
            .toList();
    float[] weights = new float[features.size()];
    for (int f = 0; f < weights.length; f++) {
      weights[f] = 0.01f * (1 + f % 9);
    }
    return new CollectiveNet(
        collective,
        Optional.of(direction),
        features,
        coefficients,
        List.of(new DenseLayer(weights.length, 1, weights, new float[] {0.1f})));
  }

  /** Returns the largest batch in training: samples that a shard pools in a step. */
  public static int largestBatch(ModelBundle bundle) {
    return (int)
        bundle.ranges().stream()
            .filter(range -> range.quantity().equals(TrainedRanges.SAMPLES))
            .findFirst()
            .orElseThrow()
            .max();
  }

  public static CostModel model() {
    return new CostModel(COLUMNS);
  }
}
