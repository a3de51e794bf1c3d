package io.shardtide.replay;

import io.shardtide.allocation.Allocator;
import io.shardtide.pool.Allocation;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Recomputes the recorded allocations of pools, each from the events, the curves, the policy and
 * the allocation before that it names, and compares all fields. No cost model is needed.
 */
public final class AllocationReplay {
  private static final JsonLines<Allocation, ?> JSON = new JsonLines<>(Codec.ALLOCATION);

  private final AllocationInputs inputs;

  /** By pool, the allocation before: the recomputed one if it has the recorded id. */
  private final Map<String, Allocation> before = new TreeMap<>();

  private final Recomputed.Tally tally = new Recomputed.Tally();

  private AllocationReplay(AllocationInputs inputs) {
    this.inputs = inputs;
  }

  /**
   * Recomputes all recorded allocations.
   *
   * @throws IOException if the records cannot be read
   */
  public static Recomputed run(LogRecords records) throws IOException {
    AllocationReplay replay = new AllocationReplay(AllocationInputs.read(records));
    if (records.has(RecordKind.ALLOCATIONS)) {
      records.read(RecordKind.ALLOCATIONS, replay::compare);
    }
    return replay.result();
  }

  private void compare(Allocation recorded) {
    Optional<Allocation> previous = Optional.ofNullable(before.put(recorded.poolId(), recorded));
    Optional<String> missing = inputs.missing(recorded).or(() -> gap(recorded, previous));
    if (missing.isPresent()) {
      tally.notReproduced(Difference.of(recorded, missing.get(), List.of()));
      return;
    }
    Allocation recomputed;
    try {
      recomputed = Allocator.allocate(inputs.request(recorded, previous));
    } catch (IllegalArgumentException | IllegalStateException | ArithmeticException e) {
      tally.different(
          Difference.of(
              recorded, "this version cannot allocate the pool: " + e.getMessage(), List.of()));
      return;
    }
    if (recomputed.equals(recorded)) {
      tally.equal();
      return;
    }
    if (recomputed.allocationId().equals(recorded.allocationId())) {
      before.put(recorded.poolId(), recomputed);
    }
    tally.different(
        Difference.of(
            recorded,
            recorded.hasValidId()
                ? "its id is that of its content, and the curves are those that it names; either the pool's events were changed, or this version allocates differently"
                : "the record was changed after the allocation was made: its id is not that of its content",
            JsonDiff.lines(JSON, recorded, recomputed, Set.of())));
  }

  private static Optional<String> gap(Allocation recorded, Optional<Allocation> previous) {
    Optional<String> id = previous.map(Allocation::allocationId);
    return id.equals(recorded.previousId())
        ? Optional.empty()
        : Optional.of(
            "it names %s as the allocation before, and before it %s is recorded"
                .formatted(recorded.previousId().orElse("none"), id.orElse("none")));
  }

  private Recomputed result() {
    for (String pool : inputs.generations().pools()) {
      long last = inputs.generations().last(pool);
      long allocated = before.containsKey(pool) ? before.get(pool).generation() : 0;
      if (allocated < last) {
        tally.note(
            "%s of pool %s: not allocated yet when the records were read"
                .formatted(
                    last == allocated + 1
                        ? "generation " + last
                        : "generations %d to %d".formatted(allocated + 1, last),
                    pool));
      }
    }
    return tally.result();
  }
}
