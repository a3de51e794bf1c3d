package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.ShardFeatures;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;

/**
 * Trains the compute net of a model on: {@link TowerShift} corrects its last layer, and with enough
 * samples steps of the optimizer follow on all layers.
 */
final class ComputeRetraining {
  /**
   * Recent computations from which on steps follow: with 1,500 they cut the error of the correction
   * to a third, with 60 they learned the noise by heart (RATIONALE.md).
   */
  private static final int ENOUGH_FOR_STEPS = 400;

  private final ModelBundle champion;
  private final int batchSize;

  /** Row of each shard in the net's table of features. */
  private final Map<TableSpec, Integer> rows = new LinkedHashMap<>();

  /** A device: the rows of its shards, and what it cost. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  private record Example(int[] rows, float label) {}

  private ComputeRetraining(ModelBundle champion, int batchSize) {
    this.champion = champion;
    this.batchSize = batchSize;
  }

  /** Returns the layers, and writes errors before and after. */
  static ComputeNet.Weights train(
      ModelBundle champion,
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      TrainingProgress progress,
      SortedMap<String, Double> errors) {
    return new ComputeRetraining(champion, recent.batchSize())
        .run(recent, old, settings, progress, errors);
  }

  private ComputeNet.Weights run(
      SampleSet recent,
      SampleSet old,
      RetrainingSettings settings,
      TrainingProgress progress,
      SortedMap<String, Double> errors) {
    Random random = new Random(settings.seed());
    List<Example> fresh = examples(recent);
    List<Example> before = examples(old);
    List<Example> anchors = new ArrayList<>();
    for (List<TableSpec> device :
        new AnchorTables(champion, recent, random).devices(settings.anchors())) {
      anchors.add(example(device, 1));
    }
    try (ComputeNet net =
        ComputeNet.from(
            new ComputeNet.Weights(champion.tower(), champion.head()), features(), baseline())) {
      ComputeNet.Batch all = batch(fresh);
      float[] said = net.predict(all);
      errors.put("champion.compute.mape", Split.mape(said, all.labels()));
      ComputeNet.Batch measured = batch(concat(fresh, before));
      for (int i = 0; i < measured.weights().length; i++) {
        measured.weights()[i] =
            (float) (i < fresh.size() ? 1 : settings.oldWeight() * fresh.size() / before.size());
      }
      new TowerShift(net.weights(), features()).apply(net, measured, batch(anchors));
      if (fresh.size() >= ENOUGH_FOR_STEPS) {
        learn(
            net,
            random,
            List.of(
                new Lesson.Part<>(fresh, 1),
                new Lesson.Part<>(before, settings.oldWeight()),
                new Lesson.Part<>(told(net, anchors), settings.anchorWeight())),
            settings,
            progress,
            all);
      }
      errors.put("learned.compute.mape", Split.mape(net.predict(all), all.labels()));
      return net.weights();
    }
  }

  private static List<Example> concat(List<Example> a, List<Example> b) {
    List<Example> both = new ArrayList<>(a);
    both.addAll(b);
    return both;
  }

  /** Goes on with steps of the optimizer on all layers. */
  private static void learn(
      ComputeNet net,
      Random random,
      List<Lesson.Part<Example>> parts,
      RetrainingSettings settings,
      TrainingProgress progress,
      ComputeNet.Batch all) {
    new Lesson<>(parts, settings)
        .run(
            "compute",
            random,
            (examples, weights, rate) -> {
              ComputeNet.Batch batch = batch(examples);
              System.arraycopy(weights, 0, batch.weights(), 0, weights.length);
              return net.train(batch, rate);
            },
            () -> Split.mape(net.predict(all), all.labels()),
            progress);
  }

  /** Returns anchors with what the corrected net says of them. */
  private static List<Example> told(ComputeNet net, List<Example> anchors) {
    float[] said = net.predict(batch(anchors));
    List<Example> told = new ArrayList<>();
    for (int i = 0; i < said.length; i++) {
      told.add(new Example(anchors.get(i).rows(), said[i]));
    }
    return told;
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
    return new Example(
        shards.stream().mapToInt(shard -> rows.computeIfAbsent(shard, s -> rows.size())).toArray(),
        label);
  }

  private float[][] features() {
    return rows.keySet().stream()
        .map(
            shard ->
                Normalization.apply(
                    champion.features(), ShardFeatures.of(shard, shard.columns(), batchSize)))
        .toArray(float[][]::new);
  }

  private float[] baseline() {
    float[] baseline = new float[rows.size()];
    rows.forEach(
        (shard, row) ->
            baseline[row] =
                (float)
                    Coefficients.sum(
                        champion.computeCoefficients(),
                        ComputeTerms.of(shard, shard.columns(), batchSize)));
    return baseline;
  }

  private static ComputeNet.Batch batch(List<Example> examples) {
    ComputeNet.Batch batch =
        ComputeNet.Batch.of(
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
