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

/** Converts samples of the log to sets for training and evaluation. */
public final class SampleSets {
  private SampleSets() {}

  /** A table, and the size of the batch that its reuse histogram describes. */
  private record BatchedTable(TableSpec table, int batchSize) {}

  /**
   * Converts samples, of any batch sizes. Shards of tables that differ only in columns share one
   * table of the set.
   *
   * @param samples samples, validated by {@link SampleCheck}
   */
  public static SampleSet of(List<CostSample> samples) {
    Map<BatchedTable, Integer> tables = new LinkedHashMap<>();
    List<ComputeSample> compute = new ArrayList<>();
    List<CollectiveSample> collectives = new ArrayList<>();
    for (CostSample sample : samples) {
      if (sample.cost() instanceof CostSample.Computation computation) {
        List<SampledShard> shards = new ArrayList<>();
        for (DeviceShard shard : computation.shards()) {
          BatchedTable table =
              new BatchedTable(
                  shard.table().withColumns(TableSpec.COLUMN_UNIT), sample.batchSize());
          shards.add(shard.sampled(tables.computeIfAbsent(table, t -> tables.size())));
        }
        compute.add(
            new ComputeSample(shards, computation.measuredMs(), computation.measuredForwardMs()));
      } else if (sample.cost() instanceof CostSample.StepCommunication communication) {
        collectives.addAll(communication.samples(sample.batchSize()));
      }
    }
    return new SampleSet(
        tables.keySet().stream().map(BatchedTable::table).toList(),
        tables.keySet().stream().map(BatchedTable::batchSize).toList(),
        compute,
        collectives);
  }
}
