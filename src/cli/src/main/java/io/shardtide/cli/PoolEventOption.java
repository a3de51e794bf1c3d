package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Endpoint;
import io.shardtide.client.PoolPublisher;
import io.shardtide.client.PoolReader;
import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.replay.RefusedException;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options of subcommands that publish an event of a pool, and how they publish it. */
final class PoolEventOption {
  private static final int SHOWN_ID = 8;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Name of the publisher, for people. Default: ${DEFAULT-VALUE}.")
  private String source;

  @Option(names = "--json", description = "Print the outcome as JSON.")
  private boolean json;

  /**
   * Publishes an event, waits for the planner's decision and prints it.
   *
   * @param spec the command, which prints
   * @param cluster where to
   * @param poolId the pool
   * @param update the event's one change
   * @param workloadId the workload whose claim it changes; empty if none
   * @return 0 if the event was accepted, 1 otherwise
   */
  int publish(
      CommandSpec spec,
      ClusterOption cluster,
      String poolId,
      PoolUpdate update,
      Optional<String> workloadId)
      throws IOException, InterruptedException {
    PoolChange event =
        new PoolChange(UUID.randomUUID(), poolId, Instant.now(), source, List.of(update));
    Endpoint endpoint = cluster.endpoint();
    KafkaLogSummary quietLog = cluster.quietLog();
    try {
      if (OtherPools.mayConflict(update)) {
        refuse(OtherPools.conflict(poolId, update, read(endpoint)));
      }
      return publish(spec, cluster, endpoint, event, workloadId);
    } finally {
      quietLog.close();
    }
  }

  /** Ends the command with status 1. */
  private static void refuse(Optional<String> conflict) {
    if (conflict.isPresent()) {
      throw new RefusedException(conflict.get());
    }
  }

  private int publish(
      CommandSpec spec,
      ClusterOption cluster,
      Endpoint endpoint,
      PoolChange event,
      Optional<String> workloadId)
      throws IOException, InterruptedException {
    try (PoolPublisher publisher = PoolPublisher.connect(endpoint, source)) {
      PublishedOutcome outcome =
          PublishedOutcome.await(
              publisher.publishAndAwait(event),
              cluster.timeout().toNanos(),
              cluster.timeout(),
              "a planner with pools.enabled=true");
      if (outcome.kind().equals(PublishedOutcome.NOT_SENT)) {
        throw new IllegalStateException(
            "Event %s was not sent: %s".formatted(event.eventId(), outcome.detail()));
      }
      SortedMap<String, AllocatedPool> pools =
          outcome.isAccepted() ? read(endpoint) : Collections.emptySortedMap();
      PrintWriter out = spec.commandLine().getOut();
      if (json) {
        ObjectNode node =
            JsonNodeFactory.instance
                .objectNode()
                .put("event", event.eventId().toString())
                .put("pool", event.poolId());
        outcome.write(node);
        out.print(JsonText.pretty(node));
      } else {
        TextTable table = new TextTable("event", "pool", "outcome");
        table.add(
            event.eventId().toString().substring(0, SHOWN_ID), event.poolId(), outcome.text());
        out.print(table);
        out.print(
            outcome.allocation().isPresent()
                ? answer(spec, endpoint, pools, outcome.allocation().get(), workloadId)
                : AllocationView.wrapped(outcome.detail()));
      }
      // Somebody may have changed another pool at the same time.
      refuse(OtherPools.conflict(event.poolId(), event.updates().get(0), pools));
      return outcome.isAccepted() ? 0 : 1;
    }
  }

  private static SortedMap<String, AllocatedPool> read(Endpoint endpoint) {
    try (PoolReader reader = PoolReader.connect(endpoint)) {
      return reader.read();
    }
  }

  private static String answer(
      CommandSpec spec,
      Endpoint endpoint,
      SortedMap<String, AllocatedPool> pools,
      Allocation allocation,
      Optional<String> workloadId)
      throws IOException {
    try (SimulatedCurves simulated =
        new SimulatedCurves(endpoint, line -> spec.commandLine().getErr().println(line))) {
      PoolState state = pools.get(allocation.poolId()).state();
      return new AllocationView(
              new AllocatedPool(state, Optional.of(allocation)), simulated::contains)
          .answer(workloadId);
    }
  }
}
