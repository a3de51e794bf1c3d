package io.shardtide.models;

import io.shardtide.avro.CollectiveModel;
import io.shardtide.avro.CorrectionMember;
import io.shardtide.avro.CostModelBundle;
import io.shardtide.avro.FeatureRange;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.cost.TrainedRange;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/** Converts between a model and its Avro record, of bundle files and of the topic of models. */
public final class ModelBundleMapping {
  private ModelBundleMapping() {}

  /** Returns the record of a model. */
  public static CostModelBundle toAvro(ModelBundle bundle) {
    ModelCard card = bundle.card();
    return CostModelBundle.newBuilder()
        .setModelId(bundle.modelId())
        .setFormatMajor(ModelBundle.FORMAT_MAJOR)
        .setFormatMinor(ModelBundle.FORMAT_MINOR)
        .setHardware(bundle.hardware())
        .setCard(
            new io.shardtide.avro.ModelCard(
                card.description(),
                card.simulated(),
                card.seed(),
                card.computeSamples(),
                card.collectiveSamples(),
                card.sources(),
                List.copyOf(card.heldOutTables()),
                card.errors(),
                card.beganAs()
                    .map(o -> new io.shardtide.avro.ModelOrigin(o.hardware(), o.modelId()))
                    .orElse(null)))
        .setRanges(
            bundle.ranges().stream()
                .map(r -> new io.shardtide.avro.TrainedRange(r.quantity(), r.min(), r.max()))
                .toList())
        .setFeatures(featuresToAvro(bundle.features()))
        .setForwardCoefficients(bundle.forwardCoefficients())
        .setBackwardCoefficients(bundle.backwardCoefficients())
        .setMeasuresDirections(bundle.measuresDirections())
        .setTower(layersToAvro(bundle.tower()))
        .setHead(layersToAvro(bundle.head()))
        .setCollectives(
            bundle.collectives().stream().map(ModelBundleMapping::collectiveToAvro).toList())
        .setCorrection(correctionToAvro(bundle.correction()))
        .build();
  }

  /**
   * Returns the model of a record.
   *
   * @throws InvalidModelException if the record has a format that this version does not read, or a
   *     content of another id
   */
  public static ModelBundle fromAvro(CostModelBundle avro) {
    if (avro.getFormatMajor() != ModelBundle.FORMAT_MAJOR) {
      throw new InvalidModelException(
          "The model has format %d.%d; this version reads %d.x. Train it again (pretrain), or use the version that made it"
              .formatted(avro.getFormatMajor(), avro.getFormatMinor(), ModelBundle.FORMAT_MAJOR));
    }
    io.shardtide.avro.ModelCard card = avro.getCard();
    ModelBundle bundle =
        ModelBundleBuilder.builder()
            .modelId(avro.getModelId())
            .hardware(avro.getHardware())
            .card(
                new ModelCard(
                    card.getDescription(),
                    card.getSimulated(),
                    card.getSeed(),
                    card.getComputeSamples(),
                    new TreeMap<>(card.getCollectiveSamples()),
                    card.getSources(),
                    new TreeSet<>(card.getHeldOutTables()),
                    new TreeMap<>(card.getErrors()),
                    Optional.ofNullable(card.getBeganAs())
                        .map(o -> new ModelOrigin(o.getHardware(), o.getModelId()))))
            .ranges(
                avro.getRanges().stream()
                    .map(r -> new TrainedRange(r.getQuantity(), r.getMin(), r.getMax()))
                    .toList())
            .features(featuresFromAvro(avro.getFeatures()))
            .forwardCoefficients(avro.getForwardCoefficients())
            .backwardCoefficients(avro.getBackwardCoefficients())
            .measuresDirections(avro.getMeasuresDirections())
            .tower(layersFromAvro(avro.getTower()))
            .head(layersFromAvro(avro.getHead()))
            .collectives(
                avro.getCollectives().stream().map(ModelBundleMapping::collectiveFromAvro).toList())
            .correction(correctionFromAvro(avro.getCorrection()))
            .build();
    String contentId = bundle.contentId();
    if (!contentId.equals(bundle.modelId())) {
      throw new InvalidModelException(
          "The model says its id is %s and its content gives %s: it was changed after it was made"
              .formatted(bundle.modelId(), contentId));
    }
    return bundle;
  }

  private static List<FeatureRange> featuresToAvro(List<Feature> features) {
    return features.stream()
        .map(f -> new FeatureRange(f.name(), f.mean(), f.scale(), f.min(), f.max()))
        .toList();
  }

  private static List<Feature> featuresFromAvro(List<FeatureRange> features) {
    return features.stream()
        .map(f -> new Feature(f.getName(), f.getMean(), f.getScale(), f.getMin(), f.getMax()))
        .toList();
  }

  private static CollectiveModel collectiveToAvro(CollectiveNet net) {
    return new CollectiveModel(
        net.collective().fileName(),
        net.direction().map(Direction::fileName).orElse(null),
        featuresToAvro(net.features()),
        net.coefficients(),
        layersToAvro(net.layers()),
        correctionToAvro(net.correction()));
  }

  private static CollectiveNet collectiveFromAvro(CollectiveModel avro) {
    return new CollectiveNet(
        Collective.ofFileName(avro.getCollective())
            .orElseThrow(
                () ->
                    new InvalidModelException(
                        "nets of a model must be of %s, got %s"
                            .formatted(Collective.fileNames(), avro.getCollective()))),
        Optional.ofNullable(avro.getDirection()).map(ModelBundleMapping::direction),
        featuresFromAvro(avro.getFeatures()),
        avro.getCoefficients(),
        layersFromAvro(avro.getLayers()),
        correctionFromAvro(avro.getCorrection()));
  }

  private static io.shardtide.avro.LogCorrection correctionToAvro(
      Optional<LogCorrection> correction) {
    return correction
        .map(
            of ->
                new io.shardtide.avro.LogCorrection(
                    of.members().stream()
                        .map(
                            member ->
                                new CorrectionMember(
                                    member.phase(),
                                    Arrays.stream(member.weights()).boxed().toList(),
                                    Arrays.stream(member.draw()).boxed().toList()))
                        .toList()))
        .orElse(null);
  }

  private static Optional<LogCorrection> correctionFromAvro(io.shardtide.avro.LogCorrection avro) {
    return Optional.ofNullable(avro)
        .map(
            of ->
                new LogCorrection(
                    of.getMembers().stream()
                        .map(
                            member ->
                                new LogCorrection.Member(
                                    member.getPhase(),
                                    numbers(member.getWeights()),
                                    numbers(member.getDraw())))
                        .toList()));
  }

  private static double[] numbers(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private static Direction direction(String name) {
    return Direction.ofFileName(name)
        .orElseThrow(
            () ->
                new InvalidModelException(
                    "direction of a model's net must be forward or backward, got " + name));
  }

  private static List<io.shardtide.avro.DenseLayer> layersToAvro(List<DenseLayer> layers) {
    return layers.stream()
        .map(
            l ->
                new io.shardtide.avro.DenseLayer(
                    l.inputs(), l.outputs(), Floats.toList(l.weights()), Floats.toList(l.biases())))
        .toList();
  }

  private static List<DenseLayer> layersFromAvro(List<io.shardtide.avro.DenseLayer> layers) {
    return layers.stream()
        .map(
            l ->
                new DenseLayer(
                    l.getInputs(),
                    l.getOutputs(),
                    Floats.toArray(l.getWeights()),
                    Floats.toArray(l.getBiases())))
        .toList();
  }
}
