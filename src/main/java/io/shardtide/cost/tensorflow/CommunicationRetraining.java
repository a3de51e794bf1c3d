package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllNet;
import io.shardtide.cost.AllToAllTerms;
import io.shardtide.cost.CommunicationFeatures;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TrainedRange;
import io.shardtide.cost.TrainedRanges;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;

/** Fine-tunes the net of one direction of the all-to-all, as {@link Retraining} describes. */
final class CommunicationRetraining {
  private final ModelBundle champion;
  private final boolean forward;
  private final AllToAllNet net;

  /** One device of an all-to-all: features, sum of the fitted terms, idle time, cost. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record RetrainingRow(float[] features, double baselineMs, double idleMs, double costMs) {}

  private CommunicationRetraining(ModelBundle champion, boolean forward) {
    this.champion = champion;
    this.forward = forward;
    net = forward ? champion.forward() : champion.backward();
  }

  /**
   * Returns the fine-tuned net.
   *
   * @param errors receives the errors before and after
   */
  static AllToAllNet train(
      ModelBundle champion,
      boolean forward,
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    return new CommunicationRetraining(champion, forward).run(recent, old, settings, errors);
  }

  private AllToAllNet run(
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    String name = forward ? "forward" : "backward";
    Random random = new Random(settings.seed());
    List<RetrainingRow> recentRows = rows(recent);
    List<RetrainingRow> anchors = anchors(recent, settings.anchors(), random);
    try (CommunicationNet tuned = CommunicationNet.of(net.layers())) {
      CommunicationNet.CommunicationBatch all = batch(recentRows);
      float[] predicted = tuned.predict(all);
      errors.put("champion.comm." + name + "_mape", DataSplit.mape(predicted, all.labels()));
      double factor =
          LogRatio.of(withoutIdleTime(all.labels(), all), withoutIdleTime(predicted, all))
              .commonFactor();
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
                CommunicationNet.CommunicationBatch batch = batch(rows);
                System.arraycopy(weights, 0, batch.weights(), 0, weights.length);
                tuned.train(batch, rate);
              });
      errors.put(
          "learned.comm." + name + "_mape", DataSplit.mape(tuned.predict(all), all.labels()));
      return new AllToAllNet(net.coefficients(), tuned.layers());
    }
  }

  /**
   * Returns costs minus idle time; at least a thousandth of the cost, since the clocks of devices
   * may differ.
   */
  private static float[] withoutIdleTime(float[] costs, CommunicationNet.CommunicationBatch batch) {
    float[] transfers = new float[costs.length];
    for (int i = 0; i < transfers.length; i++) {
      transfers[i] = Math.max(costs[i] / 1000, costs[i] - batch.idleTimes()[i]);
    }
    return transfers;
  }

  /** Returns anchors labelled with the champion's prediction times a factor. */
  private List<RetrainingRow> labelled(
      CommunicationNet tuned, List<RetrainingRow> anchors, double factor) {
    float[] predicted = tuned.predict(batch(anchors));
    List<RetrainingRow> labelled = new ArrayList<>();
    for (int i = 0; i < predicted.length; i++) {
      RetrainingRow row = anchors.get(i);
      labelled.add(new RetrainingRow(row.features(), row.baselineMs(), 0, predicted[i] * factor));
    }
    return labelled;
  }

  /** Draws devices of all-to-alls that were not measured, within the training range. */
  private List<RetrainingRow> anchors(SampleSet samples, int count, Random random) {
    TrainedRange devices = range(TrainedRanges.DEVICES);
    TrainedRange columns = range(TrainedRanges.COLUMNS_PER_DEVICE);
    List<Integer> sampledDevices = List.copyOf(samples.communication().keySet());
    List<RetrainingRow> anchors = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int deviceCount =
          i % 2 == 0
              ? sampledDevices.get(random.nextInt(sampledDevices.size()))
              : (int) Math.max(2, Math.round(within(devices, random)));
      double[] three =
          new double[] {within(columns, random), within(columns, random), within(columns, random)};
      Arrays.sort(three);
      // The largest of three is the maximum over devices; the others are the mean and this device.
      double own = i % 3 == 0 ? three[2] : random.nextBoolean() ? three[0] : three[1];
      double mean = i % 3 == 0 || own == three[0] ? three[1] : three[0];
      anchors.add(row(own, mean, three[2], deviceCount, 0, 1));
    }
    return anchors;
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

  private List<RetrainingRow> rows(SampleSet samples) {
    List<RetrainingRow> rows = new ArrayList<>();
    for (List<CommunicationSample> list : samples.communication().values()) {
      for (CommunicationSample sample : list) {
        double[] elements = sample.elements(samples.batchSize());
        double mean = champion.sampledColumns(Arrays.stream(elements).average().orElse(0));
        double max =
            champion.sampledColumns(
                Math.max(samples.batchSize(), Arrays.stream(elements).max().orElse(0)));
        for (int d = 0; d < sample.devices(); d++) {
          rows.add(
              row(
                  champion.sampledColumns(elements[d]),
                  mean,
                  max,
                  sample.devices(),
                  forward ? sample.waitMs(d) : 0,
                  forward ? sample.forwardMs()[d] : sample.backwardMs()[d]));
        }
      }
    }
    return rows;
  }

  private RetrainingRow row(
      double own, double mean, double max, int devices, double idleMs, double costMs) {
    return new RetrainingRow(
        Normalization.apply(
            champion.communicationFeatures(), CommunicationFeatures.of(own, mean, max, devices)),
        NonNegativeLeastSquares.weightedSum(
            net.coefficients(), AllToAllTerms.of(own, mean, max, devices)),
        idleMs,
        costMs);
  }

  private static CommunicationNet.CommunicationBatch batch(List<RetrainingRow> rows) {
    int width = rows.get(0).features().length;
    CommunicationNet.CommunicationBatch batch =
        CommunicationNet.CommunicationBatch.of(rows.size(), width);
    for (int i = 0; i < rows.size(); i++) {
      RetrainingRow row = rows.get(i);
      System.arraycopy(row.features(), 0, batch.features(), i * width, width);
      batch.baselines()[i] = (float) row.baselineMs();
      batch.idleTimes()[i] = (float) row.idleMs();
      batch.labels()[i] = (float) row.costMs();
    }
    return batch;
  }
}
