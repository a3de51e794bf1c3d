package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * Labelled samples of one kind of hardware.
 *
 * @param tables the tables of the compute samples; a shard's columns and bytes per element are its
 *     own, those of the table are not used
 * @param reuseBatchSize samples in the batch that the tables' reuse histograms describe, at least 1
 * @param compute computations
 * @param collectives collectives
 */
public record SampleSet(
    List<TableSpec> tables,
    int reuseBatchSize,
    List<ComputeSample> compute,
    List<CollectiveSample> collectives) {

  /** Copies what may change and checks that each shard is one of a table. */
  public SampleSet {
    tables = List.copyOf(tables);
    compute = List.copyOf(compute);
    collectives = List.copyOf(collectives);
    if (reuseBatchSize < 1) {
      throw new IllegalArgumentException(
          "batch size of the reuse histograms must be at least 1, got " + reuseBatchSize);
    }
    for (ComputeSample sample : compute) {
      for (SampledShard shard : sample.shards()) {
        if (shard.table() >= tables.size()) {
          throw new IllegalArgumentException(
              "table of a shard must be between 0 and %d, got %d"
                  .formatted(tables.size() - 1, shard.table()));
        }
      }
    }
  }
}
