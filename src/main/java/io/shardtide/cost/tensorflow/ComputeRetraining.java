package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.cost.ShardShape;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;

/** Fine-tunes the compute net of a model: {@link TowerShift} corrects the tower's last layer. */
final class ComputeRetraining {
  private final ModelBundle champion;
  private final int batchSize;

  /** Row of each shard in the net's feature matrix. */
  private final Map<TableSpec, Integer> rows = new LinkedHashMap<>();

  /** A device: the rows of its shards and its cost in milliseconds. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Example(int[] rows, float label) {}

  private ComputeRetraining(ModelBundle champion, int batchSize) {
    this.champion = champion;
    this.batchSize = batchSize;
  }

  /**
   * Returns the fine-tuned weights.
   *
   * @param errors receives the errors before and after
   */
  static ComputeNet.Weights train(
      ModelBundle champion,
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    return new ComputeRetraining(champion, recent.batchSize()).run(recent, old, settings, errors);
  }

  private ComputeNet.Weights run(
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      SortedMap<String, Double> errors) {
    List<Example> recentExamples = examples(recent);
    List<Example> oldExamples = examples(old);
    int[] anchors =
        new AnchorShards(champion, recent, new Random(settings.seed()))
            .draw(settings.anchors()).stream().mapToInt(this::row).toArray();
    try (ComputeNet net =
        ComputeNet.of(
            new ComputeNet.Weights(champion.tower(), champion.head()), features(), baseline())) {
      ComputeNet.ComputeBatch all = batch(recentExamples);
      errors.put("champion.compute.mape", DataSplit.mape(net.predict(all), all.labels()));
      ComputeNet.ComputeBatch measured = batch(concat(recentExamples, oldExamples));
      double oldWeight = settings.oldWeight() * recentExamples.size() / oldExamples.size();
      for (int i = 0; i < measured.weights().length; i++) {
        measured.weights()[i] = (float) (i < recentExamples.size() ? 1 : oldWeight);
      }
      new TowerShift(net.weights(), features()).apply(net, measured, anchors);
      errors.put("learned.compute.mape", DataSplit.mape(net.predict(all), all.labels()));
      return net.weights();
    }
  }

  private static List<Example> concat(List<Example> a, List<Example> b) {
    List<Example> both = new ArrayList<>(a);
    both.addAll(b);
    return both;
  }

  private List<Example> examples(SampleSet samples) {
    List<Example> examples = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      examples.add(
          example(
              sample.shards().stream()
                  .map(shard -> samples.tables().get(shard.table()).withColumns(shard.width()))
                  .toList(),
              (float) sample.computeMs()));
    }
    return examples;
  }

  private Example example(List<TableSpec> shards, float label) {
    return new Example(shards.stream().mapToInt(this::row).toArray(), label);
  }

  private int row(TableSpec shard) {
    return rows.computeIfAbsent(shard, s -> rows.size());
  }

  private ShardShape shape(TableSpec shard) {
    return ShardShape.ofColumns(shard, shard.columns(), batchSize);
  }

  private float[][] features() {
    return rows.keySet().stream()
        .map(shard -> Normalization.apply(champion.features(), ShardFeatures.of(shape(shard))))
        .toArray(float[][]::new);
  }

  private float[] baseline() {
    float[] baseline = new float[rows.size()];
    rows.forEach(
        (shard, row) ->
            baseline[row] =
                (float)
                    NonNegativeLeastSquares.weightedSum(
                        champion.computeCoefficients(), ComputeTerms.of(shape(shard))));
    return baseline;
  }

  private static ComputeNet.ComputeBatch batch(List<Example> examples) {
    ComputeNet.ComputeBatch batch =
        ComputeNet.ComputeBatch.of(
            examples.size(), examples.stream().mapToInt(e -> e.rows().length).sum());
    int at = 0;
    for (int e = 0; e < examples.size(); e++) {
      for (int row : examples.get(e).rows()) {
        batch.rows()[at] = row;
        batch.devices()[at++] = e;
      }
      batch.labels()[e] = examples.get(e).label();
    }
    return batch;
  }
}
