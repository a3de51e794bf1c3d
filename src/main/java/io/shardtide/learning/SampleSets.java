package io.shardtide.learning;

import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Samples of the log as a set that models are trained and judged on. */
public final class SampleSets {
  private SampleSets() {}

  /** Returns samples by the size of their batches, each in its order. */
  public static SortedMap<Integer, List<CostSample>> byBatchSize(List<CostSample> samples) {
    SortedMap<Integer, List<CostSample>> sizes = new TreeMap<>();
    samples.forEach(
        sample -> sizes.computeIfAbsent(sample.batchSize(), s -> new ArrayList<>()).add(sample));
    return sizes;
  }

  /**
   * Returns a set. Tables that are alike but for their columns are one.
   *
   * @param samples samples that {@link SampleCheck} lets pass, of batches of one size
   * @param batchSize this size
   */
  public static SampleSet of(List<CostSample> samples, int batchSize) {
    Map<TableSpec, Integer> tables = new LinkedHashMap<>();
    List<ComputeSample> compute = new ArrayList<>();
    SortedMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    for (CostSample sample : samples) {
      if (sample.cost() instanceof CostSample.Computation computation) {
        List<SampledShard> shards = new ArrayList<>();
        for (TableSpec shard : computation.shards()) {
          int table =
              tables.computeIfAbsent(shard.withColumns(TableSpec.COLUMN_UNIT), t -> tables.size());
          shards.add(new SampledShard(table, shard.columns()));
        }
        compute.add(new ComputeSample(shards, computation.measuredMs()));
      } else if (sample.cost() instanceof CostSample.AllToAll exchange) {
        communication
            .computeIfAbsent(exchange.columns().size(), d -> new ArrayList<>())
            .add(exchange.sample());
      }
    }
    return new SampleSet(List.copyOf(tables.keySet()), batchSize, compute, communication);
  }
}
