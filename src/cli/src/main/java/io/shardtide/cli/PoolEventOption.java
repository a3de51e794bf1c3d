package io.shardtide.cli;

import io.shardtide.client.Outcome;
import io.shardtide.client.PoolPublisher;
import io.shardtide.client.PoolReader;
import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.config.ShellWord;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.replay.RefusedException;
import io.shardtide.workload.Names;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.UUID;
import picocli.CommandLine.Parameters;

/**
 * The options of commands that publish an event of a pool, and how they publish it. A node is in
 * one pool, and a workload has a claim on one: the planner applies the events of each pool by
 * itself and cannot see the others'.
 */
final class PoolEventOption extends SourceOption<PoolChange> {
  @Parameters(paramLabel = "POOL", index = "0", description = "Id of the pool.")
  private String pool;

  PoolEventOption() {
    super("pool", "a planner with pools.enabled=true", PoolChange::eventId, PoolChange::poolId);
  }

  /**
   * Publishes an event, waits for the planner's decision and prints it.
   *
   * @param update the event's one change
   * @param workloadId the workload whose claim it changes; empty if none
   * @return 0 if the event was accepted, 1 otherwise
   */
  int publish(PoolUpdate update, Optional<String> workloadId) throws InterruptedException {
    PoolChange event =
        new PoolChange(UUID.randomUUID(), pool, Instant.now(), source(), List.of(update));
    boolean mayConflict = update instanceof PoolUpdate.ClaimSet || !nodes(update).isEmpty();
    if (mayConflict) {
      refuseConflict(pool, update, read());
    }
    try (PoolPublisher publisher = PoolPublisher.connect(endpoint(), source())) {
      List<Outcome.Accepted> accepted = publish(publisher, List.of(event));
      if (accepted.isEmpty()) {
        print(outcomes.get(0), this::table);
        return 1;
      }
      SortedMap<String, AllocatedPool> pools = read();
      AllocatedPool now = new AllocatedPool(pools.get(pool).state(), accepted.get(0).allocation());
      print(outcomes.get(0), () -> table() + answer(now, workloadId));
      // Somebody may have changed another pool at the same time.
      refuseConflict(pool, update, pools);
      return 0;
    }
  }

  private SortedMap<String, AllocatedPool> read() {
    try (PoolReader reader = PoolReader.connect(endpoint())) {
      return reader.read();
    }
  }

  private String answer(AllocatedPool now, Optional<String> workloadId) {
    try (SimulatedCosts simulated = new SimulatedCosts(endpoint(), this::note)) {
      return new AllocationText(now, simulated::ofCurve).answer(workloadId);
    }
  }

  /** Ends the command with status 1 if a change takes something from another pool. */
  static void refuseConflict(String pool, PoolUpdate update, Map<String, AllocatedPool> pools) {
    String workload = update instanceof PoolUpdate.ClaimSet set ? set.claim().workloadId() : "";
    pools.forEach(
        (other, has) -> {
          if (other.equals(pool)) {
            return;
          }
          if (has.state().claims().containsKey(workload)) {
            throw new RefusedException(
                "workload %s must have a claim on one pool, got one on pool %s besides that on pool %s. Maybe withdraw that first: shardtide pool delete %s %s"
                    .formatted(
                        Names.quote(workload),
                        Names.quote(pool),
                        Names.quote(other),
                        ShellWord.of(other),
                        ShellWord.of(workload)));
          }
          for (String node : has.state().pool().orElseThrow().nodes().keySet()) {
            if (nodes(update).contains(node)) {
              throw new RefusedException(
                  "node %s must be in one pool, got pool %s besides pool %s. Maybe take it from there first: shardtide pool node rm %s %s"
                      .formatted(
                          Names.quote(node),
                          Names.quote(pool),
                          Names.quote(other),
                          ShellWord.of(other),
                          ShellWord.of(node)));
            }
          }
        });
  }

  /** Returns the nodes that a change takes for the pool. */
  private static Collection<String> nodes(PoolUpdate update) {
    if (update instanceof PoolUpdate.PoolSet set) {
      return set.pool().nodes().keySet();
    }
    return update instanceof PoolUpdate.PoolNodeAdded added
        ? List.of(added.node().name())
        : Set.of();
  }
}
