package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.Collections;
import java.util.List;

/**
 * Labelled samples of one kind of hardware.
 *
 * @param tables the tables of the compute samples; a shard's columns and bytes per element are its
 *     own, those of the table are not used
 * @param reuseBatchSizes for each table, samples in the batch that its reuse histogram describes,
 *     at least 1
 * @param compute computations
 * @param collectives collectives
 */
public record SampleSet(
    List<TableSpec> tables,
    List<Integer> reuseBatchSizes,
    List<ComputeSample> compute,
    List<CollectiveSample> collectives) {

  /** Copies what may change and checks that each shard is one of a table. */
  public SampleSet {
    tables = List.copyOf(tables);
    reuseBatchSizes = List.copyOf(reuseBatchSizes);
    compute = List.copyOf(compute);
    collectives = List.copyOf(collectives);
    if (reuseBatchSizes.size() != tables.size()) {
      throw new IllegalArgumentException(
          "batch sizes of reuse histograms must be %s, one a table, got %s"
              .formatted(tables.size(), reuseBatchSizes.size()));
    }
    for (int size : reuseBatchSizes) {
      if (size < 1) {
        throw new IllegalArgumentException(
            "batch size of a reuse histogram must be at least 1, got " + size);
      }
    }
    for (ComputeSample sample : compute) {
      for (SampledShard shard : sample.shards()) {
        if (shard.table() >= tables.size()) {
          throw new IllegalArgumentException(
              "table of a shard must be between 0 and %s, got %s"
                  .formatted(tables.size() - 1, shard.table()));
        }
      }
    }
  }

  /** Samples of tables whose reuse histograms all describe batches of one size. */
  public SampleSet(
      List<TableSpec> tables,
      int reuseBatchSize,
      List<ComputeSample> compute,
      List<CollectiveSample> collectives) {
    this(tables, Collections.nCopies(tables.size(), reuseBatchSize), compute, collectives);
  }

  /** Returns other samples of the same tables. */
  public SampleSet with(List<ComputeSample> compute, List<CollectiveSample> collectives) {
    return new SampleSet(tables, reuseBatchSizes, compute, collectives);
  }
}
