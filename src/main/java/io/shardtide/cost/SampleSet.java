package io.shardtide.cost;

import io.shardtide.domain.TableSpec;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Labelled samples of one kind of hardware.
 *
 * @param tables the tables of the compute samples
 * @param batchSize samples in the batches that were measured, over all devices
 * @param compute computations
 * @param communication all-to-alls by number of devices
 */
public record SampleSet(
    List<TableSpec> tables,
    int batchSize,
    List<ComputeSample> compute,
    SortedMap<Integer, List<CommunicationSample>> communication) {
  /** Copies what may change. */
  public SampleSet {
    tables = List.copyOf(tables);
    compute = List.copyOf(compute);
    communication = Collections.unmodifiableSortedMap(new TreeMap<>(communication));
  }
}
