package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.PoolPublisher;
import io.shardtide.client.PoolReader;
import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.replay.RefusedException;
import java.io.IOException;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;
import picocli.CommandLine.Parameters;

/** The options of commands that publish an event of a pool, and how they publish it. */
final class PoolEventOption extends SourceOption {
  @Parameters(paramLabel = "POOL", index = "0", description = "Id of the pool.")
  private String pool;

  /**
   * Publishes an event, waits for the planner's decision and prints it.
   *
   * @param update the event's one change
   * @param workloadId the workload whose claim it changes; empty if none
   * @return 0 if the event was accepted, 1 otherwise
   */
  int publish(PoolUpdate update, Optional<String> workloadId) throws Exception {
    PoolChange event =
        new PoolChange(UUID.randomUUID(), pool, Instant.now(), source(), List.of(update));
    return quietly(
        () -> {
          if (OtherPools.mayConflict(update)) {
            refuse(OtherPools.conflict(pool, update, read()));
          }
          return publish(event, workloadId);
        });
  }

  /** Ends the command with status 1. */
  private static void refuse(Optional<String> conflict) {
    if (conflict.isPresent()) {
      throw new RefusedException(conflict.get());
    }
  }

  private int publish(PoolChange event, Optional<String> workloadId)
      throws IOException, InterruptedException {
    try (PoolPublisher publisher = PoolPublisher.connect(endpoint(), source())) {
      PublishedOutcome outcome =
          PublishedOutcome.await(
              publisher.publishAndAwait(event),
              timeout().toNanos(),
              timeout(),
              "a planner with pools.enabled=true");
      if (outcome.kind().equals(PublishedOutcome.NOT_SENT)) {
        throw new IllegalStateException(
            "Event %s was not sent: %s".formatted(event.eventId(), outcome.detail()));
      }
      SortedMap<String, AllocatedPool> pools =
          outcome.isAccepted() ? read() : Collections.emptySortedMap();
      String id = event.eventId().toString();
      ObjectNode node =
          JsonNodeFactory.instance.objectNode().put("event", id).put("pool", event.poolId());
      outcome.write(node);
      TextTable table = new TextTable("event", "pool", "outcome");
      table.add(shortId(id), event.poolId(), outcome.text());
      print(
          node,
          () ->
              table
                  + outcome
                      .allocation()
                      .map(allocation -> answer(pools, allocation, workloadId))
                      .orElseGet(() -> outcome.detail() + "\n"));
      // Somebody may have changed another pool at the same time.
      refuse(OtherPools.conflict(event.poolId(), event.updates().get(0), pools));
      return outcome.isAccepted() ? 0 : 1;
    }
  }

  private SortedMap<String, AllocatedPool> read() {
    try (PoolReader reader = PoolReader.connect(endpoint())) {
      return reader.read();
    }
  }

  private String answer(
      SortedMap<String, AllocatedPool> pools, Allocation allocation, Optional<String> workloadId) {
    try (SimulatedCosts simulated = new SimulatedCosts(endpoint(), this::note)) {
      PoolState state = pools.get(allocation.poolId()).state();
      return new AllocationText(
              new AllocatedPool(state, Optional.of(allocation)), simulated::ofCurve)
          .answer(workloadId);
    }
  }
}
