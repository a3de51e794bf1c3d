package io.shardtide.learning;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Converts samples of the log to sets for training and evaluation. */
public final class SampleSets {
  private SampleSets() {}

  /** Groups samples by batch size, keeping their order. */
  public static SortedMap<Integer, List<CostSample>> byBatchSize(List<CostSample> samples) {
    SortedMap<Integer, List<CostSample>> bySize = new TreeMap<>();
    samples.forEach(
        sample -> bySize.computeIfAbsent(sample.batchSize(), s -> new ArrayList<>()).add(sample));
    return bySize;
  }

  /**
   * Converts samples. Shards of tables that differ only in columns share one table of the set.
   *
   * @param samples samples of one batch size, validated by {@link SampleCheck}
   * @param batchSize the batch size
   */
  public static SampleSet of(List<CostSample> samples, int batchSize) {
    Map<TableSpec, Integer> tables = new LinkedHashMap<>();
    List<ComputeSample> compute = new ArrayList<>();
    List<CollectiveSample> collectives = new ArrayList<>();
    for (CostSample sample : samples) {
      if (sample.cost() instanceof CostSample.Computation computation) {
        List<SampledShard> shards = new ArrayList<>();
        for (DeviceShard shard : computation.shards()) {
          TableSpec table = shard.table().withColumns(TableSpec.COLUMN_UNIT);
          shards.add(shard.sampled(tables.computeIfAbsent(table, t -> tables.size())));
        }
        compute.add(
            new ComputeSample(shards, computation.measuredMs(), computation.measuredForwardMs()));
      } else if (sample.cost() instanceof CostSample.StepCommunication communication) {
        collectives.addAll(communication.samples(batchSize));
      }
    }
    return new SampleSet(List.copyOf(tables.keySet()), batchSize, compute, collectives);
  }
}
