package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TrainedRange;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.domain.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;

/** Fine-tunes the net of a collective, as {@link Retraining} describes. */
final class CollectiveRetraining {
  private final ModelBundle champion;
  private final CollectiveNet net;

  private CollectiveRetraining(ModelBundle champion, CollectiveNet net) {
    this.champion = champion;
    this.net = net;
  }

  /**
   * Returns the fine-tuned net; the same one if there are too few recent samples.
   *
   * @param errors receives the errors before and after
   */
  static CollectiveNet train(
      ModelBundle champion,
      CollectiveNet net,
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    CollectiveRetraining retraining = new CollectiveRetraining(champion, net);
    List<CollectiveSample> samples = retraining.covered(recent);
    return samples.size() < Retraining.MIN_COLLECTIVES
        ? net
        : retraining.run(samples, retraining.covered(old), settings, errors);
  }

  private List<CollectiveSample> covered(SampleSet samples) {
    return samples.collectives().stream().filter(net::covers).toList();
  }

  private CollectiveNet run(
      List<CollectiveSample> recent,
      List<CollectiveSample> old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    Random random = new Random(settings.seed());
    List<CollectiveRow> recentRows = rows(recent);
    List<CollectiveRow> anchors = anchors(recent, settings.anchors(), random);
    try (CorrectionNet tuned = CorrectionNet.of(net.layers())) {
      CorrectionNet.CorrectionBatch all = batch(recentRows);
      float[] predicted = tuned.predict(all);
      errors.put("champion." + net.shown() + ".mape", DataSplit.mape(predicted, all.labels()));
      double factor = LogRatio.of(all.labels(), predicted).commonFactor();
      new TrainingExamples<>(
              List.of(
                  new TrainingExamples.ExampleSet<>(recentRows, 1),
                  new TrainingExamples.ExampleSet<>(rows(old), settings.oldWeight()),
                  new TrainingExamples.ExampleSet<>(
                      labelled(tuned, anchors, factor), settings.anchorWeight())),
              settings)
          .run(
              random,
              (rows, weights, rate) -> {
                CorrectionNet.CorrectionBatch batch = batch(rows);
                System.arraycopy(weights, 0, batch.weights(), 0, weights.length);
                tuned.train(batch, rate);
              });
      errors.put(
          "learned." + net.shown() + ".mape", DataSplit.mape(tuned.predict(all), all.labels()));
      return new CollectiveNet(
          net.collective(), net.direction(), net.features(), net.coefficients(), tuned.layers());
    }
  }

  /** Returns anchors labelled with the champion's prediction times a factor. */
  private List<CollectiveRow> labelled(
      CorrectionNet tuned, List<CollectiveRow> anchors, double factor) {
    float[] predicted = tuned.predict(batch(anchors));
    List<CollectiveRow> labelled = new ArrayList<>();
    for (int i = 0; i < predicted.length; i++) {
      labelled.add(anchors.get(i).withMs(predicted[i] * factor));
    }
    return labelled;
  }

  /** Draws collectives that were not measured, within the training range. */
  private List<CollectiveRow> anchors(List<CollectiveSample> samples, int count, Random random) {
    TrainedRange devices = range(TrainedRanges.DEVICES);
    List<CollectiveRow> anchors = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      CollectiveSample sampled = samples.get(random.nextInt(samples.size()));
      int drawn = (int) Math.max(2, Math.round(within(devices, random)));
      DeviceGroup group =
          i % 2 == 0
              ? new DeviceGroup(sampled.devices(), sampled.devicesPerNode())
              : new DeviceGroup(drawn, Math.min(drawn, sampled.devicesPerNode()));
      anchors.add(
          net.collective() == Collective.ALL_TO_ALL
              ? allToAll(group, i, random)
              : CollectiveRow.ofBuffer(
                  within(range(TrainedRanges.BUFFER_BYTES), random), group, 1));
    }
    return anchors;
  }

  private CollectiveRow allToAll(DeviceGroup group, int i, Random random) {
    TrainedRange range = range(TrainedRanges.BYTES_PER_PEER);
    double[] three = {within(range, random), within(range, random), within(range, random)};
    Arrays.sort(three);
    // The largest of three is the maximum over devices; the others are the mean and this device.
    double own = i % 3 == 0 ? three[2] : random.nextBoolean() ? three[0] : three[1];
    double mean = i % 3 == 0 || own == three[0] ? three[1] : three[0];
    double node = group.nodes() == 1 ? mean : mean + random.nextDouble() * (three[2] - mean) / 2;
    return CollectiveRow.ofAllToAll(
        own, new AllToAllLoad(group, three[2], mean, AllToAllLoad.level(node, mean)), 1);
  }

  private TrainedRange range(String quantity) {
    return champion.ranges().stream()
        .filter(r -> r.quantity().equals(quantity))
        .findFirst()
        .orElseThrow();
  }

  private static double within(TrainedRange range, Random random) {
    return range.min() + random.nextDouble() * (range.max() - range.min());
  }

  private static List<CollectiveRow> rows(List<CollectiveSample> samples) {
    return samples.stream().flatMap(sample -> CollectiveRow.of(sample).stream()).toList();
  }

  private CorrectionNet.CorrectionBatch batch(List<CollectiveRow> rows) {
    return CollectiveRow.batch(rows, net.features(), net.coefficients());
  }
}
