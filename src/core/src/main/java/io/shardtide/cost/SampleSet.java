package io.shardtide.cost;

import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Labelled samples of one kind of hardware.
 *
 * @param tables names of the tables that computations may be of, without duplicates
 * @param compute computations
 * @param collectives collectives
 */
public record SampleSet(
    List<String> tables, List<ComputeSample> compute, List<CollectiveSample> collectives) {

  /** Copies what may change. */
  public SampleSet {
    tables = List.copyOf(tables);
    compute = List.copyOf(compute);
    collectives = List.copyOf(collectives);
  }

  /** Samples of the tables that computations are of. */
  public SampleSet(List<ComputeSample> compute, List<CollectiveSample> collectives) {
    this(
        compute.stream()
            .flatMap(sample -> sample.shards().stream())
            .map(shard -> shard.table().name())
            .distinct()
            .toList(),
        compute,
        collectives);
  }

  /**
   * Converts samples of the log, of any batch sizes.
   *
   * @param samples samples, validated by {@code SampleCheck}
   */
  public static SampleSet of(List<CostSample> samples) {
    List<ComputeSample> compute = new ArrayList<>();
    List<CollectiveSample> collectives = new ArrayList<>();
    for (CostSample sample : samples) {
      if (sample.cost() instanceof CostSample.Computation computation) {
        compute.add(
            new ComputeSample(
                computation.shards(), computation.measuredMs(), computation.measuredForwardMs()));
      } else if (sample.cost() instanceof CostSample.StepCommunication communication) {
        collectives.addAll(communication.samples(sample.batchSize()));
      }
    }
    return new SampleSet(compute, collectives);
  }

  /** Returns the computations as if their tables were others, and the collectives. */
  public SampleSet seenAs(UnaryOperator<TableSpec> seen) {
    return with(
        compute.stream()
            .map(
                sample ->
                    new ComputeSample(
                        sample.shards().stream().map(s -> s.of(seen.apply(s.table()))).toList(),
                        sample.computeMs(),
                        sample.forwardMs()))
            .toList(),
        collectives);
  }

  /** Returns other samples of the same tables. */
  public SampleSet with(List<ComputeSample> compute, List<CollectiveSample> collectives) {
    return new SampleSet(tables, compute, collectives);
  }
}
