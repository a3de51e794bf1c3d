package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampleShapes;
import io.shardtide.cost.SampledShard;
import io.shardtide.cost.ShardShape;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;

/** Fine-tunes the compute net of a model: {@link TowerShift} corrects the tower's last layer. */
final class ComputeRetraining {
  private final ModelBundle champion;

  /** Row of each measured shard in the net's inputs. */
  private final Map<MeasuredShard, Integer> rows = new HashMap<>();

  private final List<ShardShape> shapes = new ArrayList<>();

  /** A shard of a table, whatever the number of the table in its samples. */
  private record MeasuredShard(TableSpec table, SampledShard shard) {}

  /** A device: the rows of its shards and its cost in milliseconds. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Example(int[] rows, float label) {}

  private ComputeRetraining(ModelBundle champion) {
    this.champion = champion;
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
    return new ComputeRetraining(champion).run(recent, old, settings, errors);
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
            .draw(settings.anchors()).stream().mapToInt(this::add).toArray();
    ShardInputs inputs = ShardInputs.of(champion, shapes);
    try (ComputeNet net =
        ComputeNet.of(new ComputeNet.Weights(champion.tower(), champion.head()), inputs)) {
      ComputeNet.ComputeBatch all = batch(recentExamples);
      errors.put("champion.compute.mape", DataSplit.mape(net.predict(all), all.labels()));
      ComputeNet.ComputeBatch measured = batch(concat(recentExamples, oldExamples));
      double oldWeight = settings.oldWeight() * recentExamples.size() / oldExamples.size();
      for (int i = 0; i < measured.weights().length; i++) {
        measured.weights()[i] = (float) (i < recentExamples.size() ? 1 : oldWeight);
      }
      new TowerShift(net.weights(), inputs).apply(net, measured, anchors);
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
    SampleShapes ofSamples = new SampleShapes(samples);
    List<Example> examples = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      int[] ofDevice =
          sample.shards().stream()
              .mapToInt(
                  shard ->
                      rows.computeIfAbsent(
                          new MeasuredShard(samples.tables().get(shard.table()), shard.ofTable(0)),
                          key -> add(ofSamples.of(shard))))
              .toArray();
      examples.add(new Example(ofDevice, (float) sample.computeMs()));
    }
    return examples;
  }

  private int add(ShardShape shape) {
    shapes.add(shape);
    return shapes.size() - 1;
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
