package io.shardtide.replay;

import static io.shardtide.wire.TopicType.ALLOCATIONS;

import io.shardtide.allocation.EqualShares;
import io.shardtide.cost.ModelBundle;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.workload.Names;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Collects the records that led to an allocation of a pool. */
public final class AllocationCollector {
  private static final int MAX_LISTED = 10;

  private final String poolId;
  private final OptionalLong generation;
  private final TreeSet<String> pools = new TreeSet<>();
  private final TreeSet<Long> generations = new TreeSet<>();
  private final List<FoundAllocation> found = new ArrayList<>();
  private Optional<Allocation> before = Optional.empty();

  /** An allocation of the generation, and the one before it. */
  private record FoundAllocation(Allocation allocation, Optional<Allocation> previous) {}

  private AllocationCollector(String poolId, OptionalLong generation) {
    this.poolId = poolId;
    this.generation = generation;
  }

  /**
   * Collects the provenance of the allocations of a generation: the first follows from events, and
   * the others from new curves.
   *
   * @param records the records
   * @param poolId the pool
   * @param generation a generation of the pool; empty for that of its latest allocation
   * @return all of them in order, at least one
   * @throws IOException if the records cannot be read
   * @throws RefusedException if no such allocation is recorded
   */
  public static List<AllocationProvenance> collect(
      LogRecords records, String poolId, OptionalLong generation) throws IOException {
    AllocationCollector collector = new AllocationCollector(poolId, generation);
    records.read(ALLOCATIONS, collector::onAllocation);
    AllocationInputs inputs = AllocationInputs.read(records);
    if (collector.found.isEmpty()) {
      throw new RefusedException(collector.notFound(inputs));
    }
    Map<String, ModelBundle> models = records.models();
    return collector.found.stream().map(one -> collector.provenance(one, inputs, models)).toList();
  }

  private void onAllocation(Allocation allocation) {
    pools.add(allocation.poolId());
    if (!allocation.poolId().equals(poolId)) {
      return;
    }
    if (generation.isEmpty() || generation.getAsLong() == allocation.generation()) {
      if (!generations.contains(allocation.generation())) {
        found.clear();
      }
      found.add(new FoundAllocation(allocation, before));
    }
    generations.add(allocation.generation());
    before = Optional.of(allocation);
  }

  private String notFound(AllocationInputs events) {
    if (!generations.isEmpty()) {
      long wanted = generation.orElseThrow();
      Long at = generations.floor(wanted);
      Long next = generations.ceiling(wanted);
      return "Pool %s has no allocation of generation %d, found %,d generations with one%s%s"
          .formatted(
              Names.quote(poolId),
              wanted,
              generations.size(),
              at == null ? "" : "; the last one before it is " + at,
              next == null ? "" : "; the first one after it is " + next);
    }
    if (events.last(poolId) > 0) {
      PoolState state = events.at(poolId, events.last(poolId)).orElseThrow();
      return "Pool %s has no allocation yet, found %,d claims on it: it waits for the curves of new claims, 10 s at most"
          .formatted(Names.quote(poolId), state.claims().size());
    }
    TreeSet<String> known = new TreeSet<>(pools);
    known.addAll(events.pools());
    return "No allocation of pool %s is recorded, found %s"
        .formatted(
            Names.quote(poolId),
            known.isEmpty()
                ? "no pool. Maybe set pools.enabled=true, or export the log again"
                : "pools "
                    + known.stream()
                        .limit(MAX_LISTED)
                        .map(Names::quote)
                        .collect(Collectors.joining(", "))
                    + (known.size() > MAX_LISTED ? ", ..." : ""));
  }

  private AllocationProvenance provenance(
      FoundAllocation one, AllocationInputs inputs, Map<String, ModelBundle> models) {
    Allocation allocation = one.allocation();
    Optional<Allocation> previous = one.previous();
    long since = previous.map(Allocation::generation).orElse(0L);
    boolean isLatest = before.equals(Optional.of(allocation));
    return new AllocationProvenance(
        allocation,
        previous,
        inputs.at(poolId, allocation.generation()),
        inputs.between(poolId, since, allocation.generation()),
        curves(one, inputs, models),
        inputs.missing(allocation).isPresent()
            ? OptionalDouble.empty()
            : OptionalDouble.of(
                EqualShares.weightedThroughput(inputs.request(allocation, previous))),
        found.stream()
            .map(other -> other.allocation().allocationId())
            .filter(id -> !id.equals(allocation.allocationId()))
            .toList(),
        isLatest ? inputs.between(poolId, allocation.generation(), inputs.last(poolId)) : List.of(),
        isLatest ? unallocated(allocation, inputs) : List.of());
  }

  private List<AllocationProvenance.UsedCurve> curves(
      FoundAllocation one, AllocationInputs inputs, Map<String, ModelBundle> models) {
    Map<String, String> earlier =
        one.previous().<Map<String, String>>map(Allocation::curveIds).orElse(Map.of());
    List<AllocationProvenance.UsedCurve> used = new ArrayList<>();
    one.allocation()
        .curveIds()
        .forEach(
            (workload, id) -> {
              Optional<ThroughputCurve> curve = inputs.curve(one.allocation(), workload);
              used.add(
                  new AllocationProvenance.UsedCurve(
                      workload,
                      id,
                      curve,
                      one.previous().flatMap(previous -> inputs.curve(previous, workload)),
                      !id.equals(earlier.get(workload)),
                      curve
                          .map(c -> models.get(c.modelId()))
                          .map(model -> model.card().simulated())));
            });
    return used;
  }

  private List<AllocationProvenance.UnallocatedClaim> unallocated(
      Allocation allocation, AllocationInputs inputs) {
    return inputs
        .at(poolId, inputs.last(poolId))
        .map(state -> state.claims().keySet().stream())
        .orElseGet(Stream::empty)
        .filter(workload -> allocation.of(workload).isEmpty())
        .map(
            workload ->
                new AllocationProvenance.UnallocatedClaim(
                    workload,
                    inputs.hasCurve(poolId, workload)
                        ? "its curve is there, and the next allocation decides"
                        : "it has no predicted throughput yet, for which the next allocation waits 10 s at most"))
        .toList();
  }
}
