package io.shardtide.replay;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.allocation.Allocator;
import io.shardtide.pool.Allocation;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Recomputes the recorded allocations of pools, each from the events, the curves, the policy and
 * the allocation before that it names, and compares all fields. No cost model is needed.
 */
public final class AllocationReplay {
  private final AllocationInputs inputs;

  /** By pool, the allocation before: the recomputed one if it has the recorded id. */
  private final Map<String, Allocation> before = new TreeMap<>();

  private final ReplayResult.Tally tally = new ReplayResult.Tally();

  private AllocationReplay(AllocationInputs inputs) {
    this.inputs = inputs;
  }

  /**
   * Recomputes all recorded allocations.
   *
   * @throws IOException if the records cannot be read
   */
  public static ReplayResult run(LogRecords records) throws IOException {
    AllocationReplay replay = new AllocationReplay(AllocationInputs.read(records));
    records.read(ALLOCATIONS, replay::compare);
    if (records.has(ALLOCATIONS)) {
      replay.noteUnallocated();
    } else if (records.has(POOL_CHANGES) || !records.has(SHARDING_PLANS)) {
      replay.tally.notes.add("allocations of pools are not recorded, and not recomputed");
    }
    return replay.tally.result();
  }

  private void compare(Allocation recorded) {
    Optional<Allocation> previous = Optional.ofNullable(before.put(recorded.poolId(), recorded));
    Comparer.Comparison<Allocation> comparison =
        Comparer.ALLOCATIONS.compare(
            recorded,
            inputs.missing(recorded).or(() -> gap(recorded, previous)),
            () -> Allocator.allocate(inputs.request(recorded, previous)));
    comparison
        .recomputed()
        .filter(made -> made.allocationId().equals(recorded.allocationId()))
        .ifPresent(made -> before.put(made.poolId(), made));
    tally.add(recorded.poolId(), recorded.generation(), comparison);
  }

  private static Optional<String> gap(Allocation recorded, Optional<Allocation> previous) {
    Optional<String> id = previous.map(Allocation::allocationId);
    return id.equals(recorded.previousId())
        ? Optional.empty()
        : Optional.of(
            "it names %s as the allocation before, and before it %s is recorded"
                .formatted(recorded.previousId().orElse("none"), id.orElse("none")));
  }

  private void noteUnallocated() {
    for (String pool : inputs.pools()) {
      long last = inputs.last(pool);
      long allocated = before.containsKey(pool) ? before.get(pool).generation() : 0;
      if (allocated < last) {
        tally.notes.add(
            "%s of pool %s: not allocated yet when the records were read"
                .formatted(AnsweredGenerations.generations(allocated + 1, last), pool));
      }
    }
  }
}
