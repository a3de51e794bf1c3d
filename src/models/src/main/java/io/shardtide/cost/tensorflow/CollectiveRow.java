package io.shardtide.cost.tensorflow;

import io.shardtide.cost.AllToAllLoad;
import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.Feature;
import io.shardtide.workload.Collective;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One device of a measured collective; all devices of one with a single buffer.
 *
 * @param devices number of devices
 * @param features inputs of the net, not normalized
 * @param terms inputs of the linear model
 * @param ms duration in milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record CollectiveRow(int devices, double[] features, double[] terms, double ms) {

  /** Returns the rows of a sample. */
  static List<CollectiveRow> of(CollectiveSample sample) {
    DeviceGroup group = sample.group();
    if (sample.collective() != Collective.ALL_TO_ALL) {
      return List.of(
          new CollectiveRow(
              group.devices(),
              CollectiveInputs.bufferFeatures(sample.bytes()[0], group),
              CollectiveInputs.bufferTerms(sample.bytes()[0], group),
              sample.ms()[0]));
    }
    AllToAllLoad load = AllToAllLoad.of(group, sample.bytes());
    return IntStream.range(0, group.devices())
        .mapToObj(
            d ->
                new CollectiveRow(
                    group.devices(),
                    CollectiveInputs.allToAllFeatures(sample.bytes()[d], load),
                    CollectiveInputs.allToAllTerms(sample.bytes()[d], load),
                    sample.ms()[d]))
        .toList();
  }

  /** Returns rows as a batch of a net. */
  static CorrectionNet.CorrectionBatch batch(
      List<CollectiveRow> rows, List<Feature> normalization, List<Double> coefficients) {
    int width = normalization.size();
    CorrectionNet.CorrectionBatch batch = CorrectionNet.CorrectionBatch.of(rows.size(), width);
    Normalization normalized = new Normalization(normalization);
    for (int i = 0; i < rows.size(); i++) {
      CollectiveRow row = rows.get(i);
      normalized.apply(row.features(), batch.features(), i * width);
      batch.baselines()[i] = (float) NonNegativeLeastSquares.weightedSum(coefficients, row.terms());
      batch.labels()[i] = (float) row.ms();
    }
    return batch;
  }
}
