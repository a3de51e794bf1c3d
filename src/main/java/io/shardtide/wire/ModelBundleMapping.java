package io.shardtide.wire;

import io.shardtide.avro.CostModelBundle;
import io.shardtide.avro.FeatureRange;
import io.shardtide.cost.AllToAllNet;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.TrainedRange;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

final class ModelBundleMapping {
  private ModelBundleMapping() {}

  static CostModelBundle toAvro(ModelBundle bundle) {
    ModelCard card = bundle.card();
    Map<String, Integer> communicationSamples = new TreeMap<>();
    card.communicationSamples().forEach((d, n) -> communicationSamples.put(d.toString(), n));
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
                communicationSamples,
                card.sources(),
                List.copyOf(card.heldOutTables()),
                card.errors()))
        .setBatchSize(bundle.batchSize())
        .setRanges(
            bundle.ranges().stream()
                .map(r -> new io.shardtide.avro.TrainedRange(r.quantity(), r.min(), r.max()))
                .toList())
        .setFeatures(featuresToAvro(bundle.features()))
        .setComputeCoefficients(bundle.computeCoefficients())
        .setTower(layersToAvro(bundle.tower()))
        .setHead(layersToAvro(bundle.head()))
        .setCommunicationFeatures(featuresToAvro(bundle.communicationFeatures()))
        .setForward(exchangeToAvro(bundle.forward()))
        .setBackward(exchangeToAvro(bundle.backward()))
        .build();
  }

  static ModelBundle fromAvro(CostModelBundle avro) {
    if (avro.getFormatMajor() != ModelBundle.FORMAT_MAJOR) {
      throw new InvalidModelException(
          "The model has format %d.%d; this version reads %d.x. Maybe it was made by a newer version"
              .formatted(avro.getFormatMajor(), avro.getFormatMinor(), ModelBundle.FORMAT_MAJOR));
    }
    io.shardtide.avro.ModelCard card = avro.getCard();
    SortedMap<Integer, Integer> communicationSamples = new TreeMap<>();
    card.getCommunicationSamples()
        .forEach((d, n) -> communicationSamples.put(Integer.valueOf(d), n));
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
                    communicationSamples,
                    card.getSources(),
                    new TreeSet<>(card.getHeldOutTables()),
                    new TreeMap<>(card.getErrors())))
            .batchSize(avro.getBatchSize())
            .ranges(
                avro.getRanges().stream()
                    .map(r -> new TrainedRange(r.getQuantity(), r.getMin(), r.getMax()))
                    .toList())
            .features(featuresFromAvro(avro.getFeatures()))
            .computeCoefficients(avro.getComputeCoefficients())
            .tower(layersFromAvro(avro.getTower()))
            .head(layersFromAvro(avro.getHead()))
            .communicationFeatures(featuresFromAvro(avro.getCommunicationFeatures()))
            .forward(exchangeFromAvro(avro.getForward()))
            .backward(exchangeFromAvro(avro.getBackward()))
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

  private static io.shardtide.avro.ExchangeNet exchangeToAvro(AllToAllNet net) {
    return new io.shardtide.avro.ExchangeNet(net.coefficients(), layersToAvro(net.layers()));
  }

  private static AllToAllNet exchangeFromAvro(io.shardtide.avro.ExchangeNet net) {
    return new AllToAllNet(net.getCoefficients(), layersFromAvro(net.getLayers()));
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
