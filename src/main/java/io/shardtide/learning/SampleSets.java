package io.shardtide.learning;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
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
        for (TableSpec shard : computation.shards()) {
          int table =
              tables.computeIfAbsent(shard.withColumns(TableSpec.COLUMN_UNIT), t -> tables.size());
          shards.add(
              new SampledShard(
                  table,
                  shard.columns(),
                  batchSize,
                  1,
                  false,
                  OptionalDouble.empty(),
                  shard.bytesPerElement()));
        }
        compute.add(
            new ComputeSample(shards, computation.measuredMs(), computation.measuredForwardMs()));
      } else if (sample.cost() instanceof CostSample.AllToAll allToAll) {
        collectives.addAll(allToAll.samples(batchSize));
      }
    }
    return new SampleSet(List.copyOf(tables.keySet()), batchSize, compute, collectives);
  }
}
