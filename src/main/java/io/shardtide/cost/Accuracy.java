package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.hipparchus.stat.correlation.KendallsCorrelation;

/**
 * How well a model predicts labelled samples. Errors are fractions of the label: 0.029 is 2.9%.
 *
 * @param compute errors of computations, if there are such samples
 * @param communication errors of exchanges by number of devices
 */
public record Accuracy(Optional<Compute> compute, SortedMap<Integer, Communication> communication) {

  /**
   * Errors of computations.
   *
   * @param samples number of samples
   * @param mape mean absolute relative error
   * @param kendall Kendall's tau-b between predicted and measured, 1 when all pairs are in order
   * @param p99RelativeError 99th percentile of the absolute relative error
   */
  public record Compute(int samples, double mape, double kendall, double p99RelativeError) {}

  /**
   * Errors of exchanges, over all devices of all samples.
   *
   * @param samples number of samples
   * @param forwardMape mean absolute relative error of the forward exchange, waiting included
   * @param backwardMape mean absolute relative error of the backward exchange
   */
  public record Communication(int samples, double forwardMape, double backwardMape) {}

  /** Asks the model for each sample as a search would ask it. */
  public static Accuracy measure(CostModel model, TowerPredictor towers, SampleSet samples) {
    CostEvaluator evaluator = model.evaluator();
    Optional<Compute> compute =
        samples.compute().isEmpty()
            ? Optional.empty()
            : Optional.of(measureCompute(evaluator, model, towers, samples));
    SortedMap<Integer, Communication> communication = new TreeMap<>();
    samples
        .communication()
        .forEach(
            (devices, list) ->
                communication.put(
                    devices, measureCommunication(evaluator, list, samples.batchSize())));
    return new Accuracy(compute, communication);
  }

  private static Compute measureCompute(
      CostEvaluator evaluator, CostModel model, TowerPredictor towers, SampleSet samples) {
    List<TableSpec> widest = new ArrayList<>();
    for (int t = 0; t < samples.tables().size(); t++) {
      TableSpec table = samples.tables().get(t);
      int index = t;
      int columns =
          samples.compute().stream()
              .flatMap(s -> s.shards().stream())
              .filter(shard -> shard.table() == index)
              .mapToInt(ComputeSample.SampledShard::width)
              .max()
              .orElse(TableSpec.COLUMN_UNIT);
      widest.add(
          new TableSpec(
              table.name(),
              table.rows(),
              columns,
              table.poolingFactor(),
              table.reuseHistogram(),
              table.bytesPerElement()));
    }
    List<TablePrediction> predictions = towers.predict(widest, samples.batchSize());
    Map<ComputeSample.SampledShard, double[]> exact = new HashMap<>();
    int count = samples.compute().size();
    double[] predicted = new double[count];
    double[] measured = new double[count];
    double[] errors = new double[count];
    for (int i = 0; i < count; i++) {
      ComputeSample sample = samples.compute().get(i);
      double[] sum = new double[model.towerSize()];
      for (ComputeSample.SampledShard shard : sample.shards()) {
        TowerSums.add(
            sum,
            exact.computeIfAbsent(
                shard, s -> TowerSums.exact(predictions.get(s.table()).tower(s.width()))));
      }
      predicted[i] = evaluator.computeMs(sum);
      measured[i] = sample.computeMs();
      errors[i] = Math.abs(predicted[i] - measured[i]) / measured[i];
    }
    double mape = Arrays.stream(errors).average().orElse(0);
    double kendall = count > 1 ? new KendallsCorrelation().correlation(predicted, measured) : 1;
    Arrays.sort(errors);
    double p99 = errors[(int) Math.min(count - 1, Math.ceil(0.99 * count) - 1)];
    return new Compute(count, mape, kendall, p99);
  }

  private static Communication measureCommunication(
      CostEvaluator evaluator, List<CommunicationSample> list, int batchSize) {
    double forward = 0;
    double backward = 0;
    int devices = list.get(0).devices();
    for (CommunicationSample sample : list) {
      ExchangeCost cost = evaluator.exchange(sample.columns(), batchSize);
      for (int d = 0; d < devices; d++) {
        double forwardMs = cost.forwardMs()[d] + sample.waitMs(d);
        forward += Math.abs(forwardMs - sample.forwardMs()[d]) / sample.forwardMs()[d];
        backward +=
            Math.abs(cost.backwardMs()[d] - sample.backwardMs()[d]) / sample.backwardMs()[d];
      }
    }
    double rows = (double) list.size() * devices;
    return new Communication(list.size(), forward / rows, backward / rows);
  }
}
